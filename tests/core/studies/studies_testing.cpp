#include "tests/core/studies/studies_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace lpes::test {

using nlohmann::json;

StudyFolder::StudyFolder(const TinyModelSpec& spec) {
    writeHuggingFaceFolder(makeTinyModel(spec), m_folder / "model");
}

studies::SearchRunSettings smallSearch(const StudyFolder& folder) {
    studies::SearchRunSettings settings;
    settings.compute.model = folder.model();
    settings.compute.dtype = "float32";
    settings.compute.threadsPerWorker = 1;
    settings.task.task = "kv";
    settings.task.keys = "hex:4";
    settings.task.pairs = 4;
    settings.search.seed = 7;
    settings.search.population = 6;
    settings.search.maxGenerations = 3;
    settings.searchItems = 3;
    settings.selectItems = 3;
    settings.reportItems = 6;
    settings.finalists = 3;
    settings.analysisItems = 2;
    return settings;
}

studies::SearchRunSettings descendingSearch(const StudyFolder& folder) {
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.search.optimizer = search::OptimizerKind::Gradient;
    settings.search.gradient.starts = 2;
    settings.search.gradient.steps = 2;
    settings.search.gradient.items = 2;
    return settings;
}

std::unique_ptr<store::StoreWriter> openStore(const std::filesystem::path& path) {
    auto opened = store::StoreWriter::open(path, {"test"});
    if (!opened) throw std::runtime_error(opened.error().text());
    return std::move(*opened);
}

json historyOf(store::StoreReader& reader, std::int64_t runId) {
    json out;
    const auto run = reader.run(runId);
    if (!run) throw std::runtime_error(run.error().text());
    json result = json::parse(run->resultJson);
    // Times, what a sitting spared, and the settings that may differ between sittings.
    for (const char* key : {"seconds", "layers_reused", "settings", "run_id"}) result.erase(key);
    if (result.contains("profile") && result["profile"].is_object()) result["profile"]["provenance"].erase("run_id");
    out["result"] = result;
    out["state"] = store::runStateName(run->state);
    std::map<std::int64_t, json> scalesOf;
    for (const store::VariantRow& variant : take(reader.variants(runId))) scalesOf[variant.id] = variant.scales;
    for (const store::GenerationRow& row : take(reader.generations(runId))) {
        out["generations"].push_back({row.generation, row.best, row.mean, row.worst, row.stddev, row.diversity,
                                      row.evaluations, row.populationJson, row.frontSize,
                                      row.hypervolume.value_or(-1.0)});
    }
    for (const store::CandidateRow& row : take(reader.candidates(runId))) {
        out["candidates"].push_back({row.generation, row.index, row.pointsJson, static_cast<int>(row.state),
                                     row.fitness, row.byPosition, row.reason, row.duplicateGeneration,
                                     row.duplicateIndex, scalesOf[row.variantId], row.objectives});
    }
    std::vector<json> positions;
    for (const store::PositionRow& row : take(reader.positions(runId))) {
        positions.push_back({scalesOf[row.variantId], row.split, row.position, row.label, row.goldIndex, row.n,
                             row.correct, row.accuracy, row.answerNll});
    }
    std::ranges::sort(positions);
    out["positions"] = positions;
    std::vector<json> outcomes;
    for (const auto& [variant, scales] : scalesOf) {
        for (const char* split : {"search", "select", "report", "guardrail"}) {
            for (const store::OutcomeRow& row : take(reader.outcomes(variant, split))) {
                outcomes.push_back({scales, split, row.itemId, row.position, row.goldToken, row.correct, row.nll});
            }
        }
    }
    std::ranges::sort(outcomes);
    out["outcomes"] = outcomes;
    std::vector<json> probes;
    for (const store::AttentionRow& row : take(reader.attention(runId))) {
        probes.push_back({scalesOf[row.variantId], row.position, row.layer, row.span, row.share});
    }
    for (const store::DeviationRow& row : take(reader.deviations(runId))) {
        probes.push_back({scalesOf[row.variantId], row.layer, row.deviation, row.rsa, row.cosine});
    }
    std::ranges::sort(probes);
    out["probes"] = probes;
    for (const char* split : {"search", "select", "report"}) out["splits"][split] = take(reader.split(runId, split));
    return out;
}

json historyWithSlopesOf(store::StoreReader& reader, std::int64_t runId) {
    json history = historyOf(reader, runId);
    // Descents side by side store theirs in whatever order they are measured.
    std::vector<json> slopes;
    for (const store::VariantRow& variant : take(reader.variants(runId))) {
        for (const char* split : {"search", "report"}) {
            for (const store::SlopeRow& row : take(reader.slopes(variant.id, split)))
                slopes.push_back({variant.scales, split, row.itemId, row.position, row.nll, row.slope});
        }
    }
    std::ranges::sort(slopes);
    history["slopes"] = slopes;
    return history;
}

}  // namespace lpes::test
