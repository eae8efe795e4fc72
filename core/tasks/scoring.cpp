#include "core/tasks/scoring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "core/tasks/answer_normalising.h"
#include "core/tasks/leval_exam.h"
#include "core/tasks/parsed_answers.h"
#include "core/tasks/python_text.h"
#include "core/tasks/rouge.h"
#include "core/tasks/token_f1.h"

namespace lpes::tasks {

namespace {

/// The answer as it is held against one reference.
using OneReference = double (*)(std::string_view reference, std::string_view generated);

struct MetricEntry {
    Metric metric;
    std::string_view name;
    bool binary;
    OneReference score;  ///< null: the metric looks at all references together, or at none
};

double containsScore(std::string_view reference, std::string_view generated) {
    return containsIgnoringCase(generated, reference) ? 1.0 : 0.0;
}

double bestSubspan(std::string_view reference, std::string_view generated) {
    // A reference that normalises to nothing is found in every answer, as in the official script.
    const std::string answer = normaliseAnswer(strip(before(generated, "\n")), WordRule::Regex);
    return answer.find(normaliseAnswer(reference, WordRule::Regex)) != std::string::npos ? 1.0 : 0.0;
}

double asciiF1(std::string_view reference, std::string_view generated) {
    return tokenF1(reference, generated, true);
}

double plainF1(std::string_view reference, std::string_view generated) {
    return tokenF1(reference, generated, false);
}

constexpr std::array kMetrics{
    MetricEntry{Metric::Contains, "contains", true, containsScore},
    MetricEntry{Metric::BestSubspan, "best_subspan_em", true, bestSubspan},
    MetricEntry{Metric::ContainsAll, "contains_all", false, nullptr},
    MetricEntry{Metric::RougeGeometric, "rouge_gm", false, nullptr},
    MetricEntry{Metric::RougeGeometricRaw, "rouge_gm_unstemmed", false, nullptr},
    MetricEntry{Metric::F1, "f1", false, asciiF1},
    MetricEntry{Metric::F1LEval, "f1_leval", false, plainF1},
    MetricEntry{Metric::ChoiceLetter, "choice_letter", true, choiceLetterScore},
    MetricEntry{Metric::ExpSimilarity, "exp_similarity", false, percentageSimilarity},
    MetricEntry{Metric::Concordance, "concordance_index", false, concordanceIndex},
    MetricEntry{Metric::ExamLEval, "exam_leval", false, levalExactMatch},
    MetricEntry{Metric::ExamOneLetter, "exam_one_letter", false, levalOneLetter},
    MetricEntry{Metric::ExamSomeLetters, "exam_some_letters", false, levalSomeLetters},
    MetricEntry{Metric::ExamMath, "exam_math", true, levalMath},
    MetricEntry{Metric::ExamCode, "exam_code", false, levalCode},
    MetricEntry{Metric::ExamJudgement, "exam_judgement", false, levalJudgement},
    MetricEntry{Metric::Likeliest, "likeliest", true, nullptr},
};

const MetricEntry& entry(Metric metric) {
    return *std::find_if(kMetrics.begin(), kMetrics.end(), [&](const auto& each) { return each.metric == metric; });
}

double shareContained(std::span<const std::string> references, std::string_view generated) {
    const std::string answer = lowerCase(generated);
    const auto found = std::count_if(references.begin(), references.end(), [&](const std::string& reference) {
        return answer.find(lowerCase(reference)) != std::string::npos;
    });
    return static_cast<double>(found) / static_cast<double>(references.size());
}

}  // namespace

std::string_view metricName(Metric metric) {
    return entry(metric).name;
}

Result<Metric> parseMetric(const std::string& name) {
    std::vector<std::string_view> names;
    for (const MetricEntry& each : kMetrics) {
        if (each.name == name) return each.metric;
        names.push_back(each.name);
    }
    return fail(ErrorCode::Usage,
                fmt::format("scoring '{}' is not known; use one of {}", name, fmt::join(names, ", ")));
}

bool isBinary(Metric metric) {
    return entry(metric).binary;
}

std::string referenceFault(Metric metric, std::span<const std::string> references, std::size_t index) {
    const std::string& reference = references[index];
    const std::string_view name = metricName(metric);
    if (metric == Metric::Likeliest) return {};
    if (strip(reference).empty()) return "is nothing but white space";
    if (metric == Metric::RougeGeometric || metric == Metric::RougeGeometricRaw) {
        const auto words = [](const std::string& text) { return rougeWords(text); };
        if (words(reference) == 0)
            return fmt::format("can never score by '{}': it has no word of the letters a–z and digits", name);
        // Each of the three is the best over the references: pairs of words may be those of another one.
        if (std::ranges::max(references | std::views::transform(words)) < 2)
            return fmt::format("can never score by '{}': it has one word, and pairs of words count", name);
        return {};
    }
    if (metric == Metric::ContainsAll) return {};
    const OneReference score = entry(metric).score;
    if (score(reference, "") >= 1.0)
        return fmt::format("scores 1 by '{}' where nothing is answered: the rule leaves nothing of it", name);
    // The answer that should have the full score: itself, on the one line that some rules look at.
    const std::string oneLine = replaceAll(reference, "\n", " ");
    if (score(reference, reference) > 0.0 || score(reference, oneLine) > 0.0) return {};
    return fmt::format("does not score by '{}' even against itself", name);
}

double scoreAnswer(Metric metric, std::span<const std::string> references, std::string_view generated) {
    if (metric == Metric::ContainsAll) return shareContained(references, generated);
    if (metric == Metric::RougeGeometric) return bestRouge(references, generated, true).geometricMean();
    if (metric == Metric::RougeGeometricRaw) return bestRouge(references, generated, false).geometricMean();
    const OneReference score = entry(metric).score;
    if (!score) return 0.0;
    double best = 0.0;
    for (const std::string& reference : references) best = std::max(best, score(reference, generated));
    return best;
}

}  // namespace lpes::tasks
