#include "core/studies/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/base/process_memory.h"
#include "core/base/temporary_folder.h"
#include "core/studies/probe_study.h"
#include "core/studies/short_contexts.h"
#include "core/studies/slope_evaluator.h"

namespace lpes::studies {

namespace {

constexpr double kEnoughSeconds = 2.0;  ///< of timed passes, once each length has been timed twice
constexpr double kMostSeconds = 10.0;   ///< then no length is timed a second time
constexpr int kMostRounds = 6;          ///< passes of each length
constexpr int kGuardrailQuestions = 4;  ///< that stand for all of them

/// A data base that nobody sees, so that the passes are committed as the search commits them.
class ScratchStore {
  public:
    static Result<ScratchStore> open() {
        auto folder = TemporaryFolder::make("lpes-calibration-");
        if (!folder) return fail(folder.error());
        auto store = store::StoreWriter::open(folder->path() / "calibration.db", {"lpes search --dry-run"});
        if (!store) return fail(store.error());
        return ScratchStore(std::move(*folder), std::move(*store));
    }
    store::StoreWriter& operator*() { return *m_store; }

  private:
    ScratchStore(TemporaryFolder folder, std::unique_ptr<store::StoreWriter> store)
        : m_folder(std::move(folder)), m_store(std::move(store)) {}

    TemporaryFolder m_folder;  ///< goes after the data base that is in it
    std::unique_ptr<store::StoreWriter> m_store;
};

class Unwatched final : public ChunkObserver {
    Result<void> chunkDone(std::int64_t, std::int64_t) override { return {}; }
};

std::int64_t chunkTokens(const PromptPlan& plan, std::size_t chunk) {
    std::int64_t tokens = 0;
    for (const std::size_t entry : plan.chunks()[chunk]) tokens += plan.entries()[entry].scoredTokens;
    return tokens;
}

/// Longest first; lengths within a tenth of each other are one.
std::vector<std::size_t> chosenChunks(const PromptPlan& plan) {
    std::vector<std::size_t> byTokens(plan.chunks().size());
    for (std::size_t i = 0; i < byTokens.size(); ++i) byTokens[i] = i;
    std::ranges::stable_sort(byTokens, std::greater<>(), [&](std::size_t chunk) { return chunkTokens(plan, chunk); });
    std::vector<std::size_t> chosen;
    for (const std::size_t chunk : {byTokens.front(), byTokens.back(), byTokens[byTokens.size() / 2]}) {
        const auto tokens = static_cast<double>(chunkTokens(plan, chunk));
        const bool known = std::ranges::any_of(chosen, [&](std::size_t other) {
            return std::abs(static_cast<double>(chunkTokens(plan, other)) - tokens) < 0.1 * tokens;
        });
        if (!known) chosen.push_back(chunk);
    }
    return chosen;
}

/// One worker's passes.
class Timing {
  public:
    Timing(const PreparedSearch& prepared, store::StoreWriter& store, std::int64_t variantId, std::string name,
           rope::PositionMethod method)
        : m_prepared(prepared),
          m_store(store),
          m_variantId(variantId),
          m_name(std::move(name)),
          m_method(std::move(method)),
          m_session(prepared.bench.model.lm->newSession(prepared.bench.threads)) {}

    [[nodiscard]] model::ModelSession& session() { return *m_session; }

    /// Times passes of every chosen length in turns, after one that warms the session up.
    Result<std::map<std::size_t, std::vector<double>>> run(const std::vector<std::size_t>& chunks,
                                                           const std::stop_token& stop) {
        std::map<std::size_t, std::vector<double>> seconds;
        if (auto warm = pass(chunks.back(), stop); !warm) return fail(warm.error());
        const double start = steadySeconds();
        for (int round = 0; round < kMostRounds; ++round) {
            for (const std::size_t chunk : chunks) {
                const double spent = steadySeconds() - start;
                if (spent > kMostSeconds && seconds.contains(chunk)) return seconds;
                if (spent > kEnoughSeconds && round > 1) return seconds;
                auto took = pass(chunk, stop);
                if (!took) return fail(took.error());
                seconds[chunk].push_back(*took);
            }
        }
        return seconds;
    }

  private:
    Result<double> pass(std::size_t chunk, const std::stop_token& stop) {
        // Under a split of its own each time: what is stored would not be computed again.
        auto evaluation = VariantEvaluation::begin({m_prepared.bench.model.tokenizer(), m_prepared.searchPlan, m_method,
                                                    m_prepared.score, m_store, m_variantId,
                                                    fmt::format("{}-{}", m_name, m_passes++)});
        if (!evaluation) return fail(evaluation.error());
        const double start = steadySeconds();
        model::LocalSession session(*m_session);
        if (auto run = evaluation->runChunk(chunk, session, stop); !run) return fail(run.error());
        return steadySeconds() - start;
    }

    const PreparedSearch& m_prepared;
    store::StoreWriter& m_store;
    std::int64_t m_variantId;
    std::string m_name;
    rope::PositionMethod m_method;
    std::unique_ptr<model::ModelSession> m_session;
    int m_passes = 0;
};

class Calibrator {
  public:
    Calibrator(const PreparedSearch& prepared, store::StoreWriter& store, std::int64_t variantId,
               std::vector<double> scales, std::stop_token stop)
        : m_prepared(prepared),
          m_store(store),
          m_variantId(variantId),
          m_scales(std::move(scales)),
          m_method(lpesMethod(prepared.settings.search.groups, m_scales)),
          m_stop(std::move(stop)),
          m_chunks(chosenChunks(prepared.searchPlan)) {
        for (int worker = 0; worker < prepared.settings.compute.workers; ++worker)
            m_timings.emplace_back(prepared, store, variantId, fmt::format("worker-{}", worker), m_method);
    }

    Result<void> passes(Calibration& into) {
        auto measured = costs(into.passes);
        if (!measured) return fail(measured.error());
        into.passCosts = std::move(*measured);
        return {};
    }

    Result<void> probes(Calibration& into) {
        const auto first =
            std::ranges::find_if(m_prepared.reportPlan.entries(), [](const auto& e) { return !e.tooLong; });
        if (m_prepared.settings.analysisItems == 0 || first == m_prepared.reportPlan.entries().end()) return {};
        const std::vector<std::string> items{first->itemId};
        auto plan = PromptPlan::make(m_prepared.bench.task, items, m_prepared.bench.model.tokenizer(),
                                     m_prepared.reportPlan.contextLength(), PassSize{});
        if (!plan) return fail(plan.error());
        Unwatched unwatched;
        model::ModelSession& session = m_timings.front().session();
        double start = steadySeconds();
        auto attention = probeAttention(session, *plan, m_prepared.bench.task.labels, m_method,
                                        AttentionQueries::LastToken, unwatched, m_stop);
        if (!attention) return fail(attention.error());
        into.attentionSeconds = (steadySeconds() - start) / static_cast<double>(plan->prompts());
        start = steadySeconds();
        auto deviation = probeDeviation(session, *plan, "calibration", m_method, 1, unwatched, m_stop);
        if (!deviation) return fail(deviation.error());
        into.deviationSeconds = (steadySeconds() - start) / static_cast<double>(deviationPrompts(*plan));
        return {};
    }

    /// Slopes of one item, for the descents and for the sensitivity at the end.
    Result<void> slopes(Calibration& into) {
        const bool descends = search::descentsOf(m_prepared.settings.search, 1) > 0;
        const auto items = entriesByItem(m_prepared.searchPlan);
        if (items.empty() || (!descends && m_prepared.settings.analysisItems == 0)) return {};
        Unwatched unwatched;
        const search::SearchSettings& search = m_prepared.settings.search;
        const double start = steadySeconds();
        model::LocalSession session(m_timings.front().session());
        auto rows =
            measureItemSlopes({m_prepared.searchPlan, search.groups, m_scales, m_store, m_variantId, "calibration"},
                              items.front(), session, unwatched, m_stop);
        into.slopeSeconds = (steadySeconds() - start) / static_cast<double>(items.front().size());
        // A sensitivity that cannot be measured costs a search a warning, not its result.
        if (!rows && (descends || model::wasStopped(rows.error()))) return fail(rows.error());
        return {};
    }

    Result<void> guardrail(Calibration& into) {
        GuardrailSettings few = m_prepared.settings.guardrail;
        if (few.items == 0 || m_prepared.guardrail.empty()) return {};
        const int asked = std::min(few.items, kGuardrailQuestions);
        few.items = asked;
        auto guardrail =
            Guardrail::make(few, m_prepared.bench.model.tokenizer(), m_prepared.reportPlan.contextLength());
        if (!guardrail) return fail(guardrail.error());
        Unwatched unwatched;
        const double start = steadySeconds();
        auto side = guardrail->measure(m_timings.front().session(), m_method, unwatched, m_stop);
        if (!side) return fail(side.error());
        into.guardrailSeconds = (steadySeconds() - start) * m_prepared.settings.guardrail.items / asked;
        return shortTexts(into);
    }

  private:
    /// One pass of short texts, as every candidate of a search with a limit has them.
    Result<void> shortTexts(Calibration& into) {
        if (!measuresShortContexts(m_prepared.settings)) return {};
        const std::span all(m_prepared.guardrail.texts());
        const auto some = all.first(std::min(kShortTextsPerPass, all.size()));
        model::LocalSession session(m_timings.front().session());
        const double start = steadySeconds();
        const auto nlls = shortTextNlls(session, m_method, some, m_stop);
        if (!nlls) return fail(nlls.error());
        into.shortTextSeconds = (steadySeconds() - start) / static_cast<double>(some.size());
        return {};
    }

    /// Medians over the passes of all workers, which run at the same time.
    Result<std::vector<PassCost>> costs(int& passes) {
        using Times = Result<std::map<std::size_t, std::vector<double>>>;
        std::vector<Times> times(m_timings.size());
        {
            std::vector<std::jthread> threads;
            for (std::size_t worker = 1; worker < times.size(); ++worker) {
                threads.emplace_back([&, worker] { times[worker] = m_timings[worker].run(m_chunks, m_stop); });
            }
            times[0] = m_timings[0].run(m_chunks, m_stop);
        }
        std::map<std::size_t, std::vector<double>> all;
        for (const Times& one : times) {
            if (!one) return fail(one.error());
            for (const auto& [chunk, seconds] : *one)
                all[chunk].insert(all[chunk].end(), seconds.begin(), seconds.end());
        }
        std::vector<PassCost> costs;
        for (auto& [chunk, seconds] : all) {
            passes += static_cast<int>(seconds.size());
            std::ranges::sort(seconds);
            costs.push_back({chunkTokens(m_prepared.searchPlan, chunk), seconds[seconds.size() / 2]});
        }
        std::ranges::sort(costs, {}, &PassCost::tokens);
        return costs;
    }

    const PreparedSearch& m_prepared;
    store::StoreWriter& m_store;
    std::int64_t m_variantId;
    std::vector<double> m_scales;  ///< [L·G]
    rope::PositionMethod m_method;
    std::stop_token m_stop;
    std::vector<std::size_t> m_chunks;
    std::vector<Timing> m_timings;
};

}  // namespace

Result<Calibration> calibrate(const PreparedSearch& prepared, ProgressObserver& observer, std::stop_token stop) {
    const double start = steadySeconds();
    const search::SearchSettings& search = prepared.settings.search;
    const std::size_t scales = static_cast<std::size_t>(prepared.bench.model.config().numLayers) *
                               static_cast<std::size_t>(search.groups.count());
    // Any scale that is not 1 takes the way of a candidate.
    const std::vector<double> profile(scales, (search.constraints.scaleMin + search.constraints.scaleMax) / 2);
    auto scratch = ScratchStore::open();
    if (!scratch) return fail(scratch.error());
    auto run = beginRun(**scratch, prepared.bench, prepared.settings.compute, "search", "calibration",
                        nlohmann::json::object(), search.seed);
    if (!run) return fail(run.error());
    auto variant = (**scratch).ensureVariant(*run, "candidate", profile);
    if (!variant) return fail(variant.error());

    const auto tell = [&](const char* stage, std::int64_t done) { observer.progressed({stage, done, 3, 0.0, -1.0}); };
    Calibration result;
    Calibrator calibrator(prepared, **scratch, *variant, profile, stop);
    tell("calibration: passes", 0);
    if (auto done = calibrator.passes(result); !done) return fail(done.error());
    tell("calibration: probes", 1);
    if (auto done = calibrator.probes(result); !done) return fail(done.error());
    if (auto done = calibrator.slopes(result); !done) return fail(done.error());
    tell("calibration: guardrail", 2);
    if (auto done = calibrator.guardrail(result); !done) return fail(done.error());
    result.peakBytes = peakResidentBytes();
    result.seconds = steadySeconds() - start;
    return result;
}

double passSeconds(std::span<const PassCost> costs, std::int64_t tokens) {
    const auto above = std::ranges::lower_bound(costs, tokens, {}, &PassCost::tokens);
    const auto scaled = [tokens](const PassCost& cost) {
        return cost.seconds * static_cast<double>(tokens) / static_cast<double>(cost.tokens);
    };
    if (above == costs.end()) return scaled(costs.back());
    if (above == costs.begin()) return scaled(costs.front());
    const PassCost &low = *(above - 1), &high = *above;
    const double share = static_cast<double>(tokens - low.tokens) / static_cast<double>(high.tokens - low.tokens);
    return low.seconds + share * (high.seconds - low.seconds);
}

}  // namespace lpes::studies
