#pragma once

#include <QByteArray>
#include <QString>

class QMainWindow;

namespace lpes::app {

enum class ThemeChoice { System, Light, Dark };

/// What the window remembers between sessions, in the user's configuration folder. GUI thread only.
class Settings {
  public:
    [[nodiscard]] ThemeChoice theme() const;
    void setTheme(ThemeChoice choice);
    /// Geometry and docks; false when nothing was kept or it does not fit this version's docks.
    bool restoreWindow(QMainWindow& window) const;
    void saveWindow(const QMainWindow& window);
    [[nodiscard]] int workspace() const;
    void setWorkspace(int index);
    /// Folder that file dialogs start in, per purpose ("model", "profile", "export").
    [[nodiscard]] QString folder(const QString& purpose) const;
    void setFolder(const QString& purpose, const QString& folder);
};

}  // namespace lpes::app
