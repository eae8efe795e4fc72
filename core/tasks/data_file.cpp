#include "core/tasks/data_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>

#include "core/tasks/line_reader.h"

namespace lpes::tasks {

std::string dataSetName(const std::filesystem::path& path) {
    std::filesystem::path name = path.filename();
    if (name.extension() == ".gz") name = name.stem();
    if (name.extension() == ".jsonl") name = name.stem();
    return name.string();
}

Result<std::string> memberOfFamily(const std::string& task, const std::string& family,
                                   const std::vector<std::string>& names) {
    const std::string prefix = family + ":";
    std::string name = task.starts_with(prefix) ? task.substr(prefix.size()) : std::string();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        return fail(ErrorCode::Usage, fmt::format("task '{}' is not known; use {}NAME with one of {}", task, prefix,
                                                  fmt::join(names, ", ")));
    }
    return name;
}

Result<std::filesystem::path> requiredData(const BenchmarkSpec& spec) {
    if (spec.data) return *spec.data;
    return fail(ErrorCode::Usage, fmt::format("task '{}' reads its items from a file; name it with --data", spec.task));
}

Result<void> checkLimit(std::optional<std::int64_t> limit) {
    if (!limit || *limit >= 1) return {};
    return fail(ErrorCode::Usage, fmt::format("at least 1 item is needed, the limit is {}", *limit));
}

Result<void> readLines(const std::filesystem::path& path,
                       const std::function<Result<bool>(const std::string& line, const std::string& where)>& take,
                       std::stop_token stop) {
    auto reader = LineReader::open(path, std::move(stop));
    if (!reader) return fail(reader.error());
    std::string line;
    for (;;) {
        const auto more = reader->next(line);
        if (!more) return fail(more.error());
        if (!*more) return {};
        const auto goesOn = take(line, fmt::format("'{}', line {}:", path.string(), reader->lineNumber()));
        if (!goesOn) return fail(goesOn.error());
        if (!*goesOn) return {};
    }
}

Result<std::int64_t> forEachLine(
    const std::filesystem::path& path, std::optional<std::int64_t> limit,
    const std::function<Result<void>(const std::string& line, const std::string& where)>& take,
    std::stop_token stop) try {
    if (auto sound = checkLimit(limit); !sound) return fail(sound.error());
    std::int64_t count = 0;
    const auto takeCounted = [&](const std::string& line, const std::string& where) -> Result<bool> {
        if (auto taken = take(line, where); !taken) return fail(taken.error());
        return ++count != limit;
    };
    const auto read = readLines(path, takeCounted, std::move(stop));
    if (!read) return fail(read.error());
    if (count == 0) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' is empty; it has to hold one JSON object a line", path.string()));
    }
    return count;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("not enough memory for the items of '{}'; set a limit", path.string()));
}

Result<std::filesystem::path> findDataFile(const BenchmarkSpec& spec, const std::vector<std::string>& inFolder) {
    auto data = requiredData(spec);
    std::error_code ignored;
    if (!data || !std::filesystem::is_directory(*data, ignored)) return data;
    for (const std::string& name : inFolder) {
        for (const char* compression : {"", ".gz"}) {
            const auto file = *spec.data / (name + compression);
            if (std::filesystem::exists(file, ignored)) return file;
        }
    }
    return fail(ErrorCode::BadInput, fmt::format("'{}' holds no items of '{}'; looked for {} (or .gz)",
                                                 spec.data->string(), spec.task, fmt::join(inFolder, ", ")));
}

}  // namespace lpes::tasks
