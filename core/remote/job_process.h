#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace lpes::remote {

/// A process, told apart from a later one that got its number: by the moment of its start, the boot and the machine. A
/// lock would not do: in home folders on a network file system it does not outlive who took it.
struct JobProcess {
    pid_t pid = 0;
    std::uint64_t startTicks = 0;  ///< since the boot, as /proc says
    std::string boot, machine;

    /// None when there is no such process.
    [[nodiscard]] static std::optional<JobProcess> of(pid_t pid);
    [[nodiscard]] static std::optional<JobProcess> fromJson(const nlohmann::json& json);
    [[nodiscard]] nlohmann::json toJson() const;

    /// On another machine than this one, where nothing can be said about it.
    [[nodiscard]] bool elsewhere() const;
    /// Whether it still runs here. One that has ended and was not waited for does not.
    [[nodiscard]] bool alive() const;
};

}  // namespace lpes::remote
