#pragma once

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <new>

#include "core/base/result.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

/// Runs a reader of a folder's tokenizer files; what it throws becomes OutOfMemory or BadInput with the folder's name.
template <class Read>
[[nodiscard]] Result<TokenizerSpec> readGuarded(const std::filesystem::path& folder, Read read) {
    try {
        return read();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for the vocabulary; close other programs.");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{} could not be read; fetch the tokenizer files again.", folder.string()),
                    error.what());
    }
}

}  // namespace lpes::text
