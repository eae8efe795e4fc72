#pragma once

#include <string>

#include "core/base/result.h"

namespace lpes::tasks {

/// How an item counts (cli.md, Scores): strict, generate, choice, nll, blend:W.
struct ScoreKind {
    enum class Kind { Strict, Generate, Choice, Nll, Blend } kind = Kind::Strict;
    double blendWeight = 0.0;
    std::string text;

    /// Fitness contribution of a position from its accuracy and mean answer NLL: accuracy; −NLL; accuracy + W·(−NLL).
    [[nodiscard]] double score(double accuracy, double meanNll) const;
};

[[nodiscard]] Result<ScoreKind> parseScoreKind(const std::string& text);  ///< Usage for anything else

}  // namespace lpes::tasks
