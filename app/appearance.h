#pragma once

#include "app/settings.h"
#include "widgets/plots/theme.h"

class QApplication;

namespace lpes::app {

/// Is the system's own palette dark? Asked once at the start, before a palette of ours is set. GUI thread only.
[[nodiscard]] bool systemIsDark();

/// Sets style and palette of the whole application for a choice; System keeps the system's own palette when that is
/// what it was. Returns the plots' theme that goes with it. Contrast of text is at least 4.5 : 1 in both.
widgets::Theme applyAppearance(QApplication& application, ThemeChoice choice, bool systemDark);

}  // namespace lpes::app
