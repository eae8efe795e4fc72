#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/remote/handle.h"

namespace lpes::remote {

/// A search to be run on another machine, or one that runs or was left there.
struct RemoteOrder {
    Host host;
    std::filesystem::path database;     ///< here: where its rows go
    std::optional<Handle> handle;       ///< of the search to pick up; none: a new one
    nlohmann::json settings;            ///< of a new one, as the data base stores them: {key: {"value", "origin"}}
    std::vector<std::string> dataKeys;  ///< settings that name data of this machine, which are brought there
    std::optional<int> workers;         ///< another number for one that is taken up again
    bool detach = false;                ///< leave it once its first rows are here
    std::stop_token leave = {};         ///< leaves it to itself at once, wherever it stands
    std::function<void(std::int64_t)> runBegan = {};  ///< told the number that the run has here, once it has one
};

enum class RemoteEnd {
    Finished,
    Stopped,   ///< by the user, checkpoint written there, rows here
    Detached,  ///< left to itself, and it goes on there where it had begun
};

struct RemoteOutcome {
    RemoteEnd end = RemoteEnd::Finished;
    std::int64_t runId = 0;  ///< here; 0: no run had begun, and nothing is stored
    nlohmann::json result;   ///< what `search --json` prints, with the number that the run has here
};

/// Runs the search there and stays with it: brings data files there (by content, once), starts it so that it needs no
/// connection, tells its progress, copies its rows into the data base here every few seconds and at the end. A
/// connection that is lost is made again, with growing pauses, until `stop`; nothing is lost meanwhile and no progress
/// is told twice. `stop` stops the search there as Ctrl-C would, fetches what it has and returns; while nothing runs
/// there yet it ends what is going on, Stopped without a run. One to be picked up that is not there any more is
/// Finished where its run here is, else Usage; its handle goes where nothing can come back by it.
///
/// Blocks; the data base here is opened for writing at moments only, and waited for when another program writes to it.
/// Failed where the machine cannot be reached at first, or where the search there died (what it had is here, and can be
/// picked up); the search's own error, with the machine in front, where it failed there; BadInput where data are
/// neither here nor there; Database error where the rows cannot be stored here.
[[nodiscard]] Result<RemoteOutcome> runRemoteSearch(const RemoteOrder& order, ProgressObserver& observer,
                                                    std::stop_token stop);

}  // namespace lpes::remote
