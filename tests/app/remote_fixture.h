#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/app/progress_lines.h"
#include "tests/app/run_fixture.h"

namespace lpes::test {

/// Two machines on one: home is this test's own data folder, the other has another one. What stands in for ssh starts
/// the command in a shell that lives there; its numbers are noted, so that connections can be cut.
class RemoteRuns : public RunVerbs {
  protected:
    void SetUp() override;

    /// Folder of user data on the two machines.
    [[nodiscard]] std::string home() const { return file("home"); }
    [[nodiscard]] std::string there() const { return file("there"); }
    /// A program to be taken for ssh; everything is written to `script` after the line that notes its number.
    void setSsh(const std::string& script);
    /// Runs the last argument as ssh would.
    void setWorkingSsh();

    /// Short, and the same at every place.
    [[nodiscard]] std::vector<std::string> smallSearch(const std::string& db) const;
    /// Long enough to be cut, stopped or left on its way.
    [[nodiscard]] std::vector<std::string> longSearch(const std::string& db) const;
    /// Adds the machine that it shall run on.
    [[nodiscard]] static std::vector<std::string> onHost(std::vector<std::string> arguments);
    [[nodiscard]] Start atHome(std::vector<std::string> arguments) const;

    /// Processes that stood in for ssh, oldest first.
    [[nodiscard]] std::vector<int> connections() const;
    /// Cuts the newest connection.
    void cutConnection() const;
    /// Names of what is in a folder of the other machine's jobs, or of the handles here; empty where there is none.
    [[nodiscard]] static std::vector<std::string> filesIn(const std::string& folder);
    [[nodiscard]] std::vector<std::string> jobs() const { return filesIn(there() + "/lpes/remote/jobs"); }
    [[nodiscard]] std::vector<std::string> handles() const { return filesIn(home() + "/lpes/remote/handles"); }

    /// The search's rows at home, one by one, are those of the same search on this machine alone.
    void expectSameAsLocal(const Finished& remote, const std::vector<std::string>& localSearch,
                           const std::string& localDb) const;
};

}  // namespace lpes::test
