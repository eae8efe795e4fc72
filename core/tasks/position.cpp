#include "core/tasks/position.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

namespace lpes::tasks {

namespace {

/// A plain decimal number ("12.5"), whatever the locale: no sign, no exponent, nothing behind it.
std::optional<double> plainNumber(std::string_view text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

PositionSpec relativePosition(std::string_view label, double relative) {
    return {std::string(label), relative, std::nullopt};
}

Result<std::vector<PositionSpec>> parseEvery(std::string_view part) {
    const auto step = plainNumber(part.substr(part.find(':') + 1));
    const double steps = step && *step > 0.0 ? std::round(100.0 / *step) : 0.0;
    // The last position has to be the end of the prompt, and each needs a place of its own on the axis.
    if (!step || *step <= 0.0 || *step > 100.0 || steps > 1000.0 || std::abs(steps * *step - 100.0) > 1e-9) {
        return fail(
            ErrorCode::Usage,
            fmt::format("position '{}' is not understood; every:N takes a step in percent from 0.1 that divides "
                        "100, such as every:10",
                        part));
    }
    std::vector<PositionSpec> positions;
    for (int i = 0; i <= static_cast<int>(steps); ++i) {
        positions.push_back(relativePosition(fmt::format("{}", i * 100.0 / steps), i / steps));
    }
    return positions;
}

Result<PositionSpec> parseOne(std::string_view part) {
    if (part == "begin") return relativePosition(part, 0.0);
    if (part == "middle") return relativePosition(part, 0.5);
    if (part == "end") return relativePosition(part, 1.0);
    if (part.starts_with('#')) {
        int index = 0;
        const char* last = part.data() + part.size();
        const auto [end, error] = std::from_chars(part.data() + 1, last, index);
        if (error == std::errc() && end == last && index >= 0 && part[1] != '-') {
            return PositionSpec{std::string(part), std::nullopt, index};
        }
    } else if (const auto percent = plainNumber(part)) {
        if (*percent <= 100.0) return relativePosition(part, *percent / 100.0);
        return fail(ErrorCode::Usage,
                    fmt::format("position '{}' is beyond the end; give a percentage from 0 to 100", part));
    }
    return fail(ErrorCode::Usage,
                fmt::format("position '{}' is not understood; use begin, middle, end, a percentage from 0 to 100, "
                            "every:N or a gold index such as #4",
                            part));
}

}  // namespace

Result<int> PositionSpec::goldIndex(int records) const {
    if (records < 1) {
        return fail(ErrorCode::Usage,
                    fmt::format("position '{}' needs at least one record, there are {}", label, records));
    }
    if (relative) return static_cast<int>(std::floor(*relative * (records - 1) + 0.5));
    const int wanted = index.value_or(0);
    if (wanted < 0 || wanted >= records) {
        return fail(ErrorCode::Usage, fmt::format("position '{}' is not among the {} records; the last one is #{}",
                                                  label, records, records - 1));
    }
    return wanted;
}

Result<std::vector<PositionSpec>> parsePositions(const std::string& text) {
    std::vector<PositionSpec> positions;
    std::string_view rest = text;
    for (;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = trimmed(rest.substr(0, comma));
        std::vector<PositionSpec> found;
        if (part.starts_with("every:")) {
            auto every = parseEvery(part);
            if (!every) return fail(every.error());
            found = std::move(*every);
        } else {
            auto one = parseOne(part);
            if (!one) return fail(one.error());
            found.push_back(std::move(*one));
        }
        for (auto& position : found) {
            for (const auto& other : positions) {
                if (other.relative == position.relative && other.index == position.index) {
                    return fail(ErrorCode::Usage, fmt::format("position '{}' is named twice (as '{}' before) in '{}'; "
                                                              "name each position once",
                                                              position.label, other.label, text));
                }
            }
            positions.push_back(std::move(position));
        }
        if (comma == std::string_view::npos) return positions;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace lpes::tasks
