#include "core/studies/run_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/torch/torch_runtime.h"
#include "core/studies/json_rows.h"
#include "core/studies/method_bench.h"
#include "core/studies/model_setup.h"
#include "core/studies/prompt_maker.h"

namespace lpes::resources {
extern const std::string_view demoStudyJson;
}

namespace lpes::studies {

namespace {

using nlohmann::json;

json searchJson(const search::SearchSettings& settings) {
    return {{"seed", settings.seed},
            {"optimizer", search::optimizerName(settings.optimizer)},
            {"population", settings.population},
            {"max_generations", settings.maxGenerations},
            {"max_evals", optionalJson(settings.maxEvals)},
            {"time_limit", optionalJson(settings.timeLimitSeconds)},
            {"target", optionalJson(settings.target)},
            {"patience", optionalJson(settings.patience)},
            {"min_delta", settings.minDelta},
            {"above_noise", settings.aboveNoise},
            {"curve", curve::curveKindName(settings.curve)},
            {"points", settings.points},
            {"per", curve::groupsText(settings.groups)},
            {"scale_min", settings.constraints.scaleMin},
            {"scale_max", settings.constraints.scaleMax},
            {"grid_step", optionalJson(settings.constraints.gridStep)},
            {"mutation_rate", settings.mutationRate},
            {"max_dx", settings.maxDx},
            {"max_dy", settings.maxDy},
            {"max_failures", settings.maxConsecutiveFailures},
            {"duplicate_retries", settings.duplicateRetries},
            {"memo", settings.memo},
            {"racing", optionalJson(settings.racing)},
            {"objectives", search::objectivesText(settings.objectives)},
            {"gradient_starts", settings.gradient.starts},
            {"refine", settings.gradient.refined},
            {"gradient_steps", settings.gradient.steps},
            {"gradient_items", settings.gradient.items},
            {"gradient_rate", settings.gradient.rate}};
}

void readShared(JsonFields& fields, ComputeSettings& compute, TaskSpec& task) {
    readCompute(fields, compute);
    fields.read("workers", compute.workers);
    readTask(fields, task);
}

/// Settings that are read as words and made into values afterwards.
struct SpelledSettings {
    std::string curve, per, optimizer, objectives;
};

void readSettings(JsonFields& fields, SearchRunSettings& settings, SpelledSettings& spelled) {
    readShared(fields, settings.compute, settings.task);
    search::SearchSettings& search = settings.search;
    fields.read("seed", search.seed);
    fields.read("optimizer", spelled.optimizer);
    fields.read("objectives", spelled.objectives);
    fields.read("population", search.population);
    fields.read("max_generations", search.maxGenerations);
    fields.read("max_evals", search.maxEvals);
    fields.read("time_limit", search.timeLimitSeconds);
    fields.read("target", search.target);
    fields.read("patience", search.patience);
    fields.read("min_delta", search.minDelta);
    fields.read("above_noise", search.aboveNoise);
    fields.read("curve", spelled.curve);
    fields.read("points", search.points);
    fields.read("per", spelled.per);
    fields.read("scale_min", search.constraints.scaleMin);
    fields.read("scale_max", search.constraints.scaleMax);
    fields.read("grid_step", search.constraints.gridStep);
    fields.read("mutation_rate", search.mutationRate);
    fields.read("max_dx", search.maxDx);
    fields.read("max_dy", search.maxDy);
    fields.read("max_failures", search.maxConsecutiveFailures);
    fields.read("duplicate_retries", search.duplicateRetries);
    fields.read("memo", search.memo);
    fields.read("racing", search.racing);
    fields.read("gradient_starts", search.gradient.starts);
    fields.read("refine", search.gradient.refined);
    fields.read("gradient_steps", search.gradient.steps);
    fields.read("gradient_items", search.gradient.items);
    fields.read("gradient_rate", search.gradient.rate);
    fields.read("score", settings.score);
    fields.read("weights", settings.weights);
    fields.read("gap_penalty", settings.gapPenalty);
    fields.read("guardrail_limit", settings.guardrailLimit);
    fields.read("search_items", settings.searchItems);
    fields.read("select_items", settings.selectItems);
    fields.read("report_items", settings.reportItems);
    fields.read("finalists", settings.finalists);
    fields.read("reuse_layers", settings.reuseLayers);
    fields.read("reuse_memory", settings.reuseMemory);
    fields.read("analysis_items", settings.analysisItems);
    fields.read("split_seed", settings.splitSeed);
    fields.read("resample", settings.resample);
    fields.read("resamples", settings.resamples);
    fields.read("part_of", settings.partOf);
    readGuardrail(fields, settings.guardrail);
}

json plainJson(const SearchRunSettings& settings) {
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.task));
    plain.update(searchJson(settings.search));
    plain.update({{"score", settings.score},
                  {"weights", settings.weights},
                  {"gap_penalty", settings.gapPenalty},
                  {"guardrail_limit", optionalJson(settings.guardrailLimit)},
                  {"search_items", settings.searchItems},
                  {"select_items", settings.selectItems},
                  {"report_items", optionalJson(settings.reportItems)},
                  {"finalists", settings.finalists},
                  {"reuse_layers", settings.reuseLayers},
                  {"reuse_memory", settings.reuseMemory},
                  {"analysis_items", settings.analysisItems},
                  {"split_seed", optionalJson(settings.splitSeed)},
                  {"resample", settings.resample},
                  {"resamples", settings.resamples},
                  {"part_of", optionalJson(settings.partOf)}});
    plain.update(toJson(settings.guardrail));
    return plain;
}

}  // namespace

json toJson(const ComputeSettings& compute) {
    return {{"model", compute.model},
            {"dtype", compute.dtype},
            {"device", compute.device},
            {"workers", compute.workers},
            {"threads_per_worker", optionalJson(compute.threadsPerWorker)},
            {"batch_size", optionalJson(compute.batchSize)},
            {"batch_tokens", optionalJson(compute.batchTokens)},
            {"share_prefixes", optionalJson(compute.sharePrefixes)}};
}

json toJson(const GuardrailSettings& guardrail) {
    return {{"guardrail", guardrail.items},
            {"guardrail_mmlu", optionalJson(guardrail.mmlu)},
            {"guardrail_ceval", optionalJson(guardrail.ceval)}};
}

void readCompute(JsonFields& fields, ComputeSettings& compute) {
    fields.read("model", compute.model);
    fields.read("dtype", compute.dtype);
    fields.read("device", compute.device);
    fields.read("threads_per_worker", compute.threadsPerWorker);
    fields.read("batch_size", compute.batchSize);
    fields.read("batch_tokens", compute.batchTokens);
    fields.read("share_prefixes", compute.sharePrefixes);
}

void readGuardrail(JsonFields& fields, GuardrailSettings& guardrail) {
    fields.read("guardrail", guardrail.items);
    fields.read("guardrail_mmlu", guardrail.mmlu);
    fields.read("guardrail_ceval", guardrail.ceval);
}

void addMethodHashes(json& stored, const MethodHashes& hashes) {
    if (!hashes.empty()) stored["method_hashes"] = {{"value", hashes}, {"origin", "file"}};
}

json toJson(const EvalSettings& settings) {
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.task));
    plain.update({{"method", settings.method},
                  {"score", optionalJson(settings.score)},
                  {"agreement", settings.agreementItems},
                  {"repeats", settings.repeats}});
    json stored = withOrigins(plain, settings.origins);
    addMethodHashes(stored, settings.methodHashes);
    return stored;
}

json toJson(const CompareSettings& settings) {
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.task));
    plain.update({{"methods", settings.methods},
                  {"score", optionalJson(settings.score)},
                  {"seed", settings.seed},
                  {"part_of", optionalJson(settings.partOf)}});
    plain.update(toJson(settings.guardrail));
    json stored = withOrigins(plain, settings.origins);
    addMethodHashes(stored, settings.methodHashes);
    return stored;
}

Result<CompareSettings> compareSettingsFromJson(const json& stored) {
    CompareSettings settings;
    JsonFields fields(stored, "comparison settings");
    readShared(fields, settings.compute, settings.task);
    fields.read("methods", settings.methods);
    fields.read("method_hashes", settings.methodHashes);
    fields.read("score", settings.score);
    fields.read("seed", settings.seed);
    readGuardrail(fields, settings.guardrail);
    fields.read("part_of", settings.partOf);
    if (auto done = fields.finish(); !done) return fail(done.error());
    forgetDefaultSeed(settings.task);
    settings.origins = readOrigins(stored);
    return settings;
}

json toJson(const BenchSettings& settings) {
    json plain = toJson(settings.compute);
    // Its prompts are read one by one, each as a whole.
    for (const char* passes : {"batch_size", "batch_tokens", "share_prefixes"}) plain.erase(passes);
    plain.update({{"methods", settings.methods},
                  {"lengths", settings.lengths},
                  {"new_tokens", settings.newTokens},
                  {"seconds", settings.seconds},
                  {"seed", settings.seed}});
    return withOrigins(plain, settings.origins);
}

json toJson(const SearchRunSettings& settings) {
    return withOrigins(plainJson(settings), settings.origins);
}

json toJson(const AttentionSettings& settings) {
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.task));
    plain.update({{"method", settings.method}, {"queries", settings.queries}});
    json stored = withOrigins(plain, settings.origins);
    addMethodHashes(stored, settings.methodHashes);
    return stored;
}

json toJson(const DeviationSettings& settings) {
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.task));
    plain.update({{"profile", settings.profiles}, {"variants", settings.variants}, {"seed", settings.seed}});
    return withOrigins(plain, settings.origins);
}

Result<SearchRunSettings> searchSettingsFromJson(const json& stored) {
    SearchRunSettings settings;
    SpelledSettings spelled{curve::curveKindName(settings.search.curve), curve::groupsText(settings.search.groups),
                            search::optimizerName(settings.search.optimizer), ""};
    JsonFields fields(stored, "search settings");
    readSettings(fields, settings, spelled);
    if (auto done = fields.finish(); !done) return fail(done.error());
    forgetDefaultSeed(settings.task);
    auto kind = curve::parseCurveKind(spelled.curve);
    if (!kind) return fail(kind.error());
    settings.search.curve = *kind;
    auto found = search::parseOptimizer(spelled.optimizer);
    if (!found) return fail(found.error());
    settings.search.optimizer = *found;
    auto groups = curve::parseGroups(spelled.per);
    if (!groups) return fail(groups.error());
    settings.search.groups = std::move(*groups);
    if (!spelled.objectives.empty()) {
        auto objectives = search::parseObjectives(spelled.objectives);
        if (!objectives) return fail(objectives.error());
        settings.search.objectives = std::move(*objectives);
    }
    settings.origins = readOrigins(stored);
    return settings;
}

std::vector<std::string> dataKeys() {
    return {"data", "guardrail_mmlu", "guardrail_ceval"};
}

std::vector<std::pair<const char*, Result<void>>> checkComputeKeys(const ComputeSettings& compute) {
    std::vector<std::pair<const char*, Result<void>>> keys;
    const auto positive = [&](const char* key, const char* option, std::int64_t value) {
        if (value >= 1) return;
        keys.emplace_back(key,
                          fail(ErrorCode::Usage, fmt::format("{} {} is too small; give at least 1", option, value)));
    };
    positive("workers", "--workers", compute.workers);
    positive("threads_per_worker", "--threads-per-worker", compute.threadsPerWorker.value_or(1));
    positive("batch_size", "--batch-size", compute.batchSize.value_or(1));
    positive("batch_tokens", "--batch-tokens", compute.batchTokens.value_or(1));
    const auto own = model::defaultComputeType(compute.device);
    const auto type = resolveComputeType(compute.dtype, compute.device);
    if (!own || !type) keys.emplace_back(own ? "dtype" : "device", fail(own ? type.error() : own.error()));
    return keys;
}

namespace {

/// Tokens of the first item at all its positions, with the answers that are scored.
Result<std::int64_t> firstItemTokens(const PreparedTask& task, const text::Tokenizer& tokenizer, int contextLength) {
    const PromptMaker maker(task, tokenizer, contextLength, true);
    std::int64_t tokens = 0;
    for (std::size_t position = 0; position < task.positions.size(); ++position) {
        const auto prompt = maker.tokens(0, static_cast<int>(position));
        if (!prompt) return fail(prompt.error());
        tokens += static_cast<std::int64_t>(prompt->scored());
    }
    return tokens;
}

}  // namespace

Result<PassSize> passSize(const ComputeSettings& compute, const PreparedTask& task, const tasks::ScoreKind& score,
                          const text::Tokenizer& tokenizer, int contextLength) {
    constexpr int kPrompts = 8;
    constexpr std::int64_t kTokens = 8192;
    const bool movable = task.info().movable;
    const auto positions = static_cast<int>(task.positions.size());
    PassSize pass;
    pass.generates = score.kind == tasks::ScoreKind::Kind::Generate;
    pass.sharePrefixes = compute.sharePrefixes.value_or(true);
    pass.prompts = compute.batchSize.value_or(movable ? positions : kPrompts);
    pass.tokens = compute.batchTokens;
    if (compute.batchSize) return pass;
    if (!movable && !pass.tokens) pass.tokens = kTokens;
    if (movable && pass.generates) {
        const auto tokens = firstItemTokens(task, tokenizer, contextLength);
        if (!tokens) return fail(tokens.error());
        const std::int64_t items =
            std::min<std::int64_t>(kPrompts / positions, kTokens / std::max<std::int64_t>(*tokens, 1));
        pass.prompts = positions * static_cast<int>(std::max<std::int64_t>(items, 1));
    }
    return pass;
}

Result<SearchRunSettings> demoStudy() {
    const json study = json::parse(resources::demoStudyJson, nullptr, false);
    if (study.is_discarded()) return fail(ErrorCode::Failed, "the built-in demo study is not valid JSON");
    auto settings = searchSettingsFromJson(study);
    if (!settings) return settings;
    settings->compute.model = "demo";
    for (const auto& [key, value] : study.items()) settings->origins[key] = "demo study";
    return settings;
}

}  // namespace lpes::studies
