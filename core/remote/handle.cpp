#include "core/remote/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/remote/job_folder.h"
#include "core/remote/messages.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::size_t kMaxHandle = 1 << 16;

fs::path folder() {
    return remoteFolder() / "handles";
}

fs::path fileOf(const Handle& handle) {
    return folder() / (handle.job + ".json");
}

fs::path resolvedPath(const fs::path& path) {
    std::error_code error;
    fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
    return error ? path : resolved;
}

std::optional<Handle> readHandle(const fs::path& file) {
    const auto text = readTextFile(file, kMaxHandle);
    if (!text) return std::nullopt;
    const json stored = json::parse(*text, nullptr, false);
    Handle handle;
    handle.job = textIn(stored, "job");
    handle.host.name = textIn(stored, "host");
    handle.host.program = textIn(stored, "program", handle.host.program);
    handle.database = textIn(stored, "database");
    handle.runId = numberIn(stored, "run_id");
    handle.createdMs = numberIn(stored, "created_ms");
    if (handle.job.empty() || handle.host.name.empty() || handle.database.empty()) return std::nullopt;
    return handle;
}

}  // namespace

std::vector<Handle> handlesOf(const fs::path& database) {
    std::vector<Handle> handles;
    const fs::path wanted = resolvedPath(database);
    std::error_code error;
    for (fs::directory_iterator at(folder(), error), end; !error && at != end; at.increment(error)) {
        if (at->path().extension() != ".json") continue;
        auto handle = readHandle(at->path());
        if (handle && handle->database == wanted) handles.push_back(std::move(*handle));
    }
    std::sort(handles.begin(), handles.end(), [](const Handle& a, const Handle& b) {
        return a.createdMs != b.createdMs ? a.createdMs > b.createdMs : a.job > b.job;
    });
    return handles;
}

std::optional<Handle> handleOf(const fs::path& database, std::int64_t runId) {
    for (Handle& handle : handlesOf(database)) {
        if (handle.runId == runId) return std::move(handle);
    }
    return std::nullopt;
}

Result<void> writeHandle(const Handle& handle) {
    std::error_code error;
    fs::create_directories(folder(), error);
    return writeFileAtomically(fileOf(handle), jsonLine({{"job", handle.job},
                                                         {"host", handle.host.name},
                                                         {"program", handle.host.program},
                                                         {"database", resolvedPath(handle.database).string()},
                                                         {"run_id", handle.runId},
                                                         {"created_ms", handle.createdMs}}) +
                                                   "\n");
}

void removeHandle(const Handle& handle) {
    std::error_code ignored;
    fs::remove(fileOf(handle), ignored);
}

std::string newJobName() {
    // Not a number that a result depends on: the system's randomness, so that no two machines choose the same.
    std::random_device random;
    return fmt::format("{}-{:08x}{:08x}", nowUtcMs(), random(), random());
}

}  // namespace lpes::remote
