#include "app/controllers/search_controller.h"

#include <QAction>
#include <span>

#include "app/controllers/search_rules.h"
#include "app/controllers/task_forms.h"
#include "app/document.h"
#include "app/jobs/thread_context.h"
#include "core/base/clock.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/search_setup.h"

namespace lpes::app {

using widgets::SearchCommand;
using widgets::SearchForm;
using widgets::SearchNumber;
using widgets::SearchState;
using widgets::SearchText;

SearchController::SearchController(Document& document, widgets::SearchPanel& panel, QObject* parent)
    : QObject(parent),
      m_document(document),
      m_panel(panel),
      m_start(new QAction(tr("Start search"), this)),
      m_pause(new QAction(tr("Pause search"), this)),
      m_resume(new QAction(tr("Resume search"), this)),
      m_stop(new QAction(tr("Stop search"), this)) {
    m_start->setShortcut(QKeySequence(QStringLiteral("Ctrl+R")));
    m_pause->setShortcut(QKeySequence(QStringLiteral("Ctrl+P")));
    m_stop->setShortcut(QKeySequence(QStringLiteral("Ctrl+.")));
    m_pause->setToolTip(tr("Pause after the item in flight; nothing is lost"));
    m_stop->setToolTip(tr("Stop after the item in flight; the run can be resumed later"));
    QStringList devices;
    for (const std::string& device : model::availableDevices()) devices.push_back(QString::fromStdString(device));
    m_panel.setDevices(devices);
    QStringList optimizers;
    for (const auto kind : {search::OptimizerKind::Genetic, search::OptimizerKind::Gradient,
                            search::OptimizerKind::CmaEs, search::OptimizerKind::Random})
        optimizers.push_back(QString::fromStdString(search::optimizerName(kind)));
    m_panel.setOptimizers(optimizers);
    m_panel.setObjectives(objectiveLists());

    connect(m_start, &QAction::triggered, this, [this] { start(m_panel.form()); });
    connect(m_pause, &QAction::triggered, this, [this] {
        if (m_job) m_job->pause();
    });
    connect(m_resume, &QAction::triggered, this, [this] {
        if (m_job) m_job->resume();
    });
    connect(m_stop, &QAction::triggered, this, &SearchController::stop);
    connect(&m_panel, &widgets::SearchPanel::startRequested, this, &SearchController::start);
    connect(&m_panel, &widgets::SearchPanel::pauseRequested, m_pause, &QAction::trigger);
    connect(&m_panel, &widgets::SearchPanel::resumeRequested, m_resume, &QAction::trigger);
    connect(&m_panel, &widgets::SearchPanel::stopRequested, m_stop, &QAction::trigger);
    offerTasks(m_panel.task(), m_panel,
               {QStringLiteral("nll"), QStringLiteral("strict"), QStringLiteral("generate"), QStringLiteral("choice"),
                QStringLiteral("blend:0.2")});
    setModel(nullptr, tr("Open a model first"));
}

SearchController::~SearchController() = default;

void SearchController::setModel(std::shared_ptr<const ReadyModel> model, const QString& whyNot) {
    m_model = std::move(model);
    m_whyNot = m_model ? QString() : whyNot;
    m_panel.setObstacle(m_whyNot);
    showState();
}

void SearchController::setStudy(const studies::SearchRunSettings& study) {
    m_study = study;
    // A copy: the panel outlives this.
    m_panel.setCheck([study](SearchText text, const SearchForm& form) { return whyRefused(text, form, study); });
    m_panel.setUse([study](SearchNumber number, const SearchForm& form) { return whyUnused(number, form, study); });
    SearchForm form;
    form.device = QString::fromStdString(study.compute.device);
    form.seed = study.search.seed;
    form.task = taskFormOf(study.task);
    form.task.score = QString::fromStdString(study.score);
    form.optimizer = QString::fromStdString(search::optimizerName(study.search.optimizer));
    form.refined = study.search.gradient.refined;
    form.population = study.search.population;
    form.generations = study.search.maxGenerations;
    form.searchItems = study.searchItems;
    form.selectItems = study.selectItems;
    form.reportItems = study.reportItems.value_or(form.reportItems);
    if (study.search.timeLimitSeconds) form.timeLimitMinutes = *study.search.timeLimitSeconds / 60.0;
    form.guardrailLimit = numberText(study.guardrailLimit);
    form.objectives = QString::fromStdString(search::objectivesText(study.search.objectives));
    form.racing = numberText(study.search.racing);
    form.target = numberText(study.search.target);
    m_panel.setForm(form);
}

studies::SearchRunSettings SearchController::settingsOf(const SearchForm& form) const {
    studies::SearchRunSettings settings = m_study;
    const auto set = [&](const char* name, auto& field, const auto& value) {
        if (field == value) return;
        field = value;
        settings.origins[name] = "window";
    };
    if (m_model) settings.compute.model = m_model->model.opened.spelling;
    settings.compute.device = form.device.toStdString();
    settings.compute.workers = 1;
    // The window needs a core of this machine alone.
    settings.compute.threadsPerWorker = form.host.isEmpty() ? std::optional<int>(windowThreads()) : std::nullopt;
    set("seed", settings.search.seed, form.seed);
    settings.task = taskSpecOf(form.task, m_study.task);
    markTask(m_study.task, settings.task, settings.origins);
    if (!form.task.score.isEmpty()) set("score", settings.score, form.task.score.toStdString());
    set("optimizer", settings.search.optimizer, optimizerOf(form, m_study));
    // What stands in a disabled field is no wish.
    const auto used = [&](SearchNumber number) { return whyUnused(number, form, m_study).isEmpty(); };
    if (used(SearchNumber::Refined)) set("refine", settings.search.gradient.refined, form.refined);
    if (used(SearchNumber::Population)) set("population", settings.search.population, form.population);
    set("max_generations", settings.search.maxGenerations, form.generations);
    set("search_items", settings.searchItems, form.searchItems);
    set("select_items", settings.selectItems, form.selectItems);
    set("report_items", settings.reportItems, std::optional<int>(form.reportItems));
    std::optional<double> limit;
    if (form.timeLimitMinutes) limit = *form.timeLimitMinutes * 60.0;
    set("time_limit", settings.search.timeLimitSeconds, limit);
    const SearchRules rules = rulesOf(form, m_study);
    set("guardrail_limit", settings.guardrailLimit, rules.guardrailLimit);
    set("objectives", settings.search.objectives, rules.objectives);
    set("racing", settings.search.racing, rules.racing);
    set("target", settings.search.target, rules.target);
    const widgets::CurveDraft& draft = m_document.draft();
    set("scale_min", settings.search.constraints.scaleMin, draft.constraints.scaleMin);
    set("scale_max", settings.search.constraints.scaleMax, draft.constraints.scaleMax);
    set("grid_step", settings.search.constraints.gridStep, draft.constraints.gridStep);
    set("curve", settings.search.curve, draft.kind);
    if (draft.kind != curve::CurveKind::Free) {
        set("points", settings.search.points, static_cast<int>(draft.points.size()));
    }
    return settings;
}

void SearchController::start(const SearchForm& form) {
    if (m_job || !m_model) return;
    if (const QString problem = m_panel.problem(); !problem.isEmpty()) return m_panel.setError(problem);
    if (!requireData(m_panel.task())) return;
    SearchOrder order{settingsOf(form), 0, m_database, m_model};
    if (const auto used = studies::checkUsed(std::span(&order.settings, 1)); !used)
        return m_panel.setError(QString::fromStdString(used.error().message));
    if (!form.host.isEmpty()) {
        remote::RemoteOrder there;
        there.host.name = form.host.toStdString();
        if (const auto named = remote::checkHost(there.host); !named) {
            return m_panel.setError(QString::fromStdString(named.error().message));
        }
        there.database = m_database;
        there.settings = studies::toJson(order.settings);
        there.dataKeys = studies::dataKeys();
        order.remote = std::move(there);
    }
    run(std::move(order));
}

void SearchController::resumeRun(std::int64_t runId) {
    if (m_job) return;
    SearchOrder order{m_study, runId, m_database, m_model};
    if (const auto handle = remote::handleOf(m_database, runId)) {
        remote::RemoteOrder there;
        there.host = handle->host;
        there.database = m_database;
        there.handle = handle;
        order.remote = std::move(there);
    }
    run(std::move(order));
}

void SearchController::stop() {
    if (m_job) m_job->stop();
}

void SearchController::leave() {
    if (m_job) m_job->leave();
}

void SearchController::run(SearchOrder order) {
    m_panel.setError({});
    m_jobDatabase = order.database;
    m_progress = {};
    m_progress.stage = tr("preparing");
    m_startedAt = steadySeconds();
    m_remoteRun = order.remote ? order.resumeRun : 0;
    m_host = order.remote ? QString::fromStdString(order.remote->host.name) : QString();
    m_job = std::make_unique<SearchJob>(std::move(order), nullptr);
    SearchJob* job = m_job.get();
    connect(job, &SearchJob::stateChanged, this, [this](SearchState) { showState(); });
    connect(job, &SearchJob::progressChanged, this, &SearchController::showProgress);
    connect(job, &SearchJob::warningRaised, this, &SearchController::warningRaised);
    connect(job, &SearchJob::runBegan, this, [this](qint64 id) { m_remoteRun = id; });
    hearEnd(*job);
    Q_EMIT began();
    job->start();
    showProgress({m_progress.stage.toStdString(), 0, 0, 0.0, -1.0});
}

void SearchController::hearEnd(SearchJob& job) {
    connect(&job, &SearchJob::finished, this, [this](qint64 id, const nlohmann::json& result) {
        clearJob();
        Q_EMIT finished(id, result);
        Q_EMIT ended();
    });
    connect(&job, &SearchJob::stopped, this, [this](qint64 id) {
        clearJob();
        Q_EMIT stopped(id);
        Q_EMIT ended();
    });
    connect(&job, &SearchJob::left, this, [this](qint64 id) {
        clearJob();
        Q_EMIT left(id);
        Q_EMIT ended();
    });
    connect(&job, &SearchJob::failed, this, [this](const Error& error) {
        clearJob();
        m_panel.setError(QString::fromStdString(error.text()));
        Q_EMIT failed(error);
        Q_EMIT ended();
    });
}

void SearchController::clearJob() {
    // Called from the job's own signal, whose thread is through.
    m_job.release()->deleteLater();
    m_host.clear();
    m_remoteRun = 0;
    // What is left and how fast it goes means nothing any more; how far it came stays to be seen.
    m_progress.ratePerSecond = 0.0;
    m_progress.etaSeconds = -1.0;
    m_panel.setProgress(m_progress);
    showState();
}

SearchState SearchController::state() const {
    return m_job ? m_job->state() : SearchState::Idle;
}

void SearchController::showState() {
    const SearchState now = state();
    m_start->setEnabled(!m_job && m_model);
    m_start->setToolTip(m_whyNot.isEmpty() ? tr("Search for a better profile") : m_whyNot);
    m_pause->setEnabled(isAllowed(now, SearchCommand::Pause));
    m_resume->setEnabled(isAllowed(now, SearchCommand::Resume));
    m_stop->setEnabled(isAllowed(now, SearchCommand::Stop));
    m_panel.setState(now);
    Q_EMIT stateChanged(now);
}

void SearchController::showProgress(const Progress& progress) {
    m_progress.stage = QString::fromStdString(progress.stage);
    m_progress.done = progress.done;
    m_progress.total = progress.total;
    m_progress.ratePerSecond = progress.ratePerSecond;
    m_progress.etaSeconds = progress.etaSeconds;
    m_progress.elapsedSeconds = steadySeconds() - m_startedAt;
    m_panel.setProgress(m_progress);
}

void SearchController::showFigures(const RunDetail& detail) {
    if (!m_job) return;
    if (detail.population.best) m_progress.bestFitness = detail.population.best->fitness;
    m_progress.baselineFitness = detail.population.baselineFitness;
    m_panel.setProgress(m_progress);
}

}  // namespace lpes::app
