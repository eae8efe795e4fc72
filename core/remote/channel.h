#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace lpes::remote {

/// Messages over a pair of descriptors that somebody else owns: JSON objects, a line each, and counted bytes between
/// them. Lines that are no JSON objects are passed over: a login shell may greet, and only the last of them is kept, to
/// say what was there instead. thread-compatible.
class Channel {
  public:
    Channel(int in, int out) : m_in(in), m_out(out) {}

    /// A descriptor that ends whatever the channel waits for, in both directions, once it has something to read; the
    /// channel is closed then, for nobody knows how far its bytes came. −1: none. `out` must be a socket.
    void setInterrupt(int descriptor) { m_interrupt = descriptor; }

    /// Failed when the other side is gone; nothing is known about what it read.
    [[nodiscard]] Result<void> send(const nlohmann::json& message);
    /// Ends a line that somebody else may have begun; one without anything in it is no message.
    [[nodiscard]] Result<void> sendLineEnd();
    /// The whole of a file, which must have `bytes` bytes. BadInput when it cannot be read or has shrunk (the channel
    /// is then of no use any more), Failed as send.
    [[nodiscard]] Result<void> sendFile(const std::filesystem::path& file, std::uint64_t bytes);

    enum class Kind {
        Message,
        Nothing,  ///< the time is over
        Woken,    ///< the descriptor to listen to as well has something to read
        Closed    ///< the other side is gone, or sends what no side of ours sends
    };
    struct Incoming {
        Kind kind = Kind::Closed;
        nlohmann::json message;
    };
    /// The next message; waits `timeoutMs` at most, for ever where negative. `wake`: −1 or a descriptor.
    [[nodiscard]] Incoming receive(int timeoutMs, int wake = -1);
    /// As many bytes as a message announced, into a file. Failed when the other side goes meanwhile or the file cannot
    /// be written: the bytes are read to their end all the same, so that the next message is found.
    [[nodiscard]] Result<void> receiveFile(const std::filesystem::path& file, std::uint64_t bytes);

    /// Whether the other side has said that nothing more comes, or is gone.
    [[nodiscard]] bool closed() const { return m_closed; }
    /// The last line that was no message.
    [[nodiscard]] const std::string& strayLine() const { return m_stray; }

  private:
    [[nodiscard]] bool takeMessage(nlohmann::json& message);
    /// writeAll to the other side, unless interrupted (ECANCELED).
    [[nodiscard]] int put(std::string_view bytes);
    /// False when interrupted before there was something to read.
    [[nodiscard]] bool waitForMore();
    /// Adds to m_buffer what can be read; false at the end.
    [[nodiscard]] bool readSome();

    int m_in, m_out, m_interrupt = -1;
    std::string m_buffer;
    std::size_t m_searched = 0;  ///< bytes of the buffer that have no line end
    std::string m_stray;
    bool m_closed = false;
};

}  // namespace lpes::remote
