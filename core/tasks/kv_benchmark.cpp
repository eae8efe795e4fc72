#include <fmt/format.h>

#include <optional>

#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/kv_items.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

constexpr int kDefaultPairs = 20;
constexpr int kMaxNewTokens = 100;

class KvBenchmark : public Benchmark {
  public:
    /// `askedPairIsItem`: items are told by the pair that is asked for alone (contentHash).
    KvBenchmark(std::string name, int pairs, bool askedPairIsItem)
        : m_pairs(pairs), m_askedPairIsItem(askedPairIsItem) {
        m_info.task = "kv";
        m_info.name = std::move(name);
        m_info.templateHash = kvTemplateHash();
        m_info.templateText = kvTemplateText();
        m_info.movable = true;
        m_info.defaultScore = ScoreKind{ScoreKind::Kind::Strict, 0.0, "strict"};
    }

    const BenchmarkInfo& info() const override { return m_info; }
    std::string id(std::int64_t item) const override { return fmt::format("{}/{}", m_info.name, item); }
    int places(std::int64_t /*item*/) const override { return m_pairs; }

    Result<TaskPrompt> prompt(std::int64_t item, int goldIndex, const PromptOptions& /*options*/) const override {
        const auto kv = itemAt(item);
        if (!kv) return fail(kv.error());
        RenderedPrompt rendered = renderKvPrompt(*kv, goldIndex);
        TaskPrompt prompt;
        prompt.text = std::move(rendered.prompt);
        prompt.goldIndex = goldIndex;
        prompt.evidence = {rendered.records[static_cast<std::size_t>(goldIndex)]};
        prompt.records = std::move(rendered.records);
        prompt.instruction = rendered.instruction;
        prompt.question = rendered.question;
        prompt.answer = std::move(rendered.answer);
        prompt.references = {std::move(rendered.value)};
        prompt.rule = {Metric::Contains, kMaxNewTokens, true};
        return prompt;
    }

    Result<std::string> contentHash(std::int64_t item) const override {
        const auto kv = itemAt(item);
        if (!kv) return fail(kv.error());
        ItemHash hash;
        hash.addText("kv");
        const auto addPair = [&](const std::pair<std::string, std::string>& pair) {
            hash.addText(pair.first);
            hash.addText(pair.second);
        };
        addPair(kv->gold);
        if (m_askedPairIsItem) return hash.shortHex();
        for (const auto& pair : kv->distractors) addPair(pair);
        return hash.shortHex();
    }

  protected:
    /// Over their number, ids, gold pairs and distractors in order. Call once, when itemAt() can be asked.
    Result<void> setHash() {
        ItemHash hash;
        hash.addNumber(static_cast<std::uint64_t>(size()));
        for (std::int64_t i = 0; i < size(); ++i) {
            const auto item = itemAt(i);
            if (!item) return fail(item.error());
            hash.addPacked(packItem(*item));
        }
        m_info.hash = hash.hex();
        return {};
    }

  private:
    [[nodiscard]] virtual Result<KvItem> itemAt(std::int64_t item) const = 0;
    BenchmarkInfo m_info;
    int m_pairs;
    bool m_askedPairIsItem;
};

class KvFile final : public KvBenchmark {
  public:
    static Result<std::shared_ptr<const Benchmark>> open(const BenchmarkSpec& spec) {
        auto spool = RecordSpool::create();
        if (!spool) return fail(spool.error());
        int pairs = 0;
        const auto keep = [&](KvItem&& item) {
            pairs = static_cast<int>(item.distractors.size() + 1);
            return spool->append(packItem(item));
        };
        const auto read = readKvItems(*spec.data, spec.pairs, spec.limit, keep, spec.stop);
        if (!read) return fail(read.error());
        const auto file = std::make_shared<KvFile>(dataSetName(*spec.data), pairs, std::move(*spool));
        if (auto hashed = file->setHash(); !hashed) return fail(hashed.error());
        return file;
    }

    KvFile(std::string name, int pairs, RecordSpool spool)
        : KvBenchmark(std::move(name), pairs, true), m_spool(std::move(spool)) {}
    std::int64_t size() const override { return m_spool.size(); }

  private:
    Result<KvItem> itemAt(std::int64_t item) const override {
        const auto bytes = m_spool.read(item);
        if (!bytes) return fail(bytes.error());
        return unpackItem(*bytes);
    }
    RecordSpool m_spool;
};

class KvGenerated final : public KvBenchmark {
  public:
    static Result<std::shared_ptr<const Benchmark>> open(const BenchmarkSpec& spec) {
        const auto keys = parseKeyKind(spec.keys.value_or("uuid"));
        if (!keys) return fail(keys.error());
        const int pairs = spec.pairs.value_or(kDefaultPairs);
        const std::int64_t count = spec.limit.value_or(spec.generateCount);
        if (auto sound = checkLimit(count); !sound) return fail(sound.error());
        auto generator = KvGenerator::create(*keys, pairs, spec.seed.value_or(kDefaultItemSeed), commonWords());
        if (!generator) return fail(generator.error());
        const auto made = std::make_shared<KvGenerated>(std::move(*generator), pairs, count);
        if (auto hashed = made->setHash(); !hashed) return fail(hashed.error());
        return made;
    }

    /// Words and short numbers make the same pair by chance; a whole item they do not make twice.
    KvGenerated(KvGenerator generator, int pairs, std::int64_t count)
        : KvBenchmark(generator.name(), pairs, false), m_generator(std::move(generator)), m_count(count) {}
    std::int64_t size() const override { return m_count; }

  private:
    Result<KvItem> itemAt(std::int64_t item) const override { return m_generator.item(item); }
    KvGenerator m_generator;
    std::int64_t m_count;
};

}  // namespace

Result<std::shared_ptr<const Benchmark>> openKv(const BenchmarkSpec& spec) {
    if (!spec.data) return KvGenerated::open(spec);
    if (spec.keys) {
        return fail(ErrorCode::Usage, "--keys generates items and --data reads them from a file; give one of the two");
    }
    return KvFile::open(spec);
}

}  // namespace lpes::tasks
