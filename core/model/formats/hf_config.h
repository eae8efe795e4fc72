#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/result.h"
#include "core/model/formats/json_fields.h"
#include "core/model/formats/model_draft.h"
#include "core/rope/rope_config.h"

namespace lpes::model {

/// Reads the text of a Hugging Face config.json. `file` is for messages.
///
/// BadInput: not JSON; a field that is missing, of another type, out of range, or at odds with another. Unsupported by
/// name: architecture, activation, quantisation, sliding window, rope type. Where transformers itself has a default
/// for LlamaConfig or Qwen2Config it is taken and named in `origins`; RoPE's base has none.
[[nodiscard]] Result<ModelDraft> readHuggingFaceConfig(std::string_view text, const std::filesystem::path& file);

/// The rotary embedding of a config: rope_theta with rope_scaling (transformers 4), or rope_parameters (transformers
/// 5). Failures are left in `fields`. `headDim` is taken over as it is.
[[nodiscard]] rope::RopeConfig readHuggingFaceRope(JsonFields& fields, const std::filesystem::path& file, int headDim);

}  // namespace lpes::model
