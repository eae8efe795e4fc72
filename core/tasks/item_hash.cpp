#include "core/tasks/item_hash.h"

#include "core/tasks/packed_fields.h"

namespace lpes::tasks {

void ItemHash::addNumber(std::uint64_t number) {
    FieldWriter field;
    field.number(number);
    addPacked(field.bytes());
}

void ItemHash::addText(std::string_view text) {
    // Not as one field: the text may be long.
    addNumber(text.size());
    m_hash.add(text);
}

void ItemHash::addTexts(std::span<const std::string> texts) {
    addNumber(texts.size());
    for (const std::string& text : texts) addText(text);
}

}  // namespace lpes::tasks
