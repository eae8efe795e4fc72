#include "app/workspace_docks.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTabWidget>

#include "app/main_window.h"

namespace lpes::app {

WorkspaceDocks::WorkspaceDocks(QMainWindow& window, QTabWidget& workspaces)
    : m_window(window), m_workspaces(workspaces) {
    connect(&workspaces, &QTabWidget::currentChanged, this, &WorkspaceDocks::apply);
}

void WorkspaceDocks::apply() {
    bringBack();
    if (m_workspaces.currentIndex() != MainWindow::Compare) return;
    for (const char* name : {"pointDock", "searchDock"}) {
        auto* dock = m_window.findChild<QDockWidget*>(QLatin1String(name));
        // A floating one takes no room.
        if (!dock || dock->isHidden() || dock->isFloating()) continue;
        dock->hide();
        m_aside.emplace_back(dock);
    }
}

void WorkspaceDocks::bringBack() {
    for (const QPointer<QDockWidget>& dock : m_aside) {
        if (dock) dock->show();
    }
    m_aside.clear();
}

}  // namespace lpes::app
