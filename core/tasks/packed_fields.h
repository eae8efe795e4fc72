#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lpes::tasks {

/// Numbers and texts one behind the other. Every text has its length ahead of it, so that no two lists of fields share
/// their bytes: what a spool keeps of an item, and what goes into a data set's hash.
class FieldWriter {
  public:
    void number(std::uint64_t value);  ///< eight bytes, the low one first
    void text(std::string_view value);
    void texts(std::span<const std::string> values);  ///< their number, then each
    [[nodiscard]] const std::string& bytes() const { return m_bytes; }

  private:
    std::string m_bytes;
};

/// Reads back what a FieldWriter wrote, in the same order; anything else is a programming error.
class FieldReader {
  public:
    explicit FieldReader(std::string_view bytes) : m_rest(bytes) {}
    std::uint64_t number();
    std::string text();
    std::vector<std::string> texts();

  private:
    std::string_view take(std::size_t size);
    std::string_view m_rest;
};

}  // namespace lpes::tasks
