#pragma once

#include <exception>
#include <string>
#include <type_traits>

#include "core/base/result.h"

namespace lpes::search {

/// What `work` returns, or the error that its exception becomes: nothing that a fitness throws may cross a thread.
template <class Work>
std::invoke_result_t<Work> guarded(const std::string& what, Work&& work) {
    try {
        return work();
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, what + " ended with an exception", error.what());
    } catch (...) {
        return fail(ErrorCode::Failed, what + " ended with an exception of unknown type");
    }
}

}  // namespace lpes::search
