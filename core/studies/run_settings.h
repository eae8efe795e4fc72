#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/search/genetic_search.h"
#include "core/studies/guardrail.h"
#include "core/studies/item_evaluator.h"
#include "core/studies/task_setup.h"

namespace lpes::studies {

/// How a run computes: part of what makes its numbers (architecture.md §5b), stored with it.
struct ComputeSettings {
    std::string model;  ///< as the user wrote it
    std::string dtype = "auto";
    std::string device = "cpu";
    int workers = 1;
    std::optional<int> threadsPerWorker;
    std::optional<int> batchSize;             ///< prompts per pass; unset: passSize() of the task
    std::optional<std::int64_t> batchTokens;  ///< tokens per pass at most; unset: passSize() of the task
    std::optional<bool> sharePrefixes;        ///< what prompts of a pass begin with alike is computed once; unset: yes
};

/// Spelling → methodHash, of methods that files stand behind.
using MethodHashes = std::map<std::string, std::string>;

struct EvalSettings {
    ComputeSettings compute;
    TaskSpec task;
    std::string method = "baseline";
    MethodHashes methodHashes;         ///< resolved when the run begins
    std::optional<std::string> score;  ///< unset: the benchmark's own
    int agreementItems = 0;            ///< items on which both kinds of scoring are compared
    int repeats = 1;                   ///< evaluations in other batch compositions, to measure run-to-run noise
    std::map<std::string, std::string> origins;  ///< setting → "flag", "environment", "demo study", "default"
};

struct CompareSettings {
    ComputeSettings compute;
    TaskSpec task;
    std::vector<std::string> methods;  ///< at least two; the first is what the others are compared with
    MethodHashes methodHashes;         ///< resolved; a method in it whose files hold something else is refused
    std::optional<std::string> score;  ///< unset: the benchmark's own
    std::uint64_t seed = 1;            ///< of the paired tests' and intervals' resamples
    GuardrailSettings guardrail;
    std::optional<std::string> partOf;  ///< "RUN/LABEL" of the suite it belongs to; it may then have one method alone
    std::map<std::string, std::string> origins;
};

struct SearchRunSettings {
    ComputeSettings compute;
    TaskSpec task;
    search::SearchSettings search;
    std::string score = "nll";
    std::vector<double> weights;  ///< per position; empty: equal
    double gapPenalty = 0.0;
    int searchItems = 100, selectItems = 100;
    std::optional<int> reportItems;  ///< unset: the rest (all generated items: 100)
    int finalists = 6;               ///< distinct candidates that are scored again on the selection split
    GuardrailSettings guardrail;
    /// By how many percent a candidate may worsen the perplexity of the guardrail's texts; unset: by any.
    std::optional<double> guardrailLimit;
    /// Candidates take hidden states of leading layers over from those of their generation with the same scales there
    /// (layer_reuse.h). No result depends on it.
    bool reuseLayers = true;
    int reuseMemory = 1024;  ///< MiB that these states may take
    int analysisItems = 8;   ///< report items whose attention and deviation are stored at the end; 0: none
    std::optional<std::uint64_t>
        splitSeed;                      ///< of the splits; unset: the search's. Searches of a study share their items
    int resample = 0, resamples = 1;    ///< which of so many sets of search items, from 0 (study resample)
    std::optional<std::string> partOf;  ///< "RUN/LABEL" of the study that it belongs to
    std::map<std::string, std::string> origins;
};

struct AttentionSettings {
    ComputeSettings compute;
    TaskSpec task;
    std::string method = "baseline";
    MethodHashes methodHashes;     ///< resolved when the run begins
    std::string queries = "last";  ///< whose attention: of the "last" prompt token, or of "all" (AttentionProbe)
    std::map<std::string, std::string> origins;
};

struct DeviationSettings {
    ComputeSettings compute;
    TaskSpec task;                      ///< whose prompts are compared
    std::vector<std::string> profiles;  ///< at least one
    std::vector<std::string> variants;  ///< of smooth, noisy, shuffled
    std::uint64_t seed = 1;
    std::map<std::string, std::string> origins;
};

/// Every setting with its value and origin: {"population": {"value": 12, "origin": "demo study"}, …}. What `--json`
/// prints under "settings" and what the data base stores; SearchRunSettings round-trips, which is what resume relies
/// on.
[[nodiscard]] nlohmann::json toJson(const ComputeSettings& compute);      ///< bare values
[[nodiscard]] nlohmann::json toJson(const GuardrailSettings& guardrail);  ///< bare values
/// Puts {"method_hashes": {"value": …, "origin": "file"}} beside stored settings; nothing where there are none.
void addMethodHashes(nlohmann::json& stored, const MethodHashes& hashes);
/// Their keys out of an object that has others beside them; the number of workers belongs to searches and is left out.
void readCompute(JsonFields& fields, ComputeSettings& compute);
void readGuardrail(JsonFields& fields, GuardrailSettings& guardrail);
[[nodiscard]] nlohmann::json toJson(const EvalSettings& settings);
[[nodiscard]] nlohmann::json toJson(const CompareSettings& settings);
[[nodiscard]] nlohmann::json toJson(const SearchRunSettings& settings);
[[nodiscard]] nlohmann::json toJson(const AttentionSettings& settings);
[[nodiscard]] nlohmann::json toJson(const DeviationSettings& settings);
[[nodiscard]] Result<SearchRunSettings> searchSettingsFromJson(const nlohmann::json& json);
[[nodiscard]] Result<CompareSettings> compareSettingsFromJson(const nlohmann::json& json);

/// Keys of a search's settings whose values are data files or folders: what another machine needs copies of.
[[nodiscard]] std::vector<std::string> dataKeys();

/// What is wrong with the value of each key (as toJson names it) that can be told without the model.
[[nodiscard]] std::vector<std::pair<const char*, Result<void>>> checkComputeKeys(const ComputeSettings& compute);

/// How many prompts a pass has, and whether answers are generated in it: as the settings say; else up to eight prompts
/// of together 8,192 tokens where evidence does not move, and one item at all its positions where it does. Answers that
/// are generated are decoded together: there as many whole items make a pass as stay within these numbers when they are
/// like the first one.
[[nodiscard]] Result<PassSize> passSize(const ComputeSettings& compute, const PreparedTask& task,
                                        const tasks::ScoreKind& score, const text::Tokenizer& tokenizer,
                                        int contextLength);

/// The demo study (resources/demo/study.json): key–value retrieval with words.
[[nodiscard]] Result<SearchRunSettings> demoStudy();

}  // namespace lpes::studies
