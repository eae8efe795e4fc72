#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lpes::tasks {

/// A JSON text, and what its value alone does not tell.
struct KeyedJson {
    nlohmann::json value;
    /// Keys that an object has more than once, by where they stand: "question", "documents[1].title". The value has the
    /// last of them, as other readers may have the first.
    std::vector<std::string> repeated;
};

/// Throws nlohmann::json::exception for what is not JSON in UTF-8.
[[nodiscard]] KeyedJson parseKeyedJson(const std::string& text);

}  // namespace lpes::tasks
