#include "core/remote/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/json_text.h"

namespace lpes::remote {

namespace {

using nlohmann::json;

constexpr std::size_t kChunk = 1 << 16;
/// A result with every figure of a large search has a few MB. More without a line end is no message.
constexpr std::size_t kLongestLine = 256u << 20;

Error gone(int error) {
    return {ErrorCode::Failed, "the connection was lost", error == 0 ? "" : std::strerror(error), {}};
}

ssize_t readUninterrupted(int descriptor, char* to, std::size_t bytes) {
    for (;;) {
        const ssize_t got = ::read(descriptor, to, bytes);
        if (got >= 0 || errno != EINTR) return got;
    }
}

}  // namespace

Result<void> Channel::send(const json& message) {
    const int error = put(jsonLine(message) + "\n");
    if (error != 0) return fail(gone(error));
    return {};
}

Result<void> Channel::sendLineEnd() {
    const int error = put("\n");
    if (error != 0) return fail(gone(error));
    return {};
}

int Channel::put(std::string_view bytes) {
    if (m_interrupt < 0) return writeAll(m_out, bytes);
    while (!bytes.empty()) {
        pollfd sides[2] = {{m_out, POLLOUT, 0}, {m_interrupt, POLLIN, 0}};
        if (::poll(sides, 2, -1) < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (sides[1].revents != 0) {
            m_closed = true;
            return ECANCELED;
        }
        const ssize_t sent = ::send(m_out, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return 0;
}

bool Channel::waitForMore() {
    if (m_interrupt < 0) return true;
    pollfd sources[2] = {{m_in, POLLIN, 0}, {m_interrupt, POLLIN, 0}};
    while (::poll(sources, 2, -1) < 0 && errno == EINTR) {
    }
    if (sources[1].revents != 0) m_closed = true;
    return !m_closed;
}

Result<void> Channel::sendFile(const std::filesystem::path& file, std::uint64_t bytes) {
    const Descriptor source(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    const auto unreadable = [&](const std::string& why) {
        return fail(ErrorCode::BadInput, fmt::format("cannot read '{}'; check its permissions", file.string()), why);
    };
    if (source.fd < 0) return unreadable(std::strerror(errno));
    std::string chunk(kChunk, '\0');
    while (bytes > 0) {
        const ssize_t got = readUninterrupted(source.fd, chunk.data(), std::min<std::uint64_t>(bytes, chunk.size()));
        if (got < 0) return unreadable(std::strerror(errno));
        if (got == 0) return unreadable("it became shorter while it was read");
        const int error = put(std::string_view(chunk).substr(0, static_cast<std::size_t>(got)));
        if (error != 0) return fail(gone(error));
        bytes -= static_cast<std::uint64_t>(got);
    }
    return {};
}

bool Channel::readSome() {
    char chunk[kChunk];
    const ssize_t got = readUninterrupted(m_in, chunk, sizeof chunk);
    m_closed = got <= 0;
    if (m_closed) return false;
    m_buffer.append(chunk, static_cast<std::size_t>(got));
    return true;
}

bool Channel::takeMessage(json& message) {
    for (;;) {
        const std::size_t end = m_buffer.find('\n', m_searched);
        if (end == std::string::npos) {
            m_searched = m_buffer.size();
            return false;
        }
        const std::string line = m_buffer.substr(0, end);
        m_buffer.erase(0, end + 1);
        m_searched = 0;
        message = json::parse(line, nullptr, false);
        if (message.is_object()) return true;
        if (!line.empty()) m_stray = line.substr(0, 500);
    }
}

Channel::Incoming Channel::receive(int timeoutMs, int wake) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::milliseconds(timeoutMs);
    Incoming incoming;
    for (;;) {
        if (takeMessage(incoming.message)) {
            incoming.kind = Kind::Message;
            return incoming;
        }
        if (m_buffer.size() > kLongestLine) return incoming;
        int left = -1;
        if (timeoutMs >= 0) {
            const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
            left = static_cast<int>(std::max<long long>(remaining, 0));
        }
        // A negative descriptor is passed over.
        pollfd sources[3] = {{m_in, POLLIN, 0}, {wake, POLLIN, 0}, {m_interrupt, POLLIN, 0}};
        const int ready = ::poll(sources, 3, left);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0) return incoming;
        if (ready == 0) {
            incoming.kind = Kind::Nothing;
            return incoming;
        }
        if (sources[2].revents != 0) {
            m_closed = true;
            return incoming;
        }
        if (sources[0].revents != 0) {
            if (!readSome()) return incoming;
            continue;
        }
        incoming.kind = Kind::Woken;
        return incoming;
    }
}

Result<void> Channel::receiveFile(const std::filesystem::path& file, std::uint64_t bytes) {
    const Descriptor target(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    int failure = target.fd < 0 ? errno : 0;
    while (bytes > 0) {
        if (m_buffer.empty() && !(waitForMore() && readSome())) return fail(gone(0));
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, m_buffer.size()));
        if (failure == 0) failure = writeAll(target.fd, std::string_view(m_buffer).substr(0, part));
        m_buffer.erase(0, part);
        bytes -= part;
    }
    m_searched = 0;
    if (failure == 0) return {};
    return fail(
        ErrorCode::Failed,
        fmt::format("cannot write '{}'; check that its folder exists, is writable and has space", file.string()),
        std::strerror(failure));
}

}  // namespace lpes::remote
