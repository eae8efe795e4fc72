#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/output.h"
#include "app/cli/setting_flags.h"
#include "core/studies/model_setup.h"
#include "core/studies/output_check.h"
#include "core/studies/run_settings.h"
#include "core/studies/task_setup.h"

/// Groups of options that several verbs share, so that they are spelled and explained the same everywhere.
namespace lpes::cli {

/// The positional MODEL, or $LPES_MODEL.
void addModelPositional(SettingFlags& flags, std::string& model);
/// Usage when neither the command line nor the environment names a model. `option`: "MODEL" or "--model".
[[nodiscard]] Result<void> requireModel(const std::string& model, const std::string& option);

void addDeviceOption(SettingFlags& flags, std::string& device);  ///< --device

/// Usage when model or task is missing.
[[nodiscard]] Result<void> requireModelAndTask(const studies::ComputeSettings& compute, const studies::TaskSpec& task);

/// --dtype, --device, --threads of the verbs that look.
void addRunningModelOptions(SettingFlags& flags, studies::ModelOptions& model, std::optional<int>& threads);

/// --model, --dtype, --device, --threads-per-worker: all that a bench has, whose prompts are read one by one.
void addTimedOptions(SettingFlags& flags, studies::ComputeSettings& compute);
/// The same, and how prompts are put together into passes: --batch-size, --batch-tokens, --share-prefixes.
void addComputeOptions(SettingFlags& flags, studies::ComputeSettings& compute);
/// --workers; only where several candidates can be evaluated at the same time.
void addWorkersOption(SettingFlags& flags, studies::ComputeSettings& compute);

/// --task, --data, --positions and everything else that says which items are asked, and how.
void addTaskOptions(SettingFlags& flags, studies::TaskSpec& task);

/// --score of the verbs that evaluate.
void addScoreOption(SettingFlags& flags, std::optional<std::string>& score);

/// --guardrail, --guardrail-mmlu, --guardrail-ceval.
void addGuardrailOptions(SettingFlags& flags, studies::GuardrailSettings& guardrail);

/// --method, and --profile F as another spelling of --method lpes:F.
void addMethodOptions(SettingFlags& flags, std::string& method);
/// Usage when both were given.
[[nodiscard]] Result<void> checkMethodOptions(const SettingFlags& flags);

/// --text or --file (- is standard input); exactly one is to be given, `option` being the other name of --text.
void addTextOptions(SettingFlags& flags, std::optional<std::string>& text, std::optional<std::string>& file,
                    const std::string& option);
[[nodiscard]] Result<std::string> readText(const std::optional<std::string>& text,
                                           const std::optional<std::string>& file, const std::string& option);

/// "auto" is the value that curves have by themselves, "none" switches rounding off.
[[nodiscard]] SettingFlags::Setter toGridStep(std::optional<double>& target);
[[nodiscard]] SettingFlags::Setter toPath(std::filesystem::path& target);

/// --db.
void addDatabaseOption(SettingFlags& flags, std::filesystem::path& database);

/// --out FILE, checked before work starts: Failed when its folder is missing or cannot be written to, and Usage where
/// it is something that the command reads (studies::requireNoInput).
[[nodiscard]] Result<void> checkOutput(const std::filesystem::path& file,
                                       const std::vector<studies::CommandInput>& inputs);

/// Tells the effective settings with their origins on standard error: a line per origin, or a JSON line with
/// --progress json.
void printSettings(const nlohmann::json& settings, const OutputOptions& output);

}  // namespace lpes::cli
