#pragma once

// Private to core/store.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lpes::store {

/// Numbers as a JSON array without spaces, each with the fewest digits that give the same double again, so that equal
/// numbers have equal text. NaN is null; an infinity is 1e999 or -1e999, which JSON and SQLite read as infinite.
[[nodiscard]] std::string numbersToText(std::span<const double> numbers);

/// The reverse; nothing where the text was not written by numbersToText. Independent of the locale.
[[nodiscard]] std::optional<std::vector<double>> numbersFromText(std::string_view text);

}  // namespace lpes::store
