#pragma once

#include <string>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// The steps that a name in tokenizer.ggml.pre stands for, which the GGUF file does not carry: names and their flags as
/// in llama.cpp (src/llama-vocab.cpp), the steps themselves as in the tokenizer.json of the models that the name stands
/// for. `addBos` becomes what the name says where the file says nothing. Unsupported, with what is known, for another
/// name, for "default" and for none.
[[nodiscard]] Result<void> applyPreName(const std::string& pre, TokenizerSpec& spec, bool& addBos);

}  // namespace lpes::text
