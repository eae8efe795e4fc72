#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/curve/scale_groups.h"
#include "core/exporters/profile.h"
#include "core/model/causal_lm.h"
#include "core/rope/position_method.h"
#include "core/store/rows.h"
#include "core/text/tokenizer.h"

namespace lpes::studies {

/// A model file or folder, opened but not loaded: enough for `inspect` and `tokenize`.
struct OpenedModel {
    std::string spelling;        ///< as the user wrote it ("demo", a path)
    std::filesystem::path path;  ///< absolute
    std::shared_ptr<const model::WeightSource> weights;
    std::shared_ptr<const text::Tokenizer> tokenizer;  ///< null when it was not asked for

    [[nodiscard]] const model::ModelConfig& config() const { return weights->config(); }
};

/// A loaded model with its tokenizer.
struct LoadedModel {
    OpenedModel opened;
    std::shared_ptr<const model::CausalLm> lm;

    [[nodiscard]] const model::ModelConfig& config() const { return lm->config(); }
    [[nodiscard]] const text::Tokenizer& tokenizer() const { return *opened.tokenizer; }
};

/// "demo" → the bundled model in the user's data folder (BadInput naming packaging/setup.sh when it is not there);
/// otherwise the path itself, absolute. BadInput when nothing is there.
[[nodiscard]] Result<std::filesystem::path> resolveModelPath(const std::string& spelling);

[[nodiscard]] Result<OpenedModel> openModel(const std::string& spelling, bool withTokenizer);

/// The compute type that `dtype` asks for on a device; "auto" is the device's own. Usage for a type or a device that is
/// none, Unsupported for one that the device does not compute in (model::computeTypeOn).
[[nodiscard]] Result<model::ComputeType> resolveComputeType(const std::string& dtype, const std::string& device);

struct ModelOptions {
    std::string model;
    std::string dtype = "auto";
    std::string device = "cpu";
    bool withTokenizer = true;
};
[[nodiscard]] Result<LoadedModel> loadModel(const ModelOptions& options, ProgressObserver& observer,
                                            std::stop_token stop);
/// The second half of loadModel: tells the model's warnings and reads its weights.
[[nodiscard]] Result<LoadedModel> loadWeights(OpenedModel opened, model::ComputeType type, const std::string& device,
                                              ProgressObserver& observer, std::stop_token stop);

/// Identity of a model in a profile, and its row in the data base.
[[nodiscard]] exporters::ProfileModel profileModel(const model::ModelConfig& config);
/// SHA-256 over the first and last 4 KiB of every tensor: tells fine-tunes of one model apart without reading it all.
[[nodiscard]] std::string weightsHash(const model::WeightSource& weights);
[[nodiscard]] store::ModelRow modelRow(const OpenedModel& opened);

/// Threads per worker: the given number, else all cores for one worker (a core is left to the window only by the
/// window). Usage when there are several workers and none was given: it is never derived from the number of workers.
[[nodiscard]] Result<int> resolveThreads(int workers, std::optional<int> threadsPerWorker);

/// Tokens that fit under the method.
[[nodiscard]] int contextLength(const rope::PositionMethod& method, const model::ModelConfig& config);

/// A method for this model, as rope::resolveMethod refuses it. Reads the files that it names and checks that they fit,
/// a router by the hash of the weights that it was trained on; their warnings go to the observer.
[[nodiscard]] Result<rope::PositionMethod> methodFor(const rope::MethodSpec& spec, const model::WeightSource& weights,
                                                     ProgressObserver& observer);
/// SHA-256 of what the files behind a method (profile, factors, routers) hold for this model: the values that it
/// computes with, whatever the files are called and say besides. Empty where no file stands behind it, so that its
/// spelling says all.
[[nodiscard]] std::string methodHash(const rope::MethodSpec& spec, const rope::PositionMethod& method);
/// LPES with the profile of `file`: methodFor of lpes:FILE.
[[nodiscard]] Result<rope::PositionMethod> profileMethod(const std::string& file, const model::ModelConfig& config,
                                                         ProgressObserver& observer);

/// What scales [L·G], layer by layer, are to a model: themselves by layer; scales by key/value head, which divide the
/// positions of a head and its query heads; or divisors of frequencies, the same for all of a band. A frequency divided
/// by s turns by the angle that positions divided by s give it.
[[nodiscard]] rope::ProfileScales profileScales(const curve::ScaleGroups& groups, std::span<const double> scales);
/// LPES with these scales and nothing else.
[[nodiscard]] rope::PositionMethod lpesMethod(const curve::ScaleGroups& groups, std::span<const double> scales);

/// Is a scale per layer all of it?
[[nodiscard]] bool isLayerScales(const rope::PositionMethod& method);
/// The scales that a variant is stored with: none where they are not all of the method, because variants with the same
/// scales are one.
[[nodiscard]] rope::LayerScales storedScales(const rope::PositionMethod& method);

}  // namespace lpes::studies
