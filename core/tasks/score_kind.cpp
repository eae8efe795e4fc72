#include "core/tasks/score_kind.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

namespace lpes::tasks {

double ScoreKind::score(double accuracy, double meanNll) const {
    switch (kind) {
        case Kind::Strict:
        case Kind::Generate:
        case Kind::Choice:
            return accuracy;
        case Kind::Nll:
            return -meanNll;
        case Kind::Blend:
            return accuracy - blendWeight * meanNll;
    }
    return accuracy;
}

Result<ScoreKind> parseScoreKind(const std::string& text) {
    if (text == "strict") return ScoreKind{ScoreKind::Kind::Strict, 0.0, text};
    if (text == "generate") return ScoreKind{ScoreKind::Kind::Generate, 0.0, text};
    if (text == "choice") return ScoreKind{ScoreKind::Kind::Choice, 0.0, text};
    if (text == "nll") return ScoreKind{ScoreKind::Kind::Nll, 0.0, text};
    constexpr std::string_view kBlend = "blend:";
    if (text.starts_with(kBlend)) {
        const char* last = text.data() + text.size();
        double weight = 0.0;
        const auto [end, error] = std::from_chars(text.data() + kBlend.size(), last, weight);
        if (error == std::errc() && end == last && std::isfinite(weight) && weight >= 0.0 && !std::signbit(weight)) {
            return ScoreKind{ScoreKind::Kind::Blend, weight, text};
        }
        return fail(
            ErrorCode::Usage,
            fmt::format("score '{}' is not understood; blend:W takes a weight of 0 or more, such as blend:0.2", text));
    }
    return fail(ErrorCode::Usage,
                fmt::format("score '{}' is not understood; use strict, generate, choice, nll or blend:W", text));
}

}  // namespace lpes::tasks
