#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/clock.h"
#include "core/base/random.h"
#include "core/studies/inspect.h"
#include "core/studies/run_session.h"
#include "core/text/chat_preset.h"

namespace lpes::studies {

namespace {

using nlohmann::json;
using text::TokenId;

/// A model with a session on it and a method for it.
struct RunningModel {
    LoadedModel loaded;
    rope::PositionMethod method;
    std::unique_ptr<model::ModelSession> session;
};

Result<RunningModel> startModel(const ModelOptions& options, std::optional<int> threads, const std::string& method,
                                ProgressObserver& observer, std::stop_token stop) {
    auto spec = rope::parseMethod(method);
    if (!spec) return fail(spec.error());
    auto threadCount = resolveThreads(1, threads);
    if (!threadCount) return fail(threadCount.error());
    auto loaded = loadModel(options, observer, stop);
    if (!loaded) return fail(loaded.error());
    RunningModel running{std::move(*loaded), {}, nullptr};
    auto resolved = methodFor(*spec, *running.loaded.opened.weights, observer);
    if (!resolved) return fail(resolved.error());
    running.method = std::move(*resolved);
    running.session = running.loaded.lm->newSession(*threadCount);
    return running;
}

void warnAboutLostBytes(const text::Encoding& encoding, ProgressObserver& observer) {
    if (encoding.withoutToken.empty()) return;
    observer.warned(
        fmt::format("{} bytes of the text have no token in this vocabulary and are left out (the first at "
                    "byte {})",
                    encoding.withoutToken.size(), encoding.withoutToken.front()));
}

/// A prompt's ids and what ends the text behind it.
struct PromptIds {
    std::vector<TokenId> ids, ends;
};

Result<PromptIds> encodePrompt(const text::Tokenizer& tokenizer, const GenerateSettings& settings,
                               ProgressObserver& observer) {
    PromptIds prompt{{}, tokenizer.endIds()};
    Result<text::Encoding> encoding;
    if (settings.chat.empty()) {
        encoding = tokenizer.encode(settings.prompt, {false, true});
    } else {
        const auto preset = text::findChatPreset(settings.chat);
        if (!preset) return fail(preset.error());
        const std::vector<text::ChatTurn> turns{{text::ChatRole::User, settings.prompt}};
        const auto rendered = text::renderChat(**preset, turns);
        if (!rendered) return fail(rendered.error());
        encoding = text::encodeChat(tokenizer, *rendered);
        const auto end = text::specialTokenId(tokenizer, rendered->endToken);
        if (!end) return fail(end.error());
        if (*end >= 0) prompt.ends.push_back(*end);
    }
    if (!encoding) return fail(encoding.error());
    warnAboutLostBytes(*encoding, observer);
    if (encoding->ids.empty()) {
        return fail(ErrorCode::Usage, "the prompt has no tokens; give some text with --prompt or --file");
    }
    prompt.ids = std::move(encoding->ids);
    return prompt;
}

/// The highest logit; a tie goes to the lower id.
TokenId greedyToken(const std::vector<float>& logits) {
    return static_cast<TokenId>(std::distance(logits.begin(), std::max_element(logits.begin(), logits.end())));
}

/// Draws from softmax(logits / temperature) by inversion, in double.
TokenId sampledToken(const std::vector<float>& logits, double temperature, RandomStream& random) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    std::vector<double> weights(logits.size());
    std::transform(logits.begin(), logits.end(), weights.begin(),
                   [&](float logit) { return std::exp((static_cast<double>(logit) - highest) / temperature); });
    const double target = random.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
    double sum = 0.0;
    for (std::size_t id = 0; id < weights.size(); ++id) {
        sum += weights[id];
        if (target < sum) return static_cast<TokenId>(id);
    }
    return greedyToken(logits);  // rounding in the last term of the sum
}

Result<void> checkGenerateSettings(const GenerateSettings& settings) {
    if (settings.ids && (!settings.prompt.empty() || !settings.chat.empty())) {
        return fail(ErrorCode::Usage, "--ids are taken as they are; give them without a prompt and without --chat");
    }
    if (!settings.chat.empty()) {
        if (const auto preset = text::findChatPreset(settings.chat); !preset) return fail(preset.error());
    }
    if (settings.maxNewTokens < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("--max-new-tokens {} is too small; give at least 1", settings.maxNewTokens));
    }
    if (!std::isfinite(settings.temperature) || settings.temperature < 0.0) {
        return fail(ErrorCode::Usage,
                    fmt::format("--temperature {} is out of range; give 0 (greedy) or a positive number",
                                settings.temperature));
    }
    return {};
}

}  // namespace

Result<json> scoreText(const ScoreTextSettings& settings, ProgressObserver& observer, std::stop_token stop) {
    if (settings.text.has_value() == settings.ids.has_value()) {
        return fail(ErrorCode::Usage, "give either a text (--text, --file) or token ids (--ids)");
    }
    if (settings.top < 0) return fail(ErrorCode::Usage, fmt::format("--top {} is below 0", settings.top));
    ModelOptions options = settings.model;
    options.withTokenizer = settings.text.has_value();
    auto running = startModel(options, settings.threads, settings.method, observer, stop);
    if (!running) return fail(running.error());

    std::vector<TokenId> ids;
    if (settings.ids) {
        ids = *settings.ids;
    } else {
        auto encoding = running->loaded.tokenizer().encode(*settings.text, {false, true});
        if (!encoding) return fail(encoding.error());
        warnAboutLostBytes(*encoding, observer);
        ids = std::move(encoding->ids);
    }
    if (ids.size() < 2) {
        return fail(ErrorCode::Usage,
                    fmt::format("a score needs at least 2 tokens and the text has {}; give a longer text", ids.size()));
    }

    const int probed = std::min(static_cast<int>(ids.size()), contextLength(running->method, running->loaded.config()));
    if (auto applied = requireApplied(*running->session, running->method, probed); !applied)
        return fail(applied.error());

    const double start = steadySeconds();
    auto score = running->session->scoreText(ids, running->method, settings.top, stop);
    if (!score) return fail(score.error());
    const double seconds = steadySeconds() - start;

    const text::Tokenizer* tokenizer = running->loaded.opened.tokenizer.get();
    const auto piece = [&](TokenId id) { return tokenizer ? json(tokenizer->piece(id)) : json(nullptr); };
    json pieces = nullptr;
    if (tokenizer != nullptr) {
        pieces = json::array();
        for (const TokenId id : ids) pieces.push_back(tokenizer->piece(id));
    }
    json top = json::array();
    for (const model::TopToken& token : score->topAtEnd) {
        top.push_back({{"id", token.id}, {"piece", piece(token.id)}, {"logprob", token.logProb}});
    }
    const double sum = std::accumulate(score->logProbs.begin(), score->logProbs.end(), 0.0);
    return json{{"ids", ids},
                {"pieces", std::move(pieces)},
                {"logprobs", score->logProbs},
                {"argmax", score->argmax},
                {"perplexity", std::exp(-sum / static_cast<double>(score->logProbs.size()))},
                {"top", std::move(top)},
                {"method", settings.method},
                {"applied", "verified"},
                {"dtype", model::computeTypeName(running->loaded.lm->computeType())},
                {"seconds", seconds}};
}

Result<json> generateText(const GenerateSettings& settings, ProgressObserver& observer, std::stop_token stop) {
    if (auto valid = checkGenerateSettings(settings); !valid) return fail(valid.error());
    ModelOptions options = settings.model;
    options.withTokenizer = !settings.ids;
    auto running = startModel(options, settings.threads, settings.method, observer, stop);
    if (!running) return fail(running.error());
    const text::Tokenizer* tokenizer = running->loaded.opened.tokenizer.get();
    auto prompt =
        settings.ids ? Result<PromptIds>(PromptIds{*settings.ids, {}}) : encodePrompt(*tokenizer, settings, observer);
    if (!prompt) return fail(prompt.error());
    const auto context = static_cast<std::size_t>(contextLength(running->method, running->loaded.config()));
    if (prompt->ids.size() + static_cast<std::size_t>(settings.maxNewTokens) > context) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the prompt's {} tokens and --max-new-tokens {} exceed the context of {} tokens; "
                                "shorten the prompt or ask for fewer tokens",
                                prompt->ids.size(), settings.maxNewTokens, context));
    }
    const int longest = static_cast<int>(prompt->ids.size()) + settings.maxNewTokens;
    if (auto applied = requireApplied(*running->session, running->method, longest); !applied)
        return fail(applied.error());
    if (auto set = running->session->setMethod(running->method); !set) return fail(set.error());

    double start = steadySeconds();
    auto logits = running->session->advance(prompt->ids, stop);
    if (!logits) return fail(logits.error());
    const double prefill = steadySeconds() - start;

    start = steadySeconds();
    RandomStream random(settings.seed, kStreamSampling);
    const std::vector<TokenId>& ends = prompt->ends;
    std::vector<TokenId> ids;
    bool stopped = false;
    for (;;) {
        const TokenId next =
            settings.temperature > 0.0 ? sampledToken(*logits, settings.temperature, random) : greedyToken(*logits);
        if (std::find(ends.begin(), ends.end(), next) != ends.end()) break;
        ids.push_back(next);
        const auto made = static_cast<std::int64_t>(ids.size());
        if (made == settings.maxNewTokens) break;
        observer.progressed({"tokens", made, settings.maxNewTokens,
                             static_cast<double>(made) / std::max(1e-9, steadySeconds() - start), -1.0});
        logits = running->session->advance(std::span(&ids.back(), 1), stop);
        if (!logits && model::wasStopped(logits.error())) {
            stopped = true;  // what was written so far is worth having
            break;
        }
        if (!logits) return fail(logits.error());
    }
    const double decode = steadySeconds() - start;
    json text = nullptr;
    std::int64_t unknownTokens = 0;
    if (tokenizer != nullptr) {
        auto decoded = tokenizer->decodeKnown(ids);
        if (!decoded) return fail(decoded.error());
        text = std::move(decoded->text);
        unknownTokens = decoded->unknownTokens;
    }
    if (unknownTokens > 0) {
        observer.warned(
            fmt::format("{} of the {} generated tokens are outside the tokenizer's vocabulary of {}; the "
                        "text is without them",
                        unknownTokens, ids.size(), tokenizer->vocabularySize()));
    }
    return json{{"text", std::move(text)},
                {"ids", ids},
                {"prompt_tokens", prompt->ids.size()},
                {"new_tokens", ids.size()},
                {"unknown_tokens", unknownTokens},
                {"prefill_seconds", prefill},
                {"decode_seconds", decode},
                {"stopped_early", stopped},
                {"method", settings.method},
                {"applied", "verified"},
                {"dtype", model::computeTypeName(running->loaded.lm->computeType())}};
}

}  // namespace lpes::studies
