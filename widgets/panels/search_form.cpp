#include "widgets/panels/search_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <utility>

#include "widgets/common/form_fields.h"
#include "widgets/common/number_field.h"

namespace lpes::widgets {
namespace {

constexpr double kLongestMinutes = 60.0 * 24.0 * 365.0;

QString minutesText(const std::optional<double>& minutes) {
    return minutes ? QString::number(*minutes, 'g', 6) : QString();
}

/// By SearchText.
std::array<QString, 4> textsOf(const SearchForm& form) {
    return {form.guardrailLimit, form.objectives, form.racing, form.target};
}

}  // namespace

SearchFormEdit::SearchFormEdit(QWidget* parent)
    : QWidget(parent),
      m_layout(new QFormLayout),
      m_device(choiceField(this, QStringLiteral("Device"), QStringLiteral("Where the model runs during the search"))) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(6, 6, 6, 6);
    column->addLayout(m_layout);
    column->addStretch();
    m_layout->setHorizontalSpacing(8);
    m_layout->setVerticalSpacing(4);
    m_layout->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);

    m_task = new TaskFields(this, *m_layout,
                            QStringLiteral("What the search makes as high as it can: the likelihood of "
                                           "the answer (nll), the share of right answers (strict, "
                                           "generate, choice), or both (blend:0.2)"),
                            QStringLiteral("nll"));
    connect(m_task, &TaskFields::changed, this, &SearchFormEdit::problemChanged);
    m_host =
        entry(QStringLiteral("Run on"), QStringLiteral("Run on"),
              QStringLiteral("A machine that ssh reaches, as user@machine, where lpes is installed and the model is "
                             "under the same name; empty: this one"));
    m_host->setPlaceholderText(QStringLiteral("this machine"));
    m_task->setNext(m_host);
    m_layout->addRow(QStringLiteral("Device"), m_device);
    m_optimizer = choiceField(this, QStringLiteral("Optimizer"),
                              QStringLiteral("Where candidates come from: bred (genetic), descents along the slope of "
                                             "the answers' likelihood (gradient), cma-es, or random curves"));
    m_layout->addRow(QStringLiteral("Optimizer"), m_optimizer);
    setTabOrder(m_host, m_device);
    setTabOrder(m_device, m_optimizer);
    number(QStringLiteral("Population"), 4, 10'000, &SearchForm::population,
           QStringLiteral("Candidates in each generation"));
    number(QStringLiteral("Generations"), 0, 10'000, &SearchForm::generations,
           QStringLiteral("Generations bred after the first population"));
    number(
        QStringLiteral("Refine best"), 0, 10'000, &SearchForm::refined,
        QStringLiteral("Genetic search: so many of the best go on along the slope of the answers' likelihood in every "
                       "generation; a step costs as much as some candidates"));
    number(QStringLiteral("Search items"), 1, 1'000'000, &SearchForm::searchItems,
           QStringLiteral("Prompts on which candidates are compared"));
    number(QStringLiteral("Selection items"), 1, 1'000'000, &SearchForm::selectItems,
           QStringLiteral("Other prompts, on which the winner is chosen among the best"));
    number(QStringLiteral("Report items"), 2, 1'000'000, &SearchForm::reportItems,
           QStringLiteral("Prompts held out until the end, on which the gain is reported"));
    m_seed = entry(QStringLiteral("Seed"), QStringLiteral("Seed"),
                   QStringLiteral("The same seed and settings give the same search"));
    m_time = entry(QStringLiteral("Time limit"), QStringLiteral("Time limit in minutes"),
                   QStringLiteral("Minutes after which the search ends with what it has; empty: no limit"));
    m_time->setPlaceholderText(QStringLiteral("none (minutes)"));
    addFolded();
    connect(m_seed, &QLineEdit::textChanged, this, &SearchFormEdit::checkSeed);
    connect(m_time, &QLineEdit::textChanged, this, &SearchFormEdit::checkTime);
    setDevices({m_form.device});
    setOptimizers({m_form.optimizer});
    setForm(m_form);
}

void SearchFormEdit::number(const QString& label, int low, int high, int SearchForm::*value, const QString& tip) {
    QSpinBox* box = countField(this, label, low, high, tip);
    m_layout->addRow(label, box);
    m_numbers.push_back({box, value});
}

void SearchFormEdit::addFolded() {
    m_more = new QToolButton(this);
    m_more->setAccessibleName(QStringLiteral("More settings"));
    m_more->setToolTip(QStringLiteral("Short contexts that must not suffer, several objectives, races, a target"));
    m_more->setCheckable(true);
    m_more->setAutoRaise(true);
    m_more->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_more->setFocusPolicy(Qt::StrongFocus);
    m_more->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);  // the whole row is the button
    m_layout->addRow(m_more);
    m_guardrailLimit =
        entry(QStringLiteral("Guardrail limit"), QStringLiteral("Guardrail limit in percent"),
              QStringLiteral("A candidate that worsens short-context perplexity by more than this percentage loses to "
                             "every one that does not, and is asked no item; empty: no limit"));
    m_guardrailLimit->setPlaceholderText(QStringLiteral("none (percent)"));
    m_objectives = openChoiceField(
        this, QStringLiteral("Objectives"),
        QStringLiteral(
            "Several objectives at once, with the genetic optimizer: two or three of middle, ends (scores by "
            "where the evidence stands) and short (likelihood of short texts); ends in a front to choose "
            "from; empty: one fitness"));
    m_objectives->lineEdit()->setPlaceholderText(QStringLiteral("one fitness"));
    m_layout->addRow(QStringLiteral("Objectives"), m_objectives);
    m_racing =
        entry(QStringLiteral("Racing"), QStringLiteral("Racing"),
              QStringLiteral("Gives a candidate up after a quarter or half of the search items when it lies behind the "
                             "last that would be kept, wrongly with this probability at most, as 0.05; empty: never"));
    m_racing->setPlaceholderText(QStringLiteral("never"));
    m_target = entry(QStringLiteral("Target"), QStringLiteral("Target fitness"),
                     QStringLiteral("Fitness on the search items at which the search ends, once the best of a whole "
                                    "generation has it; empty: none"));
    m_target->setPlaceholderText(QStringLiteral("none (fitness)"));
    // Not toggled: what unfolds by itself is not to move the form under the user's hands.
    connect(m_more, &QToolButton::clicked, this, [this](bool open) {
        fold(!open);
        if (open) Q_EMIT unfolded();
    });
    for (QLineEdit* field : {m_guardrailLimit, m_racing, m_target}) {
        connect(field, &QLineEdit::textChanged, this, &SearchFormEdit::checkTexts);
    }
    for (QComboBox* field : {m_objectives, m_optimizer}) {
        connect(field, &QComboBox::currentTextChanged, this, &SearchFormEdit::checkTexts);
    }
    for (const Number& number : m_numbers) {
        connect(number.box, &QSpinBox::valueChanged, this, &SearchFormEdit::checkTexts);
    }
    fold(true);
}

std::array<QWidget*, 4> SearchFormEdit::folded() const {
    return {m_guardrailLimit, m_objectives, m_racing, m_target};
}

void SearchFormEdit::fold(bool away) {
    m_more->setChecked(!away);
    m_more->setArrowType(away ? Qt::RightArrow : Qt::DownArrow);
    for (QWidget* field : folded()) m_layout->setRowVisible(field, !away);
}

QLineEdit* SearchFormEdit::entry(const QString& label, const QString& name, const QString& tip) {
    QLineEdit* field = textField(this, name, tip);
    m_layout->addRow(label, field);
    return field;
}

void SearchFormEdit::setDevices(const QStringList& devices) {
    setChoices(*m_device, devices);
}

void SearchFormEdit::setOptimizers(const QStringList& names) {
    setChoices(*m_optimizer, names);
}

void SearchFormEdit::setObjectives(const QStringList& lists) {
    setChoices(*m_objectives, lists);
}

void SearchFormEdit::setCheck(SearchCheck check) {
    m_check = std::move(check);
    checkTexts();
}

void SearchFormEdit::setUse(SearchUse use) {
    m_use = std::move(use);
    checkTexts();
}

void SearchFormEdit::setForm(const SearchForm& form) {
    m_filling = true;  // what is valid together must not be judged in part
    m_form = form;
    m_task->setForm(form.task);
    m_host->setText(form.host);
    choose(*m_device, form.device);
    choose(*m_optimizer, form.optimizer);
    for (const Number& number : m_numbers) number.box->setValue(form.*number.value);
    m_seed->setText(QString::number(form.seed));
    m_time->setText(minutesText(form.timeLimitMinutes));
    m_guardrailLimit->setText(form.guardrailLimit);
    m_objectives->setCurrentText(form.objectives);
    m_racing->setText(form.racing);
    m_target->setText(form.target);
    m_filling = false;
    const auto texts = textsOf(form);
    fold(std::ranges::all_of(texts, &QString::isEmpty));
    checkTexts();
}

SearchForm SearchFormEdit::form() const {
    SearchForm form = m_form;
    form.task = m_task->form();
    form.host = m_host->text().trimmed();
    form.device = m_device->currentText();
    form.optimizer = m_optimizer->currentText();
    for (const Number& number : m_numbers) form.*number.value = number.box->value();
    form.guardrailLimit = m_guardrailLimit->text().trimmed();
    form.objectives = m_objectives->currentText().trimmed();
    form.racing = m_racing->text().trimmed();
    form.target = m_target->text().trimmed();
    return form;
}

void SearchFormEdit::setLocked(bool locked) {
    // Not disabled: what is running should stay readable, and be reached by keyboard and screen reader.
    for (const Number& number : m_numbers) lockCount(*number.box, locked);
    m_host->setReadOnly(locked);
    m_seed->setReadOnly(locked);
    m_time->setReadOnly(locked);
    m_guardrailLimit->setReadOnly(locked);
    m_racing->setReadOnly(locked);
    m_target->setReadOnly(locked);
    m_task->setLocked(locked);
    for (QComboBox* choice : {m_device, m_optimizer, m_objectives}) lockChoice(*choice, locked);
}

QString SearchFormEdit::problem() const {
    if (const QString why = m_task->problem(); !why.isEmpty()) return why;
    if (!m_seedProblem.isEmpty()) return m_seedProblem;
    if (!m_timeProblem.isEmpty()) return m_timeProblem;
    const auto refused = std::ranges::find_if_not(m_textProblems, &QString::isEmpty);
    return refused == m_textProblems.end() ? QString() : *refused;
}

void SearchFormEdit::checkSeed() {
    const std::optional<std::uint64_t> seed = parseSeed(m_seed->text());
    m_seedProblem =
        seed ? QString()
             : QStringLiteral("Correct the seed: a whole number from 0 to 18446744073709551615 is expected.");
    if (seed) m_form.seed = *seed;
    refuse(m_seed, m_seedProblem);
}

void SearchFormEdit::checkTime() {
    const QString words = m_time->text().trimmed();
    const std::optional<double> minutes = words.isEmpty() ? std::nullopt : parseNumber(words);
    const bool ok = words.isEmpty() || (minutes && *minutes > 0.0 && *minutes <= kLongestMinutes);
    m_timeProblem =
        ok ? QString()
           : QStringLiteral("Correct the time limit: minutes above 0 are expected, or nothing for no limit.");
    if (ok) m_form.timeLimitMinutes = minutes;
    refuse(m_time, m_timeProblem);
}

void SearchFormEdit::checkTexts() {
    if (m_filling) return;
    const QString names[] = {QStringLiteral("guardrail limit"), QStringLiteral("objectives"), QStringLiteral("racing"),
                             QStringLiteral("target")};
    const SearchForm now = form();
    showUse(now);
    const auto texts = textsOf(now);
    const auto fields = folded();
    int inUse = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        QString& problem = m_textProblems[i];
        problem.clear();
        if (!texts[i].isEmpty()) {
            ++inUse;
            const QString why = m_check ? m_check(static_cast<SearchText>(i), now) : QString();
            if (!why.isEmpty()) {
                problem =
                    QString(QStringLiteral("Correct the ") % names[i] % QStringLiteral(": ") % why % QLatin1Char('.'));
            }
        }
        refuseField(*fields[i], problem, true);
        // What stands in the way is not hidden.
        if (!problem.isEmpty() && !m_more->isChecked()) fold(false);
    }
    // Folded away, what is in use is still told.
    m_more->setText(
        inUse == 0 ? QStringLiteral("More settings")
                   : QString(QStringLiteral("More settings · ") % QString::number(inUse) % QStringLiteral(" in use")));
    Q_EMIT problemChanged();
}

void SearchFormEdit::showUse(const SearchForm& now) {
    if (!m_use) return;
    for (const auto& [number, value] : {std::pair(SearchNumber::Population, &SearchForm::population),
                                        {SearchNumber::Refined, &SearchForm::refined}}) {
        showUnused(*std::ranges::find(m_numbers, value, &Number::value)->box, m_use(number, now));
    }
}

QString SearchFormEdit::notice() const {
    return problem().isEmpty() ? m_task->refusal(TaskFields::Data) : problem();
}

void SearchFormEdit::refuse(QLineEdit* field, const QString& why) {
    refuseText(*field, why);
    Q_EMIT problemChanged();
}

}  // namespace lpes::widgets
