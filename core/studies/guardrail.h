#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/causal_lm.h"
#include "core/studies/item_evaluator.h"
#include "core/text/tokenizer.h"

/// What a method costs where nothing is far away: short-context perplexity and exams beside every long-context gain.
namespace lpes::studies {

struct GuardrailSettings {
    int items = 100;                         ///< short questions, and questions of each exam, at most; 0: no guardrail
    std::optional<std::string> mmlu, ceval;  ///< official data of exams that are asked too, with five examples
};

/// One method on the guardrail's texts and questions.
struct GuardrailSide {
    struct Exam {
        std::string name;
        std::vector<bool> right;        ///< [questions]
        std::vector<double> answerNll;  ///< [questions] of the right choice, nats
    };
    double logLikelihood = 0.0;  ///< of all scored tokens of the texts, nats
    std::int64_t tokens = 0;     ///< scored ones
    std::vector<Exam> exams;

    [[nodiscard]] double perplexity() const;
};

enum class Light { Green, Amber, Red };
[[nodiscard]] std::string lightName(Light light);  ///< "green", …

/// The texts and questions, tokenized once. Every text stands alone in a window of its own, without special tokens; its
/// first token is not scored. Questions that do not fit into the context are left out and counted.
class Guardrail {
  public:
    /// BadInput for exam data that cannot be read; kStoppedMessage when stopped.
    [[nodiscard]] static Result<Guardrail> make(const GuardrailSettings& settings, const text::Tokenizer& tokenizer,
                                                int contextLength, std::stop_token stop = {});
    /// Nothing is asked: it is switched off, or nothing fits into the context.
    [[nodiscard]] bool empty() const { return m_texts.empty(); }
    /// The texts that perplexity is measured on.
    [[nodiscard]] const std::vector<std::vector<text::TokenId>>& texts() const { return m_texts; }
    [[nodiscard]] std::int64_t prompts() const;  ///< texts and questions of one side
    [[nodiscard]] std::int64_t tokens() const;   ///< in them; of a question with its longest choice
    /// `observer` is told of every text and question. Answers a stop with kStoppedMessage.
    [[nodiscard]] Result<GuardrailSide> measure(model::ModelSession& session, const rope::PositionMethod& method,
                                                ChunkObserver& observer, std::stop_token stop) const;

    /// {"light", "reason", "perplexity": {"baseline", "method", "ratio", "texts", "tokens", "window", "bos"}, "exams":
    /// [{"name", "n", "baseline", "method", "difference", "p_value"}…], "left_out"}. Our defaults: red where perplexity
    /// rises by more than 5 % or an exam falls with p < 0.05 (exact McNemar); amber above 1 %, or where an exam falls
    /// by more than two points that chance could explain; green otherwise. Fewer than 10 questions have no p value
    /// (null) and give no red.
    [[nodiscard]] nlohmann::json judge(const GuardrailSide& baseline, const GuardrailSide& method) const;

  private:
    struct Exam {
        std::string name;
        std::vector<TokenizedPrompt> questions;
    };
    std::vector<std::vector<text::TokenId>> m_texts;
    std::vector<Exam> m_exams;
    std::int64_t m_leftOut = 0;
};

}  // namespace lpes::studies
