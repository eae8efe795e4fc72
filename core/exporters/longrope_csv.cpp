#include "core/exporters/longrope_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "core/exporters/csv_text.h"
#include "core/exporters/guarded_json.h"

namespace lpes::exporters {

namespace {

Result<std::vector<double>> rowOf(std::string_view line, int lineNumber, const std::string& origin) {
    std::vector<double> row;
    for (;;) {
        const std::size_t comma = line.find(',');
        const std::string_view field = trimmed(line.substr(0, comma));
        const std::optional<double> factor = csvNumber<double>(field);
        if (!factor || !std::isfinite(*factor) || *factor <= 0.0) {
            return fail(ErrorCode::BadInput,
                        fmt::format("{}: line {}, column {} is {}; a factor is a finite number above 0 with a decimal "
                                    "point, and LongRoPE's files have no header",
                                    origin, lineNumber, row.size() + 1, shownText(field)));
        }
        row.push_back(*factor);
        if (comma == std::string_view::npos) return row;
        line.remove_prefix(comma + 1);
    }
}

std::string lineOf(const std::vector<double>& factors) {
    return fmt::format("{}\n", fmt::join(factors, ","));
}

}  // namespace

Result<std::vector<std::vector<double>>> longRopeFromCsv(const std::string& text, const std::string& origin) {
    std::vector<std::vector<double>> rows;
    CsvLines lines(text);
    while (const std::optional<std::string_view> line = lines.next()) {
        if (line->empty()) continue;
        auto row = rowOf(*line, lines.number(), origin);
        if (!row) return fail(row.error());
        rows.push_back(std::move(*row));
    }
    if (rows.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{}: holds no factors; line 1, column 1 is where the first one stands", origin));
    }
    if (std::ranges::any_of(rows, [](const auto& row) { return row.size() > 1; })) return rows;
    std::vector<double> column;
    for (const std::vector<double>& row : rows) column.push_back(row.front());
    return std::vector<std::vector<double>>{std::move(column)};
}

Result<std::vector<std::vector<double>>> readLongRope(const std::filesystem::path& path) {
    constexpr std::size_t kLargestFile = 64u << 20;  // thousands of layers with all their frequencies
    const Result<std::string> text = readTextFile(path, kLargestFile);
    if (!text) return fail(text.error());
    return longRopeFromCsv(*text, path.string());
}

std::string toLongRopeCsv(std::span<const double> scales, int frequencies) {
    std::string out;
    for (const double scale : scales) out += lineOf(std::vector<double>(static_cast<std::size_t>(frequencies), scale));
    return out;
}

Result<std::string> profileToLongRope(const Profile& profile, int frequencies) {
    const curve::ScaleGroups& groups = profile.groups;
    if (groups.kind == curve::ScaleGroups::Kind::KvHead) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("the profile has a scale for each of {} key/value heads, and LongRoPE's factors are the "
                        "same for all heads of a layer; use a profile by layer or by band",
                        groups.heads));
    }
    if (groups.perLayer()) {
        if (frequencies > 0) return toLongRopeCsv(profile.scales, frequencies);
        return fail(
            ErrorCode::Usage,
            "the profile has a scale per layer, and LongRoPE's files have one per frequency; name the model, so "
            "that their number is known");
    }
    if (frequencies > 0 && groups.bandEnds.back() != frequencies) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("the profile's bands end at frequency {} and the model has {} frequencies; use a profile "
                        "of this model",
                        groups.bandEnds.back(), frequencies));
    }
    std::string out;
    for (const std::vector<double>& row : curve::layerRows(profile.scales, groups.count())) {
        out += lineOf(curve::scalesByFrequency(row, groups.bandEnds));
    }
    return out;
}

}  // namespace lpes::exporters
