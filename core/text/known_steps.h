#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer.h"

namespace lpes::text {

/// The pattern inside ByteLevel(use_regex) of the tokenizers library (GPT-2's encoder.py), in Oniguruma's syntax.
extern const std::string_view kGpt2Pattern;
/// Split patterns of the published tokenizer.json of Qwen 2 / 2.5 and of Llama 3.
extern const std::string_view kQwen2Pattern;
extern const std::string_view kLlama3Pattern;

/// A Split step for one of the patterns above.
[[nodiscard]] TokenizerSpec::Step knownSplit(std::string_view onigurumaPattern);

/// "Digits(individual) + ByteLevel(GPT-2 pattern)".
[[nodiscard]] std::string stepsInWords(const std::vector<TokenizerSpec::Step>& steps);

/// Spellings of special tokens that end a generated text wherever they occur ("<|im_end|>", "<|eot_id|>", …).
[[nodiscard]] bool isEndOfTurnSpelling(std::string_view content);

}  // namespace lpes::text
