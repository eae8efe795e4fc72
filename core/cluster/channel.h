#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace lpes::cluster {

/// What an Error's context is when a peer is gone: that ends a whole run, where any other error ends one evaluation.
inline constexpr const char* kLostPeerContext = "a search on several machines";
[[nodiscard]] inline bool isLostPeer(const Error& error) {
    return error.context == kLostPeerContext;
}

using Message = std::vector<std::uint8_t>;

/// A connection to one peer that carries whole messages both ways, in order, over a stream socket.
///
/// On the wire: the length (8 bytes, big endian), then the bytes. The kernel tells at once when a peer's process ends,
/// and within half a minute when its machine no longer answers. Waiting for a message takes no processor time.
/// thread-safe: several threads may send, one may receive meanwhile, any may close.
class Channel {
  public:
    /// A message is longer than this only by mistake.
    static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

    /// Takes over a connected socket. `peer` in words, for messages: "rank 2 on 'node7'".
    Channel(int socket, std::string peer);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// isLostPeer when the peer is gone or the channel was closed.
    [[nodiscard]] Result<void> send(std::span<const std::uint8_t> message);
    /// Waits for a message. isLostPeer as for send, and for one of more than `mostBytes`.
    [[nodiscard]] Result<Message> receive(std::uint64_t mostBytes = kMostBytes);

    /// Waits so long for a message to begin, or for the peer to be gone; false when neither happened.
    [[nodiscard]] bool wait(std::chrono::milliseconds limit) const;
    /// Is the peer still there, as far as the kernel knows? Only while nobody receives.
    [[nodiscard]] bool isAlive() const;

    /// Ends sending and receiving on both sides, also what waits just now.
    void close();
    /// Did we close it (then a lost peer is no surprise)?
    [[nodiscard]] bool isClosed() const { return m_closed.load(); }

    /// `receive` gives up when a message has not come whole after so long, however slowly it comes; zero: never.
    void setTimeout(std::chrono::milliseconds limit) { m_timeout = limit; }
    void rename(std::string peer) { m_peer = std::move(peer); }
    [[nodiscard]] const std::string& peer() const { return m_peer; }

  private:
    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    [[nodiscard]] Result<void> write(std::span<const std::uint8_t> bytes);
    [[nodiscard]] Result<void> read(std::span<std::uint8_t> bytes, Deadline deadline);
    [[nodiscard]] tl::unexpected<Error> lost(const std::string& detail) const;

    const int m_socket;
    std::string m_peer;
    std::chrono::milliseconds m_timeout{0};
    std::atomic<bool> m_closed{false};
    std::mutex m_sending;
};

/// Two channels inside this process, each the other's peer. Failed when the system has no socket left.
[[nodiscard]] Result<std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>> channelPair(
    const std::string& one, const std::string& other);

}  // namespace lpes::cluster
