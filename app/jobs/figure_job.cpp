#include "app/jobs/figure_job.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>

#include "core/base/json_text.h"

namespace lpes::app {

namespace {

constexpr int kKillAfterMs = 500;

QByteArray orderOf(const nlohmann::json& plot, const FigureOptions& options) {
    nlohmann::json files = nlohmann::json::array();
    for (const QString& file : options.files) files.push_back(file.toStdString());
    const nlohmann::json order = {{"plots",
                                   {{{"data", plot},
                                     {"out", std::move(files)},
                                     {"width_mm", options.widthMm},
                                     {"dpi", options.dpi},
                                     {"theme", options.dark ? "dark" : "light"}}}}};
    return QByteArray::fromStdString(jsonLine(order));
}

}  // namespace

QString renderProgram() {
    const QString named = qEnvironmentVariable("LPES_RENDER");
    if (!named.isEmpty()) return QFileInfo(named).isExecutable() ? named : QString();
    const QString folder = QCoreApplication::applicationDirPath();
    for (const char* place : {"/lpes-render", "/render/lpes-render"}) {
        const QString path = folder + QLatin1String(place);
        if (QFileInfo(path).isExecutable()) return path;
    }
    return QStandardPaths::findExecutable(QStringLiteral("lpes-render"));
}

FigureJob::FigureJob(const nlohmann::json& plot, const FigureOptions& options, QObject* parent)
    : QObject(parent), m_order(orderOf(plot, options)), m_files(options.files) {
    connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        const QString said = QString::fromUtf8(m_process.readAllStandardError()).trimmed();
        if (status == QProcess::NormalExit && code == 0) return end({});
        end(said.isEmpty() ? tr("the figure could not be drawn (exit code %1)").arg(code) : said);
    });
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) end(tr("lpes-render cannot be started: %1").arg(m_process.errorString()));
    });
}

FigureJob::~FigureJob() {
    m_ended = true;
    if (m_process.state() == QProcess::NotRunning) return;
    m_process.terminate();
    if (!m_process.waitForFinished(kKillAfterMs)) {
        m_process.kill();
        m_process.waitForFinished(kKillAfterMs);
    }
}

void FigureJob::start() {
    const QString program = renderProgram();
    if (program.isEmpty()) {
        QMetaObject::invokeMethod(
            this,
            [this] { end(tr("lpes-render, which draws figures, is not there; build it, or name it in LPES_RENDER")); },
            Qt::QueuedConnection);
        return;
    }
    m_process.start(program, {QStringLiteral("--job"), QStringLiteral("-")});
    m_process.write(m_order);
    m_process.closeWriteChannel();
}

void FigureJob::end(const QString& problem) {
    if (m_ended) return;
    m_ended = true;
    if (problem.isEmpty()) {
        Q_EMIT written(m_files);
    } else {
        Q_EMIT failed(problem);
    }
}

}  // namespace lpes::app
