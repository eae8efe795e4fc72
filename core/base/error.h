#pragma once

#include <string>
#include <string_view>

namespace lpes {

/// What kind of failure an Error is. The command line turns it into an exit code (exitCode below); nothing else
/// branches on the text of a message.
enum class ErrorCode {
    Failed,       ///< the work itself failed (exit 1)
    Usage,        ///< the caller asked for something that makes no sense (exit 2)
    BadInput,     ///< a file or data set is missing, damaged or malformed (exit 3)
    Unsupported,  ///< understood, and refused by name (exit 4)
    OutOfMemory,  ///< (exit 5)
    Database,     ///< the data base is locked, damaged, newer or not writable (exit 6)
};

/// A failure as a value. `message` is one sentence for the user that holds the offending value and what to do about
/// it; `detail` is for the log (a library's own words, a field path); `context` says where (a file, a run).
struct Error {
    ErrorCode code = ErrorCode::Failed;
    std::string message;
    std::string detail;
    std::string context;

    /// "context: message (detail)", leaving out what is empty.
    [[nodiscard]] std::string text() const;
};

/// Exit code of a process that ends with this failure: 1 failed, 2 usage, 3 bad input, 4 unsupported, 5 out of
/// memory, 6 data base.
[[nodiscard]] int exitCode(ErrorCode code);

/// Exit code of a run that the user stopped after its checkpoint was written.
inline constexpr int kExitStopped = 130;

/// Stable snake_case name of the code, for JSON and for the data base ("bad_input").
[[nodiscard]] std::string_view errorName(ErrorCode code);

}  // namespace lpes
