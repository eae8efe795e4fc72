#include "app/appearance.h"

#include <QApplication>
#include <QPalette>
#include <QStyleFactory>

namespace lpes::app {

namespace {

QPalette makePalette(bool dark) {
    QPalette palette;
    const auto set = [&](QPalette::ColorRole role, QRgb light, QRgb night) {
        palette.setColor(role, QColor(dark ? night : light));
    };
    set(QPalette::Window, 0xf3f3f1, 0x24262a);
    set(QPalette::WindowText, 0x1d1f22, 0xe6e6e6);
    set(QPalette::Base, 0xffffff, 0x1b1d20);
    set(QPalette::AlternateBase, 0xf5f6f8, 0x212327);
    set(QPalette::Text, 0x1d1f22, 0xe6e6e6);
    set(QPalette::PlaceholderText, 0x6b6f75, 0x9a9ea5);
    set(QPalette::Button, 0xe9eaec, 0x2f3237);
    set(QPalette::ButtonText, 0x1d1f22, 0xe6e6e6);
    set(QPalette::BrightText, 0xb3261e, 0xff8a80);
    set(QPalette::ToolTipBase, 0xffffff, 0x33363b);
    set(QPalette::ToolTipText, 0x1d1f22, 0xf0f0f0);
    set(QPalette::Highlight, 0x0b62a4, 0x3d8fd1);
    set(QPalette::HighlightedText, 0xffffff, 0x0d0f11);
    set(QPalette::Link, 0x0b62a4, 0x6cb4ee);
    set(QPalette::Light, 0xffffff, 0x3a3d43);
    set(QPalette::Midlight, 0xf0f1f3, 0x33363b);
    set(QPalette::Mid, 0xb9bcc1, 0x55595f);
    set(QPalette::Dark, 0x9a9da2, 0x17191b);
    set(QPalette::Shadow, 0x6a6d72, 0x0d0f11);
    const QColor faint(dark ? 0x7d8188 : 0x8b8f95);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(QPalette::Disabled, role, faint);
    }
    return palette;
}

}  // namespace

bool systemIsDark() {
    const QPalette palette = QApplication::palette();
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

widgets::Theme applyAppearance(QApplication& application, ThemeChoice choice, bool systemDark) {
    const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && systemDark);
    // One style everywhere: the same program looks and measures the same on every desktop.
    if (auto* fusion = QStyleFactory::create(QStringLiteral("Fusion"))) application.setStyle(fusion);
    application.setPalette(makePalette(dark));
    return dark ? widgets::Theme::night() : widgets::Theme::light();
}

}  // namespace lpes::app
