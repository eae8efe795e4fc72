#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/jsonl_record.h"
#include "core/tasks/packed_fields.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

/// What memory holds of every item beside its place in the spool.
class JsonlIndex {
  public:
    void add(const JsonlItem& item) {
        m_places.push_back(item.places());
        const auto [entry, isNew] = m_numberOf.emplace(item.group, static_cast<std::uint32_t>(m_groups.size()));
        if (isNew) m_groups.push_back(item.group);
        m_groupOf.push_back(entry->second);
    }
    [[nodiscard]] int places(std::size_t item) const { return m_places[item]; }
    [[nodiscard]] const std::string& group(std::size_t item) const { return m_groups[m_groupOf[item]]; }
    [[nodiscard]] bool movable() const {
        return std::any_of(m_places.begin(), m_places.end(), [](int places) { return places > 1; });
    }

  private:
    std::vector<std::int32_t> m_places;
    std::vector<std::uint32_t> m_groupOf;
    std::vector<std::string> m_groups;
    std::unordered_map<std::string, std::uint32_t> m_numberOf;
};

/// The forms that items are asked in, each once and in the order of the file. Memory holds a few of them: a file may
/// have one for every line.
class JsonlTemplates {
  public:
    void add(const JsonlForm& form) {
        if (const auto same = std::ranges::find_if(m_kept, [&](const JsonlForm& kept) { return alike(kept, form); });
            same != m_kept.end())
            return;
        const std::size_t bytes = form.layout.size() + form.document.size() + form.system.size();
        if (m_kept.empty() || (m_kept.size() < kMostKept && m_bytes + bytes <= kMostBytes)) {
            m_bytes += bytes;
            m_kept.push_back(form);
            return;
        }
        ++m_others;
        FieldWriter fields;
        for (const std::string* part : {&form.system, &form.layout, &form.document}) fields.text(*part);
        m_otherHash.add(fields.bytes());
    }

    /// Readable; says which forms there are. Which item has which is in the data's hash. Call once.
    [[nodiscard]] std::string text() {
        std::string text;
        for (const JsonlForm& form : m_kept) {
            if (!text.empty()) text += "\n\n";
            if (!form.system.empty()) text += fmt::format("System: {}\n\n", form.system);
            text += fmt::format("{}\n\n{}", form.layout,
                                form.document.empty() ? kTitledDocument : std::string_view(form.document));
        }
        if (m_others > 0) {
            text +=
                fmt::format("\n\n{} items have templates that are not shown, SHA-256 {}", m_others, m_otherHash.hex());
        }
        return text;
    }

  private:
    static constexpr std::size_t kMostKept = 16, kMostBytes = std::size_t{64} << 10;

    static bool alike(const JsonlForm& one, const JsonlForm& other) {
        return one.layout == other.layout && one.document == other.document && one.system == other.system;
    }

    std::vector<JsonlForm> m_kept;
    std::size_t m_bytes = 0;
    std::int64_t m_others = 0;  ///< items of other forms
    Sha256 m_otherHash;
};

class JsonlBenchmark final : public Benchmark {
  public:
    JsonlBenchmark(BenchmarkInfo info, RecordSpool spool, JsonlIndex index, IdList ids)
        : m_info(std::move(info)), m_spool(std::move(spool)), m_index(std::move(index)), m_ids(std::move(ids)) {}

    const BenchmarkInfo& info() const override { return m_info; }
    std::int64_t size() const override { return m_spool.size(); }
    std::string id(std::int64_t item) const override {
        if (m_ids.size() == 0) return fmt::format("{}/{}", m_info.name, item);
        return fmt::format("{}/{}", m_info.name, m_ids.at(static_cast<std::size_t>(item)));
    }
    std::string group(std::int64_t item) const override { return m_index.group(static_cast<std::size_t>(item)); }
    int places(std::int64_t item) const override { return m_index.places(static_cast<std::size_t>(item)); }

    Result<std::string> contentHash(std::int64_t item) const override {
        const auto bytes = m_spool.read(item);
        if (!bytes) return fail(bytes.error());
        return tasks::contentHash(unpackJsonlItem(*bytes));
    }

    Result<TaskPrompt> prompt(std::int64_t item, int goldIndex, const PromptOptions& /*options*/) const override {
        const auto bytes = m_spool.read(item);
        if (!bytes) return fail(bytes.error());
        return renderJsonlPrompt(unpackJsonlItem(*bytes), goldIndex);
    }

  private:
    BenchmarkInfo m_info;
    RecordSpool m_spool;
    JsonlIndex m_index;
    IdList m_ids;
};

Error refusal(const std::filesystem::path& path, const JsonlReport& report) {
    const std::size_t count = report.faults.size();
    std::string others;
    if (count > 1) {
        others = fmt::format(" ({}{} faults in all)", report.complete ? "" : "at least ", count);
    }
    return Error{
        ErrorCode::BadInput, fmt::format("'{}', {}{}", path.string(), report.faults.front().text(), others), {}, {}};
}

}  // namespace

Result<std::shared_ptr<const Benchmark>> openJsonl(const BenchmarkSpec& spec) {
    const auto path = requiredData(spec);
    if (!path) return fail(path.error());
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());
    JsonlIndex index;
    JsonlTemplates templates;
    Sha256 hash;
    const auto keep = [&](JsonlItem&& item) {
        hash.add(packItem(item));
        index.add(item);
        templates.add(item.form);
        return spool->append(spoolRecord(item));
    };
    auto scan = scanJsonl(*path, spec.limit, keep, spec.stop);
    if (!scan) return fail(scan.error());
    if (!scan->report.faults.empty()) return fail(refusal(*path, scan->report));

    BenchmarkInfo info;
    info.task = "jsonl";
    info.name = dataSetName(*path);
    info.hash = hash.hex();
    info.templateText = templates.text();
    info.templateHash = sha256Hex(info.templateText);
    info.movable = index.movable();
    info.defaultScore = scan->choices ? ScoreKind{ScoreKind::Kind::Choice, 0.0, "choice"}
                                      : ScoreKind{ScoreKind::Kind::Generate, 0.0, "generate"};
    return std::make_shared<JsonlBenchmark>(std::move(info), std::move(*spool), std::move(index), std::move(scan->ids));
}

}  // namespace lpes::tasks
