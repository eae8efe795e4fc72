#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// When the guardrail's light is green, amber or red: what a method costs where nothing is far away, held against
/// limits.
///
/// Three kinds of measure, each the change against the baseline on the same texts or questions, with a 95 % interval:
///
/// | measure                                    | interval                                        | small | limit |
/// |--------------------------------------------|-------------------------------------------------|-------|-------|
/// | rise of short-context perplexity           | paired bootstrap over texts, weighed by tokens  | 1 %   | 5 %   |
/// | rise of the right choices' NLL, each exam  | paired bootstrap over questions                 | 0.02  | 0.1   |
/// | fall of the share of right answers, each   | analysis::pairedShareInterval over questions    | 2     | 10    |
///
/// (NLL in nats, shares in points.) One measure is
/// - red where the harm is beyond the limit and the interval excludes that there is none, or where it is not a finite
///   number;
/// - amber where a harm beyond the limit is not excluded, where a harm that is more than small is certain though within
///   the limit, or where there are fewer than analysis::kFewestItems texts or questions;
/// - green otherwise: a harm beyond the limit is excluded.
/// The light is that of the worst measure. The values are our own. Perplexity may rise by what a coarser quantisation
/// costs; a right choice may lose a tenth of its share of all choices' likelihood. (Its likelihood among all tokens
/// moves with how readily a model answers by a letter at all: on SmolLM2-135M by 0.07 nats under a uniform scale
/// of 1.02, which moves nothing else beyond chance.) Of 100 questions an interval reaches 7 points to either side where
/// ten answers change, so that a limit much narrower than ten points could never be kept by them; what accuracy is too
/// coarse to show moves the NLL.
namespace lpes::studies {

struct GuardrailLimit {
    double small = 0.0;  ///< a certain harm up to here is no reason for concern
    double limit = 0.0;
};
inline constexpr GuardrailLimit kPerplexityRise{0.01, 0.05};  ///< relative
inline constexpr GuardrailLimit kChoiceNllRise{0.02, 0.1};    ///< nats
inline constexpr GuardrailLimit kAccuracyFall{0.02, 0.1};     ///< of all questions

/// One method on the guardrail's texts and questions.
struct GuardrailSide {
    struct Exam {
        std::string name;
        std::vector<bool> right;        ///< [questions]
        std::vector<double> choiceNll;  ///< [questions] of the right choice among the choices, nats
    };
    std::vector<double> textNll;           ///< [texts] sum over a text's scored tokens, nats
    std::vector<std::int64_t> textTokens;  ///< [texts] scored ones
    std::vector<Exam> exams;

    [[nodiscard]] std::int64_t tokens() const;  ///< scored ones of all texts
    [[nodiscard]] double perplexity() const;    ///< over them
};

enum class Light { Green, Amber, Red };
[[nodiscard]] std::string lightName(Light light);  ///< "green", …

/// Both sides have the same texts and questions. {"light", "reason" (one sentence without its full stop, with the
/// interval), "perplexity": {"light", "baseline", "method", "ratio", "ci_low", "ci_high" (of the ratio), "texts",
/// "tokens", "window", "bos"}, "exams": [{"light", "name", "n", "baseline", "method", "difference", "ci_low",
/// "ci_high", "p_value" (exact McNemar, for information), "choice_nll_difference", "choice_nll_ci_low",
/// "choice_nll_ci_high"}…], "limits": {"perplexity_rise", "choice_nll_rise", "accuracy_fall", "fewest_items"}}. Ends of
/// an interval are null where fewer than two items have none. The same values give the same intervals every time.
[[nodiscard]] nlohmann::json judgeShortContexts(const GuardrailSide& baseline, const GuardrailSide& method);

/// For the light of a search that measured the short texts for every candidate: adds "chosen_by" (the option that
/// wanted them) and says in "reason" that these texts chose the profile too.
void noteChosenBy(nlohmann::json& guardrail, const std::string& option);

/// The rules above in three sentences, for reports.
[[nodiscard]] std::string guardrailRules();

}  // namespace lpes::studies
