#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/result.h"

namespace lpes::remote {

/// A machine where lpes is installed.
struct Host {
    std::string name;              ///< as ssh understands it: user@machine, or a name of ~/.ssh/config
    std::string program = "lpes";  ///< lpes there, as a shell finds it; a leading ~/ is that user's home
};

/// Usage for a name that ssh would take for something else.
[[nodiscard]] Result<void> checkHost(const Host& host);

/// The command line that a shell there is given: `lpes remote serve`, whatever the program's name holds.
[[nodiscard]] std::string remoteCommand(const Host& host);

/// Program and arguments that reach it: the user's own ssh ($LPES_SSH, else ssh), so that his configuration, keys,
/// agent and jump hosts count. It asks for nothing (BatchMode), compresses, forwards no ports, and notices within a
/// minute that the other side is gone.
[[nodiscard]] std::vector<std::string> sshCommand(const Host& host);

/// Why a connection ended that had not begun, in one sentence: from the exit code of ssh (255: ssh itself; else that of
/// the shell or the program there) and what was written to standard error.
[[nodiscard]] Error connectionError(const Host& host, int exitCode, std::string_view standardError);

}  // namespace lpes::remote
