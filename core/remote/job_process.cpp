#include "core/remote/job_process.h"

#include <fmt/format.h>

#include <sstream>
#include <tuple>

#include "core/base/files.h"
#include "core/base/host.h"
#include "core/remote/messages.h"

namespace lpes::remote {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxProcText = 1 << 16;

std::string bootName() {
    auto text = readTextFile("/proc/sys/kernel/random/boot_id", kMaxProcText);
    if (!text) return {};  // a container without it: the start alone has to do
    while (!text->empty() && text->back() == '\n') text->pop_back();
    return *text;
}

struct Stat {
    char state = '?';
    std::uint64_t startTicks = 0;
};

/// proc(5): "pid (name) state …", the start being field 22. The name may hold anything, blanks and brackets too.
std::optional<Stat> readStat(pid_t pid) {
    const auto text = readTextFile(fmt::format("/proc/{}/stat", pid), kMaxProcText);
    if (!text) return std::nullopt;
    const std::size_t name = text->rfind(')');
    if (name == std::string::npos) return std::nullopt;
    std::istringstream fields(text->substr(name + 1));
    Stat stat;
    fields >> stat.state;
    std::string passedOver;
    constexpr int kBetween = 22 - 3 - 1;  // fields between the state, which is the third, and the start
    for (int i = 0; i < kBetween; ++i) fields >> passedOver;
    fields >> stat.startTicks;
    return fields ? std::optional<Stat>(stat) : std::nullopt;
}

}  // namespace

std::optional<JobProcess> JobProcess::of(pid_t pid) {
    const auto stat = readStat(pid);
    if (!stat) return std::nullopt;
    return JobProcess{pid, stat->startTicks, bootName(), hostName()};
}

std::optional<JobProcess> JobProcess::fromJson(const json& message) {
    const std::int64_t pid = numberIn(message, "pid");
    if (pid <= 0) return std::nullopt;
    return JobProcess{static_cast<pid_t>(pid), static_cast<std::uint64_t>(numberIn(message, "start")),
                      textIn(message, "boot"), textIn(message, "machine")};
}

json JobProcess::toJson() const {
    return {{"pid", pid}, {"start", startTicks}, {"boot", boot}, {"machine", machine}};
}

bool JobProcess::elsewhere() const {
    return machine != hostName();
}

bool JobProcess::alive() const {
    if (elsewhere() || boot != bootName()) return false;
    const auto stat = readStat(pid);
    return stat && stat->startTicks == startTicks && stat->state != 'Z' && stat->state != 'X';
}

}  // namespace lpes::remote
