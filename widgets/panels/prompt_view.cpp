#include "widgets/panels/prompt_view.h"

#include <QAbstractItemView>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QFontDatabase>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QSplitter>
#include <QTextBlock>
#include <QVBoxLayout>
#include <limits>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

constexpr qsizetype kHashDigits = 16;

QString counted(std::int64_t number) {
    return QLocale::c().toString(static_cast<qlonglong>(number));
}

QPushButton* button(QWidget* parent, const QString& words, const QString& tip) {
    auto* made = new QPushButton(words, parent);
    made->setAccessibleName(words);
    made->setToolTip(tip);
    made->setAutoDefault(false);
    return made;
}

/// As it is drawn: a carriage return and the like would shift every place behind it, or not be seen at all.
QString drawable(QString text) {
    text.replace(QLatin1Char('\r'), QChar(0x240D));
    text.replace(QChar(QChar::ParagraphSeparator), QChar(0x2424));
    text.replace(QChar(QChar::Null), QChar(0x2400));
    return text;
}

/// Line ends are seen as what they are.
QString quoted(const QString& text) {
    return QString(QStringLiteral("“") % QString(text).replace(QLatin1Char('\n'), QStringLiteral("⏎")) %
                   QStringLiteral("”"));
}

QString listed(const QStringList& texts) {
    QStringList out;
    for (const QString& text : texts) out << quoted(text);
    return out.join(QStringLiteral(" · "));
}

}  // namespace

PromptView::PromptView(QWidget* parent)
    : QWidget(parent),
      m_source(choiceField(this, QStringLiteral("Items of"), QStringLiteral("Whose items are shown"))),
      m_position(choiceField(this, QStringLiteral("Position"), QStringLiteral("Where the evidence stands"))),
      m_number(countField(this, QStringLiteral("Item"), 0, 0, QStringLiteral("Number of the item, from 0"))),
      m_id(textField(this, QStringLiteral("Id of the item"),
                     QStringLiteral("The item's id in its data set; type another and press Enter"))),
      m_message(wordyLabel(this, QStringLiteral("State of the prompt"))),
      m_counts(wordyLabel(this, QStringLiteral("Tokens of the prompt"))),
      m_text(new QPlainTextEdit(this)),
      m_details(new QFormLayout),
      m_copy(button(this, QStringLiteral("Copy prompt"), QStringLiteral("The exact text, to the last character"))),
      m_jump(button(this, QStringLiteral("Go to evidence"), QStringLiteral("Scrolls to what the answer stands in"))) {
    setAccessibleName(QStringLiteral("Prompt"));
    m_source->setMinimumContentsLength(12);
    m_source->view()->setAccessibleName(QStringLiteral("Forms"));
    m_text->setReadOnly(true);
    m_text->setAccessibleName(QStringLiteral("Text of the prompt"));
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_text->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    m_text->setTabChangesFocus(true);
    m_text->setUndoRedoEnabled(false);

    auto* details = new QWidget(this);
    details->setLayout(m_details);
    m_details->setContentsMargins(8, 4, 8, 4);
    m_details->setVerticalSpacing(3);
    m_details->setRowWrapPolicy(QFormLayout::DontWrapRows);
    m_answer = fact(*m_details, QStringLiteral("Scored answer"));
    m_references = fact(*m_details, QStringLiteral("References"));
    m_choices = fact(*m_details, QStringLiteral("Choices"));
    m_evidence = fact(*m_details, QStringLiteral("Evidence"));
    m_template = fact(*m_details, QStringLiteral("Template"));
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(details);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setAccessibleName(QStringLiteral("What belongs to the prompt"));
    auto* parts = new QSplitter(Qt::Vertical, this);
    parts->addWidget(m_text);
    parts->addWidget(scroll);
    parts->setChildrenCollapsible(false);
    parts->setStretchFactor(0, 1);
    parts->setSizes({500, 170});

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(makeChoices());
    for (QLabel* line : {m_counts, m_message}) {
        line->setContentsMargins(8, 0, 8, 0);
        column->addWidget(line);
    }
    column->addWidget(parts, 1);

    connect(m_source, &QComboBox::activated, this, &PromptView::sourceChosen);
    connect(m_number, &QSpinBox::valueChanged, this, [this](int number) { Q_EMIT numberChosen(number); });
    connect(m_id, &QLineEdit::returnPressed, this, [this] {
        if (!m_id->text().trimmed().isEmpty()) Q_EMIT idChosen(m_id->text().trimmed());
    });
    connect(m_position, &QComboBox::activated, this, [this] { Q_EMIT positionChosen(m_position->currentText()); });
    connect(m_copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_facts.text); });
    connect(m_jump, &QPushButton::clicked, this, &PromptView::goToEvidence);
    setEmpty(QStringLiteral("Open a model first."));
}

QWidget* PromptView::makeChoices() {
    auto* bar = new QWidget(this);
    // Two lines, so that the smallest window has room for the words of all of them.
    auto* lines = new QVBoxLayout(bar);
    lines->setContentsMargins(8, 6, 8, 2);
    lines->setSpacing(4);
    QHBoxLayout* row = nullptr;
    const auto begin = [&] {
        row = new QHBoxLayout;
        row->setSpacing(6);
        lines->addLayout(row);
    };
    const auto add = [&](const QString& words, QWidget* field, int stretch) {
        auto* label = new QLabel(words, bar);
        label->setBuddy(field);
        row->addWidget(label);
        row->addWidget(field, stretch);
    };
    begin();
    add(QStringLiteral("Items of"), m_source, 2);
    add(QStringLiteral("Item"), m_number, 1);
    add(QStringLiteral("Id"), m_id, 3);
    begin();
    add(QStringLiteral("Position"), m_position, 1);
    row->addStretch(1);
    row->addWidget(m_jump);
    row->addWidget(m_copy);
    return bar;
}

QLabel* PromptView::fact(QFormLayout& layout, const QString& name) {
    QLabel* label = wordyLabel(this, name);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout.addRow(name, label);
    return label;
}

void PromptView::setSources(const QStringList& names) {
    m_source->clear();
    m_source->addItems(names);
}

int PromptView::source() const {
    return m_source->currentIndex();
}

void PromptView::setSource(int index) {
    m_source->setCurrentIndex(index);
}

void PromptView::setChoosable(bool choosable) {
    for (QWidget* field : std::initializer_list<QWidget*>{m_number, m_id, m_position}) field->setEnabled(choosable);
}

void PromptView::setFacts(const PromptFacts& facts) {
    const bool sameText = m_facts.text == facts.text && !m_facts.text.isEmpty();
    m_facts = facts;
    {
        const QSignalBlocker quiet(m_number);
        m_number->setRange(0,
                           static_cast<int>(std::min<std::int64_t>(facts.items - 1, std::numeric_limits<int>::max())));
        m_number->setToolTip(QString(QStringLiteral("Number of the item, 0 to ") % counted(facts.items - 1)));
        m_number->setValue(static_cast<int>(facts.number));
    }
    m_id->setText(facts.item);
    m_id->setCursorPosition(0);
    m_position->clear();
    m_position->addItems(facts.positions);
    m_position->setCurrentText(facts.position);
    setChoosable(true);
    m_position->setEnabled(facts.positions.size() > 1);
    if (!sameText) m_text->setPlainText(drawable(facts.text));
    markEvidence();
    m_counts->setText(QString(facts.data % QStringLiteral(" · item ") % counted(facts.number + 1) %
                              QStringLiteral(" of ") % counted(facts.items) % QStringLiteral(" · ") %
                              counted(facts.promptTokens) % QStringLiteral(" tokens of prompt and ") %
                              counted(facts.answerTokens) % QStringLiteral(" of the answer, context ") %
                              counted(facts.context)));
    say(facts.fits ? facts.note
                   : QString(QStringLiteral("Does not fit into the context of ") % counted(facts.context) %
                             QStringLiteral(" tokens: a run leaves this item out and counts it.")),
        !facts.fits);
    m_answer->setText(facts.answer.isEmpty() ? QStringLiteral("none: the data has no reference")
                                             : quoted(facts.answer));
    m_references->setText(QString(listed(facts.references) % QStringLiteral("  (") % facts.rule % QLatin1Char(')')));
    m_choices->setText(listed(facts.choices));
    m_details->setRowVisible(m_references, !facts.references.isEmpty());
    m_details->setRowVisible(m_choices, !facts.choices.isEmpty());
    m_evidence->setText(facts.spans.empty()
                            ? QStringLiteral("not marked in this data")
                            : QString(QStringLiteral("underlined in the text, tokens ") % facts.evidenceTokens));
    // A hash does not break over lines: its beginning tells templates apart, the whole of it is one hover away.
    m_template->setText(QString(QStringLiteral("SHA-256 ") % facts.templateHash.left(kHashDigits) % QChar(0x2026)));
    m_template->setToolTip(QString(facts.templateHash % QLatin1Char('\n') % facts.templateText));
    m_jump->setEnabled(!facts.spans.empty());
    m_copy->setEnabled(true);
}

void PromptView::markEvidence() {
    QList<QTextEdit::ExtraSelection> marks;
    for (const auto& [begin, end] : m_facts.spans) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(m_text->document());
        mark.cursor.setPosition(begin);
        mark.cursor.setPosition(end, QTextCursor::KeepAnchor);
        mark.format.setBackground(isDark(palette()) ? QColor(0x5c, 0x4a, 0x00) : QColor(0xff, 0xec, 0x99));
        mark.format.setForeground(palette().color(QPalette::Text));
        mark.format.setFontUnderline(true);
        marks << mark;
    }
    m_text->setExtraSelections(marks);
}

void PromptView::goToEvidence() {
    if (m_facts.spans.empty()) return;
    QTextCursor cursor(m_text->document());
    cursor.setPosition(m_facts.spans.front().first);
    m_text->setTextCursor(cursor);
    m_text->centerCursor();
    m_text->setFocus();
}

void PromptView::setBusy(bool busy) {
    if (busy) say(QStringLiteral("Making the prompt …"), false);
}

void PromptView::setError(const QString& sentence) {
    const PromptFacts before = m_facts;
    setEmpty(sentence);
    m_facts.number = before.number;
    setChoosable(true);
    say(sentence, true);
}

void PromptView::setEmpty(const QString& why) {
    m_facts = {};
    m_text->setExtraSelections({});
    m_text->clear();
    m_counts->clear();
    for (QLabel* label : {m_answer, m_references, m_choices, m_evidence, m_template}) label->clear();
    setChoosable(false);
    m_jump->setEnabled(false);
    m_copy->setEnabled(false);
    say(why, false);
}

QString PromptView::message() const {
    return m_message->text();
}

void PromptView::say(const QString& sentence, bool wrong) {
    m_wrong = wrong;
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText, semanticColor(colors, wrong ? Meaning::Error : Meaning::Muted));
    m_message->setPalette(colors);
    m_message->setText(sentence);
    m_message->setVisible(!sentence.isEmpty());
    m_counts->setVisible(!m_counts->text().isEmpty());
}

void PromptView::focusItem() {
    m_number->setFocus();
}

void PromptView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || !m_jump) return;
    markEvidence();
    say(m_message->text(), m_wrong);
}

void PromptView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    Q_EMIT shown();
}

}  // namespace lpes::widgets
