#include "core/cluster/channel.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lpes::cluster {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLengthBytes = 8;

/// So that a machine without power is noticed while nobody has anything to say. Fails on sockets that are not TCP,
/// which need none of it.
void watchPeer(int socket) {
    const auto set = [socket](int level, int option, int value) {
        (void)::setsockopt(socket, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Channel::Channel(int socket, std::string peer) : m_socket(socket), m_peer(std::move(peer)) {
    watchPeer(socket);
}

Channel::~Channel() {
    ::close(m_socket);
}

tl::unexpected<Error> Channel::lost(const std::string& detail) const {
    return fail(ErrorCode::Failed, fmt::format("the connection to {} is lost", m_peer), detail, kLostPeerContext);
}

Result<void> Channel::send(std::span<const std::uint8_t> message) {
    std::array<std::uint8_t, kLengthBytes> length;
    for (std::size_t i = 0; i < kLengthBytes; ++i)
        length[i] = static_cast<std::uint8_t>(message.size() >> (8 * (kLengthBytes - 1 - i)));
    const std::lock_guard lock(m_sending);
    if (auto sent = write(length); !sent) return sent;
    return write(message);
}

Result<void> Channel::write(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(m_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return lost(std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return {};
}

Result<Message> Channel::receive(std::uint64_t mostBytes) {
    std::array<std::uint8_t, kLengthBytes> length;
    const Deadline deadline = m_timeout.count() > 0 ? Deadline(Clock::now() + m_timeout) : std::nullopt;
    if (auto got = read(length, deadline); !got) return fail(got.error());
    std::uint64_t bytes = 0;
    for (const std::uint8_t byte : length) bytes = bytes << 8 | byte;
    if (bytes > mostBytes) return lost(fmt::format("a message of {} bytes was announced", bytes));
    Message message(static_cast<std::size_t>(bytes));
    if (auto got = read(message, deadline); !got) return fail(got.error());
    return message;
}

Result<void> Channel::read(std::span<std::uint8_t> bytes, Deadline deadline) {
    while (!bytes.empty()) {
        if (deadline) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
            if (left.count() <= 0) return lost("it does not answer");
            if (!wait(left)) continue;
        }
        const ssize_t got = ::recv(m_socket, bytes.data(), bytes.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lost(std::strerror(errno));
        if (got == 0) return lost("it was closed");
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return {};
}

bool Channel::wait(std::chrono::milliseconds limit) const {
    pollfd waiting{m_socket, POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(limit.count())) == 1;
}

bool Channel::isAlive() const {
    std::uint8_t byte = 0;
    const ssize_t got = ::recv(m_socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

void Channel::close() {
    m_closed.store(true);
    // The descriptor stays until nobody uses it: another thread may be waiting on it.
    ::shutdown(m_socket, SHUT_RDWR);
}

Result<std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>> channelPair(const std::string& one,
                                                                                  const std::string& other) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(ErrorCode::Failed, "the system has no socket left; close other programs", std::strerror(errno));
    // What is sent into the first end reaches whoever holds the second.
    return std::pair(std::make_unique<Channel>(ends[0], other), std::make_unique<Channel>(ends[1], one));
}

}  // namespace lpes::cluster
