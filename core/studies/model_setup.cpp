#include "core/studies/model_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/checksum.h"
#include "core/base/files.h"
#include "core/base/json_text.h"
#include "core/exporters/longrope_csv.h"
#include "core/model/moice_file.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/inspect.h"

namespace lpes::studies {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDemoName = "demo";
constexpr const char* kDemoRemedy = "run packaging/setup.sh, which puts the demo model there";

/// The one GGUF file of the demo model's folder.
Result<fs::path> demoModelPath() {
    const fs::path folder = userDataFolder() / "models" / kDemoName;
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".gguf") files.push_back(it->path());
    }
    if (files.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the bundled model 'demo' is not in '{}'; {}", folder.string(), kDemoRemedy),
                    error ? error.message() : std::string{});
    }
    if (files.size() > 1) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' holds {} .gguf files where the bundled model 'demo' is one; "
                                                     "remove the others, or name the file instead of 'demo'",
                                                     folder.string(), files.size()));
    }
    return files.front();
}

}  // namespace

Result<fs::path> resolveModelPath(const std::string& spelling) {
    if (spelling.empty()) {
        return fail(ErrorCode::Usage,
                    "the model's name is empty; give a folder in Hugging Face layout, a .gguf file, or demo");
    }
    if (spelling == kDemoName) return demoModelPath();
    std::error_code error;
    fs::path path = fs::absolute(spelling, error).lexically_normal();
    if (error || !fs::exists(path, error)) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("there is no model at '{}'; give a folder in Hugging Face layout, a .gguf file, or demo",
                        spelling),
            error ? error.message() : std::string{});
    }
    return path;
}

Result<OpenedModel> openModel(const std::string& spelling, bool withTokenizer) {
    auto path = resolveModelPath(spelling);
    if (!path) return fail(path.error());
    auto weights = model::openWeights(*path);
    if (!weights) return fail(weights.error());
    OpenedModel opened{spelling, std::move(*path), std::move(*weights), nullptr};
    if (withTokenizer) {
        auto spec = opened.weights->tokenizerSpec();
        if (!spec) return fail(spec.error());
        auto tokenizer = text::makeTokenizer(std::move(*spec));
        if (!tokenizer) return fail(tokenizer.error());
        opened.tokenizer = std::move(*tokenizer);
    }
    return opened;
}

Result<model::ComputeType> resolveComputeType(const std::string& dtype, const std::string& device) {
    const auto type = model::parseComputeType(dtype);
    if (!type) return fail(type.error());
    return model::computeTypeOn(device, *type);
}

Result<LoadedModel> loadModel(const ModelOptions& options, ProgressObserver& observer, std::stop_token stop) {
    auto type = resolveComputeType(options.dtype, options.device);
    if (!type) return fail(type.error());
    auto opened = openModel(options.model, options.withTokenizer);
    if (!opened) return fail(opened.error());
    return loadWeights(std::move(*opened), *type, options.device, observer, stop);
}

Result<LoadedModel> loadWeights(OpenedModel opened, model::ComputeType type, const std::string& device,
                                ProgressObserver& observer, std::stop_token stop) {
    for (const std::string& warning : opened.weights->config().warnings) observer.warned(warning);
    auto lm = model::loadCausalLm(opened.weights, {type, device}, observer, stop);
    if (!lm) return fail(lm.error());
    return LoadedModel{std::move(opened), std::move(*lm)};
}

exporters::ProfileModel profileModel(const model::ModelConfig& config) {
    return {model::architectureName(config.architecture),
            config.numLayers,
            config.headDim,
            config.rope.theta,
            config.rope.originalBlock,
            config.fingerprint,
            config.numKvHeads,
            config.rope.rotated() / 2};
}

std::string weightsHash(const model::WeightSource& weights) {
    constexpr std::size_t kSample = 4096;
    Sha256 hash;
    for (const std::string& name : weights.names()) {
        const std::span<const std::byte> bytes = weights.find(name)->bytes;
        hash.add(name);
        hash.add(bytes.first(std::min(kSample, bytes.size())));
        hash.add(bytes.last(std::min(kSample, bytes.size())));
    }
    return hash.hex();
}

store::ModelRow modelRow(const OpenedModel& opened) {
    const model::ModelConfig& config = opened.weights->config();
    store::ModelRow row;
    row.fingerprint = config.fingerprint;
    row.name = config.name;
    row.path = opened.path.string();
    row.architecture = model::architectureName(config.architecture);
    row.format = config.format;
    row.layers = config.numLayers;
    row.headDim = config.headDim;
    row.contextLength = config.contextLength;
    row.parameters = config.parameters;
    row.configJson = jsonLine(describeModel(opened, {}));
    row.weightsHash = weightsHash(*opened.weights);
    if (opened.tokenizer) row.tokenizerFingerprint = opened.tokenizer->fingerprint();
    return row;
}

Result<int> resolveThreads(int workers, std::optional<int> threadsPerWorker) {
    if (workers < 1) {
        return fail(ErrorCode::Usage, fmt::format("--workers {} is too small; give at least 1", workers));
    }
    if (threadsPerWorker) {
        if (*threadsPerWorker < 1) {
            return fail(ErrorCode::Usage,
                        fmt::format("{} threads per worker are too few; give at least 1", *threadsPerWorker));
        }
        return *threadsPerWorker;
    }
    if (workers > 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--workers {} needs --threads-per-worker: results depend on it, so it "
                                "is never derived from the number of workers",
                                workers));
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int contextLength(const rope::PositionMethod& method, const model::ModelConfig& config) {
    return rope::contextLength(method, model::methodModel(config));
}

namespace {

/// All but routers, which are compared with weights too.
rope::MethodFiles methodFiles(const model::ModelConfig& config, ProgressObserver& observer) {
    rope::MethodFiles files;
    files.profile = [&](const std::string& path) -> Result<rope::ProfileScales> {
        auto loaded = exporters::readProfile(path);
        if (!loaded) return fail(loaded.error());
        auto fits = exporters::checkFits(loaded->profile, profileModel(config));
        if (!fits) return fail(fits.error());
        for (const std::string& warning : loaded->warnings) observer.warned(warning);
        for (const std::string& warning : *fits) observer.warned(warning);
        return profileScales(loaded->profile.groups, loaded->profile.scales);
    };
    files.longRope = [](const std::string& path) { return exporters::readLongRope(path); };
    return files;
}

/// Two fine-tunes of a model have the same configuration; a router belongs to the weights of one.
Result<void> checkTrainedOn(const rope::MoiceRouters& routers, const std::string& file,
                            const model::WeightSource& weights, ProgressObserver& observer) {
    if (routers.weightsHash.empty()) {
        observer.warned(
            fmt::format("'{}' does not say which weights its router was trained on, so that {} could be compared with "
                        "this model; a router that 'lpes train moice' writes now says it",
                        file, routers.fingerprint.empty() ? "only its shape" : "only its shape and configuration"));
        return {};
    }
    const std::string own = weightsHash(weights);
    if (routers.weightsHash == own) return {};
    return fail(
        ErrorCode::BadInput,
        fmt::format("'{}': its router was trained on other weights (hash {}) than this model's ({}), though the "
                    "configuration is the same: another fine-tune, or the same one stored in another type; use "
                    "the model that it was trained on, or train a router for this one with 'lpes train moice'",
                    file, routers.weightsHash.substr(0, 16), own.substr(0, 16)));
}

}  // namespace

Result<rope::PositionMethod> methodFor(const rope::MethodSpec& spec, const model::WeightSource& weights,
                                       ProgressObserver& observer) {
    const model::ModelConfig& config = weights.config();
    rope::MethodFiles files = methodFiles(config, observer);
    files.routers = [&](const std::string& path) -> Result<std::shared_ptr<const rope::MoiceRouters>> {
        auto routers = model::readMoiceRouters(path, config);
        if (!routers) return routers;
        if (auto same = checkTrainedOn(**routers, path, weights, observer); !same) return fail(same.error());
        return routers;
    };
    return rope::resolveMethod(spec, model::methodModel(config), files);
}

std::string methodHash(const rope::MethodSpec& spec, const rope::PositionMethod& method) {
    if (std::ranges::all_of(spec.parts, [](const rope::MethodPart& part) { return part.file.empty(); })) return {};
    Sha256 hash;
    const auto add = [&](const auto& values) {
        // How many there are keeps neighbours apart.
        hash.add(std::to_string(values.size()) + " ");
        hash.add(std::as_bytes(std::span(values)));
    };
    add(method.scales);
    for (const auto* rows : {&method.headScales, &method.divisors}) {
        hash.add(std::to_string(rows->size()) + " rows ");
        for (const std::vector<double>& row : *rows) add(row);
    }
    if (method.moice) {
        add(method.moice->bases);
        hash.add(std::to_string(method.moice->topK) + " ");
        for (const rope::MoiceRouters::Layer& layer : method.moice->layers) {
            for (const auto* matrix : {&layer.w1, &layer.w3, &layer.w2}) add(*matrix);
        }
    }
    return hash.hex();
}

Result<rope::PositionMethod> profileMethod(const std::string& file, const model::ModelConfig& config,
                                           ProgressObserver& observer) {
    // Not through its spelling, in which a file's name could be read as something else.
    rope::MethodPart part;
    part.kind = rope::MethodPart::Kind::Lpes;
    part.file = file;
    return rope::resolveMethod({{std::move(part)}, "lpes:" + file}, model::methodModel(config),
                               methodFiles(config, observer));
}

rope::ProfileScales profileScales(const curve::ScaleGroups& groups, std::span<const double> scales) {
    switch (groups.kind) {
        case curve::ScaleGroups::Kind::Layer:
            break;
        case curve::ScaleGroups::Kind::KvHead:
            return {{}, curve::layerRows(scales, groups.heads), {}};
        case curve::ScaleGroups::Kind::Band: {
            std::vector<std::vector<double>> divisors;
            for (const std::vector<double>& row : curve::layerRows(scales, groups.count())) {
                divisors.push_back(curve::scalesByFrequency(row, groups.bandEnds));
            }
            return {{}, {}, std::move(divisors)};
        }
    }
    return {{scales.begin(), scales.end()}, {}, {}};
}

rope::PositionMethod lpesMethod(const curve::ScaleGroups& groups, std::span<const double> scales) {
    rope::ProfileScales own = profileScales(groups, scales);
    rope::PositionMethod method(std::move(own.scales));
    method.headScales = std::move(own.headScales);
    method.divisors = std::move(own.divisors);
    return method;
}

bool isLayerScales(const rope::PositionMethod& method) {
    return !method.rope && !method.slidingRope && method.divisors.empty() && method.onePerLayer();
}

rope::LayerScales storedScales(const rope::PositionMethod& method) {
    return isLayerScales(method) ? method.scales : rope::LayerScales();
}

}  // namespace lpes::studies
