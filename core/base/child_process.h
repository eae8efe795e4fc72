#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes {

/// A program to be started.
struct ChildStart {
    std::vector<std::string> command;  ///< program (a path, or a name to be found in $PATH) and its arguments
    int in = -1, out = -1, err = -1;   ///< descriptors of ours that become its standard ones; −1: those that we have
    bool ownSession = false;           ///< what is typed at our terminal does not reach it
};

/// Starts it with signals as usual, whatever we block or ignore; descriptors of ours that are not close-on-exec stay
/// open in it. Its number, to be waited for. Unsupported where there is no such program, Failed where it cannot start.
[[nodiscard]] Result<pid_t> startChild(const ChildStart& start);

/// Waits until it ends: its exit code, or 128 + the number of the signal that ended it.
[[nodiscard]] int waitForChild(pid_t child);
/// The same for so long at most; none where it goes on.
[[nodiscard]] std::optional<int> waitForChild(pid_t child, int timeoutMs);

}  // namespace lpes
