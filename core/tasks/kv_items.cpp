#include "core/tasks/kv_items.h"
#include "core/tasks/packed_fields.h"

namespace lpes::tasks {

std::string packItem(const KvItem& item) {
    FieldWriter fields;
    fields.text(item.id);
    fields.text(item.gold.first);
    fields.text(item.gold.second);
    fields.number(item.distractors.size());
    for (const auto& [key, value] : item.distractors) {
        fields.text(key);
        fields.text(value);
    }
    return fields.bytes();
}

KvItem unpackItem(std::string_view bytes) {
    FieldReader fields(bytes);
    KvItem item;
    item.id = fields.text();
    item.gold.first = fields.text();
    item.gold.second = fields.text();
    item.distractors.resize(fields.number());
    for (auto& [key, value] : item.distractors) {
        key = fields.text();
        value = fields.text();
    }
    return item;
}

}  // namespace lpes::tasks
