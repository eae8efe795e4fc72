#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/studies/task_setup.h"
#include "core/tasks/prompt.h"
#include "core/text/tokenizer.h"

namespace lpes::studies {

/// A prompt in tokens, with where its parts stand.
struct TokenizedPrompt {
    std::vector<text::TokenId> prompt;
    std::vector<text::TokenId> answer;
    std::vector<std::vector<text::TokenId>> choices;  ///< multiple choice: the continuations to choose from
    int goldIndex = 0;
    std::vector<std::pair<int, int>> records;   ///< token spans [begin, end) of the records, in prompt order
    std::vector<std::pair<int, int>> evidence;  ///< what the answer stands in
    std::pair<int, int> instruction, question;  ///< token spans
    std::vector<std::string> references;        ///< what a generated answer is held against
    tasks::ScoringRule rule;
    int room = 0;      ///< tokens behind the prompt that the context has to hold: the longest continuation that is
                       ///< scored, and what may be generated
    std::string note;  ///< what the benchmark's own rule left out; or empty

    /// First token of the evidence; 0 where the prompt marks none.
    [[nodiscard]] int goldToken() const { return evidence.empty() ? 0 : evidence.front().first; }
    /// Tokens that the model's context has to hold.
    [[nodiscard]] std::size_t tokens() const { return prompt.size() + static_cast<std::size_t>(room); }
    /// Tokens of the prompt and its longest continuation that is scored.
    [[nodiscard]] std::size_t scored() const;
};

/// The exact text that a model is given, with the same spans in bytes of it.
struct PromptText {
    std::string text;
    std::optional<text::ChatPrompt> chat;  ///< the same text with what the preset wrote; none without a preset
    tasks::TaskPrompt prompt;              ///< its spans are those of `text`
    std::string answer;                    ///< the continuation that is scored, as it follows this text
    std::vector<std::string> choices;
};

/// Makes the prompts of a task for one tokenizer and one context length. Prompt and answer are tokenized apart. A
/// record's span is the tokens that begin inside it. Special tokens are those of the chat preset and, with --bos model,
/// the beginning-of-sequence token; none otherwise, as the benchmarks have it (methods.md §3.1).
/// Copies share the items; the tokenizer outlives it. thread-safe.
class PromptMaker {
  public:
    /// `generates`: answers are generated, so that the context has to hold as many tokens as the rule allows them too.
    PromptMaker(PreparedTask task, const text::Tokenizer& tokenizer, int contextLength, bool generates = false)
        : m_task(std::move(task)), m_tokenizer(&tokenizer), m_contextLength(contextLength), m_generates(generates) {}

    [[nodiscard]] const PreparedTask& task() const { return m_task; }
    [[nodiscard]] int contextLength() const { return m_contextLength; }
    [[nodiscard]] Result<PromptText> text(std::int64_t item, int position) const;
    [[nodiscard]] Result<TokenizedPrompt> tokens(std::int64_t item, int position) const;
    /// The tokens of a text that text() gave.
    [[nodiscard]] Result<TokenizedPrompt> tokens(const PromptText& text) const;
    /// Ids of a text that text() gave, with where each begins.
    [[nodiscard]] Result<text::Encoding> encode(const PromptText& text) const;

  private:
    [[nodiscard]] Result<PromptText> around(tasks::TaskPrompt prompt) const;

    PreparedTask m_task;
    const text::Tokenizer* m_tokenizer;
    int m_contextLength;
    bool m_generates;
};

}  // namespace lpes::studies
