#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/causal_lm.h"
#include "core/studies/guardrail_rules.h"
#include "core/studies/item_evaluator.h"
#include "core/text/tokenizer.h"

/// What a method costs where nothing is far away: short-context perplexity and exams beside every long-context gain.
namespace lpes::studies {

struct GuardrailSettings {
    int items = 100;                         ///< short questions, and questions of each exam, at most; 0: no guardrail
    std::optional<std::string> mmlu, ceval;  ///< official data of exams that are asked too, with five examples
};

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
    /// "mmlu", "ceval": of each exam that is asked from data, the hash of its questions, examples and template.
    [[nodiscard]] const std::map<std::string, std::string>& dataHashes() const { return m_dataHashes; }
    [[nodiscard]] std::int64_t prompts() const;  ///< texts and questions of one side
    [[nodiscard]] std::int64_t tokens() const;   ///< in them; of a question with its longest choice
    /// `observer` is told of every text and question. Answers a stop with kStoppedMessage.
    [[nodiscard]] Result<GuardrailSide> measure(model::ModelSession& session, const rope::PositionMethod& method,
                                                ChunkObserver& observer, std::stop_token stop) const;

    /// The light with its reason and figures (guardrail_rules.h), and "left_out": texts and questions that do not fit
    /// into the context.
    [[nodiscard]] nlohmann::json judge(const GuardrailSide& baseline, const GuardrailSide& method) const;

  private:
    struct Exam {
        std::string name;
        std::vector<TokenizedPrompt> questions;
    };
    std::vector<std::vector<text::TokenId>> m_texts;
    std::vector<Exam> m_exams;
    std::map<std::string, std::string> m_dataHashes;
    std::int64_t m_leftOut = 0;
};

}  // namespace lpes::studies
