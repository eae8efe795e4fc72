#include "core/model/torch/torch_errors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>

#include "core/model/causal_lm.h"
#include "core/model/torch/devices.h"

namespace lpes::model {
namespace {

Error outOfMemory(const char* task, std::string detail) {
    return {
        ErrorCode::OutOfMemory,
        fmt::format("{} needs more memory than is free; use a shorter prompt, a smaller batch or fewer workers", task),
        std::move(detail),
        {}};
}

bool isAllocationFailure(const std::string& words) {
    return words.find("can't allocate memory") != std::string::npos ||
           words.find("not enough memory") != std::string::npos || words.find("out of memory") != std::string::npos;
}

}  // namespace

Error errorOfCurrentException(const char* task) {
    try {
        throw;
    } catch (const StopRequested&) {
        return {ErrorCode::Failed, kStoppedMessage, {}, {}};
    } catch (const std::bad_alloc& error) {
        return outOfMemory(task, error.what());
    } catch (const c10::Error& error) {
        const std::string words = error.what_without_backtrace();
        if (isAllocationFailure(words)) {
            if (words.find("CUDA") != std::string::npos) giveBackGpuMemory();
            return outOfMemory(task, words);
        }
        return {ErrorCode::Failed, fmt::format("{} failed inside LibTorch; the log has its words", task), words, {}};
    } catch (const std::exception& error) {
        return {
            ErrorCode::Failed, fmt::format("{} failed unexpectedly; the log has the details", task), error.what(), {}};
    }
}

}  // namespace lpes::model
