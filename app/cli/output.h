#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::cli {

/// How a verb answers: --json and, for verbs that take a while, --progress.
struct OutputOptions {
    bool json = false;
    std::string progress = "auto";
};
void addJsonOption(CLI::App& verb, OutputOptions& options);
void addProgressOption(CLI::App& verb, OutputOptions& options);

/// Writes to standard output, all of it, at once. Failed when it is closed, full or its reader is gone.
[[nodiscard]] Result<void> printResult(const std::string& text);
/// One JSON object and a line end. Bytes that are not UTF-8 (a text cut inside a character) become U+FFFD.
[[nodiscard]] Result<void> printJson(const nlohmann::json& object);
/// The JSON object with --json, else the text.
[[nodiscard]] Result<void> printAnswer(const OutputOptions& options, const nlohmann::json& object,
                                       const std::string& text);

/// A line (or several) for the user on standard error.
void printMessage(const std::string& text);

/// For what must not be overlooked: red where standard output is a terminal.
[[nodiscard]] std::string warningText(const std::string& text);

/// What a table of many figures may take, for Table::text.
inline constexpr std::size_t kTableColumns = 120;

/// Columns of text, the first aligned left and the others right, two spaces between them.
class Table {
  public:
    explicit Table(std::vector<std::string> header);
    void add(std::vector<std::string> row);
    [[nodiscard]] std::string text() const { return text(std::string::npos); }
    /// What is wider than `columns` in blocks below each other, each with the first column.
    [[nodiscard]] std::string text(std::size_t columns) const;

  private:
    [[nodiscard]] std::string block(const std::vector<std::size_t>& columns,
                                    const std::vector<std::size_t>& widths) const;

    std::vector<std::vector<std::string>> m_rows;
};

/// "1.23 GiB", "456 MiB", "789 bytes".
[[nodiscard]] std::string formatBytes(std::int64_t bytes);
/// Digits with a point whatever the locale; "–" for null.
[[nodiscard]] std::string formatNumber(const nlohmann::json& value, int decimals);
/// "0.53 [0.38–0.67]", "-0.13 [-0.17 to -0.10]"; the value alone where an end is null.
[[nodiscard]] std::string formatEstimate(const nlohmann::json& value, const nlohmann::json& low,
                                         const nlohmann::json& high, int decimals);
/// The same with an interval {"low", "high"}; the value alone where there is none, as in results of earlier versions.
[[nodiscard]] std::string formatEstimate(const nlohmann::json& value, const nlohmann::json& interval, int decimals);
/// A p value: four decimals, or 2e-08 where these would be none; "–" for null.
[[nodiscard]] std::string formatP(const nlohmann::json& value);

}  // namespace lpes::cli
