#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// The pattern inside ByteLevel(use_regex) of the tokenizers library (GPT-2's encoder.py), in Oniguruma's syntax.
extern const std::string_view kGpt2Pattern;
/// Split patterns of the published tokenizer.json files of Qwen 2, 2.5 and 3; of Llama 3; of Mistral NeMo (Tekken); of
/// GPT-4o's family, which Phi-4-mini uses.
extern const std::string_view kQwen2Pattern;
extern const std::string_view kLlama3Pattern;
extern const std::string_view kTekkenPattern;
extern const std::string_view kGpt4oPattern;

/// A Split step for one of the patterns above.
[[nodiscard]] TokenizerSpec::Step knownSplit(std::string_view onigurumaPattern);

/// "byte-level BPE: Digits(individual) + ByteLevel(GPT-2 pattern), no normalizer".
[[nodiscard]] std::string specInWords(const TokenizerSpec& spec);

/// Spellings of special tokens that end a generated text wherever they occur ("<|im_end|>", "<|eot_id|>", …).
[[nodiscard]] bool isEndOfTurnSpelling(std::string_view content);

}  // namespace lpes::text
