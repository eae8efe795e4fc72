// Plots out of JSON: the other half of plot_json.cpp.

#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/analysis/plot_json.h"

namespace lpes::analysis {
namespace {

using Json = nlohmann::json;

// Thrown and caught inside this file only: a reader that returns Result from each of a hundred fields hides the schema.
struct Refusal {
    std::string message;
};

std::string shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

// A place in the document: knows its path, refuses what does not fit by that path.
class Place {
  public:
    Place(const Json& json, std::string path) : m_json(json), m_path(std::move(path)) {}

    [[noreturn]] void refuse(const std::string& why) const {
        throw Refusal{(m_path.empty() ? "the plot" : m_path) + " " + why};
    }

    const Place& withKeys(std::initializer_list<std::string_view> allowed) const {
        if (!m_json.is_object()) refuse("is " + shown(m_json) + "; an object is expected");
        for (const auto& [key, value] : m_json.items()) {
            bool known = false;
            for (const std::string_view name : allowed) known = known || key == name;
            if (!known) refuse("has the unknown key \"" + key + "\"; remove it or correct its spelling");
        }
        return *this;
    }

    Place operator[](const char* key) const {
        const auto found = m_json.find(key);
        if (found == m_json.end()) refuse("lacks the key \"" + std::string(key) + "\"");
        return {*found, m_path.empty() ? key : m_path + "." + key};
    }

    template <class T, class Read>
    std::vector<T> list(Read read) const {
        if (!m_json.is_array()) refuse("is " + shown(m_json) + "; an array is expected");
        std::vector<T> out;
        out.reserve(m_json.size());
        for (std::size_t i = 0; i < m_json.size(); ++i) {
            out.push_back(read(Place(m_json[i], m_path + "[" + std::to_string(i) + "]")));
        }
        return out;
    }

    std::string text() const {
        if (!m_json.is_string()) refuse("is " + shown(m_json) + "; a text is expected");
        return m_json.get<std::string>();
    }
    bool flag() const {
        if (!m_json.is_boolean()) refuse("is " + shown(m_json) + "; true or false is expected");
        return m_json.get<bool>();
    }
    double number() const {
        if (m_json.is_null()) return std::numeric_limits<double>::quiet_NaN();
        if (!m_json.is_number()) refuse("is " + shown(m_json) + "; a number or null is expected");
        return m_json.get<double>();
    }
    double finite() const {
        if (m_json.is_null() || !std::isfinite(number())) refuse("is " + shown(m_json) + "; a number is expected");
        return number();
    }
    std::int64_t count(std::int64_t highest) const {
        if (!m_json.is_number_integer() ||
            (m_json.is_number_unsigned() && m_json.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) ||
            m_json.get<std::int64_t>() < 0 || m_json.get<std::int64_t>() > highest) {
            refuse("is " + shown(m_json) + "; a whole number from 0 to " + std::to_string(highest) + " is expected");
        }
        return m_json.get<std::int64_t>();
    }
    int smallCount() const { return static_cast<int>(count(std::numeric_limits<int>::max())); }

    std::vector<double> numbers() const {
        return list<double>([](const Place& at) { return at.number(); });
    }
    std::vector<std::pair<double, double>> points() const {
        return list<std::pair<double, double>>([](const Place& at) {
            const std::vector<double> pair = at.numbers();
            if (pair.size() != 2) at.refuse("has " + std::to_string(pair.size()) + " numbers; a pair is expected");
            return std::pair{pair[0], pair[1]};
        });
    }
    SeriesRole role() const {
        const std::string name = text();
        if (name == "baseline") return SeriesRole::Baseline;
        if (name == "current") return SeriesRole::Current;
        if (name == "best") return SeriesRole::Best;
        if (name == "other") return SeriesRole::Other;
        refuse("is " + shown(m_json) + "; use baseline, current, best or other");
    }
    void sameLength(const char* key, std::size_t has, std::size_t expected) const {
        if (has != expected) {
            refuse("has " + std::to_string(has) + " values in \"" + key + "\"; " + std::to_string(expected) +
                   " are expected");
        }
    }

  private:
    const Json& m_json;
    std::string m_path;
};

void read(const Place& at, CurvePlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "series", "trained_context", "scale_min", "scale_max", "grid_step"});
    plot.trainedContext = at["trained_context"].smallCount();
    plot.scaleMin = at["scale_min"].finite();
    plot.scaleMax = at["scale_max"].finite();
    if (plot.scaleMin <= 0.0 || plot.scaleMax <= plot.scaleMin) {
        at["scale_max"].refuse("and scale_min hold no range of positive scales; give 0 < scale_min < scale_max");
    }
    plot.gridStep = at["grid_step"].finite();
    if (plot.gridStep < 0.0) at["grid_step"].refuse("is negative; use 0 for no grid");
    plot.series = at["series"].list<CurvePlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "scales", "control_points", "line", "low", "high"});
        CurvePlot::Series out{
            s["name"].text(),   s["role"].role(),   s["scales"].numbers(), s["control_points"].points(),
            s["line"].points(), s["low"].numbers(), s["high"].numbers()};
        if (!out.low.empty()) s.sameLength("low", out.low.size(), out.scales.size());
        s.sameLength("high", out.high.size(), out.low.size());
        return out;
    });
}

Estimate readEstimate(const Place& at) {
    const std::vector<double> three = at.numbers();
    if (three.size() != 3) {
        at.refuse("has " + std::to_string(three.size()) + " numbers; value, low and high are expected");
    }
    return {three[0], three[1], three[2]};
}

void read(const Place& at, AccuracyPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "series"});
    plot.series = at["series"].list<AccuracyPlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "points"});
        return AccuracyPlot::Series{s["name"].text(), s["role"].role(),
                                    s["points"].list<AccuracyPlot::Point>([](const Place& p) {
                                        p.withKeys({"label", "relative", "gold_index", "n", "accuracy", "answer_nll"});
                                        return AccuracyPlot::Point{p["label"].text(),
                                                                   p["relative"].number(),
                                                                   p["gold_index"].smallCount(),
                                                                   p["n"].count(std::int64_t{1} << 53),
                                                                   readEstimate(p["accuracy"]),
                                                                   readEstimate(p["answer_nll"])};
                                    })};
    });
}

void read(const Place& at, ConvergencePlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "fitness_label", "generations", "candidates", "baseline_fitness",
                 "has_baseline"});
    plot.fitnessLabel = at["fitness_label"].text();
    plot.generations = at["generations"].list<ConvergencePlot::Generation>([](const Place& g) {
        g.withKeys({"generation", "best", "mean", "worst", "diversity"});
        return ConvergencePlot::Generation{g["generation"].smallCount(), g["best"].number(), g["mean"].number(),
                                           g["worst"].number(), g["diversity"].number()};
    });
    plot.candidates = at["candidates"].list<std::pair<int, double>>([](const Place& c) {
        const std::vector<Place> pair = c.list<Place>([](const Place& p) { return p; });
        if (pair.size() != 2) c.refuse("is not a pair of generation and fitness");
        return std::pair{pair[0].smallCount(), pair[1].number()};
    });
    plot.baselineFitness = at["baseline_fitness"].number();
    plot.hasBaseline = at["has_baseline"].flag();
}

ProgressPlot::Step readStep(const Place& at) {
    const std::vector<double> four = at.numbers();
    if (four.size() != 4) {
        at.refuse("has " + std::to_string(four.size()) + " numbers; x, mean, low and high are expected");
    }
    return {four[0], four[1], four[2], four[3]};
}

void read(const Place& at, ProgressPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "fitness_label", "baseline_fitness", "series"});
    plot.fitnessLabel = at["fitness_label"].text();
    plot.baselineFitness = at["baseline_fitness"].number();
    plot.series = at["series"].list<ProgressPlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "searches", "by_generation", "by_prompts"});
        return ProgressPlot::Series{s["name"].text(), s["role"].role(), s["searches"].count(std::int64_t{1} << 31),
                                    s["by_generation"].list<ProgressPlot::Step>(readStep),
                                    s["by_prompts"].list<ProgressPlot::Step>(readStep)};
    });
}

AttentionPlot::Position readPosition(const Place& p) {
    p.withKeys({"label", "gold_index", "share", "mean_per_token", "share_by_layer"});
    AttentionPlot::Position out{
        p["label"].text(), p["gold_index"].smallCount(), p["share"].numbers(), p["mean_per_token"].numbers(), {}};
    const std::size_t records = out.share.size();
    // The mean per token is not drawn by every plot: leaving it out is allowed, another length is not.
    if (!out.meanPerToken.empty()) p.sameLength("mean_per_token", out.meanPerToken.size(), records);
    out.shareByLayer = p["share_by_layer"].list<std::vector<double>>([&](const Place& row) {
        std::vector<double> values = row.numbers();
        if (values.size() != records) {
            row.refuse("has " + std::to_string(values.size()) + " values; share has " + std::to_string(records));
        }
        return values;
    });
    return out;
}

void read(const Place& at, AttentionPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "series"});
    plot.series = at["series"].list<AttentionPlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "positions"});
        return AttentionPlot::Series{s["name"].text(), s["role"].role(),
                                     s["positions"].list<AttentionPlot::Position>(readPosition)};
    });
}

void read(const Place& at, DeviationPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "series"});
    plot.series = at["series"].list<DeviationPlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "deviation", "low", "high"});
        DeviationPlot::Series out{s["name"].text(), s["role"].role(), s["deviation"].numbers(), s["low"].numbers(),
                                  s["high"].numbers()};
        s.sameLength("low", out.low.size(), out.deviation.size());
        s.sameLength("high", out.high.size(), out.deviation.size());
        return out;
    });
}

void read(const Place& at, SensitivityPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "series"});
    plot.series = at["series"].list<SensitivityPlot::Series>([](const Place& s) {
        s.withKeys({"name", "role", "rows", "items"});
        SensitivityPlot::Series out{s["name"].text(), s["role"].role(), {}, s["items"].smallCount()};
        out.rows = s["rows"].list<SensitivityPlot::Row>([&out](const Place& r) {
            r.withKeys({"label", "slope"});
            return SensitivityPlot::Row{r["label"].text(), r["slope"].numbers()};
        });
        for (const SensitivityPlot::Row& row : out.rows)
            s.sameLength("slope", row.slope.size(), out.rows.front().slope.size());
        return out;
    });
}

void read(const Place& at, ParetoPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "x_label", "y_label", "color_label", "members", "generations"});
    plot.xLabel = at["x_label"].text();
    plot.yLabel = at["y_label"].text();
    plot.colorLabel = at["color_label"].text();
    plot.members = at["members"].list<ParetoPlot::Member>([](const Place& m) {
        m.withKeys({"x", "y", "color", "number", "picked", "baseline"});
        return ParetoPlot::Member{m["x"].number(),          m["y"].number(),    m["color"].number(),
                                  m["number"].smallCount(), m["picked"].flag(), m["baseline"].flag()};
    });
    plot.generations = at["generations"].list<ParetoPlot::Generation>([](const Place& g) {
        g.withKeys({"generation", "front_size", "hypervolume"});
        return ParetoPlot::Generation{g["generation"].smallCount(), g["front_size"].smallCount(),
                                      g["hypervolume"].number()};
    });
}

void read(const Place& at, LossPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "steps"});
    plot.steps = at["steps"].list<LossPlot::Step>([](const Place& s) {
        s.withKeys({"step", "lm_loss", "aux_loss", "loss", "grad_norm", "tokens"});
        return LossPlot::Step{s["step"].smallCount(),  s["lm_loss"].number(),
                              s["aux_loss"].number(),  s["loss"].number(),
                              s["grad_norm"].number(), s["tokens"].count(std::int64_t{1} << 53)};
    });
}

void read(const Place& at, MethodsPlot& plot) {
    at.withKeys({"kind", "title", "subtitle", "methods"});
    plot.methods = at["methods"].list<MethodsPlot::Method>([](const Place& m) {
        m.withKeys({"name",
                    "role",
                    "accuracy",
                    "gap",
                    "answer_nll",
                    "nll_difference",
                    "p_value",
                    "p_holm",
                    "score_difference",
                    "score_p_holm",
                    "mcnemar_holm",
                    "time_ratio",
                    "tokens_per_second",
                    "peak_bytes",
                    "passes",
                    "attentions_per_layer",
                    "verdict",
                    "bias",
                    "guardrail",
                    "guardrail_reason",
                    "guardrail_detail",
                    "perplexity_ratio",
                    "searched_items",
                    "all_items"});
        return MethodsPlot::Method{m["name"].text(),
                                   m["role"].role(),
                                   readEstimate(m["accuracy"]),
                                   readEstimate(m["gap"]),
                                   readEstimate(m["answer_nll"]),
                                   readEstimate(m["nll_difference"]),
                                   m["p_value"].number(),
                                   m["p_holm"].number(),
                                   readEstimate(m["score_difference"]),
                                   m["score_p_holm"].number(),
                                   m["mcnemar_holm"].numbers(),
                                   readEstimate(m["time_ratio"]),
                                   m["tokens_per_second"].number(),
                                   m["peak_bytes"].number(),
                                   m["passes"].smallCount(),
                                   m["attentions_per_layer"].smallCount(),
                                   m["verdict"].text(),
                                   m["bias"].text(),
                                   m["guardrail"].text(),
                                   m["guardrail_reason"].text(),
                                   m["guardrail_detail"].text(),
                                   m["perplexity_ratio"].number(),
                                   m["searched_items"].count(std::int64_t{1} << 53),
                                   m["all_items"].count(std::int64_t{1} << 53)};
    });
}

template <class Plot>
PlotData readAs(const Place& at) {
    Plot plot;
    read(at, plot);
    plot.title = at["title"].text();
    plot.subtitle = at["subtitle"].text();
    return plot;
}

}  // namespace

Result<PlotData> fromJson(const Json& json) {
    try {
        const Place at(json, "");
        if (!json.is_object()) at.refuse("is " + shown(json) + "; an object is expected");
        const std::string kind = at["kind"].text();
        if (kind == "curve") return readAs<CurvePlot>(at);
        if (kind == "accuracy") return readAs<AccuracyPlot>(at);
        if (kind == "convergence") return readAs<ConvergencePlot>(at);
        if (kind == "progress") return readAs<ProgressPlot>(at);
        if (kind == "attention") return readAs<AttentionPlot>(at);
        if (kind == "deviation") return readAs<DeviationPlot>(at);
        if (kind == "sensitivity") return readAs<SensitivityPlot>(at);
        if (kind == "pareto") return readAs<ParetoPlot>(at);
        if (kind == "loss") return readAs<LossPlot>(at);
        if (kind == "methods") return readAs<MethodsPlot>(at);
        at["kind"].refuse(
            "is " + shown(json["kind"]) +
            "; use curve, accuracy, convergence, progress, attention, deviation, sensitivity, pareto, loss or methods");
    } catch (const Refusal& refusal) {
        return fail(ErrorCode::BadInput, "The plot data cannot be drawn: " + refusal.message + ".");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The plot data cannot be read; write it again with this version.",
                    error.what());
    }
}

}  // namespace lpes::analysis
