#include "core/text/split_behavior.h"

namespace lpes::text {

namespace {

struct Part {
    TextRange range;
    bool isMatch;
};

std::vector<Part> partsOf(const std::vector<TextRange>& matches, std::size_t size, bool invert) {
    std::vector<Part> parts;
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        if (match.begin > at) parts.push_back({{at, match.begin}, invert});
        parts.push_back({match, !invert});
        at = match.end;
    }
    if (at < size) parts.push_back({{at, size}, invert});
    return parts;
}

}  // namespace

void splitAtMatches(const std::vector<TextRange>& matches, std::size_t size, std::size_t offset,
                    TokenizerSpec::Step::Behavior behavior, bool invert, std::vector<TextRange>& out) {
    using Behavior = TokenizerSpec::Step::Behavior;
    const std::vector<Part> parts = partsOf(matches, size, invert);
    const std::size_t first = out.size();
    const auto put = [&](TextRange range) { out.push_back({offset + range.begin, offset + range.end}); };
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const Part& part = parts[k];
        const bool afterMatch = k > 0 && parts[k - 1].isMatch;
        switch (behavior) {
            case Behavior::Isolated:
                put(part.range);
                break;
            case Behavior::Removed:
                if (!part.isMatch) put(part.range);
                break;
            case Behavior::Contiguous:
                if (k > 0 && part.isMatch == afterMatch) {
                    out.back().end = offset + part.range.end;
                } else {
                    put(part.range);
                }
                break;
            case Behavior::MergedWithPrevious:
                // Of several matches in a row only the first joins what is before it.
                if (part.isMatch && !afterMatch && out.size() > first) {
                    out.back().end = offset + part.range.end;
                } else {
                    put(part.range);
                }
                break;
            case Behavior::MergedWithNext:
                // And here only the last joins what is behind it.
                if (!part.isMatch && afterMatch) {
                    out.back().end = offset + part.range.end;
                } else {
                    put(part.range);
                }
                break;
        }
    }
}

}  // namespace lpes::text
