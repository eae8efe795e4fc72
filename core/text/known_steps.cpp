#include "core/text/known_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/oniguruma_pattern.h"
#include "core/text/spec_checks.h"

namespace lpes::text {

const std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

using Step = TokenizerSpec::Step;
using NormalizerKind = TokenizerSpec::NormalizerStep::Kind;

std::string splitInWords(const Step& step) {
    static constexpr std::array<std::pair<const std::string_view*, const char*>, 4> kNames = {
        {{&kQwen2Pattern, "Qwen2"},
         {&kLlama3Pattern, "Llama 3"},
         {&kTekkenPattern, "Tekken"},
         {&kGpt4oPattern, "GPT-4o"}}};
    static constexpr std::array<const char*, 5> kBehaviors = {"", ", removed", ", merged with previous",
                                                              ", merged with next", ", contiguous"};
    std::string pattern = fmt::format("{:?}", step.pattern);
    for (const auto& [known, name] : kNames) {
        if (step.pattern == knownSplit(*known).pattern) pattern = fmt::format("{} pattern", name);
    }
    return fmt::format("Split({}{}{})", pattern, kBehaviors[static_cast<std::size_t>(step.behavior)],
                       step.invert ? ", inverted" : "");
}

std::string stepInWords(const Step& step) {
    using Kind = Step::Kind;
    switch (step.kind) {
        case Kind::DigitsIndividual:
            return "Digits(individual)";
        case Kind::DigitsGrouped:
            return "Digits(grouped)";
        case Kind::ByteLevelRegex:
            return "ByteLevel(GPT-2 pattern)";
        case Kind::ByteLevelPlain:
            return "ByteLevel";
        case Kind::Split:
            return splitInWords(step);
        case Kind::Metaspace:
            return "Metaspace";
        case Kind::Whitespace:
            return "Whitespace";
        case Kind::WhitespaceSplit:
            return "WhitespaceSplit";
        case Kind::Punctuation:
            return "Punctuation";
    }
    return {};
}

std::string normalizerInWords(const TokenizerSpec::NormalizerStep& step) {
    switch (step.kind) {
        case NormalizerKind::Nfc:
            return "NFC";
        case NormalizerKind::Nfd:
            return "NFD";
        case NormalizerKind::Nfkc:
            return "NFKC";
        case NormalizerKind::Nfkd:
            return "NFKD";
        case NormalizerKind::Lowercase:
            return "Lowercase";
        case NormalizerKind::Strip:
            return "Strip";
        case NormalizerKind::StripAccents:
            return "StripAccents";
        case NormalizerKind::Prepend:
        case NormalizerKind::PrependFirst:
            return fmt::format("Prepend({:?})", step.content);
        case NormalizerKind::Replace:
            return fmt::format("Replace({:?})", step.content);
        case NormalizerKind::Charsmap:
        case NormalizerKind::CharsmapLongest:
            return "Precompiled";
        case NormalizerKind::RemoveExtraSpaces:
            return "RemoveExtraSpaces";
    }
    return {};
}

template <class Steps, class InWords>
std::string joinedInWords(const Steps& steps, const InWords& inWords, const char* none) {
    std::string words;
    for (const auto& step : steps) words += (words.empty() ? "" : " + ") + inWords(step);
    return words.empty() ? none : words;
}

}  // namespace

TokenizerSpec::Step knownSplit(std::string_view onigurumaPattern) {
    // The known patterns are inside the translator's language; a test holds on to that.
    return {TokenizerSpec::Step::Kind::Split, pcre2FromOniguruma(onigurumaPattern).value_or(std::string())};
}

std::string specInWords(const TokenizerSpec& spec) {
    const char* model = spec.model == TokenizerSpec::Model::Unigram ? "Unigram"
                        : endsInByteLevel(spec)                     ? "byte-level BPE"
                                                                    : "BPE";
    const bool prefixSpace =
        std::any_of(spec.steps.begin(), spec.steps.end(), [](const Step& step) { return step.prefixSpace; });
    return fmt::format("{}{}: {}, {} normalizer{}{}", model, spec.byteFallback ? " with byte fallback" : "",
                       joinedInWords(spec.steps, stepInWords, "no pre-tokenizer"),
                       joinedInWords(spec.normalizers, normalizerInWords, "no"),
                       prefixSpace ? ", a space in front" : "", spec.ignoreMerges ? ", whole words before merges" : "");
}

bool isEndOfTurnSpelling(std::string_view content) {
    static constexpr std::array<std::string_view, 8> kSpellings = {"<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",
                                                                   "<|end|>",       "<|endoftext|>", "<|end_of_text|>",
                                                                   "<end_of_turn>", "</s>"};
    return std::find(kSpellings.begin(), kSpellings.end(), content) != kSpellings.end();
}

}  // namespace lpes::text
