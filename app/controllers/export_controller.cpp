#include "app/controllers/export_controller.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QStandardPaths>

#include "app/dialogs/figure_dialog.h"
#include "app/settings.h"
#include "core/analysis/plot_json.h"
#include "core/base/files.h"
#include "widgets/panels/plot_pane.h"

namespace lpes::app {

namespace {

QString startFolder(const Settings& settings, const QString& purpose) {
    const QString kept = settings.folder(purpose);
    if (!kept.isEmpty() && QFileInfo(kept).isDir()) return kept;
    const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    return QFileInfo(documents).isDir() ? documents : QDir::homePath();
}

QString fileNameOf(QString words) {
    words = words.toLower();
    for (QChar& c : words) {
        if (!c.isLetterOrNumber() && c != QLatin1Char('.')) c = QLatin1Char('-');
    }
    return words;
}

}  // namespace

ExportController::ExportController(Settings& settings, QWidget* window)
    : QObject(window), m_settings(settings), m_window(window) {}

Result<void> ExportController::writeProfile(const exporters::Profile& profile, const std::filesystem::path& file) {
    return writeFileAtomically(file,
                               file.extension() == ".csv" ? exporters::toCsv(profile) : exporters::toJson(profile));
}

void ExportController::exportProfile(const exporters::Profile& profile, const QString& proposedName,
                                     std::function<void(const QString&)> written) {
    const QString folder = startFolder(m_settings, QStringLiteral("profile"));
    auto* dialog =
        new QFileDialog(m_window, tr("Export profile"), folder, tr("LPES profile (*.json);;Layer and scale (*.csv)"));
    dialog->setObjectName(QStringLiteral("exportProfileDialog"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(proposedName);
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.contains(QStringLiteral("csv")) ? QStringLiteral("csv")
                                                                        : QStringLiteral("json"));
    });
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, profile, written = std::move(written)](const QString& path) {
                m_settings.setFolder(QStringLiteral("profile"), QFileInfo(path).path());
                const bool json = path.endsWith(QStringLiteral(".json"), Qt::CaseInsensitive);
                if (const auto reason = exporters::unprovenReason(profile); reason && !json) {
                    Q_EMIT failed(tr("Not exported: %1. Choose the JSON format.").arg(QString::fromStdString(*reason)));
                    return;
                }
                if (auto done = writeProfile(profile, path.toStdString()); !done) {
                    Q_EMIT failed(QString::fromStdString(done.error().text()));
                    return;
                }
                written(path);
            });
    dialog->open();
}

void ExportController::exportPlot(const QString& name, const analysis::PlotData& data) {
    const QString base = startFolder(m_settings, QStringLiteral("export")) + QLatin1Char('/') + fileNameOf(name);
    auto* dialog = new FigureDialog(name, base, m_window);
    dialog->setObjectName(QStringLiteral("figureDialog"));
    connect(dialog, &FigureDialog::figureChosen, this,
            [this, data](const FigureOptions& options) { writeFigure(data, options); });
    dialog->open();
}

void ExportController::writeFigure(const analysis::PlotData& data, const FigureOptions& options) {
    if (!options.files.isEmpty()) {
        m_settings.setFolder(QStringLiteral("export"), QFileInfo(options.files.front()).path());
    }
    auto* job = new FigureJob(analysis::toJson(data), options, this);
    connect(job, &FigureJob::written, this, [this, job](const QStringList& files) {
        job->deleteLater();
        Q_EMIT figureWritten(files);
    });
    connect(job, &FigureJob::failed, this, [this, job](const QString& sentence) {
        job->deleteLater();
        Q_EMIT failed(sentence);
    });
    job->start();
}

void ExportController::watch(widgets::PlotPane& pane) {
    connect(&pane, &widgets::PlotPane::exportRequested, this, [this, &pane] {
        if (const auto data = pane.data()) exportPlot(pane.name(), *data);
    });
}

}  // namespace lpes::app
