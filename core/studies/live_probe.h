#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/analysis/attention.h"
#include "core/analysis/deviation.h"
#include "core/analysis/plot_data.h"
#include "core/base/result.h"
#include "core/studies/model_setup.h"
#include "core/studies/task_setup.h"

namespace lpes::studies {

/// What bending the curve does, on one item of a task: attention with its evidence at every position, and
/// representation structure deviation on the prompt at the first position, as the studies measure it (methods.md §4).
/// One pass per prompt gives both. The model's own figures, without a profile, are computed once and stay.
///
/// thread-compatible: it owns a session; one thread at a time. A stop is answered at the next layer.
class LiveProbe {
  public:
    struct Pictures {
        analysis::AttentionPlot attention;    ///< "no profile" and "current", the positions seen so far
        analysis::DeviationPlot deviation;    ///< of one prompt, hence without an interval
        int prompts = 0, promptsPlanned = 0;  ///< of the attention
        std::string sample;                   ///< which prompts, in words
    };
    /// Told after the first prompt, on the calling thread.
    using Partial = std::function<void(const Pictures&)>;

    /// Takes the first item of the task that fits the model's context. BadInput when none does.
    [[nodiscard]] static Result<std::unique_ptr<LiveProbe>> make(const LoadedModel& model, const TaskSpec& task,
                                                                 int threads, std::stop_token stop);
    ~LiveProbe();

    /// `scales` empty: the pictures of the model without a profile, both series alike. Stopped: kStoppedMessage.
    [[nodiscard]] Result<Pictures> compute(const rope::LayerScales& scales, const Partial& partial,
                                           std::stop_token stop);
    /// Applies the scales to the probe's session and reads the tables back (conventions.md §1, rank 1).
    [[nodiscard]] Result<model::AppliedCheck> verify(const rope::LayerScales& scales);

  private:
    struct Sample;
    struct Seen {
        std::vector<analysis::PromptAttention> before, now;
    };
    LiveProbe(const LoadedModel& model, int threads);

    Result<void> makeBaseline(Sample& sample, int position, const std::stop_token& stop);
    Result<void> add(std::span<Sample> samples, const rope::LayerScales& scales, Seen& seen, Pictures& pictures,
                     const std::stop_token& stop);

    LoadedModel m_model;
    std::unique_ptr<model::ModelSession> m_session;
    std::vector<Sample> m_samples;      ///< one per position
    std::vector<std::string> m_labels;  ///< of the positions
    std::string m_words;
};

}  // namespace lpes::studies
