#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/studies/prompt_maker.h"
#include "core/studies/task_setup.h"

namespace lpes::studies {

/// An item's exact prompt, with what stands where.
struct ShownPrompt {
    std::string item, position;
    PromptText text;                 ///< what the model is given; its spans are in bytes
    TokenizedPrompt tokens;          ///< the same in tokens
    tasks::BenchmarkInfo benchmark;  ///< template and hashes
    bool fits = true;                ///< prompt, and answer or what may be generated, fit into the model's context
    int contextLength = 0;
};

/// Makes the prompts that a run with this score asks (scoreFor): where answers are generated, their room is kept. Usage
/// for a score that the task does not have.
[[nodiscard]] Result<PromptMaker> promptMakerFor(PreparedTask task, const text::Tokenizer& tokenizer, int contextLength,
                                                 const std::optional<std::string>& score);

/// `item`: an id, or a number from 0 in the data's order. `position`: one of the task's, the first when unset. Usage
/// when there is none of that name.
[[nodiscard]] Result<ShownPrompt> showPrompt(const PromptMaker& maker, const std::string& item,
                                             const std::optional<std::string>& position);
/// The same, of a model that is only opened: its weights are not read.
/// `score`: as promptMakerFor has it; the room for a generated answer moves where official truncation cuts.
[[nodiscard]] Result<ShownPrompt> showPrompt(const std::string& model, const TaskSpec& task, const std::string& item,
                                             const std::optional<std::string>& position,
                                             const std::optional<std::string>& score = std::nullopt);

/// {"task", "data", "item", "position", "gold_index", "text", "answer", "choices", "references", "rule",
/// "max_new_tokens", "evidence":[[begin, end]…] in bytes, "evidence_tokens":[[begin, end]…], "prompt_tokens",
/// "answer_tokens", "room" for the answer, "fits", "context", "note", "template", "template_hash"}.
[[nodiscard]] nlohmann::json toJson(const ShownPrompt& shown);

}  // namespace lpes::studies
