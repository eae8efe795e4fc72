#include <fmt/format.h>

#include "core/studies/json_rows.h"
#include "core/studies/probe_study.h"
#include "core/studies/run_session.h"
#include "core/studies/studies.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

json attentionJson(const analysis::AttentionSummary& summary) {
    json positions = json::array(), layers = json::array();
    for (const analysis::AttentionPlot::Position& position : summary.positions) {
        json spans = json::array();
        for (std::size_t span = 0; span < position.share.size(); ++span) {
            spans.push_back(
                {{"index", span}, {"share", position.share[span]}, {"mean_per_token", position.meanPerToken[span]}});
        }
        positions.push_back(
            {{"position", position.label}, {"gold_index", position.goldIndex}, {"spans", std::move(spans)}});
        layers.push_back(position.shareByLayer);
    }
    return {{"positions", std::move(positions)},
            {"layers", std::move(layers)},
            {"sink", summary.sink},
            {"instruction_share", summary.instructionShare},
            {"question_share", summary.questionShare}};
}

}  // namespace

Result<StudyOutcome> runAttention(const AttentionSettings& settings, store::StoreWriter& store,
                                  ProgressObserver& observer, std::stop_token stop) {
    const auto queries = parseAttentionQueries(settings.queries);
    if (!queries) return fail(queries.error());
    const auto prepared =
        prepareMethod(settings.method, settings.compute, settings.task, "strict", false, 20, observer, stop);
    if (!prepared) return fail(prepared.error());
    const Workbench& bench = prepared->bench;
    const rope::PositionMethod& method = prepared->method;
    const PromptPlan& plan = prepared->plan;
    if (auto one = rope::requireOneAttention(method, "attention by position"); !one) return fail(one.error());
    AttentionSettings resolved = settings;
    storeResolved(resolved.compute, resolved.task, bench);
    resolved.methodHashes = prepared->methodHashes;
    auto runId = beginRun(store, bench, settings.compute, "attn",
                          fmt::format("attention of {} on {}", method.text, bench.task.info().name), toJson(resolved),
                          settings.task.seedOfItems());
    if (!runId) return fail(runId.error());
    RunProgress progress(store, *runId, observer);
    return conductRun(store, *runId, progress, [&]() -> Result<StudyOutcome> {
        auto variant = store.ensureVariant(*runId, method.text, storedScales(method));
        if (!variant) return fail(variant.error());
        auto session = bench.model.lm->newSession(bench.threads);
        if (auto applied = requireApplied(*session, method, plan.longestPrompt()); !applied)
            return fail(applied.error());
        progress.setTotal(plan.prompts());
        progress.setStage("attention by position");
        auto summary = probeAttention(*session, plan, bench.task.labels, method, *queries, progress, stop);
        if (!summary) return fail(summary.error());
        if (auto done = store.recordAttention(*runId, attentionRows(*summary, *variant)); !done)
            return fail(done.error());
        StudyOutcome outcome{*runId, false, attentionJson(*summary)};
        outcome.result.update({{"run_id", *runId},
                               {"state", "finished"},
                               {"model", settings.compute.model},
                               {"method", method.text},
                               {"method_hash", hashJson(prepared->methodHashes, method.text)},
                               {"queries", settings.queries},
                               {"task", settings.task.task},
                               {"data", bench.task.info().name},
                               {"items", plan.itemsRun()},
                               {"skipped_too_long", plan.itemsSkipped()},
                               {"applied", "verified"},
                               {"seconds", progress.secondsThisSitting()},
                               {"settings", toJson(resolved)}});
        return outcome;
    });
}

}  // namespace lpes::studies
