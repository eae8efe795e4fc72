#include "core/model/torch/packed_keys.h"

#include <ATen/ATen.h>

namespace lpes::model {

PackedKeys::PackedKeys(std::span<const Segment> segments, std::span<const std::int32_t> positions) {
    parts.reserve(segments.size());
    for (const Segment& segment : segments) {
        const std::int64_t past = positions[static_cast<std::size_t>(segment.begin)];
        parts.push_back({segment.begin, segment.length, rows, past + segment.length, segment.continues >= 0});
        rows += past + segment.length;
    }
}

at::Tensor PackedKeys::own(const at::Tensor& all, std::size_t segment) const {
    const AttentionPart& part = parts[segment];
    return all.narrow(1, part.keyBegin + part.keys - part.queries, part.queries);
}

void PackedKeys::fetchBeginning(const at::Tensor& all, std::span<const Segment> segments, std::size_t segment) const {
    if (segments[segment].continues < 0) return;
    const AttentionPart& part = parts[segment];
    const AttentionPart& source = parts[static_cast<std::size_t>(segments[segment].continues)];
    const std::int64_t past = part.keys - part.queries;
    all.narrow(1, part.keyBegin, past).copy_(all.narrow(1, source.keyBegin, past));
}

}  // namespace lpes::model
