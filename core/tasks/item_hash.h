#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/checksum.h"

namespace lpes::tasks {

/// SHA-256 over the parts of items. Every text enters with its length ahead of it, so that no two data sets share their
/// bytes.
class ItemHash {
  public:
    void addNumber(std::uint64_t number);  ///< 8 bytes, little endian
    void addText(std::string_view text);
    void addTexts(std::span<const std::string> texts);  ///< their number, then each
    /// Fields as a FieldWriter wrote them.
    void addPacked(std::string_view fields) { m_hash.add(fields); }
    /// Once, at the end; or shortHex().
    [[nodiscard]] std::string hex() { return m_hash.hex(); }
    /// The first 128 bits, as Benchmark::contentHash has them.
    [[nodiscard]] std::string shortHex() { return hex().substr(0, 32); }

  private:
    Sha256 m_hash;
};

}  // namespace lpes::tasks
