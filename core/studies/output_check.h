#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

/// What a command writes must not destroy what it reads.
namespace lpes::studies {

/// A file or a folder that a command reads.
struct CommandInput {
    std::string option;  ///< that names it: "--model"
    std::filesystem::path path;
};

/// Usage, naming both, where writing `out` would replace what the command reads: an input itself, by whatever path or
/// link, or a file that is there already in a folder that is an input. A new file in such a folder is allowed, and so
/// is an input that is not there: whoever reads it says so.
[[nodiscard]] Result<void> requireNoInput(const std::filesystem::path& out, const std::vector<CommandInput>& inputs);

/// The inputs that a run's settings name: its model, and its data (dataKeys). A model that cannot be found is left out.
[[nodiscard]] std::vector<CommandInput> inputsOf(const nlohmann::json& settings);
/// The model of that spelling as an input, added where it is there.
void addModelInput(std::vector<CommandInput>& inputs, const std::string& option, const std::string& model);

}  // namespace lpes::studies
