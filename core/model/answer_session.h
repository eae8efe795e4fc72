#pragma once

#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/model/causal_lm.h"

namespace lpes::model {

/// What the evaluation of prompts and descents need of a session, which may run on another machine
/// (cluster/remote_session.h): the calls mean what ModelSession's of the same names do. thread-compatible: one owner at
/// a time.
class AnswerSession {
  public:
    virtual ~AnswerSession() = default;
    [[nodiscard]] virtual Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch,
                                                                        const PositionMethod& method,
                                                                        std::stop_token stop,
                                                                        const ScoreOptions& options) = 0;
    [[nodiscard]] virtual Result<std::vector<GeneratedAnswer>> generateAnswers(
        std::span<const std::vector<TokenId>> prompts, const PositionMethod& method, const GenerateOptions& options,
        std::stop_token stop) = 0;
    [[nodiscard]] virtual Result<std::vector<ScaleGradient>> scaleGradients(std::span<const ScoredPrompt> batch,
                                                                            const PositionMethod& method,
                                                                            std::stop_token stop,
                                                                            const GradientOptions& options) = 0;
};

/// A session of this machine, which outlives it.
class LocalSession final : public AnswerSession {
  public:
    explicit LocalSession(ModelSession& session) : m_session(session) {}
    [[nodiscard]] Result<std::vector<AnswerScore>> scoreAnswers(std::span<const ScoredPrompt> batch,
                                                                const PositionMethod& method, std::stop_token stop,
                                                                const ScoreOptions& options) override {
        return m_session.scoreAnswers(batch, method, std::move(stop), options);
    }
    [[nodiscard]] Result<std::vector<GeneratedAnswer>> generateAnswers(std::span<const std::vector<TokenId>> prompts,
                                                                       const PositionMethod& method,
                                                                       const GenerateOptions& options,
                                                                       std::stop_token stop) override {
        return m_session.generateAnswers(prompts, method, options, std::move(stop));
    }
    [[nodiscard]] Result<std::vector<ScaleGradient>> scaleGradients(std::span<const ScoredPrompt> batch,
                                                                    const PositionMethod& method, std::stop_token stop,
                                                                    const GradientOptions& options) override {
        return m_session.scaleGradients(batch, method, std::move(stop), options);
    }

  private:
    ModelSession& m_session;
};

}  // namespace lpes::model
