#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/studies/model_setup.h"
#include "core/studies/run_settings.h"

namespace lpes::studies {

struct BenchSettings {
    ComputeSettings compute;
    std::vector<std::string> methods{"baseline"};  ///< the first is what the others are compared with
    std::vector<int> lengths{512, 2048};           ///< prompt tokens
    int newTokens = 32;                            ///< decoded after each prompt
    double seconds = 3.0;                          ///< per method and length; at least three rounds whatever it says
    std::uint64_t seed = 1;                        ///< of the prompts' random ids and the intervals' resamples
    std::map<std::string, std::string> origins;
};
[[nodiscard]] nlohmann::json toJson(const BenchSettings& settings);

/// `bench`: prefill and decoding of every method at every length, in rounds in which the methods take turns, so that a
/// machine that slows down slows all of them: {"rows": […], "gemm_gflops", "threads", "settings"} (cli.md). Figures are
/// medians over rounds; "prefill_ratio" and "decode_ratio" are medians of the rounds' ratios to the first method that
/// was named, "ratio_to_lpes" of prefill and decoding together to the first of lpes:FILE and uniform:S (null without
/// one), as ratioJson has them, and null at a length that is too long for the one that they are to; "published_ratio"
/// is the LPES paper's for Ms-PoE (1.45) and MoICE (2.42), of inference relative to LPES, to be read beside
/// "ratio_to_lpes", null for others. "peak_bytes" is what the process needed beside the loaded weights while one prompt
/// was read and continued, "cache_bytes" the part of it that the keys and values take. Lengths beyond a method's
/// context are left out of its rows, and "skipped" says so. Nothing is stored. Usage for settings out of range.
[[nodiscard]] Result<nlohmann::json> runBench(const BenchSettings& settings, ProgressObserver& observer,
                                              std::stop_token stop);

}  // namespace lpes::studies
