#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/studies/task_setup.h"
#include "tests/support/tiny_model.h"

/// Items of several kinds that fit tiny models.
namespace lpes::test {

inline std::string jsonLines(const std::vector<nlohmann::json>& records) {
    std::string text;
    for (const nlohmann::json& record : records) text += record.dump() + "\n";
    return text;
}

/// A user's own items.
inline studies::TaskSpec ownTask(const std::filesystem::path& file, const std::vector<nlohmann::json>& records) {
    writeBytes(file, jsonLines(records));
    studies::TaskSpec spec;
    spec.task = "jsonl";
    spec.data = file.string();
    return spec;
}

/// An item whose evidence can stand at three places.
inline nlohmann::json bakery(const std::string& answer = "at seven") {
    return {{"documents", {"The ferry leaves at six.", "The bakery opens at seven.", "The mill is shut."}},
            {"gold", 1},
            {"question", "When does the bakery open?"},
            {"answers", {answer}}};
}

/// The excerpts of MMLU that lie in tests/data.
inline studies::TaskSpec mmluTask(int shots) {
    studies::TaskSpec spec;
    spec.task = "mmlu";
    spec.data = LPES_TEST_DATA "/data/mmlu";
    spec.shots = shots;
    return spec;
}

/// A model whose context holds these items.
inline TinyModelSpec withContext(int tokens) {
    TinyModelSpec spec;
    spec.contextLength = tokens;
    return spec;
}

}  // namespace lpes::test
