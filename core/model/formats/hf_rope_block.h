#pragma once

#include <filesystem>
#include <string>

#include "core/model/families.h"
#include "core/model/formats/json_fields.h"

namespace lpes::model {

/// Reads one rope block of a config.json (rope_scaling, rope_parameters, or a part of it per layer type) into `rope`:
/// type, factors, original context, attention factor. theta and rotaryDim are left alone. `fields` is the whole
/// configuration, where Phi-3 keeps the original context, and takes the failures; warnings go to `config`; `name` is
/// the block's, for messages.
///
/// BadInput: a setting that is missing, out of range, or of another type's. Unsupported by name: types and settings
/// that are not known – ignoring one would give wrong results that only long prompts show.
void readRopeBlock(JsonFields& fields, const nlohmann::json& block, const std::filesystem::path& file,
                   const std::string& name, const Family& family, ModelConfig& config, rope::RopeConfig& rope);

}  // namespace lpes::model
