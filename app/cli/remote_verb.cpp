#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "app/cli/options.h"
#include "app/cli/result_text.h"
#include "app/cli/run_verb.h"
#include "app/cli/verb.h"
#include "core/remote/agent.h"
#include "core/studies/studies.h"

namespace lpes::cli {

namespace {

/// `remote serve`: the far end of `search --host`, over standard input and output.
Result<int> serve() {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return fail(ErrorCode::Failed, "the path of this program cannot be found; is /proc there?");
    remote::Agent::Options options;
    options.jobCommand = {self.string(), "remote", "job"};
    remote::Agent(std::move(options), STDIN_FILENO, STDOUT_FILENO).serve();
    return 0;
}

/// A job is told once what to search; whoever starts it again means that it goes on.
Result<studies::StudyOutcome> beginOrGoOn(const studies::SearchRunSettings& settings, std::optional<int> workers,
                                          store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
    const auto runs = store.reader().runs();
    if (!runs) return fail(runs.error());
    if (runs->empty()) return studies::runSearch(settings, store, observer, std::move(stop));
    const store::RunRow& run = runs->front();
    if (run.state != store::RunState::Finished) {
        return studies::resumeSearch(run.id, workers, store, observer, std::move(stop));
    }
    return studies::StudyOutcome{run.id, false, nlohmann::json::parse(run.resultJson, nullptr, false), 0};
}

Result<int> searchOf(const remote::JobFolder& folder) {
    const auto order = folder.readOrder();
    if (!order) return fail(order.error());
    const auto settings = studies::searchSettingsFromJson(order->settings);
    if (!settings) return fail(settings.error());
    const RunVerb verb{"search", folder.database(), {true, "log"}, {}, true};
    return conductStudy(
        verb,
        [&](store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop) {
            return beginOrGoOn(*settings, order->workers, store, observer, std::move(stop));
        },
        searchText);
}

/// `remote job FOLDER`: the search itself, as the agent starts it. How it ended is noted in the folder.
Result<int> work(const std::filesystem::path& path) {
    const remote::JobFolder folder(path);
    Result<int> ended = 0;
    try {
        ended = searchOf(folder);
    } catch (const std::bad_alloc&) {
        ended = fail(ErrorCode::OutOfMemory, "not enough memory; close other programs there or take a smaller model");
    } catch (const std::exception& error) {
        ended = fail(ErrorCode::Failed, "the search failed unexpectedly; please report this", error.what());
    }
    remote::JobEnd end;
    end.exitCode = ended ? *ended : exitCode(ended.error().code);
    if (!ended) end.error = ended.error();
    if (auto noted = folder.writeEnd(end); !noted) return fail(noted.error());
    return ended;
}

}  // namespace

void addRemoteVerb(CLI::App& app, Action& action) {
    CLI::App* remote = app.add_subcommand("remote", "The far end of search --host (core/remote/README.md)")->group("");
    remote->require_subcommand(1);
    remote->add_subcommand("serve", "Answer over standard input and output until the other side is gone")
        ->callback([&action] { action = serve; });
    CLI::App* job = remote->add_subcommand("job", "Work on the search in a job's folder");
    auto folder = std::make_shared<std::string>();
    job->add_option("FOLDER", *folder, "Folder of the job")->required()->type_name("");
    job->callback([folder, &action] { action = [folder] { return work(*folder); }; });
}

}  // namespace lpes::cli
