#include "core/remote/remote_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "core/remote/data_files.h"
#include "core/remote/messages.h"

namespace lpes::remote {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

Result<std::string> copyData(Session& session, const Host& host, const DataFiles& data, ProgressObserver& observer) {
    const std::string stage = fmt::format("copying {} to {}", data.name, host.name);
    std::int64_t done = 0;
    for (const DataFiles::File& file : data.files) {
        observer.progressed({stage, done++, std::ssize(data.files), 0.0, -1.0});
        // A folder's files keep their places in it.
        const std::string name = data.folder ? data.name + "/" + file.name : file.name;
        auto put = session.askWithFile({{"do", "put"}, {"key", data.key}, {"file", name}, {"bytes", file.bytes}},
                                       data.pathOf(file), file.bytes);
        if (!put) return fail(put.error());
    }
    observer.progressed({stage, done, std::ssize(data.files), 0.0, -1.0});
    auto kept = session.ask({{"do", "keep_data"}, {"key", data.key}, {"name", data.name}});
    if (!kept) return fail(kept.error());
    return textIn(*kept, "path");
}

/// Where the data are there.
Result<std::string> bring(Session& session, const Host& host, const std::string& path, ProgressObserver& observer) {
    std::error_code missing;
    if (!fs::exists(path, missing)) {
        auto there = session.ask({{"do", "exists"}, {"path", path}});
        if (!there) return fail(there.error());
        if (there->contains("there") && (*there)["there"] == true) return path;
        return fail(ErrorCode::BadInput, fmt::format("the data '{}' are neither on this machine nor on '{}'; correct "
                                                     "the path",
                                                     path, host.name));
    }
    const auto data = listData(path);
    if (!data) return fail(data.error());
    auto found = session.ask({{"do", "find_data"}, {"key", data->key}, {"name", data->name}, {"path", path}});
    if (!found) return fail(found.error());
    if (const std::string there = textIn(*found, "path"); !there.empty()) return there;
    return copyData(session, host, *data, observer);
}

}  // namespace

Result<void> bringData(Session& session, const Host& host, json& settings, const std::vector<std::string>& keys,
                       ProgressObserver& observer) {
    for (const std::string& key : keys) {
        if (!settings.contains(key)) continue;
        const std::string path = textIn(settings[key], "value");
        if (path.empty()) continue;
        auto there = bring(session, host, path, observer);
        if (!there) return fail(there.error());
        settings[key]["value"] = *there;
    }
    return {};
}

}  // namespace lpes::remote
