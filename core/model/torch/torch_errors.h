#pragma once

#include <type_traits>

#include "core/base/result.h"

namespace lpes::model {

/// Thrown inside this module at a layer boundary when the stop token asks for it; `guarded` turns it into Failed with
/// kStoppedMessage. It never leaves the module.
struct StopRequested {};

/// Turns the exception in flight into an Error: LibTorch's own words without its backtrace as detail; OutOfMemory for
/// std::bad_alloc and for LibTorch's allocator. `task` completes the sentence "… failed" ("scoring a text").
[[nodiscard]] Error errorOfCurrentException(const char* task);

/// Runs `body`, which returns a Result, and lets nothing but a Result out.
template <class Body>
[[nodiscard]] std::invoke_result_t<Body> guarded(const char* task, Body&& body) {
    try {
        return body();
    } catch (...) {
        return fail(errorOfCurrentException(task));
    }
}

}  // namespace lpes::model
