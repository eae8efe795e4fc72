#include <fmt/format.h>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/mdqa.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

class MdqaBenchmark final : public Benchmark {
  public:
    MdqaBenchmark(BenchmarkInfo info, int docs, RecordSpool spool)
        : m_info(std::move(info)), m_docs(docs), m_spool(std::move(spool)) {}

    const BenchmarkInfo& info() const override { return m_info; }
    std::int64_t size() const override { return m_spool.size(); }
    std::string id(std::int64_t item) const override { return fmt::format("{}/{}", m_info.name, item); }
    int places(std::int64_t /*item*/) const override { return m_docs; }

    Result<std::string> contentHash(std::int64_t item) const override {
        const auto bytes = m_spool.read(item);
        if (!bytes) return fail(bytes.error());
        return tasks::contentHash(unpackMdqaItem(*bytes));
    }

    Result<TaskPrompt> prompt(std::int64_t item, int goldIndex, const PromptOptions& /*options*/) const override {
        const auto bytes = m_spool.read(item);
        if (!bytes) return fail(bytes.error());
        return renderMdqaPrompt(unpackMdqaItem(*bytes), goldIndex);
    }

  private:
    BenchmarkInfo m_info;
    int m_docs;
    RecordSpool m_spool;
};

}  // namespace

Result<std::shared_ptr<const Benchmark>> openMdqa(const BenchmarkSpec& spec) {
    const auto path = requiredData(spec);
    if (!path) return fail(path.error());
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());
    int docs = 0;
    Sha256 hash;
    const auto keep = [&](MdqaItem&& item) {
        docs = static_cast<int>(item.distractors.size() + 1);
        const std::string bytes = packItem(item);
        hash.add(bytes);
        return spool->append(bytes);
    };
    const auto read = readMdqaItems(*path, spec.docs, spec.limit, keep, spec.stop);
    if (!read) return fail(read.error());
    BenchmarkInfo info = mdqaInfo("mdqa", docs);
    info.name = dataSetName(*path);
    info.hash = hash.hex();
    return std::make_shared<MdqaBenchmark>(std::move(info), docs, std::move(*spool));
}

}  // namespace lpes::tasks
