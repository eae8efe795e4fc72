#include "widgets/panels/search_form.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>
#include <QVBoxLayout>
#include <cmath>

#include "widgets/common/form_fields.h"
#include "widgets/common/number_field.h"

namespace lpes::widgets {
namespace {

constexpr double kLongestMinutes = 60.0 * 24.0 * 365.0;

QString minutesText(const std::optional<double>& minutes) {
    return minutes ? QString::number(*minutes, 'g', 6) : QString();
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

void SearchFormEdit::setForm(const SearchForm& form) {
    m_form = form;
    m_task->setForm(form.task);
    m_host->setText(form.host);
    choose(*m_device, form.device);
    choose(*m_optimizer, form.optimizer);
    for (const Number& number : m_numbers) number.box->setValue(form.*number.value);
    m_seed->setText(QString::number(form.seed));
    m_time->setText(minutesText(form.timeLimitMinutes));
}

SearchForm SearchFormEdit::form() const {
    SearchForm form = m_form;
    form.task = m_task->form();
    form.host = m_host->text().trimmed();
    form.device = m_device->currentText();
    form.optimizer = m_optimizer->currentText();
    for (const Number& number : m_numbers) form.*number.value = number.box->value();
    return form;
}

void SearchFormEdit::setLocked(bool locked) {
    // Not disabled: what is running should stay readable, and be reached by keyboard and screen reader.
    for (const Number& number : m_numbers) lockCount(*number.box, locked);
    m_host->setReadOnly(locked);
    m_seed->setReadOnly(locked);
    m_time->setReadOnly(locked);
    m_task->setLocked(locked);
    lockChoice(*m_device, locked);
    lockChoice(*m_optimizer, locked);
}

QString SearchFormEdit::problem() const {
    if (const QString why = m_task->problem(); !why.isEmpty()) return why;
    if (!m_seedProblem.isEmpty()) return m_seedProblem;
    return m_timeProblem;
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

QString SearchFormEdit::notice() const {
    return problem().isEmpty() ? m_task->refusal(TaskFields::Data) : problem();
}

void SearchFormEdit::refuse(QLineEdit* field, const QString& why) {
    refuseText(*field, why);
    Q_EMIT problemChanged();
}

}  // namespace lpes::widgets
