#include "app/presenters.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QLocale>
#include <algorithm>
#include <cmath>
#include <variant>

#include "core/curve/scale_groups.h"
#include "widgets/panels/search_panel.h"

namespace lpes::app {

using nlohmann::json;
using widgets::ModelFacts;
using widgets::RunLine;

namespace {

QString text(const std::string& utf8) {
    return QString::fromStdString(utf8);
}

QString fixed(double value, int decimals = 3) {
    return QString::number(value, 'f', decimals);
}

/// A spelling without the folders of its file, cut in its middle where it is still long.
QString shortSpelling(QString spelling) {
    constexpr qsizetype kLongest = 40;
    const qsizetype colon = spelling.indexOf(QLatin1Char(':')), slash = spelling.lastIndexOf(QLatin1Char('/'));
    const bool file = spelling.startsWith(QLatin1String("lpes:")) || spelling.startsWith(QLatin1String("moice:")) ||
                      spelling.startsWith(QLatin1String("longrope:"));
    if (file && slash > colon) spelling.remove(colon + 1, slash - colon);
    if (spelling.size() <= kLongest) return spelling;
    return QString(spelling.left(kLongest / 2) % QChar(0x2026) % spelling.right(kLongest / 2 - 1));
}

json objectOf(const std::string& text) {
    json parsed = json::parse(text, nullptr, false);
    return parsed.is_object() ? parsed : json::object();
}

// A stored result may be damaged or another version's: nothing is taken for granted.
double numberAt(const json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_number() ? it->get<double>() : std::nan("");
}

json memberOf(const json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_object() ? *it : json::object();
}

QString detailsOf(const store::RunRow& run) {
    QString words =
        QStringLiteral(
            "seed %1 · %2 · %3 · %4 thread(s) per worker, %5 worker(s), batch %6\n%7\nversion %8, LibTorch %9")
            .arg(run.seed)
            .arg(text(run.device), text(run.computeType))
            .arg(run.threadsPerWorker)
            .arg(run.workers)
            .arg(run.batchSize)
            .arg(text(run.deviceDescription), text(run.toolVersion), text(run.libTorchVersion));
    if (!run.host.empty()) words += QStringLiteral("\n%1, process %2").arg(text(run.host)).arg(run.pid);
    if (!run.error.empty()) words += QStringLiteral("\n") + text(run.error);
    return words;
}

/// Of a training's result; NaN: it has no step.
double lastLoss(const json& result) {
    const json curve = result.is_object() ? result.value("curve", json::array()) : json::array();
    return !curve.is_array() || curve.empty() ? NAN : numberAt(curve.back(), "lm_loss");
}

/// The method of a comparison's result with the lowest answer NLL; null: there is none.
json lowestLoss(const json& result) {
    json lowest;
    const auto methods = result.find("methods");
    if (methods == result.end() || !methods->is_array()) return lowest;
    for (const json& method : *methods) {
        if (!method.is_object() || !std::isfinite(numberAt(method, "mean_answer_nll"))) continue;
        if (lowest.is_null() || numberAt(method, "mean_answer_nll") < numberAt(lowest, "mean_answer_nll"))
            lowest = method;
    }
    return lowest;
}

}  // namespace

QString freshnessOf(const RunDetail& detail) {
    if (detail.run.state != store::RunState::Running) return {};
    const auto when = QDateTime::fromMSecsSinceEpoch(detail.run.heartbeatMs);
    return QStringLiteral("live · ") + QLocale().toString(when.time(), QStringLiteral("HH:mm:ss"));
}

QString comparisonOf(const json& result) {
    if (!result.is_object() || lowestLoss(result).is_null()) return {};
    const json& methods = result["methods"];
    QStringList better;
    bool tested = false;
    for (const json& method : methods) {
        tested = tested || std::isfinite(numberAt(method, "p_value_vs_first"));
        const auto told = method.find("better_than_first");
        if (told != method.end() && *told == true) better << shortSpelling(text(method.value("method", "")));
    }
    const QString first = shortSpelling(text(methods.front().value("method", "")));
    if (!tested) return QStringLiteral("too few items for a verdict");
    if (better.isEmpty()) return QStringLiteral("no method is better than %1").arg(first);
    return QStringLiteral("better than %1: %2").arg(first, better.join(QStringLiteral(", ")));
}

QString trainingOf(const json& result) {
    if (!result.is_object()) return {};
    return QStringLiteral("LM loss %1 after %2 step(s); the router is %3")
        .arg(fixed(lastLoss(result)))
        .arg(result.value("steps", 0))
        .arg(text(result.value("router", std::string())));
}

std::string outcomeOf(const store::RunRow& run) {
    if (run.state == store::RunState::Failed) return run.error;
    const json result = objectOf(run.resultJson);
    if (run.kind == "search") {
        const double fitness = numberAt(memberOf(result, "best"), "fitness");
        return std::isfinite(fitness) ? "best " + fixed(fitness).toStdString() : std::string();
    }
    if (run.kind == "train") {
        const double loss = lastLoss(result);
        return std::isfinite(loss) ? "loss " + fixed(loss).toStdString() : std::string();
    }
    if (const json lowest = lowestLoss(result); !lowest.is_null()) {
        const QString name = shortSpelling(text(lowest.value("method", "")));
        return "NLL " + fixed(numberAt(lowest, "mean_answer_nll")).toStdString() + " " + name.toStdString();
    }
    const double accuracy = numberAt(result, "mean_accuracy");
    return std::isfinite(accuracy) ? "accuracy " + fixed(accuracy).toStdString() : std::string();
}

std::vector<RunLine> runLines(const StoreSnapshot& snapshot) {
    std::vector<RunLine> lines;
    for (std::size_t i = 0; i < snapshot.runs.size(); ++i) {
        const store::RunRow& run = snapshot.runs[i];
        RunLine line;
        line.id = run.id;
        line.kind = text(run.kind);
        line.state = text(std::string(store::runStateName(run.state)));
        line.label = text(run.label);
        line.model = text(snapshot.modelNames[i]);
        line.device = text(run.device);
        line.createdMs = run.createdMs;
        line.elapsedSeconds = run.elapsedSeconds;
        line.outcome = text(snapshot.outcomes[i]);
        line.details = detailsOf(run);
        const bool left = run.state == store::RunState::Stopped || run.state == store::RunState::Interrupted ||
                          run.state == store::RunState::Failed;
        line.resumable = (run.kind == "search" || run.kind == "compare" || run.kind == "train") && left;
        line.hasProfile = snapshot.hasProfile[i];
        lines.push_back(std::move(line));
    }
    return lines;
}

bool isBetter(const json& result) {
    const json heldout = result.is_object() ? memberOf(result, "heldout") : json::object();
    const auto better = heldout.find("better");
    return better != heldout.end() && *better == true;
}

QString verdictOf(const json& result) {
    if (!result.is_object()) return {};
    const json heldout = memberOf(result, "heldout");
    const json baseline = memberOf(heldout, "baseline"), best = memberOf(heldout, "best");
    const double before = numberAt(baseline, "mean_accuracy"), after = numberAt(best, "mean_accuracy");
    const double adjusted = numberAt(heldout, "p_holm");
    const bool byHolm = std::isfinite(adjusted);
    const double difference = numberAt(heldout, "nll_difference");
    const double p = byHolm ? adjusted : numberAt(heldout, "p_value");
    const double items = numberAt(best, "items");
    if (!std::isfinite(difference) || !std::isfinite(items)) return {};
    const bool tested = std::isfinite(p);
    const double searched = numberAt(memberOf(best, "searched_on"), "searched_items");
    const QString seen =
        std::isfinite(searched) ? QStringLiteral(", %1 of them seen by the search").arg(searched) : QString();
    // A difference below zero means that the loss fell, which is the better side.
    return QStringLiteral("%1 on %2 held-out items%8: answer NLL %3%4 (%5), mean accuracy %6 → %7")
        .arg(!tested            ? QStringLiteral("no verdict")
             : isBetter(result) ? QStringLiteral("better")
                                : QStringLiteral("no clear gain"))
        .arg(static_cast<int>(items))
        .arg(difference > 0 ? QStringLiteral("+") : QStringLiteral("−"))
        .arg(fixed(std::abs(difference)))
        .arg(!tested ? QStringLiteral("too few for a test")
                     : QStringLiteral("p = ") + (p < 0.001 ? QString::number(p, 'g', 1) : fixed(p)) +
                           (byHolm ? QStringLiteral(" by Holm") : QString()))
        .arg(fixed(before), fixed(after), seen);
}

QString headlineOf(const RunDetail& detail) {
    const store::RunRow& run = detail.run;
    QString words =
        QStringLiteral("Run %1 · %2 · %3 · %4")
            .arg(run.id)
            .arg(text(run.label), text(detail.modelName), text(std::string(store::runStateName(run.state))));
    if (run.elapsedSeconds > 0) words += QStringLiteral(" · ") + widgets::durationText(run.elapsedSeconds);
    const json result = objectOf(run.resultJson);
    const QString verdict =
        run.kind == "compare" && run.state == store::RunState::Finished ? comparisonOf(result) : verdictOf(result);
    if (!verdict.isEmpty()) {
        words += QStringLiteral(" · ") + verdict;
    } else if (detail.population.best) {
        words += QStringLiteral(" · best so far ") + fixed(detail.population.best->fitness);
        if (detail.population.baselineFitness) {
            words += QStringLiteral(" against ") + fixed(*detail.population.baselineFitness) +
                     QStringLiteral(" without a profile");
        }
    }
    if (detail.population.failed > 0) {
        words += QStringLiteral(" · %1 candidate(s) failed: %2")
                     .arg(detail.population.failed)
                     .arg(text(detail.population.lastFailure));
    }
    if (run.state == store::RunState::Failed) words += QStringLiteral(" · ") + text(run.error);
    return words;
}

std::pair<int, int> shapeOf(const RunDetail& detail) {
    if (!detail.plots[kCurvePlot].data) return {0, 0};
    const auto* curve = std::get_if<analysis::CurvePlot>(detail.plots[kCurvePlot].data.get());
    if (!curve || curve->series.empty()) return {0, 0};
    return {static_cast<int>(curve->series.front().scales.size()), curve->trainedContext};
}

QString shownPath(const std::filesystem::path& path) {
    const QString whole = text(path.string());
    const QString home = QDir::homePath() + QLatin1Char('/');
    return whole.startsWith(home) ? QStringLiteral("~/") + whole.mid(home.size()) : whole;
}

QString bytesText(double bytes) {
    constexpr double kKiB = 1024.0;
    const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes >= kKiB && unit + 1 < std::size(units)) {
        bytes /= kKiB;
        ++unit;
    }
    return QStringLiteral("%1 %2").arg(bytes, 0, 'f', unit > 2 || bytes < 10 ? 1 : 0).arg(QLatin1String(units[unit]));
}

std::vector<widgets::GhostCurve> bestGhosts(const RunDetail& detail) {
    const studies::RunPopulation& population = detail.population;
    std::vector<widgets::GhostCurve> ghosts;
    if (!population.best) return ghosts;
    const auto groups = static_cast<int>(population.groupNames.size());
    for (int group = 0; group < groups; ++group) {
        QString name = QCoreApplication::translate("presenters", "best of run %1").arg(detail.run.id);
        const std::string& own = population.groupNames[static_cast<std::size_t>(group)];
        if (!own.empty()) name += QStringLiteral(", ") + QString::fromStdString(own);
        ghosts.push_back({name, own.empty() ? analysis::SeriesRole::Best : analysis::SeriesRole::Other,
                          curve::scalesOfGroup(population.best->scales, groups, group)});
    }
    return ghosts;
}

ModelFacts factsOf(const json& description) {
    ModelFacts facts;
    const json origins = description.value("origins", json::object());
    const auto origin = [&](const char* key) { return text(origins.value(key, std::string())); };
    // Keys that every file must have under one name.
    const std::string family = description.value("architecture", std::string());
    const bool gguf = description.value("format", std::string()) == "gguf";
    const auto required = [&](const char* ggufKey, const char* configKey) {
        return text(gguf ? family + "." + ggufKey : std::string("config.json ") + configKey);
    };
    const auto number = [&](const char* key) { return QString::number(description.value(key, std::int64_t{0})); };
    const auto yes = [](bool value) { return value ? QStringLiteral("yes") : QStringLiteral("no"); };
    facts.name = text(description.value("name", std::string()));
    facts.path = shownPath(description.value("path", std::string()));
    const double parameters = static_cast<double>(description.value("parameters", std::int64_t{0}));
    const json biases = description.value("biases", json::object());
    facts.groups.push_back(
        {QStringLiteral("Model"),
         {{QStringLiteral("architecture"), text(description.value("architecture", std::string())),
           origin("architecture")},
          {QStringLiteral("format"), text(description.value("format", std::string())), {}},
          {QStringLiteral("parameters"), QStringLiteral("%1 million").arg(parameters / 1e6, 0, 'f', 1),
           QStringLiteral("computed")},
          {QStringLiteral("layers"), number("layers"), required("block_count", "num_hidden_layers")},
          {QStringLiteral("hidden size"), number("hidden"), required("embedding_length", "hidden_size")},
          {QStringLiteral("attention heads"), number("heads"), required("attention.head_count", "num_attention_heads")},
          {QStringLiteral("key/value heads"), number("kv_heads"), origin("num_kv_heads")},
          {QStringLiteral("head_dim"), number("head_dim"), origin("head_dim")},
          {QStringLiteral("intermediate size"), number("intermediate"),
           required("feed_forward_length", "intermediate_size")},
          {QStringLiteral("vocabulary"), number("vocab"), origin("vocab")},
          {QStringLiteral("tied output head"), yes(description.value("tied_head", false)), origin("tied_head")},
          {QStringLiteral("q/k/v bias"), yes(biases.value("qkv", false)), origin("qkv_bias")},
          {QStringLiteral("weights"),
           QStringLiteral("%1, %2").arg(text(description.value("weight_types", std::string())),
                                        bytesText(description.value("weight_bytes", 0.0))),
           QStringLiteral("the tensors")},
          {QStringLiteral("fingerprint"), text(description.value("fingerprint", std::string())),
           QStringLiteral("computed")}}});
    const json rope = description.value("rope", json::object());
    facts.groups.push_back(
        {QStringLiteral("RoPE"),
         {{QStringLiteral("type"), text(rope.value("type", std::string())), {}},
          {QStringLiteral("RoPE base θ"), QString::number(rope.value("theta", 0.0), 'g', 10),
           text(rope.value("origin", std::string()))},
          {QStringLiteral("factor"), QString::number(rope.value("factor", 1.0)), {}},
          {QStringLiteral("trained context"),
           QStringLiteral("%1 tokens").arg(description.value("context", std::int64_t{0})), origin("context")},
          {QStringLiteral("original block"), text(rope.value("original", json()).dump()),
           QStringLiteral("the file, verbatim")}}});
    if (const auto tokenizer = description.find("tokenizer");
        tokenizer != description.end() && tokenizer->is_object()) {
        facts.groups.push_back(
            {QStringLiteral("Tokenizer"),
             {{QStringLiteral("kind"), text(tokenizer->value("description", std::string())), {}},
              {QStringLiteral("vocabulary"), QString::number(tokenizer->value("vocabulary", std::int64_t{0})), {}},
              {QStringLiteral("fingerprint"), text(tokenizer->value("fingerprint", std::string())),
               QStringLiteral("computed")}}});
    }
    ModelFacts::Group memory{QStringLiteral("Memory"), {}};
    for (const json& row : description.value("memory", json::array())) {
        memory.facts.push_back(
            {QStringLiteral("%1 tokens").arg(row.value("tokens", std::int64_t{0})),
             QStringLiteral("%1 (weights %2, KV cache %3)")
                 .arg(bytesText(row.value("total_bytes", 0.0)), bytesText(row.value("weight_bytes", 0.0)),
                      bytesText(row.value("kv_cache_bytes", 0.0))),
             QStringLiteral("estimated, ") + text(row.value("dtype", std::string()))});
    }
    if (!memory.facts.empty()) facts.groups.push_back(std::move(memory));
    for (const json& warning : description.value("warnings", json::array())) {
        if (warning.is_string()) facts.warnings.push_back(text(warning.get<std::string>()));
    }
    return facts;
}

}  // namespace lpes::app
