#include "core/tasks/packed_fields.h"

#include <cassert>

namespace lpes::tasks {

void FieldWriter::number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) m_bytes += static_cast<char>((value >> shift) & 255);
}

void FieldWriter::text(std::string_view value) {
    number(value.size());
    m_bytes += value;
}

void FieldWriter::texts(std::span<const std::string> values) {
    number(values.size());
    for (const std::string& value : values) text(value);
}

std::string_view FieldReader::take(std::size_t size) {
    assert(size <= m_rest.size());
    const std::string_view taken = m_rest.substr(0, size);
    m_rest.remove_prefix(taken.size());
    return taken;
}

std::uint64_t FieldReader::number() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(8)) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
        shift += 8;
    }
    return value;
}

std::string FieldReader::text() {
    return std::string(take(number()));
}

std::vector<std::string> FieldReader::texts() {
    std::vector<std::string> values(number());
    for (std::string& value : values) value = text();
    return values;
}

}  // namespace lpes::tasks
