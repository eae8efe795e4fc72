#pragma once

#include <QWidget>

#include "widgets/plots/theme.h"

class QLabel;
class QSplitter;

namespace lpes::widgets {
class CurveEditor;
class PlotPane;
}  // namespace lpes::widgets

namespace lpes::app {

/// The curve on top, what it does below: attention by position and representation deviation of the sample prompts.
/// GUI thread only.
class EditPage : public QWidget {
    Q_OBJECT
  public:
    explicit EditPage(const widgets::Theme& theme, QWidget* parent = nullptr);

    [[nodiscard]] widgets::CurveEditor& editor() { return *m_editor; }
    [[nodiscard]] widgets::PlotPane& attention() { return *m_attention; }
    [[nodiscard]] widgets::PlotPane& deviation() { return *m_deviation; }
    void setTheme(const widgets::Theme& theme);
    /// What the sample prompts are, and what is drawn above.
    void setCaption(const QString& words);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void elideCaption();

    QString m_words;
    widgets::CurveEditor* m_editor;
    widgets::PlotPane *m_attention, *m_deviation;
    QLabel *m_caption, *m_readout;
};

}  // namespace lpes::app
