#pragma once

#include <string>
#include <string_view>

#include "core/tasks/text_units.h"

namespace lpes::tasks {

/// An answer as the continuation of a prompt: with a space ahead, unless the prompt ends in white space.
[[nodiscard]] inline std::string continuation(std::string_view prompt, std::string_view answer) {
    const bool apart =
        !prompt.empty() && strippedAsPython(prompt.substr(characterStart(prompt, prompt.size() - 1))).empty();
    return (apart ? "" : " ") + std::string(answer);
}

}  // namespace lpes::tasks
