#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace lpes::app {

/// One place for the newest value: what was not taken in time is replaced. thread-safe.
template <class T>
class Mailbox {
  public:
    /// True when the box was empty: then somebody has to be told to look.
    bool put(T value) {
        const std::lock_guard lock(m_mutex);
        const bool wasEmpty = !m_value.has_value();
        m_value = std::move(value);
        return wasEmpty;
    }
    [[nodiscard]] std::optional<T> take() {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_value, std::nullopt);
    }

  private:
    std::mutex m_mutex;
    std::optional<T> m_value;
};

}  // namespace lpes::app
