#include "core/analysis/plot_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <string_view>

namespace lpes::analysis {

namespace {

/// Shortest digits that read back as the same number; nothing for what is not finite, which CSV cannot say.
std::string number(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}
std::string number(std::int64_t value) {
    return fmt::format("{}", value);
}
std::string number(int value) {
    return fmt::format("{}", value);
}

/// RFC 4180: a field with a comma, a quote or a line break stands in quotes, and quotes in it are doubled.
std::string field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

class Table {
  public:
    explicit Table(std::initializer_list<std::string_view> header) { row(header); }

    void row(std::initializer_list<std::string_view> fields) {
        bool first = true;
        for (const std::string_view text : fields) {
            if (!first) m_text += ',';
            m_text += field(text);
            first = false;
        }
        m_text += "\r\n";
    }
    [[nodiscard]] std::string text() && { return std::move(m_text); }

  private:
    std::string m_text;
};

/// Layer h of L has depth h/(L−1); a single layer lies at 0.
double depthOf(std::size_t layer, std::size_t layers) {
    return layers > 1 ? static_cast<double>(layer) / static_cast<double>(layers - 1) : 0.0;
}

std::string csv(const CurvePlot& plot) {
    Table table{"series", "kind", "layer", "depth", "scale"};
    for (const auto& series : plot.series) {
        for (std::size_t h = 0; h < series.scales.size(); ++h) {
            table.row({series.name, "scale", number(static_cast<std::int64_t>(h)),
                       number(depthOf(h, series.scales.size())), number(series.scales[h])});
        }
        for (const auto& [depth, scale] : series.controlPoints) {
            table.row({series.name, "control_point", "", number(depth), number(scale)});
        }
        for (const auto& [depth, scale] : series.line)
            table.row({series.name, "line", "", number(depth), number(scale)});
        for (const auto& [kind, values] : {std::pair{"low", &series.low}, std::pair{"high", &series.high}}) {
            for (std::size_t h = 0; h < values->size(); ++h) {
                table.row({series.name, kind, number(static_cast<std::int64_t>(h)), number(depthOf(h, values->size())),
                           number((*values)[h])});
            }
        }
    }
    return std::move(table).text();
}

std::string csv(const AccuracyPlot& plot) {
    Table table{"series",  "position",   "relative",          "gold_index",        "n", "accuracy", "ci_low",
                "ci_high", "answer_nll", "answer_nll_ci_low", "answer_nll_ci_high"};
    for (const auto& series : plot.series) {
        for (const auto& point : series.points) {
            table.row({series.name, point.label, number(point.relative), number(point.goldIndex), number(point.n),
                       number(point.accuracy.value), number(point.accuracy.low), number(point.accuracy.high),
                       number(point.answerNll.value), number(point.answerNll.low), number(point.answerNll.high)});
        }
    }
    return std::move(table).text();
}

std::string csv(const ConvergencePlot& plot) {
    Table table{"series", "generation", "value"};
    const auto column = [&](std::string_view name, double ConvergencePlot::Generation::*value) {
        for (const auto& row : plot.generations) table.row({name, number(row.generation), number(row.*value)});
    };
    column("best", &ConvergencePlot::Generation::best);
    column("mean", &ConvergencePlot::Generation::mean);
    column("worst", &ConvergencePlot::Generation::worst);
    column("diversity", &ConvergencePlot::Generation::diversity);
    for (const auto& [generation, fitness] : plot.candidates) {
        table.row({"candidate", number(generation), number(fitness)});
    }
    if (plot.hasBaseline) table.row({"baseline", "", number(plot.baselineFitness)});
    return std::move(table).text();
}

std::string csv(const ProgressPlot& plot) {
    Table table{"series", "searches", "over", "x", "mean", "low", "high"};
    for (const auto& series : plot.series) {
        for (const auto& [over, steps] :
             {std::pair{"generation", &series.byGeneration}, std::pair{"prompts", &series.byPrompts}}) {
            for (const auto& step : *steps) {
                table.row({series.name, number(series.searches), over, number(step.x), number(step.mean),
                           number(step.low), number(step.high)});
            }
        }
    }
    if (std::isfinite(plot.baselineFitness)) table.row({"baseline", "", "", "", number(plot.baselineFitness), "", ""});
    return std::move(table).text();
}

/// Rows without a layer are means over layers.
std::string csv(const AttentionPlot& plot) {
    Table table{"series", "position", "gold_index", "layer", "record", "share", "mean_per_token"};
    for (const auto& series : plot.series) {
        for (const auto& position : series.positions) {
            const std::string gold = number(position.goldIndex);
            for (std::size_t k = 0; k < position.share.size(); ++k) {
                table.row({series.name, position.label, gold, "", number(static_cast<std::int64_t>(k)),
                           number(position.share[k]),
                           k < position.meanPerToken.size() ? number(position.meanPerToken[k]) : ""});
            }
            for (std::size_t h = 0; h < position.shareByLayer.size(); ++h) {
                for (std::size_t k = 0; k < position.shareByLayer[h].size(); ++k) {
                    table.row({series.name, position.label, gold, number(static_cast<std::int64_t>(h)),
                               number(static_cast<std::int64_t>(k)), number(position.shareByLayer[h][k]), ""});
                }
            }
        }
    }
    return std::move(table).text();
}

std::string csv(const DeviationPlot& plot) {
    Table table{"series", "layer", "deviation", "ci_low", "ci_high"};
    for (const auto& series : plot.series) {
        for (std::size_t h = 0; h < series.deviation.size(); ++h) {
            table.row({series.name, number(static_cast<std::int64_t>(h)), number(series.deviation[h]),
                       h < series.low.size() ? number(series.low[h]) : "",
                       h < series.high.size() ? number(series.high[h]) : ""});
        }
    }
    return std::move(table).text();
}

std::string csv(const SensitivityPlot& plot) {
    Table table{"series", "position", "layer", "slope", "items"};
    for (const auto& series : plot.series) {
        for (const auto& row : series.rows) {
            for (std::size_t h = 0; h < row.slope.size(); ++h) {
                table.row({series.name, row.label, number(static_cast<std::int64_t>(h)), number(row.slope[h]),
                           number(series.items)});
            }
        }
    }
    return std::move(table).text();
}

/// Candidates first, then generations; what a row does not have is empty.
std::string csv(const ParetoPlot& plot) {
    Table table{"row", "number", plot.xLabel, plot.yLabel, plot.colorLabel, "picked", "generation", "hypervolume"};
    for (const auto& one : plot.members) {
        table.row({one.baseline     ? "baseline"
                   : one.number > 0 ? "front"
                                    : "dominated",
                   number(one.number), number(one.x), number(one.y), plot.colorLabel.empty() ? "" : number(one.color),
                   one.picked ? "1" : "0", "", ""});
    }
    for (const auto& one : plot.generations) {
        table.row(
            {"generation", number(one.frontSize), "", "", "", "", number(one.generation), number(one.hypervolume)});
    }
    return std::move(table).text();
}

std::string csv(const LossPlot& plot) {
    Table table{"step", "loss", "lm_loss", "aux_loss", "grad_norm", "tokens"};
    for (const auto& one : plot.steps) {
        table.row({number(one.step), number(one.loss), number(one.lmLoss), number(one.auxLoss), number(one.gradNorm),
                   number(one.tokens)});
    }
    return std::move(table).text();
}

std::string csv(const MethodsPlot& plot) {
    Table table{"method",
                "accuracy",
                "accuracy_low",
                "accuracy_high",
                "gap",
                "gap_low",
                "gap_high",
                "answer_nll",
                "answer_nll_low",
                "answer_nll_high",
                "nll_difference",
                "nll_low",
                "nll_high",
                "p_value",
                "p_holm",
                "score_difference",
                "score_low",
                "score_high",
                "score_p_holm",
                "time_ratio",
                "time_low",
                "time_high",
                "tokens_per_second",
                "peak_bytes",
                "passes",
                "attentions_per_layer",
                "verdict",
                "position_bias",
                "guardrail",
                "perplexity_ratio",
                "searched_items"};
    for (const auto& one : plot.methods) {
        table.row({one.name,
                   number(one.accuracy.value),
                   number(one.accuracy.low),
                   number(one.accuracy.high),
                   number(one.gap.value),
                   number(one.gap.low),
                   number(one.gap.high),
                   number(one.answerNll.value),
                   number(one.answerNll.low),
                   number(one.answerNll.high),
                   number(one.nllDifference.value),
                   number(one.nllDifference.low),
                   number(one.nllDifference.high),
                   number(one.pValue),
                   number(one.pHolm),
                   number(one.scoreDifference.value),
                   number(one.scoreDifference.low),
                   number(one.scoreDifference.high),
                   number(one.scoreHolm),
                   number(one.timeRatio.value),
                   number(one.timeRatio.low),
                   number(one.timeRatio.high),
                   number(one.tokensPerSecond),
                   number(one.peakBytes),
                   number(one.passes),
                   number(one.attentionsPerLayer),
                   one.verdict,
                   one.bias,
                   one.guardrail,
                   number(one.perplexityRatio),
                   number(one.searchedItems)});
    }
    return std::move(table).text();
}

}  // namespace

std::string plotCsv(const PlotData& data) {
    return std::visit([](const auto& plot) { return csv(plot); }, data);
}

}  // namespace lpes::analysis
