#include "app/cli/setting_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace lpes::cli {

namespace {

/// "--max-evals" → "max_evals", as the settings are called in JSON and in the data base.
std::string settingKey(const std::string& name) {
    std::string key = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    std::replace(key.begin(), key.end(), '-', '_');
    std::transform(key.begin(), key.end(), key.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return key;
}

}  // namespace

CLI::Option* SettingFlags::add(const std::string& name, const std::string& placeholder, const std::string& help,
                               Setter setter, const char* variable) {
    auto flag = std::make_unique<Flag>();
    flag->name = name;
    flag->variable = variable;
    flag->setter = std::move(setter);
    flag->option = m_verb.add_option(name, flag->text, help)->type_name(placeholder);
    m_flags.push_back(std::move(flag));
    return m_flags.back()->option;
}

std::optional<std::string> SettingFlags::fromEnvironment(const Flag& flag) {
    if (flag.variable == nullptr) return std::nullopt;
    const char* value = std::getenv(flag.variable);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
}

std::optional<std::string> SettingFlags::text(const std::string& name) const {
    for (const auto& flag : m_flags) {
        if (flag->name != name) continue;
        return flag->option->count() > 0 ? std::optional<std::string>(flag->text) : fromEnvironment(*flag);
    }
    return std::nullopt;
}

Result<void> SettingFlags::apply(std::map<std::string, std::string>* origins) const {
    for (const auto& flag : m_flags) {
        const bool given = flag->option->count() > 0;
        const auto value = given ? std::optional<std::string>(flag->text) : fromEnvironment(*flag);
        if (!value) continue;
        if (auto set = flag->setter(given ? flag->name : flag->variable, *value); !set) return set;
        if (origins != nullptr) (*origins)[settingKey(flag->name)] = given ? "flag" : "environment";
    }
    return {};
}

Result<bool> parseSwitch(const std::string& name, const std::string& text) {
    if (text == "on" || text == "off") return text == "on";
    return fail(ErrorCode::Usage, fmt::format("{} '{}' is not understood; use on or off", name, text));
}

SettingFlags::Setter toText(std::string& target) {
    return [&target](const std::string&, const std::string& text) -> Result<void> {
        target = text;
        return {};
    };
}

SettingFlags::Setter toOptionalText(std::optional<std::string>& target) {
    return [&target](const std::string&, const std::string& text) -> Result<void> {
        target.reset();
        if (text != "auto") target = text;
        return {};
    };
}

}  // namespace lpes::cli
