#include "core/studies/resuming.h"

#include <fmt/format.h>

#include "core/model/torch/torch_runtime.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::studies {

namespace {

Result<void> requireSame(const char* what, const std::string& then, const std::string& now, const std::string& where) {
    if (then == now) return {};
    return fail(ErrorCode::BadInput,
                fmt::format("{} of '{}' is not the one that the run was started with; restore it, or start a new run",
                            what, where),
                fmt::format("fingerprint then {}, now {}", then, now));
}

/// Rounding depends on processor and library, so the history may then differ from an uninterrupted one.
void warnOfOtherMachine(const store::RunRow& run, const Workbench& bench, ProgressObserver& observer) {
    const std::string device = model::deviceDescription(bench.model.lm->device());
    if (run.deviceDescription != device) {
        observer.warned(fmt::format("the run was started on '{}' and goes on on '{}': results may differ by rounding",
                                    run.deviceDescription, device));
    }
    if (run.libTorchVersion != model::libTorchVersion()) {
        observer.warned(
            fmt::format("the run was started with LibTorch {} and goes on with {}: results may differ by rounding",
                        run.libTorchVersion, model::libTorchVersion()));
    }
}

}  // namespace

Result<store::RunRow> resumableRun(store::StoreReader& reader, std::int64_t runId, const std::string& kind) {
    auto run = reader.run(runId);
    if (!run) return fail(run.error());
    if (run->kind != kind) {
        return fail(ErrorCode::Usage,
                    fmt::format("run {} is no {} but '{}'", runId, kind == "compare" ? "comparison" : kind, run->kind));
    }
    if (run->state == store::RunState::Finished)
        return fail(ErrorCode::Usage, fmt::format("run {} is finished; there is nothing to resume", runId));
    return run;
}

Result<nlohmann::json> storedSettings(const store::RunRow& run) {
    auto stored = nlohmann::json::parse(run.settingsJson, nullptr, false);
    if (stored.is_discarded())
        return fail(ErrorCode::Database, fmt::format("the settings of run {} are damaged in the data base", run.id));
    return stored;
}

Result<void> requireSameInputs(store::StoreReader& reader, const store::RunRow& run, const Workbench& bench,
                               const std::string& modelName, ProgressObserver& observer) {
    auto model = reader.model(run.modelId);
    if (!model) return fail(model.error());
    auto dataset = reader.dataset(run.datasetId);
    if (!dataset) return fail(dataset.error());
    const struct {
        const char* what;
        const std::string &then, now, where;
    } inputs[] = {{"the model", model->fingerprint, bench.model.config().fingerprint, modelName},
                  {"the model's weights", model->weightsHash, weightsHash(*bench.model.opened.weights), modelName},
                  {"the tokenizer", model->tokenizerFingerprint, bench.model.tokenizer().fingerprint(), modelName},
                  {"the data set", dataset->hash, bench.task.dataset.hash, dataset->name},
                  {"the prompt template", dataset->templateHash, tasks::kvTemplateHash(), dataset->name}};
    for (const auto& input : inputs) {
        if (auto same = requireSame(input.what, input.then, input.now, input.where); !same) return same;
    }
    warnOfOtherMachine(run, bench, observer);
    return {};
}

}  // namespace lpes::studies
