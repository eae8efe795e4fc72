#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lpes {

/// SHA-256 in pieces. thread-compatible.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    void add(std::span<const std::byte> bytes);
    void add(std::string_view text);
    /// 64 lower-case hexadecimal digits; call once.
    [[nodiscard]] std::string hex();

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// SHA-256 of a text, as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256Hex(std::string_view text);

/// HMAC-SHA-256 (RFC 2104) of a text, as 64 lower-case hexadecimal digits: whoever makes it knows the key.
[[nodiscard]] std::string hmacSha256Hex(std::string_view key, std::string_view text);

}  // namespace lpes
