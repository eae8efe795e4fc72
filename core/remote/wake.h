#pragma once

#include <stop_token>

namespace lpes::remote {

/// A descriptor that has something to read once one of two stops is requested: what waits for a machine waits for the
/// user too.
class Wake {
  public:
    explicit Wake(const std::stop_token& stop, const std::stop_token& other = {});
    ~Wake();
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    [[nodiscard]] int descriptor() const { return m_fd; }
    /// Waits for a stop; true when there is one, at once when there was one before.
    [[nodiscard]] bool waitFor(int timeoutMs) const;

  private:
    struct Ring {
        int fd;
        void operator()() const;
    };
    int m_fd;
    std::stop_callback<Ring> m_ring, m_otherRing;  // last: gone before the descriptor is
};

}  // namespace lpes::remote
