#include "core/text/known_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/oniguruma_pattern.h"

namespace lpes::text {

const std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

TokenizerSpec::Step knownSplit(std::string_view onigurumaPattern) {
    // The known patterns are inside the translator's language; a test holds on to that.
    return {TokenizerSpec::Step::Kind::Split, pcre2FromOniguruma(onigurumaPattern).value_or(std::string())};
}

std::string stepsInWords(const std::vector<TokenizerSpec::Step>& steps) {
    using Kind = TokenizerSpec::Step::Kind;
    std::string words;
    for (const auto& step : steps) {
        if (!words.empty()) words += " + ";
        switch (step.kind) {
            case Kind::DigitsIndividual:
                words += "Digits(individual)";
                break;
            case Kind::DigitsGrouped:
                words += "Digits(grouped)";
                break;
            case Kind::ByteLevelRegex:
                words += "ByteLevel(GPT-2 pattern)";
                break;
            case Kind::ByteLevelPlain:
                words += "ByteLevel";
                break;
            case Kind::Split:
                if (step.pattern == knownSplit(kQwen2Pattern).pattern) {
                    words += "Split(Qwen2 pattern)";
                } else if (step.pattern == knownSplit(kLlama3Pattern).pattern) {
                    words += "Split(Llama 3 pattern)";
                } else {
                    words += fmt::format("Split({:?})", step.pattern);
                }
                break;
        }
    }
    return words;
}

bool isEndOfTurnSpelling(std::string_view content) {
    static constexpr std::array<std::string_view, 8> kSpellings = {"<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",
                                                                   "<|end|>",       "<|endoftext|>", "<|end_of_text|>",
                                                                   "<end_of_turn>", "</s>"};
    return std::find(kSpellings.begin(), kSpellings.end(), content) != kSpellings.end();
}

}  // namespace lpes::text
