#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/tasks/kv_retrieval.h"
#include "core/tasks/niah.h"
#include "core/tasks/random_texts.h"

namespace lpes::tasks {

namespace {

constexpr std::array<std::string_view, 3> kKinds{"words", "numbers", "uuids"};
constexpr std::array<std::string_view, 3> kHaystacks{"noise", "needle", "essay"};
constexpr int kMostNeedles = 10'000;
constexpr int kLongest = 1 << 24;  // tokens

template <std::size_t N>
Result<void> checkName(std::string_view what, const std::string& given, const std::array<std::string_view, N>& known) {
    if (std::find(known.begin(), known.end(), given) != known.end()) return {};
    return fail(ErrorCode::Usage,
                fmt::format("{} '{}' is not understood; use {}", what, given, fmt::join(known, ", ")));
}

std::string drawText(RandomStream& random, const std::string& kind) {
    if (kind == "numbers") return std::to_string(1'000'000 + random.below(9'000'000));
    if (kind == "uuids") return drawUuid(random);
    const std::vector<std::string>& words = commonWords();
    const std::string& first = words[random.below(words.size())];
    return first + "-" + words[random.below(words.size())];
}

/// A text that was not drawn before, and is now.
std::string drawNew(RandomStream& random, const std::string& kind, std::unordered_set<std::string>& seen) {
    for (;;) {
        std::string text = drawText(random, kind);
        if (seen.insert(text).second) return text;
    }
}

}  // namespace

Result<NiahSpec> checkedNiahSpec(NiahSpec spec) {
    if (auto known = checkName("haystack", spec.haystack, kHaystacks); !known) return fail(known.error());
    if (auto known = checkName("kind of keys", spec.keyKind, kKinds); !known) return fail(known.error());
    if (auto known = checkName("kind of values", spec.valueKind, kKinds); !known) return fail(known.error());
    for (const auto& [what, number] :
         {std::pair{"keys", spec.keys}, {"values", spec.values}, {"queries", spec.queries}}) {
        if (number >= 1 && number <= kMostNeedles) continue;
        return fail(ErrorCode::Usage,
                    fmt::format("{} needle {} were asked for; give 1 to {}", number, what, kMostNeedles));
    }
    spec.keys = std::max(spec.keys, spec.queries);
    if (std::int64_t{spec.keys} * spec.values > kMostNeedles) {
        return fail(ErrorCode::Usage, fmt::format("{} keys with {} values each are more than {} needles; ask for fewer",
                                                  spec.keys, spec.values, kMostNeedles));
    }
    if (spec.length < 1 || spec.length > kLongest) {
        return fail(ErrorCode::Usage,
                    fmt::format("a length of {} tokens was asked for; give 1 to {}", spec.length, kLongest));
    }
    return spec;
}

NiahNeedles drawNeedles(const NiahSpec& spec, std::uint64_t seed, std::int64_t index) {
    RandomStream random = itemStream(seed, kStreamNeedles, index);
    std::unordered_set<std::string> seen;
    std::vector<std::vector<Needle>> byKey;
    for (int k = 0; k < spec.keys; ++k) {
        const std::string key = drawNew(random, spec.keyKind, seen);
        std::vector<Needle>& needles = byKey.emplace_back();
        for (int v = 0; v < spec.values; ++v) needles.push_back({key, drawNew(random, spec.valueKind, seen)});
    }
    NiahNeedles drawn;
    std::vector<std::size_t> order = drawPlaces(random, byKey.size(), byKey.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        const bool asked = k < static_cast<std::size_t>(spec.queries);
        const std::vector<Needle>& needles = byKey[order[k]];
        if (asked) drawn.queries.push_back(needles.front().key);
        for (const Needle& needle : needles) {
            drawn.needles.push_back(needle);
            drawn.asked.push_back(asked);
            if (asked) drawn.answers.push_back(needle.value);
        }
    }
    return drawn;
}

std::vector<std::size_t> drawGaps(const NiahNeedles& needles, std::uint64_t seed, std::int64_t index,
                                  std::size_t sentences) {
    RandomStream random = itemStream(seed, kStreamSlots, index);
    return drawPlaces(random, sentences + 1, needles.needles.size() - 1);
}

std::vector<std::string> haystackSentences(const NiahSpec& spec, const std::vector<std::string>& essay,
                                           const NiahNeedles& needles, std::uint64_t seed, std::int64_t index,
                                           std::size_t count) {
    std::vector<std::string> sentences;
    sentences.reserve(count);
    if (spec.haystack == "noise") {
        sentences.assign(count,
                         "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.");
    } else if (spec.haystack == "essay") {
        for (std::size_t i = 0; i < count; ++i) sentences.push_back(essay[i % essay.size()]);
    } else {
        std::unordered_set<std::string> hidden;
        for (const Needle& needle : needles.needles) {
            hidden.insert(needle.key);
            hidden.insert(needle.value);
        }
        RandomStream random = itemStream(seed, kStreamHaystack, index);
        const auto draw = [&](const std::string& kind) {
            for (;;) {
                std::string text = drawText(random, kind);
                if (!hidden.contains(text)) return text;
            }
        };
        for (std::size_t i = 0; i < count; ++i) {
            Needle needle;
            needle.key = draw(spec.keyKind);
            needle.value = draw(spec.valueKind);
            sentences.push_back(needleSentence(spec, needle));
        }
    }
    return sentences;
}

}  // namespace lpes::tasks
