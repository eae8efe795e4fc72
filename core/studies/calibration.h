#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/studies/search_setup.h"

// Private to core/studies.
namespace lpes::studies {

/// What one packed pass of so many tokens (prompts and answers) took, its commit and its generated answers included.
struct PassCost {
    std::int64_t tokens = 0;
    double seconds = 0.0;
};

/// What a search's parts cost on this machine, measured in a few passes.
struct Calibration {
    std::vector<PassCost> passCosts;        ///< by rising tokens; while every worker is busy
    double attentionSeconds = 0.0;          ///< of one prompt; 0: the search probes nothing
    double deviationSeconds = 0.0;          ///< of one prompt under one variant; 0: the search probes nothing
    double slopeSeconds = 0.0;              ///< of one prompt, there and back; 0: the search measures no slope
    double guardrailSeconds = 0.0;          ///< of one side; 0: the search has no guardrail
    double shortTextSeconds = 0.0;          ///< of a short text of the guardrail's limit; 0: the search has none
    int passes = 0;                         ///< that were timed; the first pass of every session is not
    double seconds = 0.0;                   ///< that the calibration took
    std::optional<std::int64_t> peakBytes;  ///< of the process so far; none where the kernel does not say
};

/// Runs the search's own passes (its shortest, middle and longest ones, every worker at the same time, in a data base
/// in the system's folder for temporary files that is gone afterwards), one probe of each kind, the slopes of one item
/// and a few questions of the guardrail. Some seconds on a small model; at most one pass of each length more than about
/// ten seconds on a large one. Answers a stop with kStoppedMessage. Errors: the model's own, Database.
[[nodiscard]] Result<Calibration> calibrate(const PreparedSearch& prepared, ProgressObserver& observer,
                                            std::stop_token stop);

/// Seconds of a pass of `tokens`: straight between the measured lengths, in proportion to tokens outside them.
/// `costs` by rising tokens, at least one.
[[nodiscard]] double passSeconds(std::span<const PassCost> costs, std::int64_t tokens);

}  // namespace lpes::studies
