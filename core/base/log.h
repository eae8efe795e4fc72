#pragma once

#include <string>

namespace lpes {

enum class LogLevel { Debug, Info, Warning, Error };

/// Sends the log to standard error, without colours when that is not a terminal; nothing below `level` is written.
/// Call once, before any thread starts.
void startLog(LogLevel level);

/// thread-safe. Standard output is never touched: it carries results only.
void log(LogLevel level, const std::string& message);

}  // namespace lpes
