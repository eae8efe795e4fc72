#include "core/remote/remote_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/clock.h"
#include "core/base/version.h"
#include "core/remote/messages.h"
#include "core/remote/remote_data.h"
#include "core/remote/row_fetcher.h"
#include "core/remote/session.h"
#include "core/remote/wake.h"
#include "core/store/store.h"

namespace lpes::remote {

namespace {

using nlohmann::json;

/// Seconds between attempts to reach a machine again; the last for all that follow.
constexpr std::array<int, 7> kPauses{1, 2, 4, 8, 15, 30, 60};
/// A connection that is lost sooner is as good as none: what breaks it may break every one.
constexpr double kLastingSeconds = 60.0;
/// Attempts to tell a search to stop that cannot be reached.
constexpr int kStopAttempts = 3;
constexpr int kStopPauseMs = 1000;
constexpr int kLookEveryMs = 1000;
/// Offset of who does not know what has been told: the last lines of the log and what comes behind.
constexpr std::int64_t kFromNowOn = -1;

class RemoteSearch {
  public:
    RemoteSearch(const RemoteOrder& order, ProgressObserver& observer, const std::stop_token& stop)
        : m_order(order),
          m_observer(observer),
          m_stop(stop),
          m_wake(stop, order.leave),
          m_leaveWake(order.leave),
          m_rows(order.database, observer, m_wake, m_leaveWake) {
        if (order.handle) {
            m_handle = *order.handle;
            m_offset = kFromNowOn;
        } else {
            m_handle.job = newJobName();
            m_handle.host = order.host;
            m_handle.database = order.database;
            m_handle.createdMs = nowUtcMs();
        }
    }

    Result<RemoteOutcome> run() {
        for (;;) {
            if (left()) return RemoteOutcome{RemoteEnd::Detached, m_handle.runId, {}};
            auto session = Session::open(m_handle.host, wake().descriptor());
            if (session) {
                greet(**session);
                auto outcome = sit(**session);
                // What has ended has ended, also when the last answer was lost: asking again could start it again.
                if (m_ended || !((*session)->lost() || left())) return outcome;
                if (!left() && !isOver()) noteLoss((*session)->whyLost());
            } else if (!m_connected && !m_stop.stop_requested() && !left()) {
                return fail(session.error());
            } else {
                noteFailure(session.error());
            }
            if (left()) continue;
            if (isOver()) return RemoteOutcome{RemoteEnd::Stopped, 0, {}};
            if (m_stop.stop_requested() && m_failures >= kStopAttempts) return fail(cannotStop());
            pause();
        }
    }

  private:
    bool left() const { return m_order.leave.stop_requested(); }

    /// Whether there is something on the other machine that could go on without us.
    bool mayRun() const { return m_submitted || m_order.handle; }
    /// Stopped before there was anything to stop there.
    bool isOver() const { return m_stop.stop_requested() && !mayRun(); }

    /// What ends a wait: a stop, until it was requested, and leaving.
    const Wake& wake() const { return m_stop.stop_requested() ? m_leaveWake : m_wake; }

    void greet(const Session& session) {
        m_connectedAt = steadySeconds();
        if (m_connected) m_observer.warned(fmt::format("connected to '{}' again", m_handle.host.name));
        m_connected = true;
        if (session.version() == kVersion || m_versionTold) return;
        m_versionTold = true;
        m_observer.warned(fmt::format("lpes on '{}' is {}, this one is {}; results may differ", m_handle.host.name,
                                      session.version(), kVersion));
    }

    void noteLoss(const std::string& why) {
        if (steadySeconds() - m_connectedAt >= kLastingSeconds) m_failures = 0;
        ++m_failures;
        m_lastProblem = why;
        m_observer.warned(fmt::format("the connection to '{}' was lost{}; {}, and it is tried again",
                                      m_handle.host.name, why.empty() ? "" : " (" + why + ")",
                                      mayRun() ? "the search goes on there" : "nothing has been started"));
    }

    /// Tells every new reason once: a machine may be away for days.
    void noteFailure(const Error& error) {
        ++m_failures;
        const std::string problem = error.text();
        const bool known = problem == m_lastProblem;
        m_lastProblem = problem;
        if (!known && !m_stop.stop_requested() && !left()) m_observer.warned(problem + "; it is tried again");
    }

    void pause() {
        const auto at =
            std::min<std::size_t>(static_cast<std::size_t>(std::max(m_failures - 1, 0)), kPauses.size() - 1);
        static_cast<void>(wake().waitFor(m_stop.stop_requested() ? kStopPauseMs : kPauses[at] * 1000));
    }

    Error cannotStop() const {
        return {ErrorCode::Failed,
                fmt::format("'{}' could not be told to stop the search, which goes on there; {} picks it up",
                            m_handle.host.name, resumeCommand()),
                m_lastProblem,
                {}};
    }

    std::string resumeCommand() const {
        return m_handle.runId == 0 ? "'lpes resume last'" : fmt::format("'lpes resume {}'", m_handle.runId);
    }

    /// One connection: everything in it can be done again in the next one. The result counts unless the session is
    /// lost.
    Result<RemoteOutcome> sit(Session& session) {
        session.setInterrupt(m_leaveWake.descriptor());
        if (auto submitted = submit(session); !submitted) return withoutJob(submitted.error());
        auto followed = session.ask({{"do", "follow"}, {"job", m_handle.job}, {"offset", m_offset}});
        if (!followed) return withoutJob(followed.error());
        m_stopTold = false;
        for (;;) {
            if (left()) return RemoteOutcome{RemoteEnd::Detached, m_handle.runId, {}};
            if (m_stop.stop_requested() && !m_stopTold) {
                if (auto told = session.ask({{"do", "stop"}, {"job", m_handle.job}}); !told) return fail(told.error());
                m_stopTold = true;
            }
            const Channel::Incoming event =
                session.nextEvent(kLookEveryMs, (m_stopTold ? m_leaveWake : m_wake).descriptor());
            if (event.kind == Channel::Kind::Closed) return fail(ErrorCode::Failed, "the connection was lost");
            if (event.kind == Channel::Kind::Message) {
                if (textIn(event.message, "type") == "ended") return finish(session, event.message);
                tell(event.message);
            }
            if (auto fetched = fetchIfDue(session); !fetched) return fail(fetched.error());
            if (m_order.detach && m_handle.runId != 0) return RemoteOutcome{RemoteEnd::Detached, m_handle.runId, {}};
        }
    }

    /// Sees to it that the search runs there, or has ended. Asking twice, because an answer was lost, changes nothing.
    Result<void> submit(Session& session) {
        if (m_order.handle) return pickUp(session);
        if (!m_submitted) {
            m_settings = m_order.settings;
            // Nothing runs yet, so a stop may end this at any moment.
            session.setInterrupt(m_wake.descriptor());
            auto brought = bringData(session, m_handle.host, m_settings, m_order.dataKeys, m_observer);
            if (!brought) return brought;
            session.setInterrupt(m_leaveWake.descriptor());
            // Remembered before it is asked for: a search that nobody here knows of would be lost.
            if (auto written = writeHandle(m_handle); !written) return written;
            m_submitted = true;
        }
        auto started = session.ask({{"do", "start"}, {"job", m_handle.job}, {"settings", m_settings}});
        if (started) return {};
        if (!session.lost()) removeHandle(m_handle);
        return fail(started.error());
    }

    Result<void> pickUp(Session& session) {
        // What is to be stopped is not started again for that.
        if (m_submitted || m_stop.stop_requested()) return {};
        const json workers = m_order.workers ? json(*m_order.workers) : json(nullptr);
        auto resumed = session.ask({{"do", "resume"}, {"job", m_handle.job}, {"workers", workers}});
        if (!resumed) return fail(resumed.error());
        m_submitted = true;
        return {};
    }

    /// What it means that a search was refused: one that is not there any more has nothing to go back to, where its run
    /// here is finished or never began.
    Result<RemoteOutcome> withoutJob(Error error) {
        // BadInput: its folder is there, and it was never started.
        const bool gone = m_order.handle && (error.code == ErrorCode::Usage || error.code == ErrorCode::BadInput);
        if (!gone) return fail(std::move(error));
        if (m_handle.runId == 0) {
            removeHandle(m_handle);
            error.message = "the search is not there any more, and no rows of it have come; start it again";
            return fail(std::move(error));
        }
        auto reader = store::StoreReader::open(m_handle.database);
        if (!reader) return fail(std::move(error));
        const auto run = (*reader)->run(m_handle.runId);
        if (!run || run->state != store::RunState::Finished) return fail(std::move(error));
        removeHandle(m_handle);
        json result = json::parse(run->resultJson, nullptr, false);
        return RemoteOutcome{RemoteEnd::Finished, m_handle.runId, result.is_object() ? result : json::object()};
    }

    void tell(const json& line) {
        m_offset = numberIn(line, "next", m_offset);
        const ProgressLine said = parseProgressLine(textIn(line, "text"));
        if (said.progress) m_observer.progressed(*said.progress);
        if (said.warning) m_observer.warned(*said.warning);
        m_rows.somethingHappened();
    }

    Result<void> fetchIfDue(Session& session) {
        if (!m_rows.due()) return {};
        auto run = m_rows.fetch(session, m_handle.job);
        if (!run) return fail(run.error());
        return noteRun(*run);
    }

    Result<void> noteRun(std::int64_t run) {
        if (run == 0 || run == m_handle.runId) return {};
        m_handle.runId = run;
        if (m_order.runBegan) m_order.runBegan(run);
        return writeHandle(m_handle);
    }

    /// The search has ended there: its last rows, what it printed, and no traces where nothing is left to pick up.
    Result<RemoteOutcome> finish(Session& session, const json& ended) {
        auto run = m_rows.fetchLast(session, m_handle.job, m_stop);
        if (!run) return fail(run.error());
        const bool hasRows = *run != 0;
        if (auto noted = noteRun(*run); !noted) return fail(noted.error());
        m_ended = true;
        const json code = ended.value("exit_code", json());
        // One that was told to stop before it listened to that has ended without a word.
        const bool finished = code == 0, stopped = code == kExitStopped || (code.is_null() && m_stopTold);
        if (const std::string machine = textIn(ended, "elsewhere"); !machine.empty()) return fail(isElsewhere(machine));
        // Nothing is forgotten there that is not here.
        if (!hasRows && (finished || m_handle.runId != 0)) return fail(noRows());
        if (finished || !hasRows) {
            static_cast<void>(session.ask({{"do", "forget"}, {"job", m_handle.job}}));
            removeHandle(m_handle);
        }
        if (!finished && !stopped) return fail(whyFailed(ended));
        RemoteOutcome outcome{finished ? RemoteEnd::Finished : RemoteEnd::Stopped, m_handle.runId,
                              json::parse(textIn(ended, "out"), nullptr, false)};
        if (!outcome.result.is_object()) outcome.result = json::object();
        if (m_handle.runId != 0) outcome.result["run_id"] = m_handle.runId;
        return outcome;
    }

    Error noRows() const {
        return {
            ErrorCode::Failed,
            fmt::format("the search on '{}' has ended, and its rows are not in the folder of its job '{}' there; what "
                        "came here stays",
                        m_handle.host.name, m_handle.job),
            {},
            {}};
    }

    Error isElsewhere(const std::string& machine) const {
        return {ErrorCode::Failed,
                fmt::format("the search was started on '{}', and '{}' is now another machine that cannot see whether "
                            "it still runs; name that machine in ~/.ssh/config, then {} picks it up",
                            machine, m_handle.host.name, resumeCommand()),
                {},
                {}};
    }

    Error whyFailed(const json& ended) const {
        if (ended.contains("error")) {
            Error error = errorFromJson(ended["error"]);
            error.context =
                fmt::format("on '{}'", m_handle.host.name) + (error.context.empty() ? "" : ", " + error.context);
            return error;
        }
        if (m_handle.runId == 0) {
            return {ErrorCode::Failed,
                    fmt::format("the search on '{}' ended before its run began, and did not say why; was it killed?",
                                m_handle.host.name),
                    {},
                    {}};
        }
        return {ErrorCode::Failed,
                fmt::format("the search on '{}' was killed, or the machine went down; its rows are here as run {}, and "
                            "{} goes on there",
                            m_handle.host.name, m_handle.runId, resumeCommand()),
                {},
                {}};
    }

    const RemoteOrder& m_order;
    ProgressObserver& m_observer;
    const std::stop_token m_stop;
    const Wake m_wake, m_leaveWake;
    RowFetcher m_rows;
    Handle m_handle;
    json m_settings;            ///< as they are sent: with the paths that data have there
    std::int64_t m_offset = 0;  ///< how far its log has been told
    bool m_connected = false;   ///< ever
    bool m_submitted = false;   ///< the search may run there
    bool m_stopTold = false;    ///< on this connection
    bool m_ended = false;       ///< the search there, and its last rows are here
    bool m_versionTold = false;
    double m_connectedAt = 0.0;
    int m_failures = 0;  ///< attempts since the last connection that lasted
    std::string m_lastProblem;
};

}  // namespace

Result<RemoteOutcome> runRemoteSearch(const RemoteOrder& order, ProgressObserver& observer, std::stop_token stop) {
    return RemoteSearch(order, observer, stop).run();
}

}  // namespace lpes::remote
