#pragma once

#include <stop_token>

namespace lpes::cli {

/// Opens /dev/null where standard input, output or error is closed, so that no file (the data base, say) can take their
/// number and receive what is printed. Writing to a standard output that was closed still fails, as it must.
void reserveStandardDescriptors();

/// Arranges SIGINT, SIGTERM and SIGHUP, and ignores SIGPIPE. Must be called before any thread exists: the signals are
/// blocked in every thread and taken by one that waits for them. Until stopOnSignal is called a signal ends the
/// process at once with exit code 130. A signal that the parent told us to ignore (nohup) stays ignored.
void startSignals();

/// From now on the first signal asks for a stop and the second one ends the process at once with exit code 130.
[[nodiscard]] std::stop_token stopOnSignal();

/// For a process that another one ends: from now on the first signal does nothing, without a word, and the second one
/// ends the process at once with exit code 130.
void leaveSignalsToLeader();

}  // namespace lpes::cli
