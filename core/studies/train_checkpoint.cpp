#include "core/studies/train_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "core/model/moice_file.h"
#include "core/model/torch/torch_runtime.h"
#include "core/rope/rivals.h"
#include "core/studies/output_check.h"
#include "core/studies/train_run.h"

namespace lpes::studies {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

/// Settings that are in force, each with its origin, and what the checkpoint must agree with.
class Resolver {
  public:
    Resolver(const TrainMoiceSettings& settings, const json* stored) : m_settings(settings), m_stored(stored) {}

    /// `target` holds the default.
    template <class T>
    Result<void> take(const char* key, const std::optional<T>& given, T& target) {
        const bool known = m_stored && m_stored->contains(key);
        if (known && given && m_stored->at(key) != json(*given)) {
            return fail(ErrorCode::Usage,
                        fmt::format("{} {} is not what the training was begun with ({}); leave it out to go on, or "
                                    "begin anew without --resume",
                                    key, json(*given).dump(), m_stored->at(key).dump()));
        }
        try {
            if (given) {
                target = *given;
            } else if (known) {
                target = m_stored->at(key).template get<T>();
            }
        } catch (const json::exception&) {
            return fail(ErrorCode::BadInput,
                        fmt::format("the checkpoint's '{}' is {}; begin the training anew, without --resume", key,
                                    m_stored->at(key).dump()));
        }
        const auto origin = m_settings.origins.find(key);
        note(key, target,
             given   ? origin == m_settings.origins.end() ? "flag" : origin->second
             : known ? "checkpoint"
                     : "default");
        return {};
    }

    void note(const char* key, const json& value, const std::string& origin) {
        m_values[key] = value;
        m_shown[key] = {{"value", value}, {"origin", origin}};
    }

    [[nodiscard]] const json& values() const { return m_values; }  ///< key → value
    [[nodiscard]] const json& shown() const { return m_shown; }    ///< key → {"value", "origin"}

  private:
    const TrainMoiceSettings& m_settings;
    const json* m_stored;
    json m_values = json::object(), m_shown = json::object();
};

bool isThere(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

/// A training that was left is not thrown away in silence.
Result<void> requireFinished(const std::optional<model::MoiceCheckpoint>& checkpoint, bool overwrite,
                             const fs::path& file) {
    if (checkpoint) {
        const auto steps = checkpoint->identity.value("steps", json());
        const bool finished =
            steps.is_number_integer() && static_cast<int>(checkpoint->state.curve.size()) >= steps.get<int>();
        if (finished && overwrite) return {};
        if (finished) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' is the checkpoint of a finished training; --overwrite trains anew in its "
                                    "place, --resume with more --steps goes on from it",
                                    file.string()));
        }
    }
    return fail(ErrorCode::Usage,
                fmt::format("'{}' holds a training that was left unfinished; go on with --resume, or remove the "
                            "file to begin anew",
                            file.string()));
}

/// What a checkpoint must agree with beside the settings.
Result<void> requireUnchanged(const json& stored, const char* key, const std::string& now, const char* what) {
    if (stored.contains(key) && stored.at(key) == now) return {};
    return fail(ErrorCode::BadInput,
                fmt::format("{} is no longer the one that the training was begun with; give the same, or begin anew "
                            "without --resume",
                            what));
}

void warnAboutOtherMachine(const json& stored, const json& now, ProgressObserver& observer) {
    for (const auto& [key, what] : {std::pair{"device_description", "processor"}, std::pair{"libtorch", "LibTorch"}}) {
        if (!stored.contains(key) || stored.at(key) == now.at(key)) continue;
        observer.warned(fmt::format("the training was begun with another {} ({}; now {}): its last bits may differ",
                                    what, stored.at(key).dump(), now.at(key).dump()));
    }
}

}  // namespace

Result<TrainingPlan> resolveTraining(const TrainMoiceSettings& settings, const model::ModelConfig& config,
                                     const json* stored) {
    TrainingPlan plan;
    plan.recipe.maxLength = std::min(plan.recipe.maxLength, config.contextLength);
    plan.recipe.bases = rope::moiceBases(config.rope.theta);
    Resolver resolver(settings, stored);
    model::MoiceRecipe& recipe = plan.recipe;
    if (auto r = resolver.take("seed", settings.seed, recipe.seed); !r) return fail(r.error());
    if (auto r = resolver.take("sequences_per_step", settings.sequencesPerStep, recipe.sequencesPerStep); !r)
        return fail(r.error());
    if (auto r = resolver.take("max_length", settings.maxLength, recipe.maxLength); !r) return fail(r.error());
    if (auto r = resolver.take("bases", settings.bases, recipe.bases); !r) return fail(r.error());
    recipe.topK = static_cast<int>(recipe.bases.size());
    if (auto r = resolver.take("top_k", settings.topK, recipe.topK); !r) return fail(r.error());
    // 0 would mean "all" further inside, and nobody asks for no expert.
    if (recipe.topK == 0) return fail(ErrorCode::Usage, "top_k 0 keeps no expert; give at least 1");
    if (auto r = resolver.take("lr", settings.learningRate, recipe.adamw.learningRate); !r) return fail(r.error());
    if (auto r = resolver.take("aux", settings.auxCoefficient, recipe.auxCoefficient); !r) return fail(r.error());
    if (auto r = resolver.take("weight_decay", settings.weightDecay, recipe.adamw.weightDecay); !r)
        return fail(r.error());
    if (auto r = resolver.take("beta1", settings.beta1, recipe.adamw.beta1); !r) return fail(r.error());
    if (auto r = resolver.take("beta2", settings.beta2, recipe.adamw.beta2); !r) return fail(r.error());
    if (auto r = resolver.take("epsilon", settings.epsilon, recipe.adamw.epsilon); !r) return fail(r.error());
    if (auto r = resolver.take("max_grad_norm", settings.maxGradNorm, recipe.maxGradNorm); !r) return fail(r.error());
    auto threads = resolveThreads(1, settings.threads);
    if (!threads) return fail(threads.error());
    plan.threads = *threads;
    if (auto r = resolver.take("threads", settings.threads, plan.threads); !r) return fail(r.error());
    const std::optional<std::string> dtype =
        settings.model.dtype == "auto" ? std::nullopt : std::optional<std::string>(settings.model.dtype);
    if (auto r = resolver.take("dtype", dtype, plan.dtype); !r) return fail(r.error());
    // More steps than at first are no contradiction.
    json earlier;
    if (stored && stored->contains("steps") && stored->at("steps").is_number_integer()) earlier = stored->at("steps");
    plan.steps = settings.steps.value_or(earlier.is_null() ? plan.steps : earlier.get<int>());
    resolver.note("steps", plan.steps, settings.steps ? "flag" : earlier.is_null() ? "default" : "checkpoint");
    if (plan.steps < 1 || plan.steps > 1'000'000) {
        return fail(ErrorCode::Usage, fmt::format("steps {} is out of range; give 1 to 1000000", plan.steps));
    }
    if (auto r = model::checkMoiceRecipe(recipe, config); !r) return fail(r.error());
    plan.values = resolver.values();
    plan.shown = resolver.shown();
    return plan;
}

Result<void> checkTrainingFiles(const TrainMoiceSettings& settings) {
    const fs::path checkpoint = moiceCheckpointPath(settings.out);
    const bool outThere = isThere(settings.out), checkpointThere = isThere(checkpoint);
    if (settings.resume && !checkpointThere) {
        return fail(ErrorCode::BadInput,
                    fmt::format("there is no checkpoint '{}' to go on from; leave out --resume, or give the --out "
                                "of the training",
                                checkpoint.string()));
    }
    std::vector<CommandInput> inputs{{"--text", settings.text}};
    addModelInput(inputs, "--model", settings.model.model);
    const auto outHolds = model::moiceFileAt(settings.out), checkpointHolds = model::moiceFileAt(checkpoint);
    // A router or a checkpoint of ours is no input, whatever folder it lies in.
    if (!outHolds) {
        if (auto apart = requireNoInput(settings.out, inputs); !apart) return apart;
    }
    if (!checkpointHolds) {
        if (auto apart = requireNoInput(checkpoint, inputs); !apart) return apart;
    }
    if (outThere && outHolds != model::MoiceFile::Router) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' is there and is no router that 'lpes train moice' wrote, so that it is not "
                                "replaced; name another file for --out",
                                settings.out.string()));
    }
    if (settings.resume) return {};
    if (checkpointThere && checkpointHolds != model::MoiceFile::Checkpoint) {
        return fail(ErrorCode::Usage,
                    fmt::format("'{}', where the checkpoint goes, is there and is none, so that it is not "
                                "replaced; name another file for --out",
                                checkpoint.string()));
    }
    if (!outThere || settings.overwrite) return {};
    return fail(ErrorCode::Usage,
                fmt::format("'{}' holds a finished router; --overwrite trains anew in its place, --resume with "
                            "more --steps goes on from its checkpoint",
                            settings.out.string()));
}

Result<std::optional<model::MoiceCheckpoint>> checkpointFor(const TrainMoiceSettings& settings,
                                                            const model::ModelConfig& config,
                                                            store::StoreReader& reader,
                                                            const std::optional<store::RunRow>& left) {
    const fs::path file = moiceCheckpointPath(settings.out);
    if (!settings.resume && !isThere(file)) return std::nullopt;
    std::optional<model::MoiceCheckpoint> checkpoint;
    auto read = model::readMoiceCheckpoint(file, config);
    if (!read && settings.resume) return fail(read.error());
    if (read) checkpoint = std::move(*read);
    if (left && checkpoint) {
        if (auto own = requireOwnCheckpoint(reader, *left, *checkpoint, file); !own) return fail(own.error());
    }
    if (settings.resume) return checkpoint;
    if (auto finished = requireFinished(checkpoint, settings.overwrite, file); !finished) return fail(finished.error());
    return std::nullopt;
}

json checkpointIdentity(const json& values, const TrainingText& text, const LoadedModel& model) {
    json identity = values;
    identity["text_hash"] = text.hash();
    identity["weights_hash"] = weightsHash(*model.opened.weights);
    identity["tokenizer"] = model.tokenizer().fingerprint();
    identity["libtorch"] = model::libTorchVersion();
    identity["device_description"] = model::deviceDescription(model.lm->device());
    return identity;
}

Result<void> requireSameIdentity(const json& stored, const json& now, ProgressObserver& observer) {
    for (const auto& [key, what] : {std::pair{"text_hash", "the text"}, std::pair{"weights_hash", "the model"},
                                    std::pair{"tokenizer", "the tokenizer"}}) {
        if (auto same = requireUnchanged(stored, key, now.at(key).get<std::string>(), what); !same) return same;
    }
    warnAboutOtherMachine(stored, now, observer);
    return {};
}

}  // namespace lpes::studies
