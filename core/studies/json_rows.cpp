#include "core/studies/json_rows.h"

namespace lpes::studies {

JsonFields::JsonFields(const nlohmann::json& object, std::string what) : m_object(object), m_what(std::move(what)) {
    if (!object.is_object()) m_error = m_what + ": expected an object";
}

const nlohmann::json* JsonFields::take(const char* key) {
    if (!m_object.is_object()) return nullptr;
    m_read.insert(key);
    const auto it = m_object.find(key);
    if (it == m_object.end()) return nullptr;
    if (it->is_object() && it->contains("value")) return &it->at("value");
    return &*it;
}

Result<void> JsonFields::finish() const {
    if (!m_error.empty()) return fail(ErrorCode::BadInput, m_error);
    for (const auto& [key, value] : m_object.items()) {
        if (!m_read.contains(key)) return fail(ErrorCode::BadInput, fmt::format("{}: unknown key '{}'", m_what, key));
    }
    return {};
}

nlohmann::json withOrigins(const nlohmann::json& plain, const std::map<std::string, std::string>& origins) {
    auto out = nlohmann::json::object();
    for (const auto& [key, value] : plain.items()) {
        const auto origin = origins.find(key);
        out[key] = {{"value", value}, {"origin", origin == origins.end() ? "default" : origin->second}};
    }
    return out;
}

std::map<std::string, std::string> readOrigins(const nlohmann::json& stored) {
    std::map<std::string, std::string> origins;
    for (const auto& [key, value] : stored.items()) {
        if (value.is_object() && value.contains("origin") && value["origin"].is_string())
            origins[key] = value["origin"].get<std::string>();
    }
    return origins;
}

nlohmann::json intervalJson(const std::optional<analysis::Interval>& interval) {
    if (!interval) return {{"low", nullptr}, {"high", nullptr}};
    return {{"low", interval->low}, {"high", interval->high}};
}

nlohmann::json hashJson(const std::map<std::string, std::string>& hashes, const std::string& method) {
    const auto found = hashes.find(method);
    return found == hashes.end() ? nlohmann::json(nullptr) : nlohmann::json(found->second);
}

nlohmann::json testJson(const analysis::PairedBootstrap& test) {
    nlohmann::json out = intervalJson(test.interval);
    out.update({{"mean", test.meanDifference}, {"p_value", optionalJson(test.pValue)}});
    return out;
}

nlohmann::json optionalsJson(const std::vector<std::optional<double>>& values) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& value : values) out.push_back(optionalJson(value));
    return out;
}

nlohmann::json meanJson(double mean, std::int64_t items) {
    return items > 0 ? nlohmann::json(mean) : nlohmann::json(nullptr);
}

nlohmann::json meanAccuracyIntervalJson(const analysis::AccuracyByPosition& accuracy,
                                        std::span<const analysis::ItemOutcome> outcomes, std::uint64_t seed,
                                        bool graded) {
    if (accuracy.items == 0) return intervalJson(std::nullopt);
    const auto positions = static_cast<int>(accuracy.positions.size());
    return intervalJson(analysis::meanAccuracyInterval(outcomes, positions, seed, graded));
}

nlohmann::json positionsJson(const analysis::AccuracyByPosition& accuracy,
                             std::span<const std::optional<analysis::Interval>> nll) {
    auto rows = nlohmann::json::array();
    for (const analysis::PositionResult& position : accuracy.positions) {
        const nlohmann::json interval = intervalJson(rows.size() < nll.size() ? nll[rows.size()] : std::nullopt);
        rows.push_back(
            {{"position", position.position},
             {"gold_index", position.goldIndex == analysis::kGoldIndexVaries ? nlohmann::json(nullptr)
                                                                             : nlohmann::json(position.goldIndex)},
             {"mean_token_index", meanJson(position.meanTokenIndex, position.n)},
             {"n", position.n},
             {"accuracy", meanJson(position.accuracy, position.n)},
             {"ci_low", meanJson(position.ciLow, position.n)},
             {"ci_high", meanJson(position.ciHigh, position.n)},
             {"answer_nll", meanJson(position.answerNll, position.n)},
             {"answer_nll_ci_low", interval["low"]},
             {"answer_nll_ci_high", interval["high"]}});
    }
    return rows;
}

std::vector<store::PositionRow> positionRows(const analysis::AccuracyByPosition& accuracy, std::int64_t variantId,
                                             const std::string& split) {
    std::vector<store::PositionRow> rows;
    int ordinal = 0;
    for (const analysis::PositionResult& position : accuracy.positions) {
        store::PositionRow row;
        row.variantId = variantId;
        row.split = split;
        row.position = ordinal++;
        row.label = position.position;
        row.goldIndex = position.goldIndex;
        row.meanTokenIndex = position.meanTokenIndex;
        row.n = position.n;
        row.correct = position.correct;
        row.accuracy = position.accuracy;
        row.ciLow = position.ciLow;
        row.ciHigh = position.ciHigh;
        row.answerNll = position.answerNll;
        rows.push_back(std::move(row));
    }
    return rows;
}

store::OutcomeRow toRow(const analysis::ItemOutcome& outcome) {
    store::OutcomeRow row;
    row.itemId = outcome.itemId;
    row.position = outcome.position;
    row.goldIndex = outcome.goldIndex;
    row.goldToken = outcome.goldToken;
    row.promptTokens = outcome.promptTokens;
    row.skippedTooLong = outcome.skippedTooLong;
    row.correct = outcome.correct();
    row.score = outcome.score;
    row.nll = outcome.nll;
    row.strict = outcome.strict;
    row.generated = outcome.generated;
    row.generatedScore = outcome.generatedScore;
    row.unknownTokens = outcome.unknownTokens;
    return row;
}

analysis::ItemOutcome fromRow(const store::OutcomeRow& row) {
    analysis::ItemOutcome outcome;
    outcome.itemId = row.itemId;
    outcome.position = row.position;
    outcome.goldIndex = row.goldIndex;
    outcome.goldToken = row.goldToken;
    outcome.promptTokens = row.promptTokens;
    outcome.skippedTooLong = row.skippedTooLong;
    outcome.score = row.score;
    outcome.nll = row.nll;
    outcome.strict = row.strict;
    outcome.generated = row.generated;
    outcome.generatedScore = row.generatedScore;
    outcome.unknownTokens = row.unknownTokens;
    return outcome;
}

Result<std::vector<analysis::ItemOutcome>> storedOutcomes(store::StoreReader& reader, std::int64_t variantId,
                                                          const std::string& split) {
    const auto rows = reader.outcomes(variantId, split);
    if (!rows) return fail(rows.error());
    std::vector<analysis::ItemOutcome> outcomes;
    for (const store::OutcomeRow& row : *rows) outcomes.push_back(fromRow(row));
    return outcomes;
}

}  // namespace lpes::studies
