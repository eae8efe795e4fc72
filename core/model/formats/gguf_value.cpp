#include <fmt/format.h>

#include <cstring>

#include "core/model/formats/gguf.h"

namespace lpes::model {

namespace {

template <class T>
T load(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

}  // namespace

std::string_view ggufTypeName(GgufValue::Type type) {
    constexpr std::string_view kNames[] = {"UINT8", "INT8",   "UINT16", "INT16",  "UINT32", "INT32",  "FLOAT32",
                                           "BOOL",  "STRING", "ARRAY",  "UINT64", "INT64",  "FLOAT64"};
    return kNames[static_cast<std::size_t>(type)];
}

std::optional<std::int64_t> GgufValue::integer() const {
    switch (type) {
        case Type::U8:
            return load<std::uint8_t>(bytes);
        case Type::I8:
            return load<std::int8_t>(bytes);
        case Type::U16:
            return load<std::uint16_t>(bytes);
        case Type::I16:
            return load<std::int16_t>(bytes);
        case Type::U32:
            return load<std::uint32_t>(bytes);
        case Type::I32:
            return load<std::int32_t>(bytes);
        case Type::I64:
            return load<std::int64_t>(bytes);
        case Type::U64: {
            const auto value = load<std::uint64_t>(bytes);
            if (value <= std::uint64_t{INT64_MAX}) return static_cast<std::int64_t>(value);
            return std::nullopt;
        }
        default:
            return std::nullopt;
    }
}

std::optional<double> GgufValue::number() const {
    if (type == Type::F32) return load<float>(bytes);
    if (type == Type::F64) return load<double>(bytes);
    return std::nullopt;
}

std::optional<bool> GgufValue::boolean() const {
    if (type == Type::Bool) return load<std::uint8_t>(bytes) != 0;
    return std::nullopt;
}

std::optional<std::string_view> GgufValue::string() const {
    if (type != Type::String) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<std::vector<std::string>> GgufValue::strings() const {
    if (type != Type::Array || elementType != Type::String) return std::nullopt;
    std::vector<std::string> texts;
    texts.reserve(count);  // readGguf walked over every element, so the count is true
    std::span<const std::byte> rest = bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto length = load<std::uint64_t>(rest);
        texts.emplace_back(reinterpret_cast<const char*>(rest.data()) + sizeof length, length);
        rest = rest.subspan(sizeof length + length);
    }
    return texts;
}

std::string GgufValue::shown() const {
    if (type == Type::Array) return fmt::format("an array of {} {}", count, ggufTypeName(elementType));
    if (const auto text = string()) {
        std::string visible(text->substr(0, 57));
        for (char& c : visible) {
            if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
        }
        return fmt::format("'{}{}'", visible, text->size() > visible.size() ? "..." : "");
    }
    if (const auto flag = boolean()) return *flag ? "true" : "false";
    if (const auto real = number()) return fmt::format("{}", *real);
    if (const auto whole = integer()) return fmt::format("{}", *whole);
    return fmt::format("{}", load<std::uint64_t>(bytes));
}

}  // namespace lpes::model
