#include "core/model/torch/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lpes::model {
namespace {

std::vector<std::string_view> parts(std::string_view text, char separator) {
    std::vector<std::string_view> found;
    for (;;) {
        const std::size_t end = text.find(separator);
        found.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return found;
        text.remove_prefix(end + 1);
    }
}

/// Of a GPU's free memory.
constexpr int kLeastPercent = 10, kMostPercent = 90;

}  // namespace

Result<std::vector<Placement>> parseDevices(const std::string& text, int gpus) {
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::Usage,
                    fmt::format("the device '{}' {}; write cpu, cuda:N, cuda:0+cuda:1 to share the layers, or "
                                "cuda:0,cuda:1 for a replica on each",
                                text, why));
    };
    if (text == "cpu") return std::vector<Placement>{{at::Device(at::kCPU)}};
    if (text == "cuda") {
        Placement all;
        for (int i = 0; i < std::max(1, gpus); ++i) all.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(i));
        return std::vector<Placement>{all};
    }
    std::vector<Placement> replicas;
    std::vector<int> seen;
    for (const std::string_view replica : parts(text, ',')) {
        Placement& placement = replicas.emplace_back();
        for (const std::string_view device : parts(replica, '+')) {
            constexpr std::string_view kPrefix = "cuda:";
            int index = -1;
            const std::string_view number = device.substr(std::min(kPrefix.size(), device.size()));
            const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
            if (!device.starts_with(kPrefix) || error != std::errc{} || end != number.data() + number.size() ||
                index < 0 || index > 127) {
                return refuse("is none");
            }
            if (std::find(seen.begin(), seen.end(), index) != seen.end()) {
                return refuse(fmt::format("names cuda:{} twice", index));
            }
            seen.push_back(index);
            placement.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(index));
        }
    }
    return replicas;
}

std::int64_t usableBytes(std::int64_t freeBytes) {
    return freeBytes / 100 * kMostPercent;
}

std::vector<at::Device> spreadLayers(const Placement& placement, std::span<const std::int64_t> freeBytes,
                                     std::span<const std::int64_t> layerBytes) {
    const auto filled = [&](double share) -> std::vector<at::Device> {
        const auto room = [&](std::size_t gpu) { return share * static_cast<double>(freeBytes[gpu]); };
        std::vector<at::Device> devices;
        std::size_t current = 0;
        double left = room(0);
        for (const std::int64_t bytes : layerBytes) {
            while (static_cast<double>(bytes) > left) {
                if (++current == placement.size()) return {};
                left = room(current);
            }
            left -= static_cast<double>(bytes);
            devices.push_back(placement[current]);
        }
        return devices;
    };
    for (int percent = kLeastPercent; percent <= kMostPercent; ++percent) {
        auto devices = filled(percent / 100.0);
        if (!devices.empty()) return devices;
    }
    return {};
}

}  // namespace lpes::model
