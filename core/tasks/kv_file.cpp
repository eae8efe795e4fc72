#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/tasks/data_file.h"
#include "core/tasks/json_record.h"
#include "core/tasks/kv_items.h"

namespace lpes::tasks {

namespace {

using nlohmann::json;

constexpr std::string_view kRecords = "ordered_kv_records";

/// What a line must hold, checked in the order in which a reader of the file would look.
class RecordParser {
  public:
    RecordParser(const JsonRecord& record, std::optional<int> pairs) : m_record(record), m_pairs(pairs) {}

    /// `records` becomes the number of records in the line, before any cut.
    Result<KvItem> parse(std::size_t& records) const {
        auto pairsOfLine = readRecords();
        if (!pairsOfLine) return fail(pairsOfLine.error());
        records = pairsOfLine->size();
        // The benchmark refuses an empty key.
        const auto key = m_record.filled("key");
        if (!key) return fail(key.error());
        // An empty value would count as found in every answer.
        const auto value = m_record.filled("value");
        if (!value) return fail(value.error());

        const auto gold = std::find_if(pairsOfLine->begin(), pairsOfLine->end(),
                                       [&](const auto& pair) { return pair.first == *key; });
        if (gold == pairsOfLine->end())
            return m_record.refuse(fmt::format("key '{}' is not among '{}'", *key, kRecords));
        if (gold->second != *value) {
            return m_record.refuse(fmt::format("value '{}' differs from '{}', which '{}' has for key '{}'", *value,
                                               gold->second, kRecords, *key));
        }
        KvItem item;
        item.gold = std::move(*gold);
        pairsOfLine->erase(gold);
        if (m_pairs) {
            const auto kept = static_cast<std::size_t>(*m_pairs - 1);
            if (pairsOfLine->size() < kept) {
                return m_record.refuse(
                    fmt::format("'{}' has {} records, fewer than the {} pairs asked for", kRecords, records, *m_pairs));
            }
            pairsOfLine->resize(kept);
            pairsOfLine->shrink_to_fit();
        }
        item.distractors = std::move(*pairsOfLine);
        return item;
    }

  private:
    using Pairs = std::vector<std::pair<std::string, std::string>>;

    Result<Pairs> readRecords() const {
        const auto found = m_record.array(kRecords);
        if (!found) return fail(found.error());
        const json& array = **found;
        if (array.size() < 2) {
            return m_record.refuse(fmt::format("'{}' has {} records; at least 2 are needed", kRecords, array.size()));
        }
        Pairs pairs;
        std::unordered_map<std::string, std::size_t> seen;
        for (std::size_t i = 0; i < array.size(); ++i) {
            const json& record = array[i];
            if (!record.is_array() || record.size() != 2 || !record[0].is_string() || !record[1].is_string()) {
                return m_record.refuse(fmt::format("'{}[{}]' is not a pair of texts [key, value]", kRecords, i));
            }
            pairs.emplace_back(record[0].get<std::string>(), record[1].get<std::string>());
            const auto [other, isNew] = seen.emplace(pairs.back().first, i);
            if (!isNew) {
                return m_record.refuse(fmt::format("'{}[{}]' and '{}[{}]' have the same key '{}'", kRecords,
                                                   other->second, kRecords, i, other->first));
            }
        }
        return pairs;
    }

    const JsonRecord& m_record;
    std::optional<int> m_pairs;
};

}  // namespace

Result<void> readKvItems(const std::filesystem::path& path, std::optional<int> pairs, std::optional<std::int64_t> limit,
                         const std::function<Result<void>(KvItem&& item)>& take, std::stop_token stop) {
    if (pairs && *pairs < 2) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 2 pairs, {} was asked for", *pairs));
    }
    const std::string name = dataSetName(path);
    std::int64_t index = 0;
    std::size_t recordsOfFirst = 0;
    const auto takeLine = [&](const std::string& line, const std::string& where) -> Result<void> {
        auto record = JsonRecord::parse(where, line);
        if (!record) return fail(record.error());
        std::size_t records = 0;
        auto item = RecordParser(*record, pairs).parse(records);
        if (!item) return fail(item.error());
        if (index == 0) recordsOfFirst = records;
        if (records != recordsOfFirst) {
            return record->refuse(fmt::format("'{}' has {} records, line 1 has {}; all lines need the same number",
                                              kRecords, records, recordsOfFirst));
        }
        item->id = fmt::format("{}/{}", name, index++);
        return take(std::move(*item));
    };
    const auto lines = forEachLine(path, limit, takeLine, std::move(stop));
    if (!lines) return fail(lines.error());
    return {};
}

}  // namespace lpes::tasks
