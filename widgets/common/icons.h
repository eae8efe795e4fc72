#pragma once

#include <QIcon>

namespace lpes::widgets {

/// Simple signs in the colour of the palette's text, so that they are as readable in the dark as in the light and at
/// every scale factor; disabled ones take the palette's disabled colour.
enum class Sign { Open, Save, Undo, Redo, Start, Pause, Resume, Stop };
[[nodiscard]] QIcon signIcon(Sign sign);

}  // namespace lpes::widgets
