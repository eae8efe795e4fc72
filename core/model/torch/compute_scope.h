#pragma once

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "core/model/torch/torch_errors.h"

namespace lpes::model {

/// Runs `body`, which returns a Result, as every computing call must: with this thread's own OpenMP thread count and
/// InferenceMode (both are thread-local), and letting nothing but a Result out.
template <class Body>
[[nodiscard]] auto computing(const char* task, int threads, Body&& body) {
    return guarded(task, [&] {
        at::set_num_threads(threads);
        const c10::InferenceMode on;
        return body();
    });
}

}  // namespace lpes::model
