#include "core/studies/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/files.h"
#include "core/studies/json_rows.h"
#include "core/studies/resuming.h"
#include "core/studies/run_view.h"

namespace lpes::studies {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

std::string absoluteText(const fs::path& path) {
    return fs::absolute(path).lexically_normal().string();
}

store::TrainingStepRow stepRow(const model::MoiceStepRecord& record) {
    return {record.step, record.loss, record.lmLoss, record.auxLoss, record.gradNorm, record.tokens};
}

/// To the bit: the curve of another training is another one from its first step on.
bool beginsWith(std::span<const model::MoiceStepRecord> curve, const std::vector<store::TrainingStepRow>& steps) {
    if (steps.size() > curve.size()) return false;
    return std::equal(steps.begin(), steps.end(), curve.begin(),
                      [](const store::TrainingStepRow& row, const model::MoiceStepRecord& record) {
                          return model::MoiceStepRecord{row.step,    row.loss,     row.lmLoss,
                                                        row.auxLoss, row.gradNorm, row.tokens} == record;
                      });
}

/// Key → value, whatever the origin.
json valuesOf(const json& settings) {
    json values = json::object();
    for (const auto& [key, setting] : settings.items())
        values[key] = setting.is_object() ? setting.value("value", json()) : json();
    return values;
}

}  // namespace

json trainSettingsJson(const TrainMoiceSettings& settings, json recipe, const OpenedModel& model) {
    const auto origin = [&](const char* key) {
        const auto known = settings.origins.find(key);
        return known == settings.origins.end() ? std::string("default") : known->second;
    };
    const std::string named = fs::exists(settings.model.model) ? model.path.string() : settings.model.model;
    for (const auto& [key, value] :
         {std::pair{"model", named}, std::pair{"device", settings.model.device},
          std::pair{"text", absoluteText(settings.text)}, std::pair{"out", absoluteText(settings.out)}}) {
        recipe[key] = {{"value", value}, {"origin", origin(key)}};
    }
    return recipe;
}

Result<TrainMoiceSettings> readTrainSettings(const json& stored) {
    TrainMoiceSettings settings;
    std::string text, out;
    JsonFields fields(stored, "the settings of the training");
    fields.read("model", settings.model.model);
    fields.read("device", settings.model.device);
    fields.read("dtype", settings.model.dtype);
    fields.read("threads", settings.threads);
    fields.read("text", text);
    fields.read("out", out);
    fields.read("steps", settings.steps);
    fields.read("sequences_per_step", settings.sequencesPerStep);
    fields.read("max_length", settings.maxLength);
    fields.read("top_k", settings.topK);
    fields.read("bases", settings.bases);
    fields.read("lr", settings.learningRate);
    fields.read("aux", settings.auxCoefficient);
    fields.read("weight_decay", settings.weightDecay);
    fields.read("beta1", settings.beta1);
    fields.read("beta2", settings.beta2);
    fields.read("epsilon", settings.epsilon);
    fields.read("max_grad_norm", settings.maxGradNorm);
    fields.read("seed", settings.seed);
    if (auto read = fields.finish(); !read) return fail(read.error());
    settings.text = text;
    settings.out = out;
    settings.origins = readOrigins(stored);
    return settings;
}

store::DatasetRow datasetRow(const TrainingText& text, const fs::path& file) {
    store::DatasetRow row;
    row.hash = text.hash();
    row.task = "training text";
    row.name = file.filename().string();
    row.items = text.documents();
    row.specJson = json{{"text", absoluteText(file)}}.dump();
    return row;
}

Result<void> recordSteps(store::StoreWriter& store, std::int64_t runId, std::span<const model::MoiceStepRecord> steps) {
    std::vector<store::TrainingStepRow> rows;
    for (const model::MoiceStepRecord& record : steps) rows.push_back(stepRow(record));
    return store.recordTrainingSteps(runId, rows);
}

Result<std::optional<store::RunRow>> findLeftTraining(store::StoreReader& reader, const json& settings,
                                                      std::span<const model::MoiceStepRecord> curve) {
    const auto runs = reader.runs();
    if (!runs) return fail(runs.error());
    const json wanted = valuesOf(settings);
    for (const store::RunRow& run : *runs) {
        if (run.kind != kTrainKind || run.state == store::RunState::Finished) continue;
        if (valuesOf(parseObject(run.settingsJson)) != wanted) continue;
        const auto steps = reader.trainingSteps(run.id);
        if (!steps) return fail(steps.error());
        if (beginsWith(curve, *steps)) return run;
    }
    return std::nullopt;
}

Result<void> requireOwnCheckpoint(store::StoreReader& reader, const store::RunRow& run,
                                  const model::MoiceCheckpoint& checkpoint, const fs::path& file) {
    const auto refused = [&](const std::string& why) {
        return refuseFile(file, fmt::format("this is not the checkpoint that run {} left: {}; put that one back, or "
                                            "begin anew with 'lpes train moice'",
                                            run.id, why));
    };
    const json values = valuesOf(parseObject(run.settingsJson));
    for (const auto& [key, value] : checkpoint.identity.items()) {
        // A training that went on elsewhere, to more steps, is still this one.
        if (key == "steps" || !values.contains(key) || values.at(key) == value) continue;
        return refused(fmt::format("its {} is {} and not {}", key, value.dump(), values.at(key).dump()));
    }
    const auto steps = reader.trainingSteps(run.id);
    if (!steps) return fail(steps.error());
    if (!beginsWith(checkpoint.state.curve, *steps)) return refused("its loss curve is another");
    return {};
}

Result<std::string> routerHash(const fs::path& file, const model::WeightSource& weights, ProgressObserver& observer) {
    // Not through its spelling, in which a file's name could be read as something else.
    rope::MethodPart part;
    part.kind = rope::MethodPart::Kind::Moice;
    part.file = file.string();
    const rope::MethodSpec spec{{std::move(part)}, "moice:" + file.string()};
    const auto method = methodFor(spec, weights, observer);
    if (!method) return fail(method.error());
    return methodHash(spec, *method);
}

}  // namespace lpes::studies
