#pragma once

#include <QPlainTextEdit>
#include <QString>

namespace lpes::widgets {

/// What happened, newest at the end, with the time of day; keeps 5,000 lines. Follows the end unless the user scrolled
/// up. GUI thread only.
class LogPanel : public QPlainTextEdit {
    Q_OBJECT
  public:
    enum class Level { Info, Warning, Error };
    explicit LogPanel(QWidget* parent = nullptr);
    void add(Level level, const QString& sentence);

  Q_SIGNALS:
    void added(lpes::widgets::LogPanel::Level level, const QString& sentence);

  protected:
    void changeEvent(QEvent* event) override;
};

}  // namespace lpes::widgets
