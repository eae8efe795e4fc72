#pragma once

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/core/studies/studies_testing.h"

namespace lpes::test {

/// An environment variable while this lives.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : m_name(name) {
        if (const char* before = ::getenv(name)) m_before = before;
        ::setenv(name, value.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (m_before) {
            ::setenv(m_name, m_before->c_str(), 1);
        } else {
            ::unsetenv(m_name);
        }
    }

  private:
    const char* m_name;
    std::optional<std::string> m_before;
};

/// Home and another machine on one while this lives: a shell that lives in another user's data folder, and whose lpes
/// is the one that was built, stands in for ssh.
class OtherMachine {
  public:
    explicit OtherMachine(const StudyFolder& folder)
        : m_ssh("LPES_SSH", (folder / "ssh").string()), m_home("XDG_DATA_HOME", (folder / "home").string()) {
        for (const char* made : {"there", "home"}) std::filesystem::create_directories(folder / made);
        const std::string programs = std::filesystem::path(LPES_PROGRAM).parent_path().string();
        writeBytes(folder / "ssh", "#!/bin/sh\nfor last in \"$@\"; do :; done\nexport PATH='" + programs +
                                       "':\"$PATH\" XDG_DATA_HOME='" + (folder / "there").string() +
                                       "'\nexec sh -c \"exec $last\"\n");
        std::filesystem::permissions(folder / "ssh", std::filesystem::perms::owner_all);
    }

  private:
    Variable m_ssh, m_home;
};

}  // namespace lpes::test
