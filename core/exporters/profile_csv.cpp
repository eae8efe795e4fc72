#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/exporters/csv_text.h"
#include "core/exporters/guarded_json.h"
#include "core/exporters/profile.h"
#include "core/rope/rope_config.h"

namespace lpes::exporters {
namespace {

bool isHeader(std::string_view line) {
    const std::size_t comma = line.find(',');
    return comma != std::string_view::npos && trimmed(line.substr(0, comma)) == "layer" &&
           trimmed(line.substr(comma + 1)) == "scale";
}

/// Scales as they come in, layer by layer.
class Table {
  public:
    explicit Table(const std::string& origin) : m_origin(origin) {}

    Result<void> add(std::string_view line, int lineNumber) {
        const std::size_t comma = line.find(',');
        const auto layer = comma == std::string_view::npos ? std::nullopt : csvNumber<int>(line.substr(0, comma));
        const auto scale = comma == std::string_view::npos ? std::nullopt : csvNumber<double>(line.substr(comma + 1));
        if (!layer || *layer < 0 || *layer >= kMaxProfileLayers || !scale) {
            return bad(
                fmt::format("line {} is {}; it must be LAYER,SCALE with a layer from 0 to {} and a decimal point",
                            lineNumber, shownText(line), kMaxProfileLayers - 1));
        }
        const auto place = static_cast<std::size_t>(*layer);
        if (place >= m_scales.size()) m_scales.resize(place + 1);
        if (m_scales[place])
            return bad(
                fmt::format("line {} gives layer {} a second time; each layer has one line", lineNumber, *layer));
        m_scales[place] = *scale;
        return {};
    }

    [[nodiscard]] Result<std::vector<double>> finish() const {
        std::vector<double> scales;
        for (const std::optional<double>& scale : m_scales) {
            if (!scale) {
                return bad(fmt::format("layer {} has no line, though layer {} has one; layers count from 0",
                                       scales.size(), m_scales.size() - 1));
            }
            scales.push_back(*scale);
        }
        if (scales.empty()) return bad("holds no LAYER,SCALE line; a profile has one per layer");
        if (auto valid = rope::checkScales(scales, static_cast<int>(scales.size())); !valid)
            return bad(valid.error().message);
        return scales;
    }

  private:
    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::BadInput, fmt::format("{}: {}", m_origin, what));
    }
    const std::string& m_origin;
    std::vector<std::optional<double>> m_scales;
};

}  // namespace

std::string toCsv(const Profile& profile) {
    std::string out = "layer,scale\n";
    for (std::size_t layer = 0; layer < profile.scales.size(); ++layer) {
        out += fmt::format("{},{}\n", layer, profile.scales[layer]);  // shortest digits, C locale
    }
    return out;
}

Result<LoadedProfile> profileFromCsv(const std::string& text, const std::string& origin) {
    Table table(origin);
    bool first = true;
    CsvLines lines(text);
    while (const std::optional<std::string_view> line = lines.next()) {
        if (line->empty() || (first && isHeader(*line))) {
            first = first && line->empty();
            continue;
        }
        first = false;
        if (Result<void> added = table.add(*line, lines.number()); !added) return fail(added.error());
    }
    Result<std::vector<double>> scales = table.finish();
    if (!scales) return fail(scales.error());
    LoadedProfile loaded;
    loaded.profile.model.layers = static_cast<int>(scales->size());
    loaded.profile.scales = std::move(*scales);
    loaded.warnings.push_back(fmt::format(
        "{}: holds scales only, so nothing but the number of layers can be checked before it is applied", origin));
    return loaded;
}

}  // namespace lpes::exporters
