#pragma once

#include <exception>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "core/base/result.h"

namespace lpes::app {

/// Runs a job's body, which returns a Result, and lets nothing but a Result out of the thread.
template <class Body>
[[nodiscard]] auto guardedJob(Body&& body) -> decltype(body()) {
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    "there is not enough memory for this; close other programs or use a "
                    "smaller model");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "the work failed unexpectedly; please report this", error.what());
    }
}

/// Threads for one evaluation in the window: all cores, less one for the window from four cores up.
[[nodiscard]] int windowThreads();

}  // namespace lpes::app
