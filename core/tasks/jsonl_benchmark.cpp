#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/jsonl_record.h"
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
    Sha256 hash;
    const auto keep = [&](JsonlItem&& item) {
        hash.add(packItem(item));
        index.add(item);
        return spool->append(spoolRecord(item));
    };
    auto scan = scanJsonl(*path, spec.limit, keep, spec.stop);
    if (!scan) return fail(scan.error());
    if (!scan->report.faults.empty()) return fail(refusal(*path, scan->report));

    BenchmarkInfo info;
    info.task = "jsonl";
    info.name = dataSetName(*path);
    info.hash = hash.hex();
    const std::string& layout = scan->form.layout;
    const std::string& document = scan->form.document;
    info.templateText = fmt::format("{}\n\n{}", layout.empty() ? defaultLayout(scan->documents, scan->choices) : layout,
                                    document.empty() ? kTitledDocument : std::string_view(document));
    info.templateHash = sha256Hex(info.templateText);
    info.movable = index.movable();
    info.defaultScore = scan->choices ? ScoreKind{ScoreKind::Kind::Choice, 0.0, "choice"}
                                      : ScoreKind{ScoreKind::Kind::Generate, 0.0, "generate"};
    return std::make_shared<JsonlBenchmark>(std::move(info), std::move(*spool), std::move(index), std::move(scan->ids));
}

}  // namespace lpes::tasks
