#include "core/studies/plot_queries.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

using nlohmann::json;

Result<json> describeRun(store::StoreReader& store, const store::RunRow& run) {
    auto view = viewOf(store, run);
    if (!view) return fail(view.error());
    auto candidates = store.candidates(run.id);
    if (!candidates) return fail(candidates.error());
    auto generations = store.generations(run.id);
    if (!generations) return fail(generations.error());
    auto positions = store.positions(run.id);
    if (!positions) return fail(positions.error());
    auto attention = store.attention(run.id);
    if (!attention) return fail(attention.error());
    auto deviations = store.deviations(run.id);
    if (!deviations) return fail(deviations.error());
    auto profiles = store.profiles(run.id);
    if (!profiles) return fail(profiles.error());
    auto steps = store.trainingSteps(run.id);
    if (!steps) return fail(steps.error());
    json failures = json::array(), infeasible = json::array();
    for (const store::CandidateRow& row : *candidates) {
        if (row.state == store::CandidateRow::State::Failed) {
            failures.push_back({{"generation", row.generation}, {"index", row.index}, {"reason", row.reason}});
        }
        if (row.state == store::CandidateRow::State::Infeasible) {
            infeasible.push_back({{"generation", row.generation}, {"index", row.index}, {"reason", row.reason}});
        }
    }
    return json{
        {"run_id", run.id},
        {"kind", run.kind},
        {"state", store::runStateName(run.state)},
        {"label", run.label},
        {"model", {{"name", view->model.name}, {"path", view->model.path}, {"fingerprint", view->model.fingerprint}}},
        {"data_set", {{"name", view->dataset.name}, {"hash", view->dataset.hash}, {"items", view->dataset.items}}},
        {"seed", run.seed},
        {"created_ms", run.createdMs},
        {"ended_ms", run.endedMs},
        {"elapsed_seconds", run.elapsedSeconds},
        {"end_reason", run.endReason},
        {"error", run.error},
        {"tool_version", run.toolVersion},
        {"libtorch_version", run.libTorchVersion},
        {"device", run.device},
        {"device_description", run.deviceDescription},
        {"dtype", run.computeType},
        {"threads_per_worker", run.threadsPerWorker},
        {"workers", run.workers},
        {"batch_size", run.batchSize},
        {"settings", view->settings},
        {"result", view->result},
        {"failures", std::move(failures)},
        {"infeasible", std::move(infeasible)},
        {"rows",
         {{"variants", view->variants.size()},
          {"candidates", candidates->size()},
          {"generations", generations->size()},
          {"positions", positions->size()},
          {"attention", attention->size()},
          {"deviation", deviations->size()},
          {"training_steps", steps->size()},
          {"profiles", profiles->size()}}}};
}

}  // namespace lpes::studies
