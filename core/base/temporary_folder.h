#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace lpes {

/// A fresh folder in the system's place for temporary files, removed with what is in it. Movable, one owner.
class TemporaryFolder {
  public:
    /// "<prefix>XXXXXX". Failed, naming the folder, where it cannot be made.
    [[nodiscard]] static Result<TemporaryFolder> make(const std::string& prefix);
    ~TemporaryFolder();
    TemporaryFolder(TemporaryFolder&& other) noexcept : m_path(std::exchange(other.m_path, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

  private:
    explicit TemporaryFolder(std::filesystem::path path) : m_path(std::move(path)) {}
    std::filesystem::path m_path;
};

}  // namespace lpes
