#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/tasks/kv_hash.h"
#include "core/tasks/kv_retrieval.h"
#include "core/tasks/line_reader.h"

namespace lpes::tasks {

namespace {

using nlohmann::json;

constexpr std::string_view kRecords = "ordered_kv_records";

/// "kv-retrieval-75_keys.jsonl.gz" → "kv-retrieval-75_keys": ids are the same for the compressed and the plain file.
std::string dataSetName(const std::filesystem::path& path) {
    std::filesystem::path name = path.filename();
    if (name.extension() == ".gz") name = name.stem();
    if (name.extension() == ".jsonl") name = name.stem();
    return name.string();
}

/// What a line must hold, checked in the order in which a reader of the file would look.
class RecordParser {
  public:
    RecordParser(std::string where, std::optional<int> pairs) : m_where(std::move(where)), m_pairs(pairs) {}

    /// `records` becomes the number of records in the line, before any cut.
    Result<KvItem> parse(const std::string& line, std::size_t& records) const {
        json object;
        try {
            object = json::parse(line);
        } catch (const json::exception& error) {
            return refuse("is not valid JSON; the file may be incomplete", error.what());
        }
        if (!object.is_object()) return refuse("is not a JSON object");
        auto pairsOfLine = readRecords(object);
        if (!pairsOfLine) return fail(pairsOfLine.error());
        records = pairsOfLine->size();
        const auto key = readText(object, "key");
        if (!key) return fail(key.error());
        const auto value = readText(object, "value");
        if (!value) return fail(value.error());

        const auto gold = std::find_if(pairsOfLine->begin(), pairsOfLine->end(),
                                       [&](const auto& pair) { return pair.first == *key; });
        if (gold == pairsOfLine->end()) return refuse(fmt::format("key '{}' is not among '{}'", *key, kRecords));
        if (gold->second != *value) {
            return refuse(fmt::format("value '{}' differs from '{}', which '{}' has for key '{}'", *value, gold->second,
                                      kRecords, *key));
        }
        KvItem item;
        item.gold = std::move(*gold);
        pairsOfLine->erase(gold);
        if (m_pairs) {
            const auto kept = static_cast<std::size_t>(*m_pairs - 1);
            if (pairsOfLine->size() < kept) {
                return refuse(
                    fmt::format("'{}' has {} records, fewer than the {} pairs asked for", kRecords, records, *m_pairs));
            }
            pairsOfLine->resize(kept);
            pairsOfLine->shrink_to_fit();
        }
        item.distractors = std::move(*pairsOfLine);
        return item;
    }

    tl::unexpected<Error> refuse(const std::string& what, std::string detail = {}) const {
        return fail(ErrorCode::BadInput, m_where + " " + what, std::move(detail));
    }

  private:
    using Pairs = std::vector<std::pair<std::string, std::string>>;

    Result<Pairs> readRecords(const json& object) const {
        const auto found = object.find(kRecords);
        if (found == object.end()) return refuse(fmt::format("lacks the field '{}'", kRecords));
        if (!found->is_array()) return refuse(fmt::format("'{}' is not an array", kRecords));
        if (found->size() < 2) {
            return refuse(fmt::format("'{}' has {} records; at least 2 are needed", kRecords, found->size()));
        }
        Pairs pairs;
        std::unordered_map<std::string, std::size_t> seen;
        for (std::size_t i = 0; i < found->size(); ++i) {
            const json& record = (*found)[i];
            if (!record.is_array() || record.size() != 2 || !record[0].is_string() || !record[1].is_string()) {
                return refuse(fmt::format("'{}[{}]' is not a pair of texts [key, value]", kRecords, i));
            }
            pairs.emplace_back(record[0].get<std::string>(), record[1].get<std::string>());
            const auto [other, isNew] = seen.emplace(pairs.back().first, i);
            if (!isNew) {
                return refuse(fmt::format("'{}[{}]' and '{}[{}]' have the same key '{}'", kRecords, other->second,
                                          kRecords, i, other->first));
            }
        }
        return pairs;
    }

    Result<std::string> readText(const json& object, std::string_view field) const {
        const auto found = object.find(field);
        if (found == object.end()) return refuse(fmt::format("lacks the field '{}'", field));
        if (!found->is_string()) return refuse(fmt::format("'{}' is not a text", field));
        auto text = found->get<std::string>();
        // The benchmark refuses an empty key; an empty value would count as found in every answer.
        if (text.empty()) return refuse(fmt::format("'{}' is empty", field));
        return text;
    }

    std::string m_where;
    std::optional<int> m_pairs;
};

}  // namespace

Result<KvDataset> readKvFile(const std::filesystem::path& path, std::optional<int> pairs,
                             std::optional<std::int64_t> limit) try {
    if (pairs && *pairs < 2) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 2 pairs, {} was asked for", *pairs));
    }
    if (limit && *limit < 1) {
        return fail(ErrorCode::Usage, fmt::format("at least 1 item is needed, the limit is {}", *limit));
    }
    auto reader = LineReader::open(path);
    if (!reader) return fail(reader.error());

    KvDataset dataset;
    dataset.name = dataSetName(path);
    std::size_t recordsOfFirst = 0;
    std::string line;
    while (!limit || static_cast<std::int64_t>(dataset.items.size()) < *limit) {
        const auto more = reader->next(line);
        if (!more) return fail(more.error());
        if (!*more) break;
        const RecordParser parser(fmt::format("'{}', line {}:", path.string(), reader->lineNumber()), pairs);
        std::size_t records = 0;
        auto item = parser.parse(line, records);
        if (!item) return fail(item.error());
        if (dataset.items.empty()) recordsOfFirst = records;
        if (records != recordsOfFirst) {
            return parser.refuse(fmt::format("'{}' has {} records, line 1 has {}; all lines need the same number",
                                             kRecords, records, recordsOfFirst));
        }
        item->id = fmt::format("{}/{}", dataset.name, dataset.items.size());
        dataset.items.push_back(std::move(*item));
    }
    if (dataset.items.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' is empty; a key-value file has one JSON object a line", path.string()));
    }
    dataset.pairs = static_cast<int>(dataset.items.front().distractors.size() + 1);
    dataset.hash = hashOfItems(dataset.items);
    return dataset;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("not enough memory for the items of '{}'; set a limit or fewer pairs", path.string()));
}

}  // namespace lpes::tasks
