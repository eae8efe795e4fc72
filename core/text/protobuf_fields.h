#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lpes::text {

/// Walks the fields of a message in protobuf's wire format (protobuf.dev/programming-guides/encoding): varints, 32- and
/// 64-bit values and texts; groups, which proto2 has deprecated, are damage. Never looks outside its bytes.
/// thread-compatible.
class ProtobufFields {
  public:
    explicit ProtobufFields(std::string_view message) : m_rest(message) {}

    struct Field {
        std::uint64_t number = 0;
        std::uint64_t value = 0;  ///< varint, or the bits of a fixed value
        std::string_view bytes;   ///< text or inner message
        bool isBytes = false;
        bool isFixed32 = false;
    };
    /// The next field; nothing at the end, or where the message is damaged.
    [[nodiscard]] std::optional<Field> next();
    [[nodiscard]] bool damaged() const { return m_damaged; }

  private:
    [[nodiscard]] std::optional<std::uint64_t> varint();
    [[nodiscard]] std::optional<std::uint64_t> fixed(std::size_t size);

    std::string_view m_rest;
    bool m_damaged = false;
};

}  // namespace lpes::text
