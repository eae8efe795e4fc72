#include "core/studies/method_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/clock.h"
#include "core/base/random.h"
#include "core/base/thread_priority.h"
#include "core/model/torch/torch_runtime.h"
#include "core/studies/json_rows.h"
#include "core/studies/method_timing.h"
#include "core/studies/resuming.h"

namespace lpes::studies {

namespace {

using nlohmann::json;
using text::TokenId;

constexpr int kFewestRounds = 3;
constexpr int kMostNewTokens = 4096;

struct Contender {
    std::string text;
    bool lpes = false;
    rope::PositionMethod method;
    std::vector<double> prefill, decode;  ///< seconds of each round at the present length
    std::optional<std::int64_t> peakBytes;
};

Result<void> checkSettings(const BenchSettings& settings) {
    if (settings.methods.empty())
        return fail(ErrorCode::Usage, "--methods is empty; name at least one, as in baseline");
    if (settings.lengths.empty()) return fail(ErrorCode::Usage, "--lengths is empty; write for example 512,2048");
    for (const int length : settings.lengths) {
        if (length < 2) {
            return fail(ErrorCode::Usage,
                        fmt::format("{} in --lengths is too short; a prompt has at least 2 tokens", length));
        }
    }
    if (settings.newTokens < 1 || settings.newTokens > kMostNewTokens) {
        return fail(ErrorCode::Usage,
                    fmt::format("--new-tokens {} is outside 1 to {}", settings.newTokens, kMostNewTokens));
    }
    if (!(settings.seconds > 0.0))
        return fail(ErrorCode::Usage, fmt::format("--seconds {} is not above 0", settings.seconds));
    if (settings.compute.workers != 1)
        return fail(ErrorCode::Usage, "a bench runs with one worker; use --threads-per-worker");
    return {};
}

std::vector<TokenId> randomIds(std::uint64_t seed, int count, int vocabulary) {
    RandomStream random(seed, kStreamSampling, static_cast<std::uint32_t>(count));
    std::vector<TokenId> ids;
    for (int i = 0; i < count; ++i)
        ids.push_back(static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary))));
    return ids;
}

struct Timed {
    double prefill = 0.0, decode = 0.0;
};

/// Reads the prompt and decodes greedily behind it, with the cache, as generation does.
Result<Timed> readAndDecode(model::ModelSession& session, const rope::PositionMethod& method,
                            const std::vector<TokenId>& prompt, int newTokens, std::stop_token stop) {
    session.resetSequence();
    if (auto set = session.setMethod(method); !set) return fail(set.error());
    Timed timed;
    double start = steadySeconds();
    auto logits = session.advance(prompt, stop);
    if (!logits) return fail(logits.error());
    timed.prefill = steadySeconds() - start;
    start = steadySeconds();
    for (int i = 0; i < newTokens; ++i) {
        const TokenId next[] = {
            static_cast<TokenId>(std::max_element(logits->begin(), logits->end()) - logits->begin())};
        logits = session.advance(next, stop);
        if (!logits) return fail(logits.error());
    }
    timed.decode = steadySeconds() - start;
    session.resetSequence();
    return timed;
}

/// How much slower than LPES the LPES paper reports a rival to be; its figures, to stand beside ours.
std::optional<double> publishedRatio(const rope::PositionMethod& method) {
    if (method.msPoe) return 1.45;
    if (method.moice) return 2.42;
    return std::nullopt;
}

/// Is it LPES and nothing else?
bool isLpes(const rope::MethodSpec& spec) {
    const rope::MethodPart::Kind kind = spec.parts.front().kind;
    return spec.parts.size() == 1 && (kind == rope::MethodPart::Kind::Lpes || kind == rope::MethodPart::Kind::Uniform);
}

/// Prefill and decoding together, round by round.
std::vector<double> wholeSeconds(const Contender& one) {
    std::vector<double> seconds(one.prefill);
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += one.decode[i];
    return seconds;
}

/// All rounds of one length; methods that it is too long for are not in `contenders`.
Result<void> measureLength(const LoadedModel& loaded, int threads, std::vector<Contender*>& contenders,
                           const std::vector<TokenId>& prompt, const BenchSettings& settings, std::stop_token stop) {
    const auto pass = [&](const Contender& one) -> Result<void> {
        const auto session = loaded.lm->newSession(threads);
        auto timed = readAndDecode(*session, one.method, prompt, 1, stop);
        if (!timed) return fail(timed.error());
        return {};
    };
    // What the process needs once, whatever the method, is taken ahead. Then each method alone, which also warms it up;
    // a session of its own gives its memory back.
    if (contenders.empty()) return {};
    if (auto ahead = pass(*contenders.front()); !ahead) return ahead;
    for (Contender* one : contenders) {
        const auto peak = peakOf([&] { return pass(*one); });
        if (!peak) return fail(peak.error());
        one->peakBytes = peak->bytes;
    }
    const auto session = loaded.lm->newSession(threads);
    const double budget = settings.seconds * static_cast<double>(contenders.size());
    const double start = steadySeconds();
    for (std::size_t round = 0; round < kFewestRounds || steadySeconds() - start < budget; ++round) {
        // The first of a round changes, so that none always follows the same one.
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            Contender& one = *contenders[(round + i) % contenders.size()];
            auto timed = readAndDecode(*session, one.method, prompt, settings.newTokens, stop);
            if (!timed) return fail(timed.error());
            one.prefill.push_back(timed->prefill);
            one.decode.push_back(timed->decode);
        }
    }
    return {};
}

/// The first LPES, which the published ratios are relative to; null without one.
const Contender* lpesOf(const std::vector<Contender>& contenders) {
    const auto found = std::ranges::find_if(contenders, [](const Contender& one) { return one.lpes; });
    return found == contenders.end() ? nullptr : &*found;
}

/// `contenders`: all of them, in the order in which they were named. Those that the length is too long for have no
/// seconds, so that no ratio is to another method than at the other lengths.
json rowOf(const Contender& one, const std::vector<Contender>& contenders, const MethodHashes& hashes, int length,
           const BenchSettings& settings, const model::CausalLm& lm) {
    const Contender& first = contenders.front();
    const Contender* lpes = lpesOf(contenders);
    const auto ratioToLpes = lpes ? ratioOf(wholeSeconds(one), wholeSeconds(*lpes), settings.seed) : std::nullopt;
    const double prefill = median(one.prefill), decode = median(one.decode);
    const rope::MethodCost cost = rope::methodCost(one.method);
    const std::int64_t cache =
        model::estimateKvCacheBytes(lm.config(), lm.computeType(), length + settings.newTokens, cost);
    return {{"method", one.text},
            {"method_hash", hashJson(hashes, one.text)},
            {"length", length},
            {"dtype", model::computeTypeName(lm.computeType())},
            {"rounds", one.prefill.size()},
            {"prefill_seconds", prefill},
            {"prefill_tokens_per_second", length / prefill},
            {"decode_tokens_per_second", settings.newTokens / decode},
            {"prefill_ratio", ratioJson(ratioOf(one.prefill, first.prefill, settings.seed))},
            {"decode_ratio", ratioJson(ratioOf(one.decode, first.decode, settings.seed))},
            {"ratio_to_lpes", ratioJson(ratioToLpes)},
            {"published_ratio", optionalJson(publishedRatio(one.method))},
            {"peak_bytes", one.peakBytes ? json(*one.peakBytes) : json(nullptr)},
            {"cache_bytes", cache},
            {"passes", cost.passes},
            {"attentions_per_layer", cost.attentionsPerLayer}};
}

}  // namespace

Result<json> runBench(const BenchSettings& settings, ProgressObserver& observer, std::stop_token stop) {
    if (auto fine = checkSettings(settings); !fine) return fail(fine.error());
    std::vector<rope::MethodSpec> specs;
    for (const std::string& method : settings.methods) {
        auto spec = rope::parseMethod(method);
        if (!spec) return fail(spec.error());
        specs.push_back(std::move(*spec));
    }
    auto threads = resolveThreads(1, settings.compute.threadsPerWorker);
    if (!threads) return fail(threads.error());
    lowerThreadPriority();
    const ComputeSettings& compute = settings.compute;
    auto loaded = loadModel({compute.model, compute.dtype, compute.device, false}, observer, stop);
    if (!loaded) return fail(loaded.error());
    const model::ModelConfig& config = loaded->config();
    std::vector<Contender> contenders;
    MethodHashes hashes;
    for (const rope::MethodSpec& spec : specs) {
        auto method = methodFor(spec, *loaded->opened.weights, observer);
        if (!method) return fail(method.error());
        noteMethodHash(hashes, spec, *method);
        contenders.push_back({spec.text, isLpes(spec), std::move(*method), {}, {}, {}});
    }

    json rows = json::array(), skipped = json::array();
    std::int64_t done = 0;
    const auto total = static_cast<std::int64_t>(settings.lengths.size());
    for (const int length : settings.lengths) {
        observer.progressed({fmt::format("{} tokens", length), done, total, 0.0, -1.0});
        std::vector<Contender*> taking;
        for (Contender& one : contenders) {
            one.prefill.clear();
            one.decode.clear();
            const int context = rope::contextLength(one.method, model::methodModel(config));
            if (length + settings.newTokens > context) {
                skipped.push_back({{"method", one.text}, {"length", length}, {"context", context}});
            } else {
                taking.push_back(&one);
            }
        }
        if (taking.empty()) continue;
        const auto prompt = randomIds(settings.seed, length, config.vocabSize);
        if (auto measured = measureLength(*loaded, *threads, taking, prompt, settings, stop); !measured)
            return fail(measured.error());
        for (const Contender* one : taking)
            rows.push_back(rowOf(*one, contenders, hashes, length, settings, *loaded->lm));
        observer.progressed({fmt::format("{} tokens", length), ++done, total, 0.0, -1.0});
    }
    if (rows.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("every length is beyond the context of {} tokens together with {} new ones; choose "
                                "shorter --lengths",
                                config.contextLength, settings.newTokens));
    }
    json gemm = nullptr;
    if (loaded->lm->device() == "cpu") {
        const int tokens = *std::max_element(settings.lengths.begin(), settings.lengths.end());
        auto rate =
            model::measureProductRate(config, loaded->lm->computeType(), std::min(tokens, 4096), *threads, 1.0, stop);
        if (!rate) return fail(rate.error());
        gemm = *rate;
    }
    return json{{"rows", std::move(rows)},
                {"skipped", std::move(skipped)},
                {"gemm_gflops", gemm},
                {"threads", *threads},
                {"device", loaded->lm->device()},
                {"device_description", model::deviceDescription(loaded->lm->device())},
                {"settings", toJson(settings)}};
}

}  // namespace lpes::studies
