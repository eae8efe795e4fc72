#include "core/studies/moice_study.h"

#include <fmt/format.h>

#include <span>
#include <system_error>
#include <utility>

#include "core/base/clock.h"
#include "core/base/process_memory.h"
#include "core/base/thread_priority.h"
#include "core/model/moice_file.h"
#include "core/model/torch/moice_trainer.h"
#include "core/studies/model_setup.h"
#include "core/studies/resuming.h"
#include "core/studies/run_session.h"
#include "core/studies/run_view.h"
#include "core/studies/train_checkpoint.h"
#include "core/studies/train_run.h"
#include "core/studies/training_text.h"

namespace lpes::studies {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

class Training {
  public:
    /// `left`: the run that goes on.
    Training(const TrainMoiceSettings& settings, store::StoreWriter& store, ProgressObserver& observer,
             std::stop_token stop, std::optional<store::RunRow> left)
        : m_settings(settings),
          m_store(store),
          m_observer(observer),
          m_stop(std::move(stop)),
          m_checkpoint(moiceCheckpointPath(settings.out)),
          m_left(std::move(left)),
          m_start(steadySeconds()) {}

    Result<StudyOutcome> run() {
        if (auto r = prepare(); !r) return fail(r.error());
        auto runId = takeUp();
        if (!runId) return fail(runId.error());
        m_runId = *runId;
        m_progress.emplace(m_store, m_runId, m_observer, m_left ? m_left->elapsedSeconds : 0.0);
        return conductRun(m_store, m_runId, *m_progress, [this] { return train(); });
    }

  private:
    /// The run that was left, or a new one.
    Result<std::int64_t> takeUp() {
        const json settings = trainSettingsJson(m_settings, m_plan.shown, m_model.opened);
        if (m_settings.resume && !m_left) {
            auto found = findLeftTraining(m_store.reader(), settings, m_state.curve);
            if (!found) return fail(found.error());
            m_left = std::move(*found);
        }
        if (m_left) {
            if (auto reopened = m_store.reopenRun(m_left->id, 1); !reopened) return fail(reopened.error());
            return m_left->id;
        }
        ComputeSettings compute;
        compute.device = m_settings.model.device;
        return beginModelRun(m_store, m_model, datasetRow(*m_text, m_settings.text), compute, m_plan.threads,
                             kTrainKind, "train moice on " + m_settings.text.filename().string(), settings,
                             m_plan.recipe.seed);
    }

    Result<StudyOutcome> train() {
        m_begun = steadySeconds();
        (void)resetPeakResident();
        m_progress->setTotal(total());
        m_progress->setStage("beginning");
        if (auto kept = m_progress->chunkDone(0, m_before); !kept) return fail(kept.error());
        if (auto kept = recordSteps(m_store, m_runId, m_state.curve); !kept) return fail(kept.error());
        // A run without a checkpoint is one that has not begun.
        if (m_state.curve.empty()) {
            if (auto written = writeCheckpoint(); !written) return fail(written.error());
        }
        while (static_cast<int>(m_state.curve.size()) < m_plan.steps) {
            auto stepped = step();
            if (!stepped && model::wasStopped(stepped.error()))
                return StudyOutcome{m_runId, true, result("stopped"), 0};
            if (!stepped) return fail(stepped.error());
        }
        return finish();
    }

    Result<StudyOutcome> finish() {
        const json notes = {{"steps", m_state.curve.size()},
                            {"settings", m_plan.values},
                            {"text_hash", m_text->hash()},
                            {"curve", model::curveJson(m_state.curve)}};
        if (auto written = model::writeMoiceRouters(m_settings.out, m_state.routers, m_model.config(),
                                                    {{"training", notes.dump()}});
            !written) {
            return fail(written.error());
        }
        auto hash = routerHash(m_settings.out, *m_model.opened.weights, m_observer);
        if (!hash) return fail(hash.error());
        m_routerHash = std::move(*hash);
        return StudyOutcome{m_runId, false, result("finished"), 0};
    }

    Result<void> prepare() {
        if (auto safe = checkTrainingFiles(m_settings); !safe) return safe;
        lowerThreadPriority();
        const auto opened = openModel(m_settings.model.model, false);
        if (!opened) return fail(opened.error());
        const model::ModelConfig& config = opened->weights->config();
        auto checkpoint = checkpointFor(m_settings, config, m_store.reader(), m_left);
        if (!checkpoint) return fail(checkpoint.error());
        auto plan = resolveTraining(m_settings, config, *checkpoint ? &(*checkpoint)->identity : nullptr);
        if (!plan) return fail(plan.error());
        m_plan = std::move(*plan);
        if (*checkpoint && static_cast<int>((*checkpoint)->state.curve.size()) > m_plan.steps) {
            return fail(ErrorCode::Usage,
                        fmt::format("steps {} is less than the {} that the checkpoint has gone; give more",
                                    m_plan.steps, (*checkpoint)->state.curve.size()));
        }
        auto loaded =
            loadModel({m_settings.model.model, m_plan.dtype, m_settings.model.device, true}, m_observer, m_stop);
        if (!loaded) return fail(loaded.error());
        m_model = std::move(*loaded);
        m_plan.dtype = model::computeTypeName(m_model.lm->computeType());
        m_plan.values["dtype"] = m_plan.shown["dtype"]["value"] = m_plan.dtype;
        if (auto r = model::checkMoiceTrainingMemory(*m_model.lm, m_plan.recipe.maxLength,
                                                     static_cast<std::int64_t>(m_plan.recipe.bases.size()));
            !r) {
            return r;
        }
        return openText(*checkpoint);
    }

    Result<void> openText(std::optional<model::MoiceCheckpoint>& checkpoint) {
        auto text =
            TrainingText::open(m_settings.text, m_model.tokenizer(), m_plan.recipe.maxLength, m_observer, m_stop);
        if (!text) return fail(text.error());
        m_text.emplace(std::move(*text));
        m_identity = checkpointIdentity(m_plan.values, *m_text, m_model);
        if (checkpoint) {
            if (auto same = requireSameIdentity(checkpoint->identity, m_identity, m_observer); !same) return same;
            m_state = std::move(checkpoint->state);
        } else {
            m_state = model::initialMoiceState(m_plan.recipe, m_model.config());
        }
        m_state.routers.weightsHash = m_identity["weights_hash"].get<std::string>();
        m_before = static_cast<std::int64_t>(m_state.curve.size()) * m_plan.recipe.sequencesPerStep;
        warnAboutPlan();
        return {};
    }

    void warn(const std::string& message) {
        m_warnings.push_back(message);
        m_observer.warned(message);
    }

    void warnAboutPlan() {
        if (model::auxiliaryLossIsConstant(m_state.routers)) {
            warn(
                fmt::format("with top_k = {0} of {0} experts the auxiliary loss is the constant {0} and has no "
                            "gradient, so that --aux changes nothing; a smaller --top-k gives it an effect",
                            m_state.routers.topK));
        }
        const std::int64_t needed = total();
        const auto have = static_cast<std::int64_t>(m_text->sequences());
        if (needed > have) {
            warn(
                fmt::format("the text has {} sequences and {} steps take {}: sequences come again, in a new order "
                            "each round",
                            have, m_plan.steps, needed));
        }
        if (m_text->lostBytes() > 0) {
            warn(fmt::format("{} bytes of the text have no token in this vocabulary and are left out",
                             m_text->lostBytes()));
        }
    }

    [[nodiscard]] std::int64_t total() const { return std::int64_t{m_plan.steps} * m_plan.recipe.sequencesPerStep; }

    Result<void> step() {
        const auto done = static_cast<int>(m_state.curve.size());
        std::vector<std::vector<text::TokenId>> sequences;
        for (const std::size_t index :
             model::sequencesOfStep(m_plan.recipe.seed, m_text->sequences(), m_plan.recipe.sequencesPerStep, done)) {
            auto ids = m_text->sequence(index);
            if (!ids) return fail(ids.error());
            sequences.push_back(std::move(*ids));
        }
        tell(done);
        Result<void> kept;
        auto stepped = model::trainMoiceStep(
            *m_model.lm, m_plan.recipe, sequences, m_plan.threads, m_state,
            [&](std::int64_t tokens) {
                m_tokens += tokens;
                if (auto counted = m_progress->chunkDone(1, 0); !counted) kept = counted;
                tell(done);
            },
            m_stop);
        if (!stepped) return stepped;
        if (!kept) return kept;
        if (auto written = writeCheckpoint(); !written) return written;
        return recordSteps(m_store, m_runId, std::span(m_state.curve).last(1));
    }

    Result<void> writeCheckpoint() const {
        return model::writeMoiceCheckpoint(m_checkpoint, m_state, m_model.config(), m_identity);
    }

    void tell(int step) {
        std::string stage = fmt::format("step {} of {} (sequences)", step + 1, m_plan.steps);
        if (!m_state.curve.empty()) stage += fmt::format(", loss {:.4f}", m_state.curve.back().lmLoss);
        m_progress->setStage(stage);
    }

    [[nodiscard]] json result(const char* state) const {
        const bool finished = std::string_view(state) == "finished";
        const double seconds = steadySeconds() - m_begun;
        const auto peak = peakResidentBytes();
        json perSequence, perSecond;
        if (const std::int64_t computed = m_progress->promptsComputed(); computed > 0) {
            perSequence = seconds / static_cast<double>(computed);
            perSecond = static_cast<double>(m_tokens) / seconds;
        }
        return {{"run_id", m_runId},
                {"state", state},
                {"router", finished ? json(m_settings.out.string()) : json()},
                {"method_hash", finished ? json(m_routerHash) : json()},
                {"checkpoint", m_checkpoint.string()},
                {"steps", m_state.curve.size()},
                {"curve", model::curveJson(m_state.curve)},
                {"text",
                 {{"file", m_settings.text.string()},
                  {"documents", m_text->documents()},
                  {"sequences", m_text->sequences()},
                  {"tokens", m_text->tokens()},
                  {"hash", m_text->hash()}}},
                {"aux_loss_constant", model::auxiliaryLossIsConstant(m_state.routers)},
                {"warnings", m_warnings},
                {"seconds", steadySeconds() - m_start},
                {"seconds_per_sequence", perSequence},
                {"tokens_per_second", perSecond},
                {"peak_bytes", peak ? json(*peak) : json()},
                {"settings", m_plan.shown}};
    }

    const TrainMoiceSettings& m_settings;
    store::StoreWriter& m_store;
    ProgressObserver& m_observer;
    std::stop_token m_stop;
    fs::path m_checkpoint;
    std::optional<store::RunRow> m_left;
    std::int64_t m_runId = 0;
    std::optional<RunProgress> m_progress;  ///< counts sequences
    std::string m_routerHash;
    double m_start, m_begun = 0.0;
    TrainingPlan m_plan;
    LoadedModel m_model;
    std::optional<TrainingText> m_text;
    json m_identity;
    model::MoiceTrainingState m_state;
    std::vector<std::string> m_warnings;
    std::int64_t m_before = 0;  ///< sequences of earlier sittings
    std::int64_t m_tokens = 0;  ///< of this one
};

}  // namespace

fs::path moiceCheckpointPath(const fs::path& out) {
    return out.string() + ".training";
}

Result<StudyOutcome> trainMoice(const TrainMoiceSettings& settings, store::StoreWriter& store,
                                ProgressObserver& observer, std::stop_token stop) {
    return Training(settings, store, observer, std::move(stop), std::nullopt).run();
}

Result<StudyOutcome> resumeTraining(std::int64_t runId, store::StoreWriter& store, ProgressObserver& observer,
                                    std::stop_token stop) {
    auto run = resumableRun(store.reader(), runId, kTrainKind);
    if (!run) return fail(run.error());
    auto settings = readTrainSettings(parseObject(run->settingsJson));
    if (!settings) return fail(settings.error());
    const auto steps = store.reader().trainingSteps(runId);
    if (!steps) return fail(steps.error());
    const fs::path checkpoint = moiceCheckpointPath(settings->out);
    std::error_code ignored;
    settings->resume = fs::exists(checkpoint, ignored);
    if (!settings->resume && !steps->empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the checkpoint '{}' that run {} left is gone; put it back, or begin anew with "
                                "'lpes train moice'",
                                checkpoint.string(), runId));
    }
    return Training(*settings, store, observer, std::move(stop), std::move(*run)).run();
}

}  // namespace lpes::studies
