#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/model/families.h"
#include "core/model/formats/gguf.h"
#include "core/model/formats/gguf_fields.h"
#include "core/model/formats/model_draft.h"
#include "core/text/tokenizer.h"

namespace lpes::model {

/// Reads general.* and <architecture>.* (docs/gguf.md in ggml-org/ggml; meaning as llama.cpp gives it).
///
/// BadInput: a key that is missing, of another type, out of range, or at odds with another; rope.freq_base has no
/// default here but in families whose files never have it. Unsupported by name: architecture, adapters, experts, rope
/// settings, values that differ per layer, scales and caps that the family has not.
[[nodiscard]] Result<ModelDraft> readGgufConfig(const GgufFile& gguf, const std::filesystem::path& file);

/// The rotary embeddings: <architecture>.rope.*, and the tensors rope_freqs, rope_factors_short and rope_factors_long.
/// headDim, numLayers, contextLength and rope.rotaryDim are there. Failures are left in `fields`.
void readGgufRope(GgufFields& fields, const GgufFile& gguf, const Family& family, ModelConfig& config);

/// The types and lengths of tokenizer.ggml.*: BadInput when a list is of another type or length than tokens.
[[nodiscard]] Result<void> checkGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file);
/// Copies tokenizer.ggml.* out of the file. BadInput when the file has no tokenizer.
[[nodiscard]] Result<text::GgufVocabulary> readGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file);

}  // namespace lpes::model
