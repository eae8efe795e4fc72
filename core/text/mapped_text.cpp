#include "core/text/mapped_text.h"

#include <limits>
#include <stdexcept>

namespace lpes::text {

MappedText MappedText::part(std::size_t begin, std::size_t end) const {
    if (m_isView) return {m_view.substr(begin, end - begin), m_begin + begin};
    MappedText out;
    out.appendPart(*this, begin, end);
    out.setEnd(origin(end));
    return out;
}

void MappedText::grow(std::size_t count) {
    // A normalizer of a hostile file can make a gigabyte out of every space.
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (count > kMost - m_text.size()) throw std::length_error("the text grows beyond 2 GiB when it is normalised");
}

void MappedText::append(std::string_view bytes, std::size_t origin) {
    grow(bytes.size());
    m_text += bytes;
    m_origins.insert(m_origins.end(), bytes.size(), static_cast<std::uint32_t>(origin));
}

void MappedText::appendPart(const MappedText& from, std::size_t begin, std::size_t end) {
    grow(end - begin);
    m_text += from.text().substr(begin, end - begin);
    if (!from.m_isView) {
        m_origins.insert(m_origins.end(), from.m_origins.begin() + static_cast<std::ptrdiff_t>(begin),
                         from.m_origins.begin() + static_cast<std::ptrdiff_t>(end));
        return;
    }
    for (std::size_t at = begin; at < end; ++at) m_origins.push_back(static_cast<std::uint32_t>(from.m_begin + at));
}

}  // namespace lpes::text
