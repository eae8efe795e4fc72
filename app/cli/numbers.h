#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::cli {

/// A whole text as a number, in the C locale whatever the user's is: no "12abc", no "1,5", no nan or inf, no value that
/// does not fit. Usage naming the option, the text and the accepted range. T: int, int64_t, uint64_t, double.
template <class T>
[[nodiscard]] Result<T> parseNumber(const std::string& option, const std::string& text,
                                    T low = std::numeric_limits<T>::lowest(), T high = std::numeric_limits<T>::max());

/// "1,2.5,3": at least one number.
[[nodiscard]] Result<std::vector<double>> parseNumberList(const std::string& option, const std::string& text);

/// "a,b,c" → parts; empty parts are kept.
[[nodiscard]] std::vector<std::string> splitList(const std::string& text, char separator);

}  // namespace lpes::cli
