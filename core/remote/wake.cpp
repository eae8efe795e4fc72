#include "core/remote/wake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace lpes::remote {

void Wake::Ring::operator()() const {
    const std::uint64_t once = 1;
    [[maybe_unused]] const ssize_t put = ::write(fd, &once, sizeof once);
}

// Without a descriptor (there are too many) a wait is as long as it says.
Wake::Wake(const std::stop_token& stop, const std::stop_token& other)
    : m_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), m_ring(stop, Ring{m_fd}), m_otherRing(other, Ring{m_fd}) {}

Wake::~Wake() {
    if (m_fd >= 0) ::close(m_fd);
}

bool Wake::waitFor(int timeoutMs) const {
    pollfd source{m_fd, POLLIN, 0};
    return ::poll(&source, 1, timeoutMs) > 0;
}

}  // namespace lpes::remote
