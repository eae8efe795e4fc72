#pragma once

#include <QAbstractItemView>

namespace lpes::widgets {

/// The selected cells as tab-separated lines in the order seen on the screen; rows and columns without a selected cell
/// are left out, gaps stay empty. Empty when nothing is selected.
[[nodiscard]] QString selectionAsText(const QAbstractItemView& view);

/// Gives the view "Copy" (Ctrl+C) and "Select all" in its context menu and on its keys.
void addCopyActions(QAbstractItemView& view);

}  // namespace lpes::widgets
