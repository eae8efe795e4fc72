#pragma once

#include <nlohmann/json.hpp>
#include <string>

/// The objects that --json prints (cli.md), as tables for people.
namespace lpes::cli {

[[nodiscard]] std::string inspectText(const nlohmann::json& model);
[[nodiscard]] std::string tokensText(const nlohmann::json& tokens);
[[nodiscard]] std::string scoreText(const nlohmann::json& score);
[[nodiscard]] std::string evalText(const nlohmann::json& result);
[[nodiscard]] std::string compareText(const nlohmann::json& result);
[[nodiscard]] std::string benchText(const nlohmann::json& result);
[[nodiscard]] std::string searchText(const nlohmann::json& result);
[[nodiscard]] std::string planText(const nlohmann::json& plan);
[[nodiscard]] std::string attentionText(const nlohmann::json& result);
[[nodiscard]] std::string deviationText(const nlohmann::json& result);

}  // namespace lpes::cli
