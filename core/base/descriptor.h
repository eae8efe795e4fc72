#pragma once

#include <unistd.h>

#include <string_view>

namespace lpes {

/// Closes a descriptor when left; −1: there is none.
struct Descriptor {
    int fd = -1;
    explicit Descriptor(int descriptor) : fd(descriptor) {}
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
};

/// Writes all of it; 0, or the number of the error. A reader that is gone is EPIPE and no signal where the descriptor
/// is a socket.
[[nodiscard]] int writeAll(int descriptor, std::string_view bytes);

}  // namespace lpes
