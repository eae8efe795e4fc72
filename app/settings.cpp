#include "app/settings.h"

#include <QMainWindow>
#include <QSettings>

namespace lpes::app {

namespace {

/// Raised when docks are added or renamed, so that an old arrangement is not forced upon them.
constexpr int kLayoutVersion = 1;

QSettings store() {
    return QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("lpes"), QStringLiteral("studio"));
}

}  // namespace

ThemeChoice Settings::theme() const {
    const QString name = store().value(QStringLiteral("theme")).toString();
    if (name == QStringLiteral("light")) return ThemeChoice::Light;
    if (name == QStringLiteral("dark")) return ThemeChoice::Dark;
    return ThemeChoice::System;
}

void Settings::setTheme(ThemeChoice choice) {
    store().setValue(QStringLiteral("theme"), choice == ThemeChoice::Light  ? QStringLiteral("light")
                                              : choice == ThemeChoice::Dark ? QStringLiteral("dark")
                                                                            : QStringLiteral("system"));
}

bool Settings::restoreWindow(QMainWindow& window) const {
    const QSettings settings = store();
    const QByteArray geometry = settings.value(QStringLiteral("window/geometry")).toByteArray();
    const QByteArray state = settings.value(QStringLiteral("window/docks")).toByteArray();
    if (geometry.isEmpty() || !window.restoreGeometry(geometry)) return false;
    return window.restoreState(state, kLayoutVersion);
}

void Settings::saveWindow(const QMainWindow& window) {
    QSettings settings = store();
    settings.setValue(QStringLiteral("window/geometry"), window.saveGeometry());
    settings.setValue(QStringLiteral("window/docks"), window.saveState(kLayoutVersion));
}

int Settings::workspace() const {
    return store().value(QStringLiteral("window/workspace"), 0).toInt();
}

void Settings::setWorkspace(int index) {
    store().setValue(QStringLiteral("window/workspace"), index);
}

QString Settings::folder(const QString& purpose) const {
    return store().value(QStringLiteral("folders/") + purpose).toString();
}

void Settings::setFolder(const QString& purpose, const QString& folder) {
    store().setValue(QStringLiteral("folders/") + purpose, folder);
}

}  // namespace lpes::app
