#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Rows of the data base as plain values. FORMAT.md beside this file describes the tables. JSON columns are text here.
/// A double that is not a number is stored as NULL and reads as NaN again; an id of 0 means "none".
namespace lpes::store {

enum class RunState { Running, Paused, Stopped, Interrupted, Failed, Finished };
[[nodiscard]] std::string_view runStateName(RunState state);  ///< "running", …

struct ModelRow {
    std::int64_t id = 0;
    std::string fingerprint;  ///< configuration and tensor table
    std::string name, path, architecture, format;
    int layers = 0, headDim = 0, contextLength = 0;
    std::int64_t parameters = 0;
    std::string configJson;  ///< what `inspect --json` prints
    std::string tokenizerFingerprint;
    std::string weightsHash;  ///< over samples of every tensor; the four identify a row
};

struct DatasetRow {
    std::int64_t id = 0;
    std::string hash;  ///< with task and templateHash: unique
    std::string task, name, templateHash;
    std::int64_t items = 0;
    std::string specJson;  ///< how to get the same items again: file, pairs, generator, seed, limit
};

/// What a run is and how it was made: enough to make it again.
struct RunRow {
    std::int64_t id = 0;
    std::string kind;  ///< "eval", "search", "compare", "suite", "study", "attn", "deviation", "train"
    RunState state = RunState::Running;
    std::int64_t modelId = 0, datasetId = 0;
    std::string label;         ///< what the user sees in lists
    std::string settingsJson;  ///< every resolved setting with its origin
    std::uint64_t seed = 0;
    std::string toolVersion, libTorchVersion;
    std::string device, deviceDescription, computeType;
    int threadsPerWorker = 0, workers = 0, batchSize = 0;
    std::string host;
    std::int64_t pid = 0;
    std::int64_t createdMs = 0, endedMs = 0, heartbeatMs = 0;  ///< UTC; 0 = not yet
    double elapsedSeconds = 0.0;                               ///< working time over all sittings of the run
    std::string endReason;                                     ///< why a finished or stopped run ended
    std::string error;                                         ///< why a failed run failed
    std::string resultJson;  ///< the object that `--json` printed; empty until finished
};

/// One set of scales that a run evaluated: the baseline, a candidate, a profile. Unique in its run by its scales, so
/// that equal scales are evaluated once. Without scales the name tells variants apart: two methods that work without a
/// profile are two variants.
struct VariantRow {
    std::int64_t id = 0;
    std::int64_t runId = 0;
    std::string name;            ///< "baseline", "candidate", "lpes:FILE", "smooth", …
    std::vector<double> scales;  ///< [L], or [L·G] layer by layer where a search has G groups; empty: no profile
};

/// One item at one position under one variant. (variant, split, item, position) is unique.
struct OutcomeRow {
    std::string itemId;
    int position = 0;
    int goldIndex = 0, goldToken = 0, promptTokens = 0;
    bool skippedTooLong = false;
    bool correct = false;  ///< score is 1
    double score = 0.0;    ///< what the run's rule gave, 0 to 1
    double nll = 0.0;
    std::optional<bool> strict;  ///< every answer token was the likeliest; none: not known
    std::string generated;
    std::optional<double>
        generatedScore;              ///< of the generated text by the benchmark's rule; none: nothing was generated
    std::int64_t unknownTokens = 0;  ///< of the generated answer, which `generated` is without
};

struct CandidateRow {
    int generation = 0, index = 0;
    std::int64_t variantId = 0;
    std::string pointsJson;  ///< [[x,y],…]
    enum class State { Evaluated, Duplicate, Failed, GivenUp, Infeasible } state = State::Evaluated;
    double fitness = 0.0;  ///< NULL in the data base for failed, given up and infeasible ones, which read as NaN
    std::vector<double> byPosition;
    std::string reason;
    int duplicateGeneration = -1, duplicateIndex = -1;
    std::vector<double> objectives;  ///< of a search with several; larger is better
};

struct GenerationRow {
    int generation = 0;
    double best = 0.0, mean = 0.0, worst = 0.0, stddev = 0.0, diversity = 0.0;
    std::int64_t evaluations = 0;
    std::string populationJson;  ///< [[generation,index],…], best first
    int frontSize = 0;           ///< of a search with several objectives
    std::optional<double> hypervolume;
};

/// One optimiser step of a training: means over its sequences.
struct TrainingStepRow {
    int step = 0;  ///< 1 …
    double loss = 0.0, lmLoss = 0.0, auxLoss = 0.0;
    double gradNorm = 0.0;  ///< before it is shortened
    std::int64_t tokens = 0;
};

/// ∂(mean answer NLL)/∂(every scale of the variant) for one prompt; the scales layer by layer as the variant's.
struct SlopeRow {
    std::string itemId;
    int position = 0;
    double nll = 0.0;
    std::vector<double> slope;
};

/// Accuracy and NLL by position of one variant on one split ("search", "select", "report", "eval").
struct PositionRow {
    std::int64_t variantId = 0;
    std::string split;
    int position = 0;
    std::string label;
    int goldIndex = 0;
    double meanTokenIndex = 0.0;
    std::int64_t n = 0, correct = 0;
    double accuracy = 0.0, ciLow = 0.0, ciHigh = 1.0, answerNll = 0.0;
};

/// Attention of the last prompt token, or of all (the run's setting `queries`), mean over items. layer −1 is the mean
/// over layers; spans ≥ 0 are records in prompt order. Three rows per variant stand for all positions together
/// (position −1, label "all", layer −1): span −1 is the sink (token 0), −2 the instruction, −3 the question.
/// meanPerToken is NaN (NULL) where it is not kept.
struct AttentionRow {
    std::int64_t variantId = 0;
    int position = 0;
    std::string label;
    int layer = 0, span = 0;
    double share = 0.0, meanPerToken = 0.0;
};

struct DeviationRow {
    std::int64_t variantId = 0;
    int layer = 0;
    double deviation = 0.0, ciLow = 0.0, ciHigh = 0.0, rsa = 0.0, cosine = 0.0;
    std::int64_t prompts = 0;
};

struct ProfileRow {
    std::int64_t id = 0;
    std::int64_t runId = 0;
    std::string json;  ///< the profile file
};

}  // namespace lpes::store
