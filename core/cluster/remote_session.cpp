#include "core/cluster/remote_session.h"

#include <utility>

#include "core/cluster/session_messages.h"

namespace lpes::cluster {

using nlohmann::json;

namespace {

/// How long a peer may take to answer a stop: the user waits.
constexpr std::chrono::milliseconds kGlance{100};
constexpr int kGlancesAfterStop = 10;

}  // namespace

Result<json> RemoteSession::ask(json request, const model::PositionMethod& method, const std::stop_token& stop) {
    if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
    auto sent = methodToJson(method);
    if (!sent) return fail(sent.error());
    const std::uint64_t id = ++m_requests;
    request["id"] = id;
    request["method"] = std::move(*sent);
    if (auto done = m_channel.send(toMessage(request)); !done) return fail(done.error());
    const std::stop_callback forward(stop, [this, id] {
        (void)m_channel.send(toMessage({{"do", "stop"}, {"id", id}}));
    });
    for (int unanswered = 0; !m_channel.wait(kGlance);) {
        if (!stop.stop_requested() || ++unanswered < kGlancesAfterStop) continue;
        m_channel.close();  // the peer hangs: nothing that it still says could be told from a later answer
        return fail(ErrorCode::Failed, model::kStoppedMessage);
    }
    const auto message = m_channel.receive();
    if (!message) return fail(message.error());
    auto answer = objectOf(*message);
    if (!answer) return fail(answer.error());
    const auto error = readMessage([&] {
        if (answer->at("id").get<std::uint64_t>() != id) answer->at("an answer to this request");
        return answer->contains("error") ? std::optional(errorFromJson(answer->at("error"))) : std::nullopt;
    });
    if (!error) return fail(error.error());
    if (*error) return fail(**error);
    return answer;
}

Result<std::vector<model::AnswerScore>> RemoteSession::scoreAnswers(std::span<const model::ScoredPrompt> batch,
                                                                    const model::PositionMethod& method,
                                                                    std::stop_token stop,
                                                                    const model::ScoreOptions& options) {
    const auto answer =
        ask({{"do", "score"}, {"share", options.sharePrefixes}, {"batch", toJson(batch)}}, method, stop);
    if (!answer) return fail(answer.error());
    return readMessage([&] { return scoresFromJson(answer->at("scores")); });
}

Result<std::vector<model::GeneratedAnswer>> RemoteSession::generateAnswers(
    std::span<const std::vector<model::TokenId>> prompts, const model::PositionMethod& method,
    const model::GenerateOptions& options, std::stop_token stop) {
    const auto answer = ask({{"do", "generate"},
                             {"share", options.sharePrefixes},
                             {"most", options.mostNewTokens},
                             {"ends", options.endIds},
                             {"prompts", std::vector(prompts.begin(), prompts.end())}},
                            method, stop);
    if (!answer) return fail(answer.error());
    return readMessage([&] { return answersFromJson(answer->at("answers")); });
}

Result<std::vector<model::ScaleGradient>> RemoteSession::scaleGradients(std::span<const model::ScoredPrompt> batch,
                                                                        const model::PositionMethod& method,
                                                                        std::stop_token stop,
                                                                        const model::GradientOptions& options) {
    const auto answer =
        ask({{"do", "gradients"}, {"share", options.sharePrefixes}, {"batch", toJson(batch)}}, method, stop);
    if (!answer) return fail(answer.error());
    return readMessage([&] { return gradientsFromJson(answer->at("gradients")); });
}

}  // namespace lpes::cluster
