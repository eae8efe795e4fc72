#include "core/text/protobuf_fields.h"

namespace lpes::text {

std::optional<std::uint64_t> ProtobufFields::varint() {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < 10 && k < m_rest.size(); ++k) {
        const auto byte = static_cast<unsigned char>(m_rest[k]);
        value |= static_cast<std::uint64_t>(byte & 0x7Fu) << (7 * k);
        if ((byte & 0x80u) == 0) {
            m_rest.remove_prefix(k + 1);
            return value;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> ProtobufFields::fixed(std::size_t size) {
    if (m_rest.size() < size) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t k = size; k-- > 0;) value = (value << 8) | static_cast<unsigned char>(m_rest[k]);
    m_rest.remove_prefix(size);
    return value;
}

std::optional<ProtobufFields::Field> ProtobufFields::next() {
    if (m_rest.empty() || m_damaged) return std::nullopt;
    m_damaged = true;  // until the field is read
    const auto key = varint();
    if (!key || *key >> 3 == 0) return std::nullopt;
    Field field;
    field.number = *key >> 3;
    std::optional<std::uint64_t> value;
    switch (*key & 7u) {
        case 0:
            value = varint();
            break;
        case 1:
            value = fixed(8);
            break;
        case 2: {
            value = varint();
            if (!value || *value > m_rest.size()) return std::nullopt;
            field.bytes = m_rest.substr(0, static_cast<std::size_t>(*value));
            field.isBytes = true;
            m_rest.remove_prefix(field.bytes.size());
            break;
        }
        case 5:
            value = fixed(4);
            field.isFixed32 = true;
            break;
        default:
            return std::nullopt;
    }
    if (!value) return std::nullopt;
    field.value = *value;
    m_damaged = false;
    return field;
}

}  // namespace lpes::text
