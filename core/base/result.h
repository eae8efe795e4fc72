#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "core/base/error.h"

namespace lpes {

/// The value, or why there is none. Nothing throws across a module border.
template <class T>
using Result = tl::expected<T, Error>;

/// return fail(ErrorCode::BadInput, "…");
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {},
                                                std::string context = {}) {
    return tl::unexpected<Error>(Error{code, std::move(message), std::move(detail), std::move(context)});
}

/// Passes an error on: return fail(result.error());
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace lpes
