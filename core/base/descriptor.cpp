#include "core/base/descriptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>

namespace lpes {

int writeAll(int descriptor, std::string_view bytes) {
    bool socket = true;
    while (!bytes.empty()) {
        ssize_t put = -1;
        if (socket) {
            put = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            socket = put >= 0 || errno != ENOTSOCK;
        }
        if (!socket) put = ::write(descriptor, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return 0;
}

}  // namespace lpes
