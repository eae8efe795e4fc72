#pragma once

#include <QObject>
#include <QPointer>
#include <vector>

class QDockWidget;
class QMainWindow;
class QTabWidget;

namespace lpes::app {

/// Docks that a workspace has no use for give their room to it, and come back with the next one: Compare has settings
/// of its own, so the control point and the search's settings step aside. A dock that the user hid stays hidden. GUI
/// thread only.
class WorkspaceDocks : public QObject {
    Q_OBJECT
  public:
    WorkspaceDocks(QMainWindow& window, QTabWidget& workspaces);

    /// For the workspace that is shown now.
    void apply();
    /// As the user has them, before they are remembered or put back.
    void bringBack();

  private:
    QMainWindow& m_window;
    QTabWidget& m_workspaces;
    std::vector<QPointer<QDockWidget>> m_aside;
};

}  // namespace lpes::app
