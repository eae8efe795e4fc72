#pragma once

namespace lpes::cli {

/// The `lpes` program: parses, runs the verb, and gives the exit code of conventions.md §2.1. To be called once, before
/// any thread exists, because it arranges the signals.
[[nodiscard]] int runCommandLine(int argc, char** argv);

}  // namespace lpes::cli
