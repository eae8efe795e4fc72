#include "core/model/moice_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/files.h"
#include "core/base/random.h"
#include "core/model/formats/safetensors.h"
#include "core/model/moice_file.h"
#include "core/rope/rivals.h"

namespace lpes::model {

namespace {

using nlohmann::json;

constexpr const char* kMean = "optimizer.mean.";
constexpr const char* kSquare = "optimizer.square.";

std::vector<double> basesOf(const MoiceRecipe& recipe, const ModelConfig& config) {
    return recipe.bases.empty() ? rope::moiceBases(config.rope.theta) : recipe.bases;
}

int topKOf(const MoiceRecipe& recipe, std::size_t experts) {
    return recipe.topK == 0 ? static_cast<int>(experts) : recipe.topK;
}

Result<void> requireRange(const char* name, double value, double low, double high) {
    if (std::isfinite(value) && value >= low && value <= high) return {};
    return fail(ErrorCode::Usage,
                fmt::format("{} {} is out of range; give a number from {} to {}", name, value, low, high));
}

Result<void> requireWhole(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return {};
    return fail(ErrorCode::Usage, fmt::format("{} {} is out of range; give {} to {}", name, value, low, high));
}

tl::unexpected<Error> refuse(const std::filesystem::path& path, const std::string& why) {
    return refuseFile(path, why + "; begin the training anew, without --resume");
}

/// The optimiser's values behind one prefix, in the order of the routers' matrices.
Result<std::vector<float>> readMoment(const std::vector<StoredTensor>& tensors, const std::string& prefix,
                                      const std::vector<MoiceMatrix>& matrices, const std::filesystem::path& path) {
    std::vector<float> values;
    for (const MoiceMatrix& matrix : matrices) {
        const std::string name = prefix + matrix.name;
        const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
        if (found == tensors.end() || found->shape != matrix.shape || found->type != StorageType::F32) {
            return refuse(path,
                          fmt::format("the tensor '{}' is missing, or not {} of F32", name, shapeText(matrix.shape)));
        }
        const std::size_t before = values.size();
        values.resize(before + matrix.values->size());
        std::memcpy(values.data() + before, found->bytes.data(), found->bytes.size());
    }
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
        return refuse(path, "the optimiser's state holds a value that is not finite");
    }
    return values;
}

Result<std::vector<MoiceStepRecord>> parseCurve(const std::string& text, const std::filesystem::path& path) {
    const json rows = json::parse(text, nullptr, false);
    std::vector<MoiceStepRecord> curve;
    const auto number = [](const json& row, const char* key) { return row.contains(key) && row[key].is_number(); };
    if (!rows.is_array()) return refuse(path, "it has no loss curve");
    for (const json& row : rows) {
        for (const char* key : {"step", "loss", "lm_loss", "aux_loss", "grad_norm", "tokens"}) {
            if (!number(row, key)) return refuse(path, fmt::format("a step of its loss curve has no '{}'", key));
        }
        curve.push_back({row["step"].get<int>(), row["loss"].get<double>(), row["lm_loss"].get<double>(),
                         row["aux_loss"].get<double>(), row["grad_norm"].get<double>(),
                         row["tokens"].get<std::int64_t>()});
        if (curve.back().step != static_cast<int>(curve.size()))
            return refuse(path, "the steps of its loss curve are not numbered 1, 2, …");
    }
    return curve;
}

}  // namespace

Result<void> checkMoiceRecipe(const MoiceRecipe& recipe, const ModelConfig& config) {
    const std::vector<double> bases = basesOf(recipe, config);
    constexpr int kMost = 1 << 24;
    const auto experts = static_cast<std::int64_t>(bases.size());
    if (recipe.topK != 0) {
        if (auto r = requireWhole("top_k", recipe.topK, 1, experts); !r) return r;
    }
    if (auto r = requireWhole("sequences_per_step", recipe.sequencesPerStep, 1, kMost); !r) return r;
    if (auto r = requireWhole("max_length", recipe.maxLength, 2, config.contextLength); !r) return r;
    if (auto r = requireRange("aux", recipe.auxCoefficient, 0.0, 1e6); !r) return r;
    if (auto r = requireRange("max_grad_norm", recipe.maxGradNorm, 0.0, 1e6); !r) return r;
    if (auto r = requireRange("lr", recipe.adamw.learningRate, 0.0, 1e3); !r) return r;
    if (auto r = requireRange("weight_decay", recipe.adamw.weightDecay, 0.0, 1e3); !r) return r;
    for (const double beta : {recipe.adamw.beta1, recipe.adamw.beta2}) {
        if (auto r = requireRange("beta", beta, 0.0, 1.0 - 1e-9); !r) return r;
    }
    if (auto r = requireRange("epsilon", recipe.adamw.epsilon, 1e-30, 1.0); !r) return r;
    rope::PositionMethod method;
    method.text = "moice";
    method.moice =
        std::make_shared<const rope::MoiceRouters>(emptyRouters(config, bases, topKOf(recipe, bases.size())));
    return rope::checkMethod(method, methodModel(config));
}

MoiceTrainingState initialMoiceState(const MoiceRecipe& recipe, const ModelConfig& config) {
    std::vector<double> bases = basesOf(recipe, config);
    const int topK = topKOf(recipe, bases.size());
    MoiceTrainingState state;
    state.routers = emptyRouters(config, std::move(bases), topK);
    for (std::size_t layer = 0; layer < state.routers.layers.size(); ++layer) {
        RandomStream random(recipe.seed, kStreamRouters, static_cast<std::uint32_t>(layer));
        rope::MoiceRouters::Layer& router = state.routers.layers[layer];
        const auto draw = [&](std::vector<float>& values, std::size_t inputs) {
            const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
            for (float& value : values) value = static_cast<float>(random.uniform(-bound, bound));
        };
        draw(router.w1, static_cast<std::size_t>(config.headDim));
        draw(router.w2, state.routers.bases.size());
        draw(router.w3, static_cast<std::size_t>(config.headDim));
    }
    return state;
}

bool auxiliaryLossIsConstant(const rope::MoiceRouters& routers) {
    return static_cast<std::size_t>(routers.topK) == routers.bases.size();
}

std::vector<std::size_t> sequencesOfStep(std::uint64_t seed, std::size_t count, int sequencesPerStep, int step) {
    std::vector<std::size_t> chosen, order;
    std::uint64_t round = 0;
    const auto first = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(sequencesPerStep);
    for (std::uint64_t at = first; at < first + static_cast<std::uint64_t>(sequencesPerStep); ++at) {
        if (order.empty() || at / count != round) {
            round = at / count;
            order.resize(count);
            std::iota(order.begin(), order.end(), std::size_t{0});
            RandomStream(seed, kStreamTrainingText, static_cast<std::uint32_t>(round)).shuffle(order);
        }
        chosen.push_back(order[at % count]);
    }
    return chosen;
}

json curveJson(const std::vector<MoiceStepRecord>& curve) {
    json rows = json::array();
    for (const MoiceStepRecord& record : curve) {
        rows.push_back({{"step", record.step},
                        {"loss", record.loss},
                        {"lm_loss", record.lmLoss},
                        {"aux_loss", record.auxLoss},
                        {"grad_norm", record.gradNorm},
                        {"tokens", record.tokens}});
    }
    return rows;
}

Result<void> writeMoiceCheckpoint(const std::filesystem::path& path, const MoiceTrainingState& state,
                                  const ModelConfig& config, const json& identity) {
    rope::MoiceRouters routers = state.routers;
    const std::vector<MoiceMatrix> matrices = moiceMatrices(routers);
    std::size_t parameters = 0;
    for (const MoiceMatrix& matrix : matrices) parameters += matrix.values->size();
    // Before the first step the optimiser has nothing yet, which is the same as zeros.
    AdamWState adamw = state.adamw;
    adamw.mean.resize(parameters);
    adamw.square.resize(parameters);
    std::vector<FloatTensor> tensors;
    for (const MoiceMatrix& matrix : matrices) tensors.push_back({matrix.name, matrix.shape, *matrix.values});
    for (const auto& [prefix, moment] : {std::pair{kMean, &adamw.mean}, std::pair{kSquare, &adamw.square}}) {
        std::span<const float> rest = *moment;
        for (const MoiceMatrix& matrix : matrices) {
            tensors.push_back({prefix + matrix.name, matrix.shape, rest.first(matrix.values->size())});
            rest = rest.subspan(matrix.values->size());
        }
    }
    std::map<std::string, std::string> metadata = moiceMetadata(routers, config);
    metadata[kMoiceIdentity] = identity.dump();
    metadata[kMoiceCurve] = curveJson(state.curve).dump();
    return writeFileAtomically(path, makeSafetensors(tensors, metadata));
}

Result<MoiceCheckpoint> readMoiceCheckpoint(const std::filesystem::path& path, const ModelConfig& config) {
    const auto routers = readMoiceRouters(path, config, MoiceFile::Checkpoint);
    if (!routers) return fail(routers.error());
    const auto mapped = MappedFile::open(path);
    if (!mapped) return fail(mapped.error());
    const auto tensors = readSafetensorsTable(mapped->bytes(), path);
    if (!tensors) return fail(tensors.error());
    const auto metadata = readSafetensorsMetadata(mapped->bytes(), path);
    if (!metadata) return fail(metadata.error());
    if (!metadata->contains(kMoiceIdentity) || !metadata->contains(kMoiceCurve))
        return refuse(path, "it is no checkpoint of a training");
    MoiceCheckpoint checkpoint{{**routers, {}, {}}, json::parse(metadata->at(kMoiceIdentity), nullptr, false)};
    if (!checkpoint.identity.is_object()) return refuse(path, "its metadata key 'identity' is no JSON object");
    auto curve = parseCurve(metadata->at(kMoiceCurve), path);
    if (!curve) return fail(curve.error());
    checkpoint.state.curve = std::move(*curve);
    const std::vector<MoiceMatrix> matrices = moiceMatrices(checkpoint.state.routers);
    auto mean = readMoment(*tensors, kMean, matrices, path);
    if (!mean) return fail(mean.error());
    auto square = readMoment(*tensors, kSquare, matrices, path);
    if (!square) return fail(square.error());
    checkpoint.state.adamw = {static_cast<std::int64_t>(checkpoint.state.curve.size()), std::move(*mean),
                              std::move(*square)};
    return checkpoint;
}

}  // namespace lpes::model
