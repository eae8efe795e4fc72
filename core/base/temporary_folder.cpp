#include "core/base/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace lpes {

Result<TemporaryFolder> TemporaryFolder::make(const std::string& prefix) {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / (prefix + "XXXXXX")).string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
        return fail(
            ErrorCode::Failed,
            fmt::format("cannot make the temporary folder '{}'; set TMPDIR to a folder that can be written to", name),
            error ? error.message() : std::strerror(errno));
    }
    return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
}

}  // namespace lpes
