#pragma once

#include <QString>

#include "core/base/result.h"

namespace lpes::app {

/// Why a value is refused, in the core's words; empty when it is not.
template <class T>
[[nodiscard]] QString whyNot(const Result<T>& valid) {
    return valid ? QString() : QString::fromStdString(valid.error().message);
}

}  // namespace lpes::app
