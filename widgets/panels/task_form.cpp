#include "widgets/panels/task_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QToolButton>
#include <algorithm>
#include <iterator>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

using Size = TaskTraits::Size;

struct SizeField {
    QString label, tip, none;  ///< `none`: what 0 stands for; empty: 0 is no value
    int low, high;
};

SizeField sizeField(Size size, const QString& task, bool withData) {
    const QString asFile = QStringLiteral("as the file has");
    switch (size) {
        case Size::Pairs:
            return {QStringLiteral("Pairs"),
                    QStringLiteral("Key-value pairs in each prompt: more pairs make longer prompts"),
                    withData ? asFile : QString(), withData ? 1 : 2, 10'000};
        case Size::Documents:
            return {QStringLiteral("Documents"),
                    QStringLiteral("Documents in each prompt, the one with the answer among them"),
                    task == QStringLiteral("mdqa-random") ? QStringLiteral("20, as published") : asFile, 1, 10'000};
        case Size::Length:
            return {QStringLiteral("Length"),
                    QStringLiteral("Tokens of the prompt and of the answer's room, at most"),
                    {},
                    200,
                    10'000'000};
        case Size::Shots:
            return {QStringLiteral("Examples"),
                    QStringLiteral("Worked examples ahead of the question; 5 are official"),
                    {},
                    0,
                    100};
        case Size::None:
            break;
    }
    return {QStringLiteral("Size"),
            QString(QStringLiteral("Prompts of ") % task % QStringLiteral(" are as long as the data has them")),
            {},
            0,
            0};
}

QString nameOf(TaskFields::Field field) {
    constexpr const char* kNames[] = {"task", "data", "positions", "chat preset", "score"};
    return QLatin1String(kNames[field]);
}

}  // namespace

TaskTraits traitsOf(const QString& task, bool withData) {
    const QString family = task.section(QLatin1Char(':'), 0, 0);
    if (family == QStringLiteral("kv")) return {Size::Pairs, false, true, !withData};
    if (family == QStringLiteral("mdqa")) return {Size::Documents, true, true, false};
    if (family == QStringLiteral("mdqa-random")) return {Size::Documents, true, true, true};
    if (family == QStringLiteral("niah")) return {Size::Length, false, true, true};
    if (family == QStringLiteral("mmlu") || family == QStringLiteral("ceval")) return {Size::Shots, true, false, false};
    if (family == QStringLiteral("zeroscrolls") || family == QStringLiteral("leval")) return {};
    return {Size::None, true, true, family != QStringLiteral("jsonl")};
}

TaskFields::TaskFields(QWidget* form, QFormLayout& layout, const QString& scoreTip, const QString& scoreNone)
    : QObject(form), m_sizeLabel(new QLabel(form)) {
    m_task = openChoiceField(
        form, QStringLiteral("Task"),
        QStringLiteral("The benchmark whose items are asked; leval:NAME and zeroscrolls:NAME can be typed"));
    layout.addRow(QStringLiteral("Task"), m_task);
    m_data = textField(form, QStringLiteral("Data"), {});
    m_browse = new QToolButton(form);
    m_browse->setText(QStringLiteral("…"));
    m_browse->setAccessibleName(QStringLiteral("Look for the data"));
    m_browse->setToolTip(QStringLiteral("Choose a file or a folder"));
    m_browse->setPopupMode(QToolButton::InstantPopup);
    m_browse->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_browse);
    connect(menu->addAction(QStringLiteral("File or archive…")), &QAction::triggered, this,
            [this] { Q_EMIT browseRequested(false); });
    connect(menu->addAction(QStringLiteral("Folder…")), &QAction::triggered, this,
            [this] { Q_EMIT browseRequested(true); });
    m_browse->setMenu(menu);
    auto* row = new QHBoxLayout;
    row->setSpacing(2);
    row->addWidget(m_data, 1);
    row->addWidget(m_browse);
    layout.addRow(QStringLiteral("Data"), row);
    m_positions = textField(form, QStringLiteral("Positions"), {});
    layout.addRow(QStringLiteral("Positions"), m_positions);
    m_size = countField(form, QStringLiteral("Pairs"), 0, 10'000, {});
    m_sizeLabel->setBuddy(m_size);
    layout.addRow(m_sizeLabel, m_size);
    m_chat = openChoiceField(
        form, QStringLiteral("Chat preset"),
        QStringLiteral("The conversation that the prompt is put into, as the model's family writes it"));
    layout.addRow(QStringLiteral("Chat"), m_chat);
    m_score = openChoiceField(form, QStringLiteral("Score"), scoreTip);
    layout.addRow(QStringLiteral("Score"), m_score);
    m_chat->lineEdit()->setPlaceholderText(QStringLiteral("none"));
    m_score->lineEdit()->setPlaceholderText(scoreNone);

    connect(m_task, &QComboBox::currentTextChanged, this, [this] { edited(Task); });
    connect(m_data, &QLineEdit::textChanged, this, [this] { edited(Data); });
    connect(m_positions, &QLineEdit::textChanged, this, [this] { edited(Positions); });
    connect(m_chat, &QComboBox::currentTextChanged, this, [this] { edited(Chat); });
    connect(m_score, &QComboBox::currentTextChanged, this, [this] { edited(Score); });
    connect(m_size, &QSpinBox::valueChanged, this, &TaskFields::keepSize);
    setChoices({m_form.task}, {}, {});
    setForm(m_form);
}

void TaskFields::setChoices(const QStringList& tasks, const QStringList& chats, const QStringList& scores) {
    m_filling = true;
    for (const auto& [box, names] :
         {std::pair{m_task, &tasks}, std::pair{m_chat, &chats}, std::pair{m_score, &scores}}) {
        widgets::setChoices(*box, *names);
    }
    m_filling = false;
}

void TaskFields::setCheck(Check check) {
    m_check = std::move(check);
    this->check();
}

void TaskFields::setForm(const TaskForm& form) {
    m_filling = true;
    m_form = form;
    m_task->setCurrentText(form.task);
    m_data->setText(form.data);
    m_positions->setEnabled(traits().moves);
    m_positions->setText(traits().moves ? form.positions : QString());
    m_chat->setCurrentText(form.chat);
    m_score->setCurrentText(form.score);
    m_refusals.fill({});
    m_filling = false;
    showTraits();
    check();
}

TaskForm TaskFields::form() const {
    TaskForm form = m_form;
    form.task = textOf(Task);
    form.data = textOf(Data);
    if (traits().moves) form.positions = textOf(Positions);
    form.chat = textOf(Chat);
    form.score = textOf(Score);
    return form;
}

void TaskFields::setData(const QString& path) {
    m_data->setText(path);
}

TaskTraits TaskFields::traits() const {
    return traitsOf(textOf(Task), !textOf(Data).isEmpty());
}

QString TaskFields::textOf(Field field) const {
    const auto* box = qobject_cast<QComboBox*>(widgetOf(field));
    const auto* line = qobject_cast<QLineEdit*>(widgetOf(field));
    return (box ? box->currentText() : line->text()).trimmed();
}

QWidget* TaskFields::widgetOf(Field field) const {
    QWidget* const widgets[] = {m_task, m_data, m_positions, m_chat, m_score};
    return widgets[field];
}

void TaskFields::edited(Field field) {
    if (m_filling) return;
    m_refusals[field].clear();
    // What was wrong with the data is another matter for another task.
    if (field == Task) m_refusals.fill({});
    if (field == Data && traits().size == Size::Pairs) {
        // A file has its own number of pairs, which is what one wants to begin with.
        const bool withData = !textOf(Data).isEmpty();
        if (withData && !std::exchange(m_withData, true)) m_form.pairs = 0;
        if (!withData && std::exchange(m_withData, false) && m_form.pairs < 2) m_form.pairs = TaskForm{}.pairs;
    }
    if (field == Task || field == Data) showTraits();
    check();
}

void TaskFields::showTraits() {
    const TaskTraits own = traits();
    const QString task = textOf(Task);
    m_withData = !textOf(Data).isEmpty();
    m_data->setPlaceholderText(own.needsData ? QStringLiteral("needed: a file or folder")
                                             : QStringLiteral("none: generated"));
    m_positions->setPlaceholderText(own.moves ? QStringLiteral("begin,middle,end") : QStringLiteral("as given"));
    // What stands in a field counts: positions that do not are kept aside until a task has some again.
    if (m_positions->isEnabled() != own.moves) {
        const bool before = std::exchange(m_filling, true);
        if (!own.moves) m_form.positions = textOf(Positions);
        m_positions->setText(own.moves ? m_form.positions : QString());
        m_filling = before;
    }
    showSize();
    setLocked(m_locked);
}

void TaskFields::showSize() {
    const bool before = std::exchange(m_filling, true);
    const Size size = traits().size;
    const SizeField field = sizeField(size, textOf(Task), m_withData);
    m_sizeLabel->setText(field.label);
    m_size->setAccessibleName(field.label);
    m_size->setRange(field.none.isEmpty() ? field.low : field.low - 1, field.high);
    m_size->setSpecialValueText(size == Size::None ? QStringLiteral("as given") : field.none);
    QString tip = field.tip;
    if (size != Size::None) {
        tip += QString(QStringLiteral(" (") % QString::number(field.low) % QStringLiteral(" to ") %
                       QString::number(field.high) % QLatin1Char(')'));
    }
    m_size->setToolTip(tip);
    switch (size) {
        case Size::Pairs:
            m_size->setValue(m_form.pairs);
            break;
        case Size::Documents:
            m_size->setValue(m_form.documents);
            break;
        case Size::Length:
            m_size->setValue(m_form.length);
            break;
        case Size::Shots:
            m_size->setValue(m_form.shots);
            break;
        case Size::None:
            break;
    }
    m_filling = before;
}

void TaskFields::keepSize(int value) {
    if (m_filling) return;
    switch (traits().size) {
        case Size::Pairs:
            m_form.pairs = value;
            break;
        case Size::Documents:
            m_form.documents = value;
            break;
        case Size::Length:
            m_form.length = value;
            break;
        case Size::Shots:
            m_form.shots = value;
            break;
        case Size::None:
            break;
    }
    Q_EMIT changed();
}

void TaskFields::setLocked(bool locked) {
    m_locked = locked;
    const TaskTraits own = traits();
    for (QComboBox* box : {m_task, m_chat, m_score}) lockChoice(*box, locked);
    m_data->setReadOnly(locked);
    m_browse->setEnabled(!locked);
    m_positions->setReadOnly(locked);
    m_positions->setEnabled(own.moves);
    m_size->setEnabled(own.size != Size::None);
    lockCount(*m_size, locked);
}

void TaskFields::setNext(QWidget* next) {
    QWidget::setTabOrder(m_score, next);
}

void TaskFields::check() {
    const TaskTraits own = traits();
    for (int i = 0; i < kFields; ++i) {
        const auto field = static_cast<Field>(i);
        QString& problem = m_problems[static_cast<std::size_t>(i)];
        const QString words = textOf(field);
        problem.clear();
        if (field == Task && words.isEmpty()) problem = QStringLiteral("Name a task, such as kv.");
        if (field == Data && own.needsData && words.isEmpty()) {
            problem = QString(QStringLiteral("Name the data of ") % textOf(Task) %
                              QStringLiteral(": a file, a folder or an archive."));
        }
        if (!problem.isEmpty() || words.isEmpty() || !m_check || (field == Positions && !own.moves)) continue;
        if (const QString why = m_check(field, words); !why.isEmpty()) {
            problem =
                QString(QStringLiteral("Correct the ") % nameOf(field) % QStringLiteral(": ") % why % QLatin1Char('.'));
        }
    }
    const QString movesNot = QString(QStringLiteral("The evidence of ") % textOf(Task) %
                                     QStringLiteral(" stands where its data has it and cannot be moved"));
    m_positions->setProperty("tip", own.moves
                                        ? QStringLiteral("Where the evidence stands: begin,middle,end, percentages "
                                                         "(0,25,50,75,100), every:10, or places (#0,#4)")
                                        : movesNot);
    m_data->setProperty("tip", own.needsData
                                   ? QStringLiteral("The official file, folder or archive; it is only read")
                                   : QStringLiteral("A file of the benchmark, or of the text to hide needles in; "
                                                    "without one the items are generated"));
    for (int i = 0; i < kFields; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const QString& why = m_problems[at].isEmpty() ? m_refusals[at] : m_problems[at];
        // Data that is still to be named is no mistake yet: the reason stands below, without a frame.
        const bool mild = i == Data && textOf(Data).isEmpty();
        refuseField(*widgetOf(static_cast<Field>(i)), why, !mild);
    }
    Q_EMIT changed();
}

QString TaskFields::problem() const {
    for (const QString& problem : m_problems) {
        if (!problem.isEmpty()) return problem;
    }
    return {};
}

void TaskFields::refuse(Field field, const QString& why) {
    m_refusals[field] = why;
    check();
}

QString TaskFields::refusal(Field field) const {
    return m_refusals[field];
}

}  // namespace lpes::widgets
