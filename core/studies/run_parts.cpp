#include "core/studies/run_parts.h"

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/model/causal_lm.h"
#include "core/studies/report_html.h"
#include "core/studies/run_view.h"
#include "core/studies/suite_study.h"

namespace lpes::studies {

namespace {

/// "RUN/LABEL"; empty: it is no part of another run.
std::string wholeOf(const store::RunRow& run) {
    return settingOr<std::string>(parseObject(run.settingsJson), "part_of", "");
}

}  // namespace

bool isPartOfSuite(const store::RunRow& run) {
    return !wholeOf(run).empty();
}

std::string stateText(const nlohmann::json& result) {
    const std::string state = textIn(result, "state");
    for (const char* parts : {"benchmarks", "searches"}) {
        if (state == "stopped" && textIn(result, "end_reason") == fmt::format("failed {}", parts)) {
            return fmt::format("unfinished: {} of {} {} failed", textIn(result, "failed"), listIn(result, parts).size(),
                               parts);
        }
    }
    return state;
}

std::string partName(std::int64_t wholeRun, const std::string& label) {
    return fmt::format("{}/{}", wholeRun, label);
}

Result<std::map<std::string, store::RunRow>> partsOf(store::StoreReader& reader, std::int64_t wholeRun,
                                                     const std::string& kind) {
    auto runs = reader.runs();
    if (!runs) return fail(runs.error());
    const std::string prefix = partName(wholeRun, "");
    std::map<std::string, store::RunRow> parts;
    for (store::RunRow& run : *runs) {
        if (run.kind != kind) continue;
        const std::string part = wholeOf(run);
        // The newest comes first.
        if (part.starts_with(prefix)) parts.try_emplace(part.substr(prefix.size()), std::move(run));
    }
    return parts;
}

Result<StudyOutcome> takeUpPart(store::StoreReader& reader, std::int64_t wholeRun, const std::string& label,
                                const std::string& kind,
                                const std::function<Result<StudyOutcome>(std::int64_t)>& resume,
                                const std::function<Result<StudyOutcome>()>& begin) {
    auto stored = partsOf(reader, wholeRun, kind);
    if (!stored) return fail(stored.error());
    const auto part = stored->find(label);
    if (part == stored->end()) return begin();
    if (part->second.state != store::RunState::Finished) return resume(part->second.id);
    const auto result = nlohmann::json::parse(part->second.resultJson, nullptr, false);
    return result.is_object() ? StudyOutcome{part->second.id, false, result} : begin();
}

PartObserver::PartObserver(ProgressObserver& whole, store::StoreWriter& store, std::int64_t runId, std::size_t parts,
                           double elapsedBefore)
    : m_whole(whole),
      m_store(store),
      m_runId(runId),
      m_parts(parts),
      m_before(elapsedBefore),
      m_start(steadySeconds()) {}

void PartObserver::begin(std::size_t part, const std::string& label) {
    const std::lock_guard lock(m_mutex);
    m_part = part;
    m_label = label;
}

void PartObserver::progressed(const Progress& progress) {
    const std::lock_guard lock(m_mutex);
    Progress own = progress;
    own.stage = fmt::format("{} ({} of {}): {}", m_label, m_part + 1, m_parts, progress.stage);
    // The parts behind this one are expected to take what the ones so far took on average.
    const double now = steadySeconds();
    if (progress.etaSeconds >= 0.0) {
        const double all = now - m_start + progress.etaSeconds;
        const auto done = static_cast<double>(m_part + 1);
        own.etaSeconds = progress.etaSeconds + all / done * (static_cast<double>(m_parts) - done);
    }
    m_whole.progressed(own);
    if (now - m_lastHeartbeat < 1.0) return;
    m_lastHeartbeat = now;
    // A heartbeat that fails shows in the part's own.
    (void)m_store.heartbeat(m_runId, m_before + now - m_start);
}

double PartObserver::elapsed() const {
    return m_before + steadySeconds() - m_start;
}

std::string PartsRun::endReason(const char* failedParts) const {
    return stopped ? "stopped" : failed > 0 ? failedParts : "complete";
}

StudyOutcome PartsRun::outcome(std::int64_t runId) const {
    return {runId, unfinished(), {}, stopped ? 0 : failed};
}

Result<PartsRun> runParts(std::span<const std::string> labels, PartObserver& observer,
                          const std::function<Result<StudyOutcome>(std::size_t)>& runPart) {
    PartsRun run;
    for (std::size_t i = 0; i < labels.size() && !run.stopped; ++i) {
        observer.begin(i, labels[i]);
        auto outcome = runPart(i);
        if (outcome) {
            run.stopped = outcome->stoppedEarly;
        } else if (outcome.error().code == ErrorCode::Database) {
            return fail(outcome.error());
        } else if (model::wasStopped(outcome.error())) {
            run.stopped = true;
            break;
        } else {
            ++run.failed;
            observer.warned(fmt::format("{}: {}", labels[i], outcome.error().text()));
            if (run.failed == static_cast<int>(labels.size())) return fail(outcome.error());
        }
        run.parts.emplace_back(labels[i], std::move(outcome));
    }
    return run;
}

}  // namespace lpes::studies
