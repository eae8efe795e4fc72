#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <array>
#include <functional>

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QSpinBox;
class QToolButton;

namespace lpes::widgets {

/// Which items are asked, and how, as the form has it. A value; what a task has no use for keeps its number.
struct TaskForm {
    QString task = QStringLiteral("kv");  ///< "mdqa", "leval:quality", …
    QString data;                         ///< file, folder or archive; empty: the items are generated
    QString positions;                    ///< "begin,middle,end"; empty: the task's own
    int pairs = 20;                       ///< kv; 0: as many as the file has
    int documents = 0;                    ///< mdqa, mdqa-random; 0: as many as the file has, 20 where they are drawn
    int length = 2000;                    ///< niah: tokens of the prompt
    int shots = 5;                        ///< mmlu, ceval: worked examples
    QString chat;                         ///< chat preset; empty: none
    QString score;                        ///< empty: the task's own
    friend bool operator==(const TaskForm&, const TaskForm&) = default;
};

/// What a task has and needs, so that a form can say it before anything is opened.
struct TaskTraits {
    enum class Size { None, Pairs, Documents, Length, Shots } size = Size::None;
    bool needsData = true;
    bool moves = false;   ///< the evidence can stand at several places, or the file decides
    bool seeded = false;  ///< a seed decides on the items
};
/// Of the part ahead of the colon. An unknown task has everything: the core says what is wrong with it.
[[nodiscard]] TaskTraits traitsOf(const QString& task, bool withData);

/// The fields of a TaskForm as rows of a form's layout. A field that the task does not have is disabled and says why; a
/// text that is refused is framed, with the reason as its tool tip. Knows no task's rules itself: whoever owns it gives
/// the names and the check. GUI thread only.
class TaskFields : public QObject {
    Q_OBJECT
  public:
    enum Field { Task, Data, Positions, Chat, Score, kFields };
    /// Why a text is none ("position 'x' is not understood; …"); empty when it is one.
    using Check = std::function<QString(Field field, const QString& text)>;

    /// `scoreTip`: what a score decides on in this form; `scoreNone`: what an empty one stands for.
    TaskFields(QWidget* form, QFormLayout& layout, const QString& scoreTip, const QString& scoreNone);

    /// Names to choose from; other texts can be typed where there are more than a list can hold.
    void setChoices(const QStringList& tasks, const QStringList& chats, const QStringList& scores);
    void setCheck(Check check);
    void setForm(const TaskForm& form);
    [[nodiscard]] TaskForm form() const;
    /// As if the user had typed it.
    void setData(const QString& path);
    [[nodiscard]] TaskTraits traits() const;
    void setLocked(bool locked);
    /// The next stop of the Tab key behind the last of them.
    void setNext(QWidget* next);
    /// Why the fields cannot be used as they stand ("Correct the positions: …"); empty when they can.
    [[nodiscard]] QString problem() const;
    /// What was found out about a field elsewhere: shown at it until the field is edited. Start stays possible, because
    /// what is wrong (a missing file) may be mended outside the form.
    void refuse(Field field, const QString& why);
    [[nodiscard]] QString refusal(Field field) const;

  Q_SIGNALS:
    /// Something else is asked for now, or a reason came or went.
    void changed();
    /// The user wants to look for the data; `folder`: not a single file.
    void browseRequested(bool folder);

  private:
    void edited(Field field);
    void check();
    void showTraits();
    void showSize();
    void keepSize(int value);
    [[nodiscard]] QWidget* widgetOf(Field field) const;
    [[nodiscard]] QString textOf(Field field) const;

    QComboBox *m_task, *m_chat, *m_score;
    QLineEdit *m_data, *m_positions;
    QToolButton* m_browse;
    QLabel* m_sizeLabel;
    QSpinBox* m_size;
    Check m_check;
    TaskForm m_form;  // the sizes of all tasks, and the positions of one that has none
    std::array<QString, kFields> m_problems, m_refusals;
    bool m_withData = false, m_locked = false, m_filling = false;
};

}  // namespace lpes::widgets
