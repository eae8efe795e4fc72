#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "core/analysis/plot_data.h"
#include "widgets/plots/theme.h"

class QLabel;
class QStackedLayout;

namespace lpes::widgets {

class PlotView;

/// A plot in a dock or page: one line above it says what it shows (elided; whole as tooltip), one at the right how
/// fresh it is. Empty, busy, stale and failed states are drawn in words, never left blank. The picture's own title is
/// left to that line, so that small docks keep room for data. Context menu: copy image, copy data, export…, copy the
/// command that makes this figure. GUI thread only.
class PlotPane : public QWidget {
    Q_OBJECT
  public:
    /// `name` names the pane in words ("Attention by position"): accessible name, menus, export file names.
    PlotPane(const QString& name, const Theme& theme, QWidget* parent = nullptr);
    ~PlotPane() override;

    [[nodiscard]] const QString& name() const { return m_name; }
    /// `freshness`: "from 3 prompts, 0.2 s ago". Replaces empty, busy and error states. A zoom that the user made
    /// stays in force as long as kind and axes fit.
    void setData(const analysis::PlotData& data, const QString& freshness);
    void setFreshness(const QString& freshness);
    /// What is shown is older than what it should show: drawn faded, with the words at the freshness place.
    void setStale(const QString& words);
    /// Nothing to show, and why ("No run is selected"); with what to do about it.
    void setEmpty(const QString& why);
    /// The data cannot be had: one sentence with its remedy, in the error colour.
    void setError(const QString& sentence);
    void setTheme(const Theme& theme);
    /// A shell command that makes this figure; empty: the menu entry is disabled.
    void setCommand(const QString& command) { m_command = command; }
    /// Nothing while empty or failed.
    [[nodiscard]] std::optional<analysis::PlotData> data() const;
    /// What is shown now in words: the state's sentence, or the caption with the freshness. For tests and readers.
    [[nodiscard]] QString stateText() const;

    void copyImage() const;
    void copyData() const;  ///< CSV

  Q_SIGNALS:
    void exportRequested();
    void memberPicked(qint64 number);  ///< PlotView::memberPicked

  protected:
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

  private:
    void showMessage(const QString& words, bool error);
    void elide();

    const QString m_name;
    Theme m_theme;
    QString m_command, m_captionText;
    std::optional<analysis::PlotData> m_data;
    QLabel *m_caption = nullptr, *m_freshness = nullptr, *m_message = nullptr;
    PlotView* m_view = nullptr;
    QWidget* m_plotPage = nullptr;
    QStackedLayout* m_stack = nullptr;
};

}  // namespace lpes::widgets
