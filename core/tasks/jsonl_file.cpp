#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include "core/tasks/data_file.h"
#include "core/tasks/json_keys.h"
#include "core/tasks/jsonl_record.h"
#include "core/tasks/line_reader.h"

namespace lpes::tasks {

namespace {

using nlohmann::json;

constexpr std::string_view kHeader = "lpes_task";

bool isBlank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// What is known of a file while its lines go by.
class JsonlScanner {
  public:
    explicit JsonlScanner(const std::function<Result<void>(JsonlItem&&)>& take) : m_take(take) {}

    Result<void> line(std::int64_t number, const std::string& text) {
        if (isBlank(text)) return {};
        m_line = number;
        const std::size_t faultsBefore = scan.report.faults.size();
        json object;
        try {
            KeyedJson parsed = parseKeyedJson(text);
            for (std::string& key : parsed.repeated)
                fault(std::move(key), "is given twice; remove the one that is not meant");
            object = std::move(parsed.value);
        } catch (const json::exception& error) {
            fault("", fmt::format("is not valid JSON ({})", error.what()));
            return {};
        }
        if (!object.is_object()) {
            fault("", "is not a JSON object");
            return {};
        }
        const FaultSink sink = [this](std::string field, std::string what) {
            fault(std::move(field), std::move(what));
        };
        const bool first = std::exchange(m_first, false);
        if (object.contains(kHeader)) {
            header(object, first, sink);
            return {};
        }
        JsonlItem item = readJsonlItem(object, scan.form, sink);
        compareWithFirst(object);
        if (scan.report.faults.size() != faultsBefore) return {};
        ++scan.report.items;
        if (item.id) {
            scan.ids.add(*item.id);
            m_idLines.push_back(number);
        }
        return m_take(std::move(item));
    }

    void finish() {
        const std::vector<std::pair<std::size_t, std::size_t>> repeated = scan.ids.repeated();
        for (const auto& [earlier, later] : repeated) {
            m_line = m_idLines[later];
            fault("id", fmt::format("'{}' is that of line {} as well", scan.ids.at(later), m_idLines[earlier]));
        }
        std::stable_sort(scan.report.faults.begin(), scan.report.faults.end(),
                         [](const JsonlFault& a, const JsonlFault& b) { return a.line < b.line; });
        if (scan.report.faults.empty() && scan.report.items == 0) {
            m_line = 1;
            fault("", "is missing: the file holds no item");
        }
    }

    [[nodiscard]] bool full() const { return scan.report.faults.size() >= JsonlReport::kMostFaults; }

    JsonlScan scan;

  private:
    void fault(std::string field, std::string what) {
        if (full()) {
            scan.report.complete = false;
        } else {
            scan.report.faults.push_back({m_line, std::move(field), std::move(what)});
        }
    }

    void header(const json& object, bool first, const FaultSink& sink) {
        if (!first) return sink(std::string(kHeader), "stands behind items; it has to be the file's first line");
        const json& settings = object.at(kHeader);
        if (object.size() > 1) sink(std::string(kHeader), "does not go with other keys in its line");
        if (!settings.is_object()) return sink(std::string(kHeader), "is not an object");
        const FaultSink inside = [&](std::string field, std::string what) {
            sink(fmt::format("{}.{}", kHeader, field), std::move(what));
        };
        readDefaults(settings, scan.form, inside);
    }

    /// Curves and scores need all items to be of one kind.
    void compareWithFirst(const json& object) {
        const bool has[] = {object.contains("id"), object.contains("gold"), object.contains("choices")};
        if (m_firstItemLine == 0) {
            m_firstItemLine = m_line;
            std::copy(std::begin(has), std::end(has), std::begin(m_has));
            scan.gold = m_has[1];
            scan.choices = m_has[2];
        }
        constexpr const char* kNames[] = {"id", "gold", "choices"};
        for (std::size_t i = 0; i < std::size(kNames); ++i) {
            if (has[i] == m_has[i]) continue;
            fault(kNames[i],
                  fmt::format("is {} here and {} line {}; all lines need it or none", has[i] ? "given" : "missing",
                              has[i] ? "missing in" : "given in", m_firstItemLine));
        }
    }

    const std::function<Result<void>(JsonlItem&&)>& m_take;
    std::int64_t m_line = 0, m_firstItemLine = 0;
    bool m_first = true;
    bool m_has[3] = {};
    std::vector<std::int64_t> m_idLines;
};

}  // namespace

std::string JsonlFault::text() const {
    return field.empty() ? fmt::format("line {}: {}", line, what) : fmt::format("line {}: '{}' {}", line, field, what);
}

void IdList::add(std::string_view id) {
    m_text += id;
    m_ends.push_back(m_text.size());
}

std::string_view IdList::at(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : m_ends[index - 1];
    return std::string_view(m_text).substr(begin, m_ends[index] - begin);
}

std::vector<std::pair<std::size_t, std::size_t>> IdList::repeated() const {
    std::vector<std::size_t> order(size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        const int compared = at(a).compare(at(b));
        return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (at(order[i - 1]) == at(order[i])) pairs.emplace_back(order[i - 1], order[i]);
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return pairs;
}

Result<JsonlScan> scanJsonl(const std::filesystem::path& path, std::optional<std::int64_t> limit,
                            const std::function<Result<void>(JsonlItem&& item)>& take, std::stop_token stop) try {
    if (auto sound = checkLimit(limit); !sound) return fail(sound.error());
    auto reader = LineReader::open(path, std::move(stop));
    if (!reader) return fail(reader.error());
    JsonlScanner scanner(take);
    std::string line;
    while (!limit || scanner.scan.report.items < *limit) {
        if (scanner.full()) {
            scanner.scan.report.complete = false;
            break;
        }
        const auto more = reader->next(line);
        if (!more) return fail(more.error());
        if (!*more) break;
        if (auto taken = scanner.line(reader->lineNumber(), line); !taken) return fail(taken.error());
    }
    scanner.finish();
    return std::move(scanner.scan);
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("not enough memory for the items of '{}'; set a limit", path.string()));
}

Result<JsonlReport> checkJsonl(const std::filesystem::path& path) {
    const auto scan = scanJsonl(path, std::nullopt, [](JsonlItem&&) -> Result<void> { return {}; });
    if (!scan) return fail(scan.error());
    return scan->report;
}

}  // namespace lpes::tasks
