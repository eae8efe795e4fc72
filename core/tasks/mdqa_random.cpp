#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <unordered_set>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/mdqa.h"
#include "core/tasks/random_texts.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

constexpr int kDefaultDocs = 20;

/// The words of a text between spaces: runs of letters, digits and marks, decomposed and case-folded, without articles.
/// As DPR's has_answer, which chose the official distractors, but for the articles and for punctuation, which is left
/// out here.
std::string wordsOf(const std::string& text) {
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> folded(
        [&] {
            utf8proc_uint8_t* made = nullptr;
            utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &made,
                         static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD));
            return made;
        }(),
        std::free);
    std::string words = " ", word;
    const auto endWord = [&] {
        if (!word.empty() && word != "a" && word != "an" && word != "the") words += word + " ";
        word.clear();
    };
    std::string_view rest = folded ? std::string_view(reinterpret_cast<const char*>(folded.get())) : std::string_view();
    while (!rest.empty()) {
        utf8proc_int32_t code = 0;
        const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                           static_cast<utf8proc_ssize_t>(rest.size()), &code);
        const auto used = static_cast<std::size_t>(std::max<utf8proc_ssize_t>(size, 1));
        const auto category = utf8proc_category(code);
        if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) {
            word += rest.substr(0, used);
        } else {
            endWord();
        }
        rest.remove_prefix(used);
    }
    endWord();
    return words;
}

/// The answers' words; an answer without words is none that a text could hold.
std::vector<std::string> lookedFor(const std::vector<std::string>& answers) {
    std::vector<std::string> wanted;
    for (const std::string& answer : answers) {
        if (std::string words = wordsOf(answer); words != " ") wanted.push_back(std::move(words));
    }
    return wanted;
}

bool holdsOneOf(const MdqaDocument& document, const std::vector<std::string>& wanted) {
    const std::string words = wordsOf(document.title + "\n" + document.text);
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const std::string& answer) { return words.find(answer) != std::string::npos; });
}

/// methods.md §3.6: the gold passage among other questions' gold passages, which hold none of its answers. Which ones
/// is drawn from (seed, item) alone, without replacement from the whole file; no text stands twice in a prompt.
class MdqaRandom final : public Benchmark {
  public:
    MdqaRandom(BenchmarkInfo info, int docs, std::uint64_t seed, RecordSpool spool)
        : m_info(std::move(info)), m_docs(docs), m_seed(seed), m_spool(std::move(spool)) {}

    const BenchmarkInfo& info() const override { return m_info; }
    std::int64_t size() const override { return m_size; }
    std::string id(std::int64_t item) const override { return fmt::format("{}/{}", m_dataset, item); }
    int places(std::int64_t /*item*/) const override { return m_docs; }

    Result<std::string> contentHash(std::int64_t item) const override {
        const auto asked = record(item);
        if (!asked) return fail(asked.error());
        return tasks::contentHash(*asked);
    }

    Result<TaskPrompt> prompt(std::int64_t item, int goldIndex, const PromptOptions& /*options*/) const override {
        const auto whole = itemAt(item);
        if (!whole) return fail(whole.error());
        return renderMdqaPrompt(*whole, goldIndex);
    }

    /// Makes every item once: so all have enough distractors, and the hash covers what stands in the prompts.
    Result<void> prepare(const std::string& dataset, std::optional<std::int64_t> limit) {
        m_dataset = dataset;
        m_size = std::min(limit.value_or(m_spool.size()), m_spool.size());
        Sha256 hash;
        for (std::int64_t i = 0; i < m_size; ++i) {
            const auto item = itemAt(i);
            if (!item) return fail(item.error());
            hash.add(packItem(*item));
        }
        m_info.hash = hash.hex();
        return {};
    }

  private:
    [[nodiscard]] Result<MdqaItem> record(std::int64_t index) const {
        const auto bytes = m_spool.read(index);
        if (!bytes) return fail(bytes.error());
        return unpackMdqaItem(*bytes);
    }

    [[nodiscard]] Result<MdqaItem> itemAt(std::int64_t index) const {
        auto item = record(index);
        if (!item) return item;
        const std::vector<std::string> wanted = lookedFor(item->answers);
        std::unordered_set<std::string> texts{item->gold.text};
        RandomStream random = itemStream(m_seed, kStreamDistractors, index);
        PlaceDrawer drawer(random, static_cast<std::size_t>(m_spool.size()));
        const auto needed = static_cast<std::size_t>(m_docs - 1);
        for (std::int64_t drawn = 0; drawn < m_spool.size() && item->distractors.size() < needed; ++drawn) {
            const auto other = static_cast<std::int64_t>(drawer.next());
            if (other == index) continue;
            auto passage = record(other);
            if (!passage) return passage;
            if (holdsOneOf(passage->gold, wanted) || !texts.insert(passage->gold.text).second) continue;
            item->distractors.push_back(std::move(passage->gold));
        }
        if (item->distractors.size() < needed) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' has {} passages of other questions without the answers of item {}, {} "
                                    "documents need {}; ask for fewer with --docs",
                                    m_dataset, item->distractors.size(), id(index), m_docs, needed));
        }
        return item;
    }

    BenchmarkInfo m_info;
    int m_docs;
    std::uint64_t m_seed;
    RecordSpool m_spool;
    std::string m_dataset;
    std::int64_t m_size = 0;
};

}  // namespace

Result<std::shared_ptr<const Benchmark>> openMdqaRandom(const BenchmarkSpec& spec) {
    const auto path = requiredData(spec);
    if (!path) return fail(path.error());
    if (auto sound = checkLimit(spec.limit); !sound) return fail(sound.error());
    const int docs = spec.docs.value_or(kDefaultDocs);
    if (docs < 2) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 2 documents, --docs asks for {}", docs));
    }
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());
    // Gold passages alone, of the whole file: what is drawn must not depend on the limit.
    const auto keep = [&](MdqaItem&& item) { return spool->append(packItem(item)); };
    const auto read = readMdqaItems(*path, 1, std::nullopt, keep, spec.stop);
    if (!read) return fail(read.error());
    const std::string dataset = dataSetName(*path);
    BenchmarkInfo info = mdqaInfo("mdqa-random", docs);
    const std::uint64_t seed = spec.seed.value_or(kDefaultItemSeed);
    info.name = fmt::format("MDQA-random {} documents of {}, seed {}", docs, dataset, seed);
    const auto benchmark = std::make_shared<MdqaRandom>(std::move(info), docs, seed, std::move(*spool));
    if (auto prepared = benchmark->prepare(dataset, spec.limit); !prepared) return fail(prepared.error());
    return benchmark;
}

}  // namespace lpes::tasks
