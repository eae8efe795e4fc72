#pragma once

#include <QObject>
#include <QString>

namespace lpes::app {

class MainWindow;

/// `--smoke`: waits until the window shows the model, the curve's pictures and the data base, draws every workspace,
/// saves them as PNG where told, and ends the program: exit code 0, or 1 with the reason on standard error. GUI thread
/// only.
class Smoke : public QObject {
    Q_OBJECT
  public:
    /// `folder` empty: nothing is saved. `searchSeconds` above 0: a search is started, drawn after so long as it runs
    /// ("running.png"), and stopped; one that is through by then is drawn as it ended ("finished.png").
    Smoke(MainWindow& window, QString folder, double searchSeconds, QObject* parent);
    /// needsModel: wait for the model and the pictures of its curve.
    void start(bool needsModel);

  private:
    void look();
    void finish(const QString& problem);
    void show(std::size_t view);
    void search();
    bool draw(const char* name);
    [[nodiscard]] QString cannotWrite() const;

    MainWindow& m_window;
    const QString m_folder;
    const double m_searchSeconds;
    double m_deadline = 0.0;
    bool m_needsModel = true, m_ended = false;
};

}  // namespace lpes::app
