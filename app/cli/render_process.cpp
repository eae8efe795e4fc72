#include "app/cli/render_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/numbers.h"
#include "core/base/child_process.h"
#include "core/base/json_text.h"

namespace lpes::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kProgram = "lpes-render";

bool isProgram(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

Result<fs::path> findProgram() {
    if (const char* named = std::getenv("LPES_RENDER"); named != nullptr && *named != '\0') {
        if (isProgram(named)) return fs::path(named);
        return fail(ErrorCode::Unsupported,
                    fmt::format("LPES_RENDER names '{}', which is no program; correct it or unset it", named));
    }
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<fs::path> candidates{folder / kProgram, folder.parent_path() / "render" / kProgram};
    if (const char* path = std::getenv("PATH")) {
        for (const std::string& part : splitList(path, ':')) {
            if (!part.empty()) candidates.push_back(fs::path(part) / kProgram);
        }
    }
    for (const fs::path& candidate : candidates) {
        if (isProgram(candidate)) return candidate;
    }
    return fail(ErrorCode::Unsupported,
                "the program lpes-render, which draws plots, is not there; build with LPES_BUILD_GUI=ON, or name it in "
                "LPES_RENDER (a .csv needs no drawing)");
}

/// A child whose standard input is the returned descriptor. Its standard output joins our standard error, because ours
/// is for the result.
Result<pid_t> start(const fs::path& program, int& input) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return fail(ErrorCode::Failed, "cannot start lpes-render", std::strerror(errno));
    }
    const auto child = startChild({{program.string(), "--job", "-"}, ends[0], STDERR_FILENO});
    ::close(ends[0]);
    if (!child) {
        ::close(ends[1]);
        return child;
    }
    input = ends[1];
    return child;
}

/// A child that ended early shows in its exit code, so a broken pipe is no error here.
void send(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) break;
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    ::close(descriptor);
}

ErrorCode codeOf(int exitStatus) {
    for (const ErrorCode code :
         {ErrorCode::Usage, ErrorCode::BadInput, ErrorCode::Unsupported, ErrorCode::OutOfMemory}) {
        if (exitCode(code) == exitStatus) return code;
    }
    return ErrorCode::Failed;
}

}  // namespace

Result<void> render(const nlohmann::json& job) {
    auto program = findProgram();
    if (!program) return fail(program.error());
    int input = -1;
    auto child = start(*program, input);
    if (!child) return fail(child.error());
    send(input, jsonLine(job));
    const int code = waitForChild(*child);
    if (code == 0) return {};
    if (code < 128) {
        return fail(codeOf(code),
                    fmt::format("lpes-render could not draw (exit code {}); its message stands above", code));
    }
    return fail(ErrorCode::Failed, fmt::format("lpes-render was ended by signal {}", code - 128));
}

}  // namespace lpes::cli
