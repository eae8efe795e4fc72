#include "core/studies/paper_forecast.h"

#include <fmt/format.h>

#include "core/studies/search_setup.h"

namespace lpes::studies {

namespace {

// Llama 2 and Vicuna of 7B.
constexpr double kParameters = 6.74e9;
constexpr int kLayers = 32;
constexpr double kWidth = 4096;  ///< query heads × head dim
// The paper's setting: 200 items for the search, 500 held out, evidence at the begin, the middle and the end.
constexpr std::int64_t kItems = 200, kHeldOut = 500, kPositions = 3;
constexpr double kTokens = 1600;  ///< of a prompt with ten documents of multi-document question answering
constexpr double kGpus = 4;
/// Dense bfloat16 products of an H100 SXM, by its datasheet.
constexpr double kPeak = 989e12;
/// Share of it that whole passes reach. Products alone reach 0.8 (8192 × 8192 × 8192 through PyTorch on an H200, whose
/// matrix units are the H100's); attention, norms and what reads memory take the rest.
constexpr double kShare = 0.4, kHighShare = 0.6, kLowShare = 0.2;

}  // namespace

nlohmann::json paperForecast() {
    SearchRunSettings ours;
    ours.searchItems = static_cast<int>(kItems);
    const std::int64_t candidates = mostCandidates(ours.search, kLayers);
    const std::int64_t prompts =
        kPositions * (candidates * kItems + std::int64_t{ours.finalists} * ours.selectItems + 2 * kHeldOut);
    const double tokens = static_cast<double>(prompts) * kTokens;
    // Scores and their sum over values: 2 · 2 FLOP for each channel and each of T/2 keys on average.
    const double perToken = 2.0 * kParameters + 2.0 * kTokens * kLayers * kWidth;
    const double flop = tokens * perToken;
    const auto hours = [&](double share) { return flop / (kGpus * kPeak * share) / 3600.0; };
    return {
        {"setting", fmt::format("7B on 4 H100, {} items × {} positions", kItems, kPositions)},
        {"published_hours", {3.0, 4.0}},
        {"hours", hours(kShare)},
        {"hours_low", hours(kHighShare)},
        {"hours_high", hours(kLowShare)},
        {"candidates", candidates},
        {"prompts", prompts},
        {"tokens", tokens},
        {"flop", flop},
        {"share_of_peak", kShare},
        {"assumptions",
         {fmt::format("{} candidates (population {}, {} generations), {} finalists on {} selection items, {} held-out "
                      "items",
                      candidates, ours.search.population, ours.search.maxGenerations, ours.finalists, ours.selectItems,
                      kHeldOut),
          fmt::format("{} tokens a prompt (ten documents), none shared between prompts", kTokens),
          fmt::format("2 × {:.2f}e9 parameters FLOP a token, and causal attention", kParameters / 1e9),
          fmt::format("{:.0f} % of the H100's {:.0f} TFLOP/s in bfloat16 ({:.0f} to {:.0f} % for the range); products "
                      "alone were measured at 80 % on an H200",
                      100 * kShare, kPeak / 1e12, 100 * kLowShare, 100 * kHighShare),
          "the four GPUs share every generation evenly; probes and the guardrail are left out"}}};
}

}  // namespace lpes::studies
