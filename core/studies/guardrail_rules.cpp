#include "core/studies/guardrail_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "core/analysis/statistics.h"
#include "core/analysis/verdict.h"

namespace lpes::studies {

namespace {

using analysis::Interval;
using nlohmann::json;

/// Of the resamples; not a run's own, so that the light of the same answers never changes.
constexpr std::uint64_t kResampleSeed = 1;

/// A change for the worse, positive, in the words that it is told in.
struct Harm {
    double estimate = 0.0;
    Interval interval;
    GuardrailLimit limit;
    std::int64_t items = 0;
    std::string_view unit;   ///< what the items are
    std::string change;      ///< the change with its interval: what happened
    std::string limitWords;  ///< "a rise by more than 5 %"
};

struct Finding {
    Light light = Light::Green;
    std::string reason;
};

/// A point where every item changes by the same, as under a method that changes nothing; of too few items none.
Interval intervalOf(const analysis::PairedBootstrap& change, std::size_t items) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    if (static_cast<std::int64_t>(items) < analysis::kFewestItems) return {kNaN, kNaN};
    return change.interval.value_or(Interval{change.meanDifference, change.meanDifference});
}

Finding findingOf(const Harm& harm) {
    const Interval& interval = harm.interval;
    if (!std::isfinite(harm.estimate)) return {Light::Red, harm.change};
    if (harm.items < analysis::kFewestItems) {
        return {Light::Amber, fmt::format("too few {} to say, {} where {} are needed: {}", harm.unit, harm.items,
                                          analysis::kFewestItems, harm.change)};
    }
    const bool certain = interval.low > 0.0;
    if (certain && harm.estimate > harm.limit.limit)
        return {Light::Red, fmt::format("{}, {}", harm.change, harm.limitWords)};
    if (!(interval.high <= harm.limit.limit))
        return {Light::Amber, fmt::format("{}: {} is not excluded", harm.change, harm.limitWords)};
    if (certain && harm.estimate > harm.limit.small)
        return {Light::Amber, fmt::format("{}: a harm, though {} is excluded", harm.change, harm.limitWords)};
    return {Light::Green, harm.change};
}

std::string intervalText(const Interval& interval, int decimals) {
    if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return {};
    return fmt::format(" (95 % {} to {})", analysis::signedNumber(interval.low, decimals),
                       analysis::signedNumber(interval.high, decimals));
}

Harm perplexityHarm(double ratio, const Interval& interval, std::int64_t texts) {
    Harm harm{ratio - 1.0, {interval.low - 1.0, interval.high - 1.0}, kPerplexityRise, texts, "short texts", {}, {}};
    harm.change = std::isfinite(ratio) ? fmt::format("short-context perplexity {} {:.3f} times the baseline's{}",
                                                     ratio > 1.0 ? "rises to" : "is", ratio, intervalText(interval, 3))
                                       : "short-context perplexity is not a finite number";
    harm.limitWords = fmt::format("a rise by more than {:g} %", 100.0 * kPerplexityRise.limit);
    return harm;
}

json perplexityJson(const GuardrailSide& baseline, const GuardrailSide& method, Finding& finding) {
    // Each text weighs as its tokens do in the perplexity, so that the mean of the differences is the logarithm of the
    // ratio.
    const auto weighed = [&](const GuardrailSide& side) {
        const double weight = static_cast<double>(side.textNll.size()) / static_cast<double>(side.tokens());
        std::vector<double> nll = side.textNll;
        for (double& one : nll) one *= weight;
        return nll;
    };
    const double ratio = method.perplexity() / baseline.perplexity();
    const analysis::PairedBootstrap change =
        analysis::pairedBootstrap(weighed(baseline), weighed(method), kResampleSeed);
    const std::size_t texts = method.textNll.size();
    const Interval logRatio = intervalOf(change, texts);
    const Interval interval{std::exp(logRatio.low), std::exp(logRatio.high)};
    finding = findingOf(perplexityHarm(ratio, interval, static_cast<std::int64_t>(texts)));
    return {{"light", lightName(finding.light)},
            {"baseline", baseline.perplexity()},
            {"method", method.perplexity()},
            {"ratio", ratio},
            {"ci_low", interval.low},
            {"ci_high", interval.high},
            {"texts", texts},
            {"tokens", baseline.tokens()},
            {"window", "each text alone"},
            {"bos", "none"}};
}

/// An exam's answers on both sides.
struct ExamChange {
    std::int64_t questions = 0, lost = 0, won = 0;
    double before = 0.0, after = 0.0;  ///< shares of right answers
    Interval accuracy;                 ///< of after − before
    double nll = 0.0;                  ///< mean change of the right answers' NLL
    Interval nllInterval;
};

double share(const std::vector<bool>& right) {
    return right.empty() ? 0.0
                         : static_cast<double>(std::ranges::count(right, true)) / static_cast<double>(right.size());
}

ExamChange changeOf(const GuardrailSide::Exam& before, const GuardrailSide::Exam& after) {
    ExamChange change;
    change.questions = static_cast<std::int64_t>(before.right.size());
    for (std::size_t i = 0; i < before.right.size(); ++i) {
        change.lost += before.right[i] && !after.right[i] ? 1 : 0;
        change.won += !before.right[i] && after.right[i] ? 1 : 0;
    }
    change.before = share(before.right);
    change.after = share(after.right);
    change.accuracy = analysis::pairedShareInterval(change.lost, change.won, change.questions);
    const analysis::PairedBootstrap nll = analysis::pairedBootstrap(before.choiceNll, after.choiceNll, kResampleSeed);
    change.nll = nll.meanDifference;
    change.nllInterval = intervalOf(nll, before.choiceNll.size());
    return change;
}

/// "rises by 0.012 nats", "stays".
std::string movement(double rise, int decimals, std::string_view unit) {
    if (rise == 0.0) return "stays";
    return fmt::format("{} by {:.{}f} {}", rise > 0.0 ? "rises" : "falls", std::abs(rise), decimals, unit);
}

Harm accuracyHarm(const std::string& exam, const ExamChange& change) {
    const Interval points{100.0 * change.accuracy.low, 100.0 * change.accuracy.high};
    Harm harm{change.before - change.after,
              {-change.accuracy.high, -change.accuracy.low},
              kAccuracyFall,
              change.questions,
              "questions",
              {},
              {}};
    harm.change =
        fmt::format("{}: accuracy {}{}", exam, movement(-100.0 * harm.estimate, 1, "points"), intervalText(points, 1));
    harm.limitWords = fmt::format("a fall by more than {:g} points", 100.0 * kAccuracyFall.limit);
    return harm;
}

Harm nllHarm(const std::string& exam, const ExamChange& change) {
    Harm harm{change.nll, change.nllInterval, kChoiceNllRise, change.questions, "questions", {}, {}};
    harm.change = std::isfinite(change.nll)
                      ? fmt::format("{}: NLL of the right choice {}{}", exam, movement(change.nll, 3, "nats"),
                                    intervalText(change.nllInterval, 3))
                      : fmt::format("{}: NLL of the right choice is not a finite number", exam);
    harm.limitWords = fmt::format("a rise by more than {:g} nats", kChoiceNllRise.limit);
    return harm;
}

/// The worse of two; of equally bad ones the first.
void raise(Finding& worst, Finding found) {
    if (static_cast<int>(found.light) > static_cast<int>(worst.light)) worst = std::move(found);
}

json examJson(const GuardrailSide::Exam& before, const GuardrailSide::Exam& after, Finding& worst) {
    const ExamChange change = changeOf(before, after);
    // The likelihood first: it tells a harm from chance where accuracy can't.
    Finding finding = findingOf(nllHarm(before.name, change));
    raise(finding, findingOf(accuracyHarm(before.name, change)));
    const bool tested = change.questions >= analysis::kFewestItems;
    const json p = tested ? json(analysis::mcnemarExact(change.lost, change.won)) : json(nullptr);
    json row{{"light", lightName(finding.light)},
             {"name", before.name},
             {"n", change.questions},
             {"baseline", change.before},
             {"method", change.after},
             {"difference", change.after - change.before},
             {"ci_low", change.accuracy.low},
             {"ci_high", change.accuracy.high},
             {"p_value", p},
             {"choice_nll_difference", change.nll},
             {"choice_nll_ci_low", change.nllInterval.low},
             {"choice_nll_ci_high", change.nllInterval.high}};
    raise(worst, std::move(finding));
    return row;
}

}  // namespace

std::int64_t GuardrailSide::tokens() const {
    return std::accumulate(textTokens.begin(), textTokens.end(), std::int64_t{0});
}

double GuardrailSide::perplexity() const {
    const double nll = std::accumulate(textNll.begin(), textNll.end(), 0.0);
    return std::exp(nll / static_cast<double>(std::max<std::int64_t>(tokens(), 1)));
}

std::string lightName(Light light) {
    switch (light) {
        case Light::Green:
            return "green";
        case Light::Amber:
            return "amber";
        case Light::Red:
            break;
    }
    return "red";
}

json judgeShortContexts(const GuardrailSide& baseline, const GuardrailSide& method) {
    Finding worst;
    json perplexity = perplexityJson(baseline, method, worst);
    json exams = json::array();
    for (std::size_t i = 0; i < baseline.exams.size(); ++i)
        exams.push_back(examJson(baseline.exams[i], method.exams[i], worst));
    if (worst.light == Light::Green) worst.reason = "no harm beyond the limits; " + worst.reason;
    return {{"light", lightName(worst.light)},
            {"reason", worst.reason},
            {"perplexity", std::move(perplexity)},
            {"exams", std::move(exams)},
            {"limits",
             {{"perplexity_rise", kPerplexityRise.limit},
              {"choice_nll_rise", kChoiceNllRise.limit},
              {"accuracy_fall", kAccuracyFall.limit},
              {"fewest_items", analysis::kFewestItems}}}};
}

void noteChosenBy(json& guardrail, const std::string& option) {
    guardrail["chosen_by"] = option;
    guardrail["reason"] = fmt::format("{} (no independent check: under {} the same short texts chose the profile)",
                                      guardrail.value("reason", ""), option);
}

std::string guardrailRules() {
    return fmt::format(
        "Changes against the first method on the same texts and questions, with 95 % intervals. Limits: perplexity may "
        "rise by {:g} %, the right choices' NLL by {:g} nats, accuracy may fall by {:g} points. Red: beyond a limit, "
        "and the interval excludes no harm; amber: a harm beyond a limit is not excluded, a smaller one (above {:g} %, "
        "{:g} nats, {:g} points) is certain, or there are fewer than {} texts or questions; green: a harm beyond the "
        "limits is excluded. These limits are our own.",
        100.0 * kPerplexityRise.limit, kChoiceNllRise.limit, 100.0 * kAccuracyFall.limit, 100.0 * kPerplexityRise.small,
        kChoiceNllRise.small, 100.0 * kAccuracyFall.small, analysis::kFewestItems);
}

}  // namespace lpes::studies
