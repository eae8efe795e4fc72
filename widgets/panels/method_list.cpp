#include "widgets/panels/method_list.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>

#include "core/rope/method_spec.h"
#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

QString reasonOf(const QStringList& spellings) {
    const auto read = rope::parseMethods(spellings.join(QLatin1Char(';')).toStdString());
    if (read) return {};
    QString words = QString::fromStdString(read.error().message);
    if (!words.isEmpty()) words[0] = words[0].toUpper();
    return words;
}

QToolButton* smallButton(QWidget* parent, const QString& tip) {
    auto* button = new QToolButton(parent);
    button->setAutoRaise(true);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

}  // namespace

MethodListEdit::MethodListEdit(QWidget* parent)
    : QWidget(parent), m_rowsLayout(new QVBoxLayout), m_add(new QPushButton(QStringLiteral("&Add a method"), this)) {
    setAccessibleName(QStringLiteral("Methods"));
    auto* caption = new QLabel(QStringLiteral("Methods: the others are compared with the first"), this);
    caption->setWordWrap(true);
    m_rowsLayout->setSpacing(2);
    m_add->setAutoDefault(false);
    m_add->setToolTip(QStringLiteral("One more method: the model as it is, a profile, or a rival"));
    m_add->setAccessibleName(QStringLiteral("Add a method"));
    makeMenu();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(caption);
    column->addLayout(m_rowsLayout);
    column->addWidget(m_add, 0, Qt::AlignLeft);
}

void MethodListEdit::makeMenu() {
    auto* menu = new QMenu(m_add);
    menu->setToolTipsVisible(true);
    const auto method = [&](const QString& words, const QString& spelling) {
        connect(menu->addAction(words), &QAction::triggered, this, [this, spelling] { addMethod(spelling); });
    };
    const auto wish = [&](const QString& words, const QString& tip, void (MethodListEdit::*signal)()) {
        QAction* action = menu->addAction(words);
        action->setToolTip(tip);
        connect(action, &QAction::triggered, this, signal);
    };
    method(QStringLiteral("&Baseline: the model as it is"), QStringLiteral("baseline"));
    wish(QStringLiteral("&Current curve, as LPES"),
         QStringLiteral("The curve of the editor as it is now, in a file of its own whose name is its content's"),
         &MethodListEdit::currentCurveRequested);
    wish(QStringLiteral("&Profile file…"), QStringLiteral("A profile that a search or an export wrote"),
         &MethodListEdit::profileFileRequested);
    menu->addSeparator();
    method(QStringLiteral("Position &interpolation, pi:1.5"), QStringLiteral("pi:1.5"));
    method(QStringLiteral("&NTK-aware base, ntk:2"), QStringLiteral("ntk:2"));
    method(QStringLiteral("&YaRN, yarn:2"), QStringLiteral("yarn:2"));
    method(QStringLiteral("&Ms-PoE"), QStringLiteral("ms-poe"));
    method(QStringLiteral("A&ttention Buckets"), QStringLiteral("attention-buckets"));
    wish(QStringLiteral("Mo&ICE with a router file…"), QStringLiteral("The trained routers of MoICE"),
         &MethodListEdit::routerFileRequested);
    menu->addSeparator();
    connect(menu->addAction(QStringLiteral("An &empty row, to write in")), &QAction::triggered, this, [this] {
        addRow({});
        check();
        m_rows.back().field->setFocus(Qt::OtherFocusReason);
    });
    m_add->setMenu(menu);
}

void MethodListEdit::setMethods(const QStringList& methods) {
    m_filling = true;
    while (!m_rows.empty()) removeRow(m_rows.back().frame);
    for (const QString& method : methods) addRow(method);
    m_filling = false;
    check();
}

QStringList MethodListEdit::methods() const {
    QStringList methods;
    for (const Row& row : m_rows) methods << row.field->text().trimmed();
    return methods;
}

void MethodListEdit::addMethod(const QString& spelling) {
    const auto empty =
        std::ranges::find_if(m_rows, [](const Row& row) { return row.field->text().trimmed().isEmpty(); });
    if (empty != m_rows.end()) {
        empty->field->setText(spelling);
    } else {
        addRow(spelling);
        check();
    }
}

void MethodListEdit::addRow(const QString& spelling) {
    Row row{};
    row.frame = new QWidget(this);
    row.number = new QLabel(row.frame);
    row.field = textField(row.frame, QStringLiteral("Method"),
                          QStringLiteral("A method as it is written, for example "
                                         "pi:1.5 or lpes:profile.json"));
    row.field->installEventFilter(this);
    row.up = smallButton(row.frame, QStringLiteral("Move up (Alt+Up)"));
    row.up->setArrowType(Qt::UpArrow);
    row.down = smallButton(row.frame, QStringLiteral("Move down (Alt+Down)"));
    row.down->setArrowType(Qt::DownArrow);
    row.remove = smallButton(row.frame, QStringLiteral("Remove"));
    row.remove->setText(QStringLiteral("×"));
    row.why = new QLabel(row.frame);
    row.why->setTextFormat(Qt::PlainText);
    row.why->setWordWrap(true);
    row.why->hide();
    auto* grid = new QGridLayout(row.frame);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(2);
    grid->setVerticalSpacing(1);
    grid->addWidget(row.number, 0, 0);
    grid->addWidget(row.field, 0, 1);
    grid->addWidget(row.up, 0, 2);
    grid->addWidget(row.down, 0, 3);
    grid->addWidget(row.remove, 0, 4);
    grid->addWidget(row.why, 1, 1, 1, 4);
    grid->setColumnStretch(1, 1);
    row.number->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("88 ")));
    QWidget* frame = row.frame;
    row.field->setText(spelling);
    row.field->setCursorPosition(0);
    connect(row.field, &QLineEdit::textChanged, this, &MethodListEdit::check);
    connect(row.field, &QLineEdit::editingFinished, this, [this, frame] { splitRow(frame); });
    connect(row.up, &QToolButton::clicked, this, [this, frame] { moveRow(frame, -1); });
    connect(row.down, &QToolButton::clicked, this, [this, frame] { moveRow(frame, 1); });
    connect(row.remove, &QToolButton::clicked, this, [this, frame] {
        removeRow(frame);
        check();
    });
    m_rowsLayout->addWidget(frame);
    m_rows.push_back(row);
}

std::size_t MethodListEdit::indexOf(const QWidget* frame) const {
    const auto it = std::ranges::find(m_rows, frame, &Row::frame);
    return static_cast<std::size_t>(it - m_rows.begin());
}

void MethodListEdit::removeRow(const QWidget* frame) {
    const std::size_t index = indexOf(frame);
    QWidget* gone = m_rows[index].frame;
    m_rows.erase(m_rows.begin() + static_cast<std::ptrdiff_t>(index));
    m_rowsLayout->removeWidget(gone);
    gone->hide();
    gone->deleteLater();  // its own button may have asked for it
}

void MethodListEdit::moveRow(const QWidget* frame, int by) {
    const auto index = static_cast<int>(indexOf(frame));
    const int to = index + by;
    if (m_locked || to < 0 || to >= static_cast<int>(m_rows.size())) return;
    std::swap(m_rows[static_cast<std::size_t>(index)], m_rows[static_cast<std::size_t>(to)]);
    QWidget* moved = m_rows[static_cast<std::size_t>(to)].frame;
    m_rowsLayout->removeWidget(moved);
    m_rowsLayout->insertWidget(to, moved);
    // The Tab key follows what is seen.
    QWidget* before = nullptr;
    for (const Row& row : m_rows) {
        for (QWidget* next : std::initializer_list<QWidget*>{row.field, row.up, row.down, row.remove}) {
            if (before) setTabOrder(before, next);
            before = next;
        }
    }
    setTabOrder(before, m_add);
    check();
}

void MethodListEdit::splitRow(const QWidget* frame) {
    const std::size_t index = indexOf(frame);
    if (index >= m_rows.size()) return;
    QStringList parts = m_rows[index].field->text().split(QLatin1Char(';'), Qt::SkipEmptyParts);
    if (parts.size() < 2) return;
    QStringList all = methods();
    all.removeAt(static_cast<qsizetype>(index));
    for (qsizetype i = 0; i < parts.size(); ++i) all.insert(static_cast<qsizetype>(index) + i, parts[i].trimmed());
    // From the event loop: the field that is still telling of its end goes with its row.
    QMetaObject::invokeMethod(
        this, [this, all] { setMethods(all); }, Qt::QueuedConnection);
}

void MethodListEdit::check() {
    if (m_filling) return;
    const QStringList spellings = methods();
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        const QString& spelling = spellings[static_cast<qsizetype>(i)];
        row.problem = spelling.isEmpty() ? QStringLiteral("Write a method, for example pi:1.5, or remove the row.")
                                         : reasonOf({spelling});
        for (std::size_t j = 0; j < i && row.problem.isEmpty(); ++j) {
            if (m_rows[j].problem.isEmpty()) row.problem = reasonOf({spellings[static_cast<qsizetype>(j)], spelling});
        }
        const QString place = QString::number(i + 1);
        row.field->setAccessibleName(QString(QStringLiteral("Method ") % place));
        row.up->setAccessibleName(QString(QStringLiteral("Move method ") % place % QStringLiteral(" up")));
        row.down->setAccessibleName(QString(QStringLiteral("Move method ") % place % QStringLiteral(" down")));
        row.remove->setAccessibleName(QString(QStringLiteral("Remove method ") % place));
        QFont font = this->font();
        font.setBold(i == 0);
        row.number->setFont(font);
        row.number->setText(place);
        row.number->setToolTip(i == 0 ? QStringLiteral("What the others are compared with") : QString());
        refuseText(*row.field, row.problem);
        // A path is longer than its field.
        if (row.problem.isEmpty() && !spelling.isEmpty()) row.field->setToolTip(spelling);
        QPalette colors = palette();
        colors.setColor(QPalette::WindowText, semanticColor(palette(), Meaning::Error));
        row.why->setPalette(colors);
        row.why->setText(row.problem);
        row.why->setVisible(!row.problem.isEmpty());
        row.field->setReadOnly(m_locked);
        row.up->setEnabled(!m_locked && i > 0);
        row.down->setEnabled(!m_locked && i + 1 < m_rows.size());
        row.remove->setEnabled(!m_locked);
    }
    m_add->setEnabled(!m_locked);
    Q_EMIT changed();
}

void MethodListEdit::setLocked(bool locked) {
    if (std::exchange(m_locked, locked) != locked) check();
}

QString MethodListEdit::problem() const {
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (!m_rows[i].problem.isEmpty()) {
            return QString(QStringLiteral("Correct method ") % QString::number(i + 1) % QStringLiteral(": ") %
                           m_rows[i].problem);
        }
    }
    if (m_rows.size() < 2) return QStringLiteral("Add a second method: the others are compared with the first.");
    return {};
}

bool MethodListEdit::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool alt = key->modifiers().testFlag(Qt::AltModifier);
        if (alt && (key->key() == Qt::Key_Up || key->key() == Qt::Key_Down)) {
            auto* field = qobject_cast<QWidget*>(watched);
            moveRow(field->parentWidget(), key->key() == Qt::Key_Up ? -1 : 1);
            field->setFocus(Qt::OtherFocusReason);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace lpes::widgets
