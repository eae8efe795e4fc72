#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <nlohmann/json.hpp>

namespace lpes::app {

/// What a figure looks like in files.
struct FigureOptions {
    QStringList files;  ///< by their endings .pdf, .svg, .png, .csv
    double widthMm = 170.0;
    double dpi = 300.0;
    bool dark = false;
};

/// Writes one plot to files by running lpes-render, so that drawing for print never stops the window. Ends with exactly
/// one of written and failed. GUI thread only.
class FigureJob : public QObject {
    Q_OBJECT
  public:
    /// `plot`: as analysis::toJson gives it.
    FigureJob(const nlohmann::json& plot, const FigureOptions& options, QObject* parent);
    ~FigureJob() override;
    void start();

  Q_SIGNALS:
    void written(const QStringList& files);
    void failed(const QString& sentence);

  private:
    void end(const QString& problem);

    const QByteArray m_order;
    const QStringList m_files;
    bool m_ended = false;
    QProcess m_process;
};

/// $LPES_RENDER, else beside this program, else in render/ below it (the build tree), else in $PATH; empty: none.
[[nodiscard]] QString renderProgram();

}  // namespace lpes::app
