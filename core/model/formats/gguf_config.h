#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/model/formats/gguf.h"
#include "core/model/formats/model_draft.h"
#include "core/text/tokenizer.h"

namespace lpes::model {

/// Reads general.* and <architecture>.* (docs/gguf.md in ggml-org/ggml; meaning as llama.cpp gives it).
///
/// BadInput: a key that is missing, of another type, out of range, or at odds with another; rope.freq_base has no
/// default here. Unsupported by name: architecture, adapters, experts, rope scaling types and frequency
/// tables, values that differ per layer, scales and caps on attention, residual or logits.
[[nodiscard]] Result<ModelDraft> readGgufConfig(const GgufFile& gguf, const std::filesystem::path& file);

/// The types and lengths of tokenizer.ggml.*: BadInput when a list is of another type or length than tokens.
[[nodiscard]] Result<void> checkGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file);
/// Copies tokenizer.ggml.* out of the file. BadInput when the file has no tokenizer.
[[nodiscard]] Result<text::GgufVocabulary> readGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file);

}  // namespace lpes::model
