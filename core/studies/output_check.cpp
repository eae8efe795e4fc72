#include "core/studies/output_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/studies/model_setup.h"
#include "core/studies/run_settings.h"

namespace lpes::studies {

namespace fs = std::filesystem;

namespace {

/// One spelling for every path to a place: links followed as far as the path exists.
fs::path placeOf(const fs::path& path) {
    std::error_code error;
    const fs::path place = fs::weakly_canonical(fs::absolute(path, error), error);
    return error ? path.lexically_normal() : place;
}

bool isSame(const fs::path& one, const fs::path& other) {
    std::error_code ignored;
    return placeOf(one) == placeOf(other) || fs::equivalent(one, other, ignored);
}

bool isInside(const fs::path& file, const fs::path& folder) {
    const fs::path inner = placeOf(file), outer = placeOf(folder);
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

Result<void> requireNoInput(const fs::path& out, const std::vector<CommandInput>& inputs) {
    std::error_code ignored;
    for (const CommandInput& input : inputs) {
        if (isSame(out, input.path)) {
            return fail(ErrorCode::Usage,
                        fmt::format("'{}' is what {} names, and writing it would destroy that; name another file for "
                                    "--out",
                                    out.string(), input.option));
        }
        if (!fs::is_directory(input.path, ignored) || !fs::exists(out, ignored) || !isInside(out, input.path)) continue;
        return fail(ErrorCode::Usage,
                    fmt::format("'{}' is a file in the folder '{}' that {} names, where nothing is replaced; name a "
                                "file that is not there yet, or one elsewhere, for --out",
                                out.string(), input.path.string(), input.option));
    }
    return {};
}

void addModelInput(std::vector<CommandInput>& inputs, const std::string& option, const std::string& model) {
    if (auto path = resolveModelPath(model)) inputs.push_back({option, std::move(*path)});
}

std::vector<CommandInput> inputsOf(const nlohmann::json& settings) {
    const auto text = [&](const std::string& key) {
        const auto setting = settings.find(key);
        if (setting == settings.end() || !setting->is_object() || !setting->contains("value")) return std::string();
        const nlohmann::json& value = setting->at("value");
        return value.is_string() ? value.get<std::string>() : std::string();
    };
    std::vector<CommandInput> inputs;
    if (const std::string model = text("model"); !model.empty()) addModelInput(inputs, "--model", model);
    for (const std::string& key : dataKeys()) {
        std::string option = "--" + key;
        std::ranges::replace(option, '_', '-');
        if (const std::string path = text(key); !path.empty()) inputs.push_back({std::move(option), path});
    }
    return inputs;
}

}  // namespace lpes::studies
