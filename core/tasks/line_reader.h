#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "core/base/result.h"

namespace lpes::tasks {

/// Reads a text file line by line, plain or compressed with gzip (RFC 1952, several members in a row included). The
/// first two bytes decide which it is, not the file's name. Memory holds one line and two fixed buffers, whatever the
/// file's size, so that a file that inflates to terabytes costs no more than its longest line.
/// thread-compatible.
class LineReader {
  public:
    static constexpr std::size_t kDefaultMaxLineBytes = std::size_t{64} << 20;

    /// BadInput when the file is missing, is a folder or cannot be read. `stop` is asked before every
    /// buffer of 64 KiB.
    [[nodiscard]] static Result<LineReader> open(const std::filesystem::path& path, std::stop_token stop = {},
                                                 std::size_t maxLineBytes = kDefaultMaxLineBytes);
    ~LineReader();
    LineReader(LineReader&&) noexcept;
    LineReader& operator=(LineReader&&) noexcept;

    /// Puts the next line without its "\n" into `line`; false at the end of the file. A last line without "\n" is
    /// handed out only after the end of the file, and of the gzip stream with its checksum, was reached: it is never
    /// half a line. BadInput (file, line number) for a gzip stream that ends early ("incomplete"), a damaged one, bytes
    /// behind it, a line above the limit, a read error; kStoppedMessage when stopped. After an error every further call
    /// gives the same error.
    [[nodiscard]] Result<bool> next(std::string& line);

    /// Number of the line that `next` gave last, from 1; 0 before the first.
    [[nodiscard]] std::int64_t lineNumber() const;

  private:
    struct Impl;
    explicit LineReader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

}  // namespace lpes::tasks
