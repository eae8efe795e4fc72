#include "core/studies/resuming.h"

#include <fmt/format.h>

#include <utility>

#include "core/model/torch/torch_runtime.h"

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
void warnOfOtherMachine(const store::RunRow& run, const LoadedModel& model, ProgressObserver& observer) {
    const std::string device = model::deviceDescription(model.lm->device());
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
        return fail(ErrorCode::Usage, fmt::format("run {} is no {} but '{}'", runId,
                                                  kind == "compare" ? "comparison"
                                                  : kind == "train" ? "training"
                                                                    : kind,
                                                  run->kind));
    }
    if (run->state == store::RunState::Finished)
        return fail(ErrorCode::Usage, fmt::format("run {} is finished; there is nothing to resume", runId));
    return run;
}

Result<nlohmann::json> storedSettings(const store::RunRow& run) {
    auto stored = nlohmann::json::parse(run.settingsJson, nullptr, false);
    if (stored.is_discarded())
        return fail(ErrorCode::Database, fmt::format("the settings of run {} are damaged in the data base", run.id));
    // Runs of versions that could not share prefixes go on without.
    if (!stored.contains("share_prefixes")) stored["share_prefixes"] = false;
    return stored;
}

Result<void> requireSameModel(store::StoreReader& reader, const store::RunRow& run, const LoadedModel& model,
                              const std::string& modelName, ProgressObserver& observer) {
    const auto stored = reader.model(run.modelId);
    if (!stored) return fail(stored.error());
    const struct {
        const char* what;
        const std::string &then, now;
    } inputs[] = {{"the model", stored->fingerprint, model.config().fingerprint},
                  {"the model's weights", stored->weightsHash, weightsHash(*model.opened.weights)},
                  {"the tokenizer", stored->tokenizerFingerprint, model.tokenizer().fingerprint()}};
    for (const auto& input : inputs) {
        if (auto same = requireSame(input.what, input.then, input.now, modelName); !same) return same;
    }
    warnOfOtherMachine(run, model, observer);
    return {};
}

Result<void> requireSameInputs(store::StoreReader& reader, const store::RunRow& run, const Workbench& bench,
                               const std::string& modelName, ProgressObserver& observer) {
    if (auto same = requireSameModel(reader, run, bench.model, modelName, observer); !same) return same;
    const auto dataset = reader.dataset(run.datasetId);
    if (!dataset) return fail(dataset.error());
    const tasks::BenchmarkInfo& info = bench.task.info();
    if (auto same = requireSame("the data set", dataset->hash, info.hash, dataset->name); !same) return same;
    // What a task file's items are asked in is part of each item, and so of the data's hash.
    if (info.task == "jsonl") return {};
    return requireSame("the prompt template", dataset->templateHash, info.templateHash, dataset->name);
}

void noteMethodHash(MethodHashes& hashes, const rope::MethodSpec& spec, const rope::PositionMethod& method) {
    if (std::string hash = methodHash(spec, method); !hash.empty()) hashes[spec.text] = std::move(hash);
}

Result<void> requireSameMethod(const MethodHashes& then, const rope::MethodSpec& spec, const std::string& now) {
    const auto known = then.find(spec.text);
    if (known == then.end()) return {};
    std::string files;
    for (const rope::MethodPart& part : spec.parts) {
        if (!part.file.empty()) files += (files.empty() ? "" : "' + '") + part.file;
    }
    return requireSame(fmt::format("the method '{}'", spec.text).c_str(), known->second, now, files);
}

}  // namespace lpes::studies
