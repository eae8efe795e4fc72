#include "widgets/panels/compare_panel.h"

#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <array>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"
#include "widgets/panels/method_list.h"
#include "widgets/panels/progress_view.h"

namespace lpes::widgets {
namespace {

constexpr int kMargin = 4;

QLabel* notice(QWidget* parent, const QString& name) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAccessibleName(name);
    label->hide();
    return label;
}

QPushButton* command(QWidget* parent, const QString& words, const QString& name) {
    auto* button = new QPushButton(words, parent);
    button->setAccessibleName(name);
    button->setAutoDefault(false);
    return button;
}

}  // namespace

ComparePanel::ComparePanel(QWidget* parent)
    : QWidget(parent),
      m_methods(new MethodListEdit(this)),
      m_device(
          choiceField(this, QStringLiteral("Device"), QStringLiteral("Where the model runs during the comparison"))),
      m_items(countField(this, QStringLiteral("Items"), 2, 1'000'000,
                         QStringLiteral("Prompts that every method is asked at every position"))),
      m_itemSeed(textField(this, QStringLiteral("Item seed"),
                           QStringLiteral("Seed of the generated items. A profile that a search found is flattered by "
                                          "the items of that search: take another seed than the search's"))),
      m_start(command(this, QStringLiteral("Start"), QStringLiteral("Start the comparison"))),
      m_resume(command(this, QStringLiteral("Resume"), QStringLiteral("Resume the comparison"))),
      m_stop(command(this, QStringLiteral("Stop"), QStringLiteral("Stop the comparison"))),
      m_view(new ProgressView(QStringLiteral("comparison"), this)),
      m_why(notice(this, QStringLiteral("Why the comparison cannot start"))),
      m_error(notice(this, QStringLiteral("Error of the comparison"))) {
    setAccessibleName(QStringLiteral("Comparison"));
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(makeForm());
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setFocusPolicy(Qt::NoFocus);  // its fields have it, and it follows them
    scroll->setAccessibleName(QStringLiteral("Settings of the comparison"));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(4);
    for (QPushButton* button : {m_start, m_stop, m_resume}) buttons->addWidget(button);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    column->setSpacing(4);
    column->addWidget(scroll, 1);
    column->addWidget(m_why);
    column->addWidget(m_error);
    column->addLayout(buttons);
    column->addWidget(m_view);

    connect(m_start, &QPushButton::clicked, this, [this] { Q_EMIT startRequested(form()); });
    connect(m_resume, &QPushButton::clicked, this, [this] { Q_EMIT resumeRequested(m_resumable); });
    connect(m_stop, &QPushButton::clicked, this, &ComparePanel::stopRequested);
    connect(m_methods, &MethodListEdit::changed, this, [this] { refresh(); });
    connect(m_itemSeed, &QLineEdit::textChanged, this, &ComparePanel::checkSeed);
    setDevices({QStringLiteral("cpu")});
    setForm({{QStringLiteral("baseline")}, QStringLiteral("cpu"), {}, 40, 2});
    paintSigns();
    refresh();
}

QWidget* ComparePanel::makeForm() {
    auto* form = new QWidget(this);
    auto* column = new QVBoxLayout(form);
    column->setContentsMargins(2, 2, 2, 2);
    column->setSpacing(8);
    column->addWidget(m_methods);
    auto* fields = new QFormLayout;
    fields->setHorizontalSpacing(8);
    fields->setVerticalSpacing(4);
    fields->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    m_task = new TaskFields(form, *fields,
                            QStringLiteral("How an answer counts: strict, generate (the benchmark's own rule "
                                           "on generated text), choice, nll, or blend:0.2"),
                            QStringLiteral("the task's own"));
    connect(m_task, &TaskFields::changed, this, [this] {
        refresh();
        Q_EMIT taskChanged();
    });
    fields->addRow(QStringLiteral("Device"), m_device);
    fields->addRow(QStringLiteral("Items"), m_items);
    fields->addRow(QStringLiteral("Item seed"), m_itemSeed);
    // As they stand, not as they were made.
    m_task->setNext(m_device);
    const std::array<QWidget*, 6> order{m_device, m_items, m_itemSeed, m_start, m_stop, m_resume};
    for (std::size_t i = 1; i < order.size(); ++i) setTabOrder(order[i - 1], order[i]);
    column->addLayout(fields);
    column->addStretch();
    return form;
}

void ComparePanel::setDevices(const QStringList& devices) {
    setChoices(*m_device, devices);
}

void ComparePanel::setForm(const CompareForm& form) {
    m_methods->setMethods(form.methods);
    choose(*m_device, form.device);
    m_task->setForm(form.task);
    m_items->setValue(form.items);
    m_itemSeed->setText(QString::number(form.itemSeed));
}

CompareForm ComparePanel::form() const {
    return {m_methods->methods(), m_device->currentText(), m_task->form(), m_items->value(), m_seed};
}

QString ComparePanel::problem() const {
    if (const QString why = m_methods->problem(); !why.isEmpty()) return why;
    if (const QString why = m_task->problem(); !why.isEmpty()) return why;
    return m_task->traits().seeded ? m_seedProblem : QString();
}

void ComparePanel::checkSeed() {
    const std::optional<std::uint64_t> seed = parseSeed(m_itemSeed->text());
    if (seed) m_seed = *seed;
    m_seedProblem = seed ? QString()
                         : QStringLiteral(
                               "Correct the item seed: a whole number from 0 to 18446744073709551615 is "
                               "expected.");
    refresh();
}

void ComparePanel::setState(SearchState state) {
    m_state = state;
    refresh();
}

void ComparePanel::setObstacle(const QString& reason) {
    m_obstacle = reason;
    refresh();
}

void ComparePanel::setResumable(std::int64_t run) {
    m_resumable = run;
    refresh();
}

void ComparePanel::setProgress(const SearchProgress& progress) {
    m_progress = progress;
    m_view->display(m_state, m_progress);
}

void ComparePanel::setError(const QString& sentence) {
    m_error->setText(sentence);
    m_error->setVisible(!sentence.isEmpty());
}

void ComparePanel::refresh() {
    const bool idle = isAllowed(m_state, SearchCommand::Start);
    const QString wrong = problem();
    const QString reason = m_obstacle.isEmpty() ? wrong : m_obstacle;
    m_start->setEnabled(idle && reason.isEmpty());
    m_start->setToolTip(reason.isEmpty() ? QStringLiteral("Compare these methods on the same items") : reason);
    m_stop->setEnabled(isAllowed(m_state, SearchCommand::Stop));
    m_stop->setToolTip(QStringLiteral("End the comparison; everything done so far stays stored"));
    m_resume->setEnabled(idle && m_resumable != 0 && m_obstacle.isEmpty());
    QString tip = QStringLiteral("Go on with a comparison that was stopped: select it in the list of runs");
    if (m_resumable != 0) tip = QString(QStringLiteral("Go on with run ") % QString::number(m_resumable));
    m_resume->setToolTip(m_obstacle.isEmpty() ? tip : m_obstacle);
    // A wrong spelling says so at its field; what has no field says it here.
    const bool atField = wrong.startsWith(QStringLiteral("Correct method"));
    QString why = atField ? QString() : wrong;
    if (wrong.isEmpty()) why = m_task->refusal(TaskFields::Data);
    m_why->setText(idle ? why : QString());
    m_why->setVisible(!m_why->text().isEmpty());
    m_methods->setLocked(!idle);
    lockChoice(*m_device, !idle);
    m_task->setLocked(!idle);
    lockCount(*m_items, !idle);
    m_itemSeed->setReadOnly(!idle);
    const bool seeded = m_task->traits().seeded;
    m_itemSeed->setEnabled(seeded);
    refuseText(*m_itemSeed, seeded ? m_seedProblem : QString());
    if (!seeded) m_itemSeed->setToolTip(QStringLiteral("The items are those of the data; nothing is drawn"));
    m_view->display(m_state, m_progress);
}

void ComparePanel::paintSigns() {
    const std::pair<QPushButton*, Shape> signs[] = {
        {m_start, Shape::Play}, {m_stop, Shape::Stop}, {m_resume, Shape::Resume}};
    for (const auto& [button, shape] : signs) {
        button->setIcon(shapeIcon(shape, palette().color(QPalette::ButtonText),
                                  palette().color(QPalette::Disabled, QPalette::ButtonText)));
    }
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText, semanticColor(palette(), Meaning::Error));
    m_error->setPalette(colors);
    colors.setColor(QPalette::WindowText, semanticColor(palette(), Meaning::Muted));
    m_why->setPalette(colors);
}

void ComparePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_error) paintSigns();
}

}  // namespace lpes::widgets
