#include "app/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/json_text.h"

namespace lpes::cli {

namespace {

/// Columns that a text takes: code points, which is right for what the tables show.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

}  // namespace

void addJsonOption(CLI::App& verb, OutputOptions& options) {
    verb.add_flag("--json", options.json, "Print one JSON object instead of tables");
}

void addProgressOption(CLI::App& verb, OutputOptions& options) {
    verb.add_option("--progress", options.progress,
                    "Progress on standard error: auto (a line that is updated on a terminal, else a line every few "
                    "seconds), json (JSON lines) or none [auto]")
        ->type_name("MODE")
        ->check(CLI::IsMember({"auto", "json", "none"}));
}

std::string warningText(const std::string& text) {
    return ::isatty(STDOUT_FILENO) != 0 ? "\x1b[31m" + text + "\x1b[0m" : text;
}

Result<void> printResult(const std::string& text) {
    const int error = writeAll(STDOUT_FILENO, text);
    if (error == 0) return {};
    return fail(ErrorCode::Failed, "standard output cannot be written; check where it leads to", std::strerror(error));
}

Result<void> printJson(const nlohmann::json& object) {
    return printResult(jsonLine(object) + "\n");
}

Result<void> printAnswer(const OutputOptions& options, const nlohmann::json& object, const std::string& text) {
    return options.json ? printJson(object) : printResult(text);
}

void printMessage(const std::string& text) {
    // Nobody is left to be told when standard error is gone.
    (void)writeAll(STDERR_FILENO, text.ends_with('\n') ? text : text + "\n");
}

Table::Table(std::vector<std::string> header) {
    m_rows.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
    m_rows.push_back(std::move(row));
}

std::string Table::text(std::size_t columns) const {
    std::vector<std::size_t> widths(m_rows.front().size(), 0);
    for (const auto& row : m_rows) {
        for (std::size_t i = 0; i < widths.size() && i < row.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string out;
    for (std::size_t next = 1; next < widths.size() || out.empty();) {
        std::vector<std::size_t> together{0};
        std::size_t taken = widths.front();
        // One column at least, however wide it is.
        while (next < widths.size() && (together.size() == 1 || taken + 2 + widths[next] <= columns)) {
            taken += 2 + widths[next];
            together.push_back(next++);
        }
        out += (out.empty() ? "" : "\n") + block(together, widths);
    }
    return out;
}

std::string Table::block(const std::vector<std::size_t>& columns, const std::vector<std::size_t>& widths) const {
    std::string out;
    for (const auto& row : m_rows) {
        std::string line;
        for (const std::size_t i : columns) {
            if (i >= row.size()) continue;
            const std::string padding(widths[i] - width(row[i]), ' ');
            line += i == 0 ? row[i] + padding : "  " + padding + row[i];
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string formatBytes(std::int64_t bytes) {
    constexpr std::array<const char*, 4> kUnits{"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return fmt::format("{} bytes", bytes);
    double value = static_cast<double>(bytes) / 1024.0;
    std::size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < kUnits.size()) {
        value /= 1024.0;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string formatNumber(const nlohmann::json& value, int decimals) {
    if (value.is_number_integer()) return value.dump();
    if (!value.is_number()) return "–";
    return fmt::format("{:.{}f}", value.get<double>(), decimals);
}

std::string formatEstimate(const nlohmann::json& value, const nlohmann::json& low, const nlohmann::json& high,
                           int decimals) {
    const std::string text = formatNumber(value, decimals);
    if (!low.is_number() || !high.is_number()) return text;
    return fmt::format("{} [{}{}{}]", text, formatNumber(low, decimals), low.get<double>() < 0.0 ? " to " : "–",
                       formatNumber(high, decimals));
}

std::string formatEstimate(const nlohmann::json& value, const nlohmann::json& interval, int decimals) {
    if (!interval.is_object()) return formatNumber(value, decimals);
    return formatEstimate(value, interval.value("low", nlohmann::json()), interval.value("high", nlohmann::json()),
                          decimals);
}

std::string formatP(const nlohmann::json& value) {
    if (!value.is_number()) return "–";
    const double p = value.get<double>();
    return p < 0.0001 ? fmt::format("{:.0e}", p) : fmt::format("{:.4f}", p);
}

}  // namespace lpes::cli
