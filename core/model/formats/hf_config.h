#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/result.h"
#include "core/model/families.h"
#include "core/model/formats/json_fields.h"
#include "core/model/formats/model_draft.h"

namespace lpes::model {

/// Reads the text of a Hugging Face config.json. `file` is for messages.
///
/// BadInput: not JSON; a field that is missing, of another type, out of range, or at odds with another. Unsupported by
/// name: architecture, activation, quantisation, kinds of attention layers, rope types and rope settings. Where
/// transformers itself has a default that published files rely on (families.h) it is taken and named in `origins`;
/// RoPE's base is taken so only where it cannot be another one, and is then called "assumed" in words and warnings.
[[nodiscard]] Result<ModelDraft> readHuggingFaceConfig(std::string_view text, const std::filesystem::path& file);

/// The rotary embeddings of a config: rope_theta with rope_scaling (transformers 4), rope_parameters (transformers 5)
/// flat or per layer type, rope_local_base_freq. Fills rope, slidingRope, and contextLength where scaling extends it;
/// headDim, family and max_position_embeddings (in contextLength) are there. Failures are left in `fields`.
void readHuggingFaceRope(JsonFields& fields, const std::filesystem::path& file, const Family& family,
                         ModelConfig& config);

}  // namespace lpes::model
