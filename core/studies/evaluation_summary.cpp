#include "core/studies/evaluation_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/analysis/position_bias.h"
#include "core/analysis/scoring_agreement.h"
#include "core/exporters/profile.h"
#include "core/studies/found_profiles.h"
#include "core/studies/json_rows.h"
#include "core/studies/report_html.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr std::uint64_t kIntervalSeed =
    1;  // of what draws the same whatever the run, so that a report can be made again

/// Scores of each item, in order of the ids, as their mean; empty where no item has several.
std::vector<double> meansOfItems(std::span<const analysis::ItemOutcome> outcomes) {
    std::map<std::string_view, std::pair<double, int>> items;
    for (const analysis::ItemOutcome& outcome : outcomes) {
        auto& [sum, count] = items[outcome.itemId];
        sum += outcome.score;
        ++count;
    }
    if (items.size() == outcomes.size()) return {};
    std::vector<double> means;
    for (const auto& [id, item] : items) means.push_back(item.first / item.second);
    return means;
}

/// n, accuracy and interval of some outcomes, as a position's row has them. The answers to one item at several
/// positions are no independent draws: then it is items that the interval's bootstrap draws.
json rowOf(std::vector<analysis::ItemOutcome> outcomes, bool graded) {
    const std::vector<double> items = meansOfItems(outcomes);
    // One position for all of them: their rows are told apart by an ordinal in the id alone.
    int ordinal = 0;
    for (analysis::ItemOutcome& outcome : outcomes) {
        outcome.itemId += fmt::format("\n{}", ordinal++);
        outcome.position = 0;
    }
    const std::string label = "all";
    const auto accuracy = analysis::accuracyByPosition(outcomes, std::span(&label, 1), graded);
    const analysis::PositionResult& row = accuracy.positions.front();
    json all{{"n", row.n}, {"accuracy", row.accuracy}, {"ci_low", row.ciLow}, {"ci_high", row.ciHigh}};
    if (!items.empty()) {
        const analysis::Interval interval = analysis::boundedMeanInterval(items, kIntervalSeed);
        all["ci_low"] = interval.low;
        all["ci_high"] = interval.high;
    }
    return all;
}

json biasJson(const analysis::PositionBias& bias) {
    return {{"psi", optionalJson(bias.sensitivityIndex)},
            {"psi_interval", intervalJson(bias.sensitivityInterval)},
            {"u_shape", optionalJson(bias.uShape)},
            {"u_shape_interval", intervalJson(bias.uShapeInterval)},
            {"curvature", optionalJson(bias.curvature)},
            {"curvature_interval", intervalJson(bias.curvatureInterval)},
            {"p_value", optionalJson(bias.pValue)},
            {"test", bias.test},
            {"found", bias.found},
            {"verdict", bias.verdict}};
}

/// What a profile was searched and selected on.
struct SearchedItems {
    std::set<std::string> names;  ///< content hashes, or ids
    bool byContent = false;
};

/// The texts of both lists that a search wrote under `key`.
std::set<std::string> searchedNames(const json& provenance, const char* key) {
    std::set<std::string> names;
    const json lists = memberOf(provenance, key);
    for (const char* split : {"search", "select"}) {
        const json list = listIn(lists, split);
        for (const json& name : list) {
            if (name.is_string()) names.insert(name.get<std::string>());
        }
    }
    return names;
}

/// Does it name the items of a search at all, whatever their data?
bool saysItsItems(const json& provenance) {
    return !searchedNames(provenance, "item_hashes").empty() || !searchedNames(provenance, "items").empty();
}

SearchedItems searchedItems(const json& provenance, const PreparedTask& task) {
    if (!provenance.is_object()) return {};
    if (auto hashes = searchedNames(provenance, "item_hashes"); !hashes.empty()) return {std::move(hashes), true};
    // A part of the data has another hash, and generated items of another seed the same ids.
    const bool sameData = provenance.value("data_set_hash", json()) == json(task.info().hash);
    const bool sameSeed = provenance.value("item_seed", json()) == json(task.spec.seedOfItems());
    if (!sameData && !sameSeed) return {};
    return {searchedNames(provenance, "items"), false};
}

/// The items that were run, none of which was too long at any position.
std::set<std::string> itemsRun(std::span<const analysis::ItemOutcome> outcomes) {
    std::set<std::string> ids;
    for (const analysis::ItemOutcome& outcome : outcomes) ids.insert(outcome.itemId);
    for (const analysis::ItemOutcome& outcome : outcomes) {
        if (outcome.skippedTooLong) ids.erase(outcome.itemId);
    }
    return ids;
}

/// How many of these items were searched on.
Result<std::int64_t> countSearched(const SearchedItems& searched, ItemHashes& hashes,
                                   const std::set<std::string>& ids) {
    std::int64_t seen = 0;
    if (searched.names.empty()) return seen;
    for (const std::string& id : ids) {
        const Result<std::string> name = searched.byContent ? hashes.of(id) : Result<std::string>(id);
        if (!name) return fail(name.error());
        seen += searched.names.contains(*name) ? 1 : 0;
    }
    return seen;
}

/// What is known of the file of a method's part; the worse of two is the larger.
enum class Known { Recorded, Scales, Unknown };

const char* knownName(Known known) {
    return known == Known::Recorded ? "recorded" : known == Known::Scales ? "scales" : "unknown";
}

/// Where the scales of a file come from.
struct Origin {
    Known known = Known::Unknown;
    std::vector<FoundProfile> searches;  ///< one without a number where the file says it; none: unknown
};

bool holdsScales(const rope::MethodPart& part) {
    return part.kind == rope::MethodPart::Kind::Lpes || part.kind == rope::MethodPart::Kind::LongRope;
}

Result<Origin> originOf(const rope::MethodPart& part, store::StoreReader& store) {
    if (part.kind == rope::MethodPart::Kind::Lpes) {
        const auto loaded = exporters::readProfile(part.file);
        if (loaded && saysItsItems(loaded->profile.provenance))
            return Origin{Known::Recorded, {{0, loaded->profile.provenance}}};
    }
    auto found = searchesThatFound(part, store);
    if (!found) return fail(found.error());
    std::erase_if(*found, [](const FoundProfile& search) { return !saysItsItems(search.provenance); });
    return found->empty() ? Origin{} : Origin{Known::Scales, std::move(*found)};
}

/// By the search that saw the most of the items; null where none saw any.
Result<json> overlapJson(const std::string& file, const Origin& origin, ItemHashes& items,
                         const std::set<std::string>& ids) {
    json most;
    std::int64_t largest = 0;
    for (const FoundProfile& search : origin.searches) {
        const SearchedItems searched = searchedItems(search.provenance, items.task());
        const auto seen = countSearched(searched, items, ids);
        if (!seen) return fail(seen.error());
        if (*seen <= largest) continue;
        largest = *seen;
        most = {{"profile", file},
                {"searched_items", *seen},
                {"items", ids.size()},
                {"matched_by", searched.byContent ? "content" : "ids"}};
        if (origin.known != Known::Scales) continue;
        most["matched_by"] = "scales";
        most["run_id"] = search.runId;
    }
    return most;
}

}  // namespace

json groupsJson(const PreparedTask& task, std::span<const analysis::ItemOutcome> outcomes, bool graded) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<analysis::ItemOutcome>> groups;
    for (const analysis::ItemOutcome& outcome : outcomes) {
        const auto item = task.find(outcome.itemId);
        const std::string group = item ? task.benchmark->group(*item) : "";
        if (group.empty() || outcome.skippedTooLong) continue;
        auto [it, added] = groups.try_emplace(group);
        if (added) order.push_back(group);
        it->second.push_back(outcome);
    }
    json rows = json::array();
    for (const std::string& group : order) {
        json row = rowOf(std::move(groups[group]), graded);
        row["group"] = group;
        rows.push_back(std::move(row));
    }
    return rows;
}

json lengthsJson(std::span<const analysis::ItemOutcome> outcomes, bool graded) {
    constexpr int kFirst = 512;
    std::map<int, std::vector<analysis::ItemOutcome>> buckets;
    for (const analysis::ItemOutcome& outcome : outcomes) {
        if (outcome.skippedTooLong) continue;
        int from = 0;
        for (int edge = kFirst; outcome.promptTokens >= edge; edge *= 2) from = edge;
        buckets[from].push_back(outcome);
    }
    json rows = json::array();
    for (auto& [from, held] : buckets) {
        json row = rowOf(std::move(held), graded);
        row["from"] = from;
        row["to"] = from == 0 ? kFirst : 2 * from;
        rows.push_back(std::move(row));
    }
    return rows;
}

json agreementJson(std::span<const analysis::ItemOutcome> outcomes) {
    std::vector<analysis::ScoredTwice> prompts;
    double strict = 0.0, score = 0.0;
    std::int64_t empty = 0;
    bool graded = false;
    for (const analysis::ItemOutcome& outcome : outcomes) {
        if (outcome.skippedTooLong || !outcome.strict || !outcome.generatedScore) continue;
        graded = graded || (*outcome.generatedScore != 0.0 && *outcome.generatedScore != 1.0);
        empty += outcome.generated.find_first_not_of(" \t\r\n") == std::string::npos ? 1 : 0;
        strict += *outcome.strict ? 1.0 : 0.0;
        score += *outcome.generatedScore;
        prompts.push_back({outcome.itemId, *outcome.strict, *outcome.generatedScore >= 1.0});
    }
    if (prompts.empty()) return nullptr;
    const double n = static_cast<double>(prompts.size());
    const auto agreement = graded ? analysis::ScoringAgreement{} : analysis::scoringAgreement(prompts, kIntervalSeed);
    return {{"n", prompts.size()},
            {"equal", graded ? json() : json(agreement.equal)},
            {"equal_interval", graded ? json() : intervalJson(agreement.equalInterval)},
            {"empty_answers", empty},
            {"kappa", optionalJson(agreement.kappa)},
            {"kappa_interval", graded ? json() : intervalJson(agreement.kappaInterval)},
            {"teacher_forced", strict / n},
            {"generated", score / n}};
}

json outcomesJson(const PreparedTask& task, const analysis::AccuracyByPosition& accuracy,
                  std::span<const analysis::ItemOutcome> outcomes, std::uint64_t seed, bool graded) {
    const auto bias = analysis::positionBias(outcomes, task.labels, task.relativePositions(), seed);
    const auto nll = analysis::nllIntervals(outcomes, static_cast<int>(task.labels.size()), seed);
    std::vector<double> nllByPosition;
    for (const analysis::PositionResult& position : accuracy.positions) nllByPosition.push_back(position.answerNll);
    const auto unknown =
        std::ranges::count_if(outcomes, [](const analysis::ItemOutcome& outcome) { return outcome.unknownTokens > 0; });
    return {{"items", accuracy.items},
            {"answers_with_unknown_tokens", unknown},
            {"positions", positionsJson(accuracy, nll.byPosition)},
            {"mean_accuracy", meanJson(accuracy.meanAccuracy, accuracy.items)},
            {"mean_accuracy_interval", meanAccuracyIntervalJson(accuracy, outcomes, seed, graded)},
            {"gap", meanJson(accuracy.gap, accuracy.items)},
            {"gap_interval", intervalJson(bias.gapInterval)},
            {"mean_answer_nll", meanJson(analysis::mean(nllByPosition), accuracy.items)},
            {"mean_answer_nll_interval", intervalJson(nll.mean)},
            {"bias", task.labels.size() < 2 ? json() : biasJson(bias)},
            {"groups", groupsJson(task, outcomes, graded)},
            {"lengths", lengthsJson(outcomes, graded)}};
}

std::string unknownTokensText(const json& side) {
    const json answers = side.value("answers_with_unknown_tokens", json());
    if (!answers.is_number() || answers == 0) return {};
    return fmt::format(
        "{} generated answers have tokens that the tokenizer's vocabulary lacks; their texts are without "
        "them.",
        answers.dump());
}

json noiseJson(std::span<const std::vector<analysis::ItemOutcome>> repeats, std::span<const std::string> labels) {
    if (repeats.size() < 2) return nullptr;
    std::vector<std::vector<double>> accuracy(labels.size()), nll(labels.size());
    std::map<std::pair<std::string, int>, const analysis::ItemOutcome*> first;
    for (const analysis::ItemOutcome& outcome : repeats.front()) first[{outcome.itemId, outcome.position}] = &outcome;
    std::set<std::pair<std::string, int>> flipped;
    double largest = 0.0;
    for (const auto& outcomes : repeats) {
        const auto summary = analysis::accuracyByPosition(outcomes, labels);
        for (std::size_t p = 0; p < labels.size(); ++p) {
            accuracy[p].push_back(summary.positions[p].accuracy);
            nll[p].push_back(summary.positions[p].answerNll);
        }
        for (const analysis::ItemOutcome& outcome : outcomes) {
            const std::pair place(outcome.itemId, outcome.position);
            const auto same = first.find(place);
            if (same == first.end()) continue;
            largest = std::max(largest, std::abs(outcome.nll - same->second->nll));
            if (outcome.score != same->second->score) flipped.insert(place);
        }
    }
    json accuracySd = json::array(), nllSd = json::array();
    for (std::size_t p = 0; p < labels.size(); ++p) {
        accuracySd.push_back(analysis::runNoise(accuracy[p]).standardDeviation);
        nllSd.push_back(analysis::runNoise(nll[p]).standardDeviation);
    }
    return {{"repeats", repeats.size()},
            {"flips", flipped.size()},
            {"accuracy_sd", std::move(accuracySd)},
            {"answer_nll_sd", std::move(nllSd)},
            {"largest_nll_difference", largest}};
}

json notesJson(const PromptPlan& plan) {
    std::map<std::string, std::set<std::string>> notes;
    for (const PromptPlan::Entry& entry : plan.entries()) {
        if (!entry.note.empty() && !entry.tooLong) notes[entry.note].insert(entry.itemId);
    }
    json rows = json::array();
    for (const auto& [note, items] : notes) rows.push_back({{"note", note}, {"items", items.size()}});
    return rows;
}

Result<json> heldOutJson(const rope::MethodSpec& method, ItemHashes& items,
                         std::span<const analysis::ItemOutcome> outcomes, store::StoreReader& store) {
    const std::set<std::string> ids = itemsRun(outcomes);
    json searchedOn;
    std::optional<Known> known;
    for (const rope::MethodPart& part : method.parts) {
        if (!holdsScales(part)) continue;
        const auto origin = originOf(part, store);
        if (!origin) return fail(origin.error());
        known = std::max(known.value_or(origin->known), origin->known);
        if (searchedOn.is_object()) continue;
        auto overlap = overlapJson(part.file, *origin, items, ids);
        if (!overlap) return fail(overlap.error());
        searchedOn = std::move(*overlap);
    }
    return json{{"searched_on", std::move(searchedOn)}, {"provenance", known ? json(knownName(*known)) : json()}};
}

std::string provenanceText(const json& side) {
    if (memberOf(side, "provenance") != json("unknown")) return {};
    return fmt::format(
        "The file of {} does not say what it was searched on; whether these items are held out is unknown.",
        textIn(side, "method"));
}

Result<json> ownOverlapJson(const tasks::Splits& splits, ItemHashes& items,
                            std::span<const analysis::ItemOutcome> outcomes) {
    SearchedItems searched{{}, true};
    for (const std::vector<std::string>* split : {&splits.search, &splits.select}) {
        auto hashes = items.of(*split);
        if (!hashes) return fail(hashes.error());
        searched.names.insert(hashes->begin(), hashes->end());
    }
    const std::set<std::string> ids = itemsRun(outcomes);
    const auto seen = countSearched(searched, items, ids);
    if (!seen) return fail(seen.error());
    if (*seen == 0) return json();
    return json{{"profile", nullptr}, {"searched_items", *seen}, {"items", ids.size()}, {"matched_by", "content"}};
}

std::string overlapText(const json& searched) {
    if (!searched.is_object()) return {};
    const std::string seen = textIn(searched, "searched_items"), items = textIn(searched, "items");
    if (memberOf(searched, "profile").is_null()) {
        return fmt::format(
            "NOT HELD OUT: the data hold items more than once, and {} of the {} items of this report are items "
            "that the search saw as well; its result here is too good.",
            seen, items);
    }
    if (textIn(searched, "matched_by") == "scales") {
        return fmt::format(
            "NOT HELD OUT: {} has the scales of the profile that run {} found, which was searched on {} of the {} "
            "items "
            "of this report; its result here is too good.",
            textIn(searched, "profile"), textIn(searched, "run_id"), seen, items);
    }
    return fmt::format(
        "NOT HELD OUT: profile {} was searched on {} of the {} items of this report; its result here is "
        "too good.{}",
        textIn(searched, "profile"), seen, items,
        textIn(searched, "matched_by") == "ids"
            ? " (By the items' names: the profile is older and does not know their contents.)"
            : "");
}

}  // namespace lpes::studies
