#include "tests/app/remote_fixture.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "core/store/store.h"

namespace lpes::test {

using nlohmann::json;

namespace {

/// By value: what a range is read from has to last.
template <class T>
T take(Result<T> result) {
    return std::move(result).value();
}

/// Everything that a run measured, with nothing in it that depends on the data base, the machine or the clock.
json measured(const std::string& database, std::int64_t runId) {
    const auto reader = store::StoreReader::open(database).value();
    json all;
    std::map<std::int64_t, json> names;
    for (const store::VariantRow& variant : take(reader->variants(runId))) {
        const json name{variant.name, variant.scales};
        names[variant.id] = name;
        for (const char* split : {"search", "select", "report"}) {
            json rows = json::array();
            for (const store::OutcomeRow& row : take(reader->outcomes(variant.id, split))) {
                rows.push_back({row.itemId, row.position, row.goldIndex, row.promptTokens, row.correct, row.nll});
            }
            if (!rows.empty()) all["outcomes"][split][name.dump()] = std::move(rows);
        }
    }
    for (const char* split : {"search", "select", "report"}) all["splits"][split] = reader->split(runId, split).value();
    for (const store::CandidateRow& row : take(reader->candidates(runId))) {
        all["candidates"].push_back(
            {row.generation, row.index, row.pointsJson, row.fitness, names[row.variantId], row.duplicateGeneration});
    }
    for (const store::GenerationRow& row : take(reader->generations(runId))) {
        all["generations"].push_back({row.generation, row.best, row.mean, row.evaluations, row.populationJson});
    }
    for (const store::PositionRow& row : take(reader->positions(runId))) {
        all["positions"].push_back({names[row.variantId], row.split, row.label, row.accuracy, row.answerNll});
    }
    for (const store::DeviationRow& row : take(reader->deviations(runId))) {
        all["deviations"].push_back({names[row.variantId], row.layer, row.deviation});
    }
    all["attention"] = reader->attention(runId).value().size();
    all["profiles"] = reader->profiles(runId).value().size();
    return all;
}

}  // namespace

void RemoteRuns::SetUp() {
    for (const std::string& folder : {home(), there()}) std::filesystem::create_directories(folder);
    setWorkingSsh();
}

void RemoteRuns::setSsh(const std::string& script) {
    const std::string program = file("ssh");
    writeBytes(program, "#!/bin/sh\necho $$ >> '" + file("ssh.pids") + "'\n" + script + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
}

void RemoteRuns::setWorkingSsh() {
    // From the home folder, as sshd does.
    setSsh("for last in \"$@\"; do :; done\ncd '" + there() + "'\nXDG_DATA_HOME='" + there() + "' HOME='" + there() +
           "' exec sh -c \"exec $last\"");
}

std::vector<std::string> RemoteRuns::smallSearch(const std::string& db) const {
    return withOptions(search({"--guardrail", "0"}), {{"--db", db}});
}

std::vector<std::string> RemoteRuns::longSearch(const std::string& db) const {
    return withOptions(smallSearch(db), {{"--population", "12"}, {"--max-generations", "10"}, {"--search-items", "8"}});
}

std::vector<std::string> RemoteRuns::onHost(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--host", "somewhere", "--remote-lpes", programPath(), "--progress", "json"});
    return arguments;
}

Start RemoteRuns::atHome(std::vector<std::string> arguments) const {
    Start start;
    start.arguments = std::move(arguments);
    start.environment = {{"LPES_SSH", file("ssh")}};
    start.home = home();
    return start;
}

std::vector<int> RemoteRuns::connections() const {
    std::ifstream pids(file("ssh.pids"));
    std::vector<int> all;
    for (int pid = 0; pids >> pid;) all.push_back(pid);
    return all;
}

void RemoteRuns::cutConnection() const {
    const std::vector<int> all = connections();
    ASSERT_FALSE(all.empty());
    ASSERT_EQ(::kill(all.back(), SIGKILL), 0);
}

std::vector<std::string> RemoteRuns::filesIn(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
        names.push_back(entry.path().filename().string());
    }
    return names;
}

void RemoteRuns::expectSameAsLocal(const Finished& remote, const std::vector<std::string>& localSearch,
                                   const std::string& localDb) const {
    const Finished local = run(localSearch);
    ASSERT_EQ(local.code, 0) << local.err;
    const json there = remote.json(), here = local.json();
    ASSERT_TRUE(there.is_object()) << remote.out;
    for (const char* key : {"state", "history", "best", "heldout", "evaluations", "failed"}) {
        EXPECT_EQ(there[key], here[key]) << key;
    }
    // As text, in which a number that is none equals itself.
    EXPECT_EQ(measured(database(), there["run_id"].get<std::int64_t>()).dump(), measured(localDb, 1).dump());
}

}  // namespace lpes::test
