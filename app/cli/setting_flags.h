#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/numbers.h"
#include "core/base/result.h"

namespace lpes::cli {

/// Options whose values go into settings, with where each value came from. CLI11 takes them as text; they are parsed
/// here, because what is parsed must not depend on the locale, and applied when the verb runs, because the settings
/// that they override may depend on other options (the demo study).
class SettingFlags {
  public:
    /// Takes the option's name as the user knows it and the text.
    using Setter = std::function<Result<void>(const std::string& name, const std::string& text)>;

    explicit SettingFlags(CLI::App& verb) : m_verb(verb) {}

    /// `name`: "--max-evals" (setting "max_evals") or a positional's name ("MODEL"). `variable`: environment variable
    /// that stands in for the option.
    CLI::Option* add(const std::string& name, const std::string& placeholder, const std::string& help, Setter setter,
                     const char* variable = nullptr);

    /// The text that is in force for an option: the command line's, else the environment's.
    [[nodiscard]] std::optional<std::string> text(const std::string& name) const;

    /// Runs the setters of everything that was given. `origins` (setting → "flag" or "environment") may be null.
    [[nodiscard]] Result<void> apply(std::map<std::string, std::string>* origins = nullptr) const;

  private:
    struct Flag {
        std::string name;
        CLI::Option* option = nullptr;
        const char* variable = nullptr;
        std::string text;
        Setter setter;
    };
    [[nodiscard]] static std::optional<std::string> fromEnvironment(const Flag& flag);

    CLI::App& m_verb;
    std::vector<std::unique_ptr<Flag>> m_flags;  ///< CLI11 keeps addresses of the texts
};

/// "on" or "off"; Usage for anything else.
[[nodiscard]] Result<bool> parseSwitch(const std::string& name, const std::string& text);

// Setters. Those of optional values take "auto" for "unset".
[[nodiscard]] SettingFlags::Setter toText(std::string& target);
[[nodiscard]] SettingFlags::Setter toOptionalText(std::optional<std::string>& target);
/// Into a bool or an optional one.
template <class T>
[[nodiscard]] SettingFlags::Setter toSwitch(T& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        auto on = parseSwitch(name, text);
        if (!on) return fail(on.error());
        target = *on;
        return {};
    };
}
template <class T>
[[nodiscard]] SettingFlags::Setter toNumber(T& target, T low = std::numeric_limits<T>::lowest(),
                                            T high = std::numeric_limits<T>::max()) {
    return [&target, low, high](const std::string& name, const std::string& text) -> Result<void> {
        auto value = parseNumber<T>(name, text, low, high);
        if (!value) return fail(value.error());
        target = *value;
        return {};
    };
}
template <class T>
[[nodiscard]] SettingFlags::Setter toOptionalNumber(std::optional<T>& target, T low = std::numeric_limits<T>::lowest(),
                                                    T high = std::numeric_limits<T>::max()) {
    return [&target, low, high](const std::string& name, const std::string& text) -> Result<void> {
        target.reset();
        if (text == "auto") return {};
        auto value = parseNumber<T>(name, text, low, high);
        if (!value) return fail(value.error());
        target = *value;
        return {};
    };
}

}  // namespace lpes::cli
