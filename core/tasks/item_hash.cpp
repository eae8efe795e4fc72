#include "core/tasks/item_hash.h"

#include <array>

namespace lpes::tasks {

void ItemHash::addNumber(std::uint64_t number) {
    std::array<char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((number >> (8 * i)) & 255);
    m_hash.add(std::string_view(bytes.data(), bytes.size()));
}

void ItemHash::addText(std::string_view text) {
    addNumber(text.size());
    m_hash.add(text);
}

}  // namespace lpes::tasks
