#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::tasks {

/// A short question that every model should answer as well as before: what a change of positions costs where nothing is
/// far away.
struct ShortQuestion {
    std::string subject;
    std::string prompt;                  ///< MMLU's prompt without examples (methods.md §3.4)
    std::array<std::string, 4> choices;  ///< " A" … " D"
    std::string answer;                  ///< one of them
    std::string solved;                  ///< question, choices and answer as a plain text
};

/// The bundled ones (resources/guardrail). Failed when the resource is damaged.
[[nodiscard]] Result<std::vector<ShortQuestion>> shortQuestions();

}  // namespace lpes::tasks
