#pragma once

#include <cstddef>

namespace lpes::text {

/// A piece of a text: [begin, end) in bytes.
struct TextRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

}  // namespace lpes::text
