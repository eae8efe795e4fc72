#pragma once

#include <QFrame>
#include <QString>
#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace lpes::widgets {

/// One sentence across the window that does not stop anybody from working, with what can be done about it as buttons.
/// Hidden while it has nothing to say. GUI thread only.
class MessageBar : public QFrame {
    Q_OBJECT
  public:
    enum class Kind { Info, Success, Warning, Error };
    struct Action {
        QString text;
        std::function<void()> run;  ///< the bar is closed before it is called
    };

    explicit MessageBar(QWidget* parent = nullptr);
    void show(Kind kind, const QString& sentence, std::vector<Action> actions = {});
    [[nodiscard]] QString sentence() const;
    [[nodiscard]] Kind kind() const { return m_kind; }

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    void showIcon();
    [[nodiscard]] QColor ground() const;

    Kind m_kind = Kind::Info;
    QLabel *m_icon, *m_text;
    QHBoxLayout* m_actions;
};

}  // namespace lpes::widgets
