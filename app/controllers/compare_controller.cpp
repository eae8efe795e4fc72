#include "app/controllers/compare_controller.h"

#include <QFileDialog>
#include <QFileInfo>
#include <algorithm>
#include <system_error>

#include "app/controllers/task_forms.h"
#include "app/document.h"
#include "app/jobs/thread_context.h"
#include "app/settings.h"
#include "core/base/checksum.h"
#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/plot_queries.h"
#include "widgets/panels/method_list.h"

namespace lpes::app {

using widgets::CompareForm;
using widgets::SearchState;

CompareController::CompareController(Document& document, widgets::ComparePanel& panel, Settings& settings,
                                     std::filesystem::path curveFolder, QObject* parent)
    : QObject(parent),
      m_document(document),
      m_panel(panel),
      m_settings(settings),
      m_curveFolder(std::move(curveFolder)) {
    QStringList devices;
    for (const std::string& device : model::availableDevices()) devices.push_back(QString::fromStdString(device));
    m_panel.setDevices(devices);
    connect(&m_panel, &widgets::ComparePanel::startRequested, this, &CompareController::start);
    connect(&m_panel, &widgets::ComparePanel::resumeRequested, this, &CompareController::resumeRun);
    connect(&m_panel, &widgets::ComparePanel::stopRequested, this, &CompareController::stop);
    widgets::MethodListEdit* methods = &m_panel.methods();
    connect(methods, &widgets::MethodListEdit::currentCurveRequested, this, &CompareController::addCurve);
    connect(methods, &widgets::MethodListEdit::profileFileRequested, this, [this] {
        chooseFile(tr("Add a profile"), tr("Profiles (*.json *.csv);;All files (*)"), QStringLiteral("lpes"));
    });
    connect(methods, &widgets::MethodListEdit::routerFileRequested, this,
            [this] { chooseFile(tr("Add the routers of MoICE"), tr("All files (*)"), QStringLiteral("moice")); });
    offerTasks(m_panel.task(), m_panel,
               {QStringLiteral("strict"), QStringLiteral("generate"), QStringLiteral("choice"), QStringLiteral("nll")});
    setModel(nullptr, tr("Open a model first"));
}

CompareController::~CompareController() = default;

void CompareController::setModel(std::shared_ptr<const ReadyModel> model, const QString& whyNot) {
    m_model = std::move(model);
    m_panel.setObstacle(m_model ? QString() : whyNot);
    showState();
}

void CompareController::setStudy(const studies::SearchRunSettings& study) {
    m_study = study;
    CompareForm form = m_panel.form();
    form.device = QString::fromStdString(study.compute.device);
    form.task = taskFormOf(study.task);
    form.items = study.reportItems.value_or(form.items);
    form.itemSeed = study.task.seedOfItems() + 1;
    m_panel.setForm(form);
}

studies::CompareSettings CompareController::settingsOf(const CompareForm& form) const {
    studies::CompareSettings settings;
    settings.compute = m_study.compute;
    settings.task = taskSpecOf(form.task, m_study.task);
    settings.origins = m_study.origins;
    // Of the search, not of what is compared here.
    for (const char* other : {"score", "seed"}) settings.origins.erase(other);
    const auto set = [&](const char* name, auto& field, const auto& value) {
        if (field == value) return;
        field = value;
        settings.origins[name] = "window";
    };
    if (m_model) settings.compute.model = m_model->model.opened.spelling;
    settings.compute.device = form.device.toStdString();
    settings.compute.workers = 1;
    settings.compute.threadsPerWorker = windowThreads();
    markTask(m_study.task, settings.task, settings.origins);
    if (!form.task.score.isEmpty())
        set("score", settings.score, std::optional<std::string>(form.task.score.toStdString()));
    set("limit", settings.task.limit, std::optional<std::int64_t>(form.items));
    if (widgets::traitsOf(form.task.task, settings.task.data.has_value()).seeded)
        set("item_seed", settings.task.itemSeed, std::optional(form.itemSeed));
    std::vector<std::string> methods;
    for (const QString& method : form.methods) methods.push_back(method.toStdString());
    set("methods", settings.methods, methods);
    return settings;
}

Result<std::string> CompareController::keepCurve() const {
    if (m_curveFolder.empty()) {
        return fail(ErrorCode::Usage,
                    "curves are not kept in this session; export the profile and add its file instead");
    }
    const auto profile = m_document.profile();
    if (!profile) return fail(profile.error());
    if (std::ranges::all_of(profile->scales, [](double scale) { return scale == 1.0; })) {
        return fail(ErrorCode::Usage,
                    "the curve lies at s = 1 and changes nothing; drag a point in Edit before it is compared");
    }
    constexpr std::size_t kDigits = 16;
    const std::string text = exporters::toJson(*profile);
    const auto file = m_curveFolder / (studies::kDrawnCurvePrefix + sha256Hex(text).substr(0, kDigits) + ".json");
    std::error_code error;
    std::filesystem::create_directories(m_curveFolder, error);
    if (!std::filesystem::exists(file, error)) {
        if (auto written = writeFileAtomically(file, text); !written) return fail(written.error());
    }
    return "lpes:" + file.string();
}

void CompareController::addCurve() {
    const auto method = keepCurve();
    m_panel.setError(method ? QString() : QString::fromStdString(method.error().text()));
    if (method) m_panel.methods().addMethod(QString::fromStdString(*method));
}

void CompareController::chooseFile(const QString& title, const QString& filter, const QString& method) {
    // Opens without blocking: nothing of the window waits for the choice.
    auto* dialog = new QFileDialog(m_panel.window(), title, m_settings.folder(QStringLiteral("profile")), filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [this, method](const QString& path) {
        m_settings.setFolder(QStringLiteral("profile"), QFileInfo(path).path());
        m_panel.methods().addMethod(method + QLatin1Char(':') + path);
    });
    dialog->open();
}

void CompareController::start(const CompareForm& form) {
    if (m_job || !m_model) return;
    if (const QString problem = m_panel.problem(); !problem.isEmpty()) return m_panel.setError(problem);
    if (!requireData(m_panel.task())) return;
    run(compareOrder(settingsOf(form), 0, m_database, m_model));
}

void CompareController::resumeRun(std::int64_t runId) {
    if (m_job || runId == 0) return;
    run(compareOrder({}, runId, m_database, m_model));
}

void CompareController::stop() {
    if (m_job) m_job->stop();
}

void CompareController::run(StudyOrder order) {
    m_panel.setError({});
    m_panel.setResumable(0);
    m_progress = {};
    m_progress.stage = tr("preparing");
    m_startedAt = steadySeconds();
    m_job = std::make_unique<StudyJob>(std::move(order), nullptr);
    StudyJob* job = m_job.get();
    connect(job, &StudyJob::stateChanged, this, [this](SearchState) { showState(); });
    connect(job, &StudyJob::progressChanged, this, &CompareController::showProgress);
    connect(job, &StudyJob::warningRaised, this, &CompareController::warningRaised);
    connect(job, &StudyJob::finished, this, [this](qint64 id, const nlohmann::json& result) {
        clearJob();
        Q_EMIT finished(id, result);
        Q_EMIT ended();
    });
    connect(job, &StudyJob::stopped, this, [this](qint64 id) {
        clearJob();
        m_panel.setResumable(id);
        Q_EMIT stopped(id);
        Q_EMIT ended();
    });
    connect(job, &StudyJob::failed, this, [this](const Error& error) {
        clearJob();
        m_panel.setError(QString::fromStdString(error.text()));
        Q_EMIT failed(error);
        Q_EMIT ended();
    });
    Q_EMIT began();
    job->start();
    showProgress({m_progress.stage.toStdString(), 0, 0, 0.0, -1.0});
}

void CompareController::clearJob() {
    // Called from the job's own signal, whose thread is through.
    m_job.release()->deleteLater();
    // What is left and how fast it goes means nothing any more; how far it came stays to be seen.
    m_progress.stage.clear();
    m_progress.ratePerSecond = 0.0;
    m_progress.etaSeconds = -1.0;
    m_panel.setProgress(m_progress);
    showState();
}

SearchState CompareController::state() const {
    return m_job ? m_job->state() : SearchState::Idle;
}

void CompareController::showState() {
    m_panel.setState(state());
    Q_EMIT stateChanged(state());
}

void CompareController::showProgress(const Progress& progress) {
    m_progress.stage = QString::fromStdString(progress.stage);
    m_progress.done = progress.done;
    m_progress.total = progress.total;
    m_progress.ratePerSecond = progress.ratePerSecond;
    m_progress.etaSeconds = progress.etaSeconds;
    m_progress.elapsedSeconds = steadySeconds() - m_startedAt;
    m_panel.setProgress(m_progress);
}

void CompareController::showRun(const RunDetail* detail) {
    if (m_job) return;
    const bool left =
        detail && detail->run.kind == "compare" &&
        (detail->run.state == store::RunState::Stopped || detail->run.state == store::RunState::Interrupted ||
         detail->run.state == store::RunState::Failed);
    m_panel.setResumable(left ? detail->run.id : 0);
}

}  // namespace lpes::app
