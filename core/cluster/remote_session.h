#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/cluster/channel.h"
#include "core/model/answer_session.h"

namespace lpes::cluster {

/// A session on another machine, asked over a channel that serveSession answers at the other end. The same prompts give
/// the same bits as on this machine, where both have the same model, processor and program. thread-compatible.
///
/// Besides the session's own errors: isLostPeer, after which every call fails; Unsupported for methods that are more
/// than scales (methodToJson). A peer that does not answer a stop within a second is given up, and the channel closed.
class RemoteSession final : public model::AnswerSession {
  public:
    /// `channel` outlives the session.
    explicit RemoteSession(Channel& channel) : m_channel(channel) {}

    [[nodiscard]] Result<std::vector<model::AnswerScore>> scoreAnswers(std::span<const model::ScoredPrompt> batch,
                                                                       const model::PositionMethod& method,
                                                                       std::stop_token stop,
                                                                       const model::ScoreOptions& options) override;
    [[nodiscard]] Result<std::vector<model::GeneratedAnswer>> generateAnswers(
        std::span<const std::vector<model::TokenId>> prompts, const model::PositionMethod& method,
        const model::GenerateOptions& options, std::stop_token stop) override;
    [[nodiscard]] Result<std::vector<model::ScaleGradient>> scaleGradients(
        std::span<const model::ScoredPrompt> batch, const model::PositionMethod& method, std::stop_token stop,
        const model::GradientOptions& options) override;

  private:
    /// Sends the request and waits for its answer; passes a stop on meanwhile.
    [[nodiscard]] Result<nlohmann::json> ask(nlohmann::json request, const model::PositionMethod& method,
                                             const std::stop_token& stop);

    Channel& m_channel;
    std::uint64_t m_requests = 0;
};

/// Answers a RemoteSession's requests with `session` until the channel is closed from either end or the peer is gone,
/// which is no error; what is computed then is stopped. isLostPeer for a message that cannot be understood. Blocks; a
/// second thread waits for stops meanwhile.
[[nodiscard]] Result<void> serveSession(Channel& channel, model::AnswerSession& session);

}  // namespace lpes::cluster
