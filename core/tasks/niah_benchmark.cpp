#include <fmt/format.h>

#include <algorithm>

#include "core/base/checksum.h"
#include "core/tasks/data_file.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/niah.h"

namespace lpes::tasks {

namespace {

/// No vocabulary's tokens are this long on the average of a text, so that an essay's text behind it is never needed.
constexpr std::size_t kMostBytesPerToken = 32;

std::string templateText(const NiahSpec& spec) {
    NiahNeedles needles;
    needles.queries.assign(static_cast<std::size_t>(spec.queries), "{query}");
    for (int i = 0; i < spec.queries * spec.values; ++i) {
        needles.needles.push_back({"{query}", "{value}"});
        needles.asked.push_back(true);
        needles.answers.emplace_back("{value}");
    }
    const std::vector<std::size_t> gaps(needles.needles.size() - 1, 0);
    const TaskPrompt sample = renderNiahPrompt(spec, needles, {"{sentence}", "{sentence}"}, gaps, 1);
    return sample.text + sample.answer;
}

class NiahBenchmark final : public Benchmark {
  public:
    NiahBenchmark(NiahSpec spec, std::int64_t count, std::uint64_t seed, std::vector<std::string> essay)
        : m_spec(std::move(spec)), m_count(count), m_seed(seed), m_essay(std::move(essay)) {
        m_info.task = "niah";
        m_info.name = fmt::format("niah-{}-{}-{}-k{}v{}q{}-{}", m_spec.haystack, m_spec.keyKind, m_spec.valueKind,
                                  m_spec.keys, m_spec.values, m_spec.queries, m_spec.length);
        m_info.templateText = templateText(m_spec);
        m_info.templateHash = sha256Hex(m_info.templateText);
        m_info.movable = true;
        m_info.defaultScore = ScoreKind{ScoreKind::Kind::Generate, 0.0, "generate"};
    }

    const BenchmarkInfo& info() const override { return m_info; }
    std::int64_t size() const override { return m_count; }
    std::string id(std::int64_t item) const override { return fmt::format("{}/{}", m_info.name, item); }
    int places(std::int64_t /*item*/) const override { return static_cast<int>(m_sentences) + 1; }
    Result<std::string> contentHash(std::int64_t item) const override {
        const NiahNeedles needles = drawNeedles(m_spec, m_seed, item);
        ItemHash hash;
        hash.addText("niah");
        hash.addTexts(needles.queries);
        hash.addTexts(needles.answers);
        return hash.shortHex();
    }
    Result<TaskPrompt> prompt(std::int64_t item, int goldIndex, const PromptOptions& /*options*/) const override {
        return render(item, goldIndex, m_sentences);
    }

    /// Finds the number of sentences, and hashes the items.
    Result<void> prepare(const text::Tokenizer& tokenizer) {
        // The needles that stand still need a gap each, and the one that moves needs two to choose from.
        const auto least = std::max<std::size_t>(
            1, static_cast<std::size_t>(m_spec.keys) * static_cast<std::size_t>(m_spec.values) - 1);
        std::size_t good = least, bad = 2 * least;
        for (;; bad *= 2) {
            const auto fit = fits(tokenizer, 0, bad);
            if (!fit) return fail(fit.error());
            if (!*fit) break;
            good = bad;
        }
        for (std::int64_t item = 0; item < m_count; ++item) {
            const auto longest = longestThatFits(tokenizer, item, least, good, bad);
            if (!longest) return fail(longest.error());
            good = *longest;
            bad = good + 1;
        }
        m_sentences = good;
        Sha256 hash;
        for (std::int64_t item = 0; item < m_count; ++item) {
            const TaskPrompt made = render(item, 0, m_sentences);
            for (const std::string& text : {id(item), made.text, made.answer}) {
                hash.add(fmt::format("{}:", text.size()));
                hash.add(text);
            }
        }
        m_info.hash = hash.hex();
        return {};
    }

  private:
    [[nodiscard]] TaskPrompt render(std::int64_t item, int place, std::size_t sentences) const {
        const NiahNeedles needles = drawNeedles(m_spec, m_seed, item);
        return renderNiahPrompt(m_spec, needles, haystackSentences(m_spec, m_essay, needles, m_seed, item, sentences),
                                drawGaps(needles, m_seed, item, sentences), place);
    }

    /// Tokens of the item's longest prompt and of its answer's room. What a needle costs may depend on its neighbours:
    /// the ends are looked at, where these are not sentences.
    [[nodiscard]] Result<std::size_t> tokens(const text::Tokenizer& tokenizer, std::int64_t item,
                                             std::size_t sentences) const {
        std::size_t most = 0;
        for (const std::size_t place : {std::size_t{0}, sentences}) {
            const auto encoded =
                tokenizer.encode(render(item, static_cast<int>(place), sentences).text, {.addSpecial = true});
            if (!encoded) return fail(encoded.error());
            most = std::max(most, encoded->ids.size());
        }
        return most + kNiahAnswerTokens;
    }

    [[nodiscard]] Result<bool> fits(const text::Tokenizer& tokenizer, std::int64_t item, std::size_t sentences) const {
        const auto needed = tokens(tokenizer, item, sentences);
        if (!needed) return fail(needed.error());
        return *needed <= static_cast<std::size_t>(m_spec.length);
    }

    /// The largest number of sentences from `least` to below `bad` with which the item fits; `good` is tried first.
    [[nodiscard]] Result<std::size_t> longestThatFits(const text::Tokenizer& tokenizer, std::int64_t item,
                                                      std::size_t least, std::size_t good, std::size_t bad) const {
        auto fit = fits(tokenizer, item, good);
        if (!fit) return fail(fit.error());
        if (!*fit) {
            bad = good;
            good = least;
            const auto needed = tokens(tokenizer, item, least);
            if (!needed) return fail(needed.error());
            if (*needed > static_cast<std::size_t>(m_spec.length)) {
                return fail(ErrorCode::Usage,
                            fmt::format("{} needles among {} sentences and the answer's room of {} take {} tokens, the "
                                        "length is {}; ask for more tokens or fewer needles",
                                        m_spec.keys * m_spec.values, least, kNiahAnswerTokens, *needed, m_spec.length));
            }
        }
        while (bad - good > 1) {
            const std::size_t middle = good + (bad - good) / 2;
            fit = fits(tokenizer, item, middle);
            if (!fit) return fail(fit.error());
            (*fit ? good : bad) = middle;
        }
        return good;
    }

    BenchmarkInfo m_info;
    NiahSpec m_spec;
    std::int64_t m_count;
    std::uint64_t m_seed;
    std::vector<std::string> m_essay;
    std::size_t m_sentences = 0;
};

}  // namespace

Result<std::shared_ptr<const Benchmark>> openNiah(const BenchmarkSpec& spec, const text::Tokenizer& tokenizer) {
    auto niah = checkedNiahSpec(spec.niah);
    if (!niah) return fail(niah.error());
    const std::int64_t count = spec.limit.value_or(spec.generateCount);
    if (auto sound = checkLimit(count); !sound) return fail(sound.error());
    std::vector<std::string> essay;
    if ((niah->haystack == "essay") != spec.data.has_value()) {
        return fail(ErrorCode::Usage, spec.data
                                          ? fmt::format("--data is the text of --haystack essay, not of '{}'; give "
                                                        "one of the two",
                                                        niah->haystack)
                                          : "--haystack essay takes its text from a file or a folder of .txt "
                                            "files; name it with --data");
    }
    if (spec.data) {
        auto read = readEssay(*spec.data, static_cast<std::size_t>(niah->length) * kMostBytesPerToken, spec.stop);
        if (!read) return fail(read.error());
        essay = std::move(*read);
    }
    const auto benchmark = std::make_shared<NiahBenchmark>(std::move(*niah), count,
                                                           spec.seed.value_or(kDefaultItemSeed), std::move(essay));
    if (auto prepared = benchmark->prepare(tokenizer); !prepared) return fail(prepared.error());
    return benchmark;
}

}  // namespace lpes::tasks
