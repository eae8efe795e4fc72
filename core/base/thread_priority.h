#pragma once

namespace lpes {

/// Lowers the calling thread's priority, so that a long job leaves the machine usable. On Linux this sets that thread
/// alone, and threads that it starts inherit it: in a window the GUI thread stays as it is. Never raises it.
/// thread-safe.
void lowerThreadPriority();

}  // namespace lpes
