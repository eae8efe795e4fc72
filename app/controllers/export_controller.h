#pragma once

#include <QObject>
#include <QString>
#include <filesystem>
#include <functional>

#include "app/jobs/figure_job.h"
#include "core/analysis/plot_data.h"
#include "core/base/result.h"
#include "core/exporters/profile.h"

class QWidget;

namespace lpes::widgets {
class PlotPane;
}  // namespace lpes::widgets

namespace lpes::app {

class Settings;

/// Takes things out of the window: profiles as JSON or CSV, plots as PDF, SVG, PNG and CSV. GUI thread only.
class ExportController : public QObject {
    Q_OBJECT
  public:
    ExportController(Settings& settings, QWidget* window);

    /// Asks where, then writes; `written` is called with the file once it is there.
    void exportProfile(const exporters::Profile& profile, const QString& proposedName,
                       std::function<void(const QString&)> written);
    void exportPlot(const QString& name, const analysis::PlotData& data);
    void watch(widgets::PlotPane& pane);
    /// By the ending: .csv, else JSON. Failed with the reason; nothing is written half.
    [[nodiscard]] static Result<void> writeProfile(const exporters::Profile& profile,
                                                   const std::filesystem::path& file);
    void writeFigure(const analysis::PlotData& data, const FigureOptions& options);

  Q_SIGNALS:
    void figureWritten(const QStringList& files);
    void failed(const QString& sentence);

  private:
    Settings& m_settings;
    QWidget* m_window;
};

}  // namespace lpes::app
