#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/remote/host.h"

namespace lpes::remote {

/// What this machine remembers of a search that it started on another one, so that it can be picked up again whatever
/// happened here: a small file in userDataFolder()/remote/handles, until its rows are home for good.
struct Handle {
    std::string job;  ///< its name there
    Host host;
    std::filesystem::path database;  ///< where its rows go, absolute
    std::int64_t runId = 0;          ///< its number there; 0: no rows have come yet
    std::int64_t createdMs = 0;
};

/// Handles of searches whose rows go to a data base, newest first. Files that are no handles are passed over.
[[nodiscard]] std::vector<Handle> handlesOf(const std::filesystem::path& database);
/// That of a run of it.
[[nodiscard]] std::optional<Handle> handleOf(const std::filesystem::path& database, std::int64_t runId);
/// Failed where the folder cannot be written.
[[nodiscard]] Result<void> writeHandle(const Handle& handle);
void removeHandle(const Handle& handle);

/// A name that no other job has, on any machine.
[[nodiscard]] std::string newJobName();

}  // namespace lpes::remote
