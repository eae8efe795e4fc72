#pragma once

#include "core/base/error.h"

namespace lpes {

/// Message of the error that work ends with because its std::stop_token was stopped; its code is Failed.
inline constexpr const char* kStoppedMessage = "stopped by the user";

[[nodiscard]] inline bool wasStopped(const Error& error) {
    return error.message == kStoppedMessage;
}

}  // namespace lpes
