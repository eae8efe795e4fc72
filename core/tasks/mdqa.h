#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/tasks/benchmark.h"
#include "core/tasks/prompt.h"

/// Multi-document question answering in the format of nelson-liu/lost-in-the-middle (methods.md §3.1).
namespace lpes::tasks {

struct MdqaDocument {
    std::string title, text;
};

/// A question with its gold document taken out of the others.
struct MdqaItem {
    std::string id;  ///< "<data set's name>/<index>"
    std::string question;
    std::vector<std::string> answers;
    MdqaDocument gold;
    std::vector<MdqaDocument> distractors;  ///< in retrieval order
};

/// An item as bytes: what its data set's hash is made of, and what a spool keeps.
[[nodiscard]] std::string packItem(const MdqaItem& item);
[[nodiscard]] MdqaItem unpackMdqaItem(std::string_view bytes);

/// Benchmark::contentHash of both MDQA tasks: question, answers and gold document.
[[nodiscard]] std::string contentHash(const MdqaItem& item);

/// Reads the official file (.jsonl or .jsonl.gz) line by line and hands the items on in its order; memory holds one of
/// them. With `docs`, the gold document and the first docs−1 others are kept; Usage for more than the file has. Fields
/// that are read: question, answers, ctxs[] with title, text, isgold; exactly one of ctxs is gold. BadInput with file,
/// line and field for anything else, and for lines with unequal numbers of documents; kStoppedMessage when stopped.
[[nodiscard]] Result<void> readMdqaItems(const std::filesystem::path& path, std::optional<int> docs,
                                         std::optional<std::int64_t> limit,
                                         const std::function<Result<void>(MdqaItem&& item)>& take,
                                         std::stop_token stop = {});

/// The official prompt (prompts/qa.prompt) with the gold document put back at goldIndex, 0 ≤ goldIndex ≤ distractors.
/// Documents are numbered from 1 in prompt order. Answer: a space and the first of the answers.
[[nodiscard]] TaskPrompt renderMdqaPrompt(const MdqaItem& item, int goldIndex);

/// What both MDQA tasks have in common: template, its hash, movable unless there is one document, scored as the
/// benchmark does (generate).
[[nodiscard]] BenchmarkInfo mdqaInfo(const std::string& task, int docs);

}  // namespace lpes::tasks
