#include <fmt/format.h>

#include "core/store/names.h"
#include "core/store/number_text.h"
#include "core/store/sql_reader.h"

namespace lpes::store {

Result<std::vector<OutcomeRow>> SqlReader::outcomes(std::int64_t variantId, const std::string& split) {
    return serialised([&]() -> Result<std::vector<OutcomeRow>> {
        // Items that the split's list does not name (it was replaced) come last, by their id.
        Query query = m_connection->query(
            "SELECT o.item_id, o.position, o.gold_index, o.gold_token, o.prompt_tokens, o.skipped_too_long, o.correct, "
            "o.nll, o.generated, o.score, o.strict, o.generated_score, o.unknown_tokens FROM outcomes o JOIN variants "
            "v ON v.id = "
            "o.variant_id "
            "LEFT JOIN split_items s ON s.run_id = v.run_id AND s.split = o.split AND s.item_id = o.item_id "
            "WHERE o.variant_id = ? AND o.split = ? ORDER BY s.ord IS NULL, s.ord, o.item_id, o.position");
        query.bind(variantId, split);
        std::vector<OutcomeRow> all;
        while (query.next()) {
            OutcomeRow row;
            row.itemId = query.text(0);
            row.position = query.smallInteger(1);
            row.goldIndex = query.smallInteger(2);
            row.goldToken = query.smallInteger(3);
            row.promptTokens = query.smallInteger(4);
            row.skippedTooLong = query.integer(5) != 0;
            row.correct = query.integer(6) != 0;
            row.nll = query.real(7);
            row.generated = query.text(8);
            row.score = query.real(9);
            if (!query.null(10)) row.strict = query.integer(10) != 0;
            if (!query.null(11)) row.generatedScore = query.real(11);
            row.unknownTokens = query.integer(12);
            all.push_back(std::move(row));
        }
        return all;
    });
}

Result<std::vector<SlopeRow>> SqlReader::slopes(std::int64_t variantId, const std::string& split) {
    return serialised([&]() -> Result<std::vector<SlopeRow>> {
        Query query = m_connection->query(
            "SELECT o.item_id, o.position, o.nll, o.slope_json FROM slopes o JOIN variants v ON v.id = o.variant_id "
            "LEFT JOIN split_items s ON s.run_id = v.run_id AND s.split = o.split AND s.item_id = o.item_id "
            "WHERE o.variant_id = ? AND o.split = ? ORDER BY s.ord IS NULL, s.ord, o.item_id, o.position");
        query.bind(variantId, split);
        std::vector<SlopeRow> all;
        while (query.next()) {
            SlopeRow row{query.text(0), query.smallInteger(1), query.real(2), {}};
            std::optional<std::vector<double>> slope = numbersFromText(query.text(3));
            if (!slope) {
                return fail(nonsense(fmt::format("the slope of item '{}' at position {} of variant {} is '{}'",
                                                 row.itemId, row.position, variantId, query.text(3))));
            }
            row.slope = std::move(*slope);
            all.push_back(std::move(row));
        }
        return all;
    });
}

Result<std::vector<CandidateRow>> SqlReader::candidates(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<CandidateRow>> {
        Query query = m_connection->query(
            "SELECT generation, idx, variant_id, points_json, state, fitness, by_position_json, reason, "
            "duplicate_generation, duplicate_idx, objectives_json FROM candidates WHERE run_id = ? ORDER BY "
            "generation, idx");
        query.bind(runId);
        std::vector<CandidateRow> all;
        while (query.next()) {
            CandidateRow row;
            row.generation = query.smallInteger(0);
            row.index = query.smallInteger(1);
            row.variantId = query.integer(2);
            row.pointsJson = query.text(3);
            const std::optional<CandidateRow::State> state = candidateStateFromName(query.text(4));
            std::optional<std::vector<double>> byPosition = numbersFromText(query.text(6));
            std::optional<std::vector<double>> objectives = numbersFromText(query.text(10));
            if (!state || !byPosition || !objectives) {
                return fail(nonsense(
                    fmt::format("candidate {}/{} of run {} has the state '{}', the scores '{}' and the objectives '{}'",
                                row.generation, row.index, runId, query.text(4), query.text(6), query.text(10))));
            }
            row.state = *state;
            row.fitness = query.real(5);
            row.byPosition = std::move(*byPosition);
            row.objectives = std::move(*objectives);
            row.reason = query.text(7);
            row.duplicateGeneration = query.null(8) ? -1 : query.smallInteger(8);
            row.duplicateIndex = query.null(9) ? -1 : query.smallInteger(9);
            all.push_back(std::move(row));
        }
        return all;
    });
}

Result<std::vector<GenerationRow>> SqlReader::generations(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<GenerationRow>> {
        Query query = m_connection->query(
            "SELECT generation, best, mean, worst, stddev, diversity, evaluations, population_json, front_size, "
            "hypervolume FROM generations WHERE run_id = ? ORDER BY generation");
        query.bind(runId);
        std::vector<GenerationRow> all;
        while (query.next()) {
            all.push_back({query.smallInteger(0), query.real(1), query.real(2), query.real(3), query.real(4),
                           query.real(5), query.integer(6), query.text(7), query.smallInteger(8),
                           query.null(9) ? std::nullopt : std::optional<double>(query.real(9))});
        }
        return all;
    });
}

Result<std::vector<TrainingStepRow>> SqlReader::trainingSteps(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<TrainingStepRow>> {
        Query query = m_connection->query(
            "SELECT step, loss, lm_loss, aux_loss, grad_norm, tokens FROM training_steps WHERE run_id = ? ORDER BY "
            "step");
        query.bind(runId);
        std::vector<TrainingStepRow> all;
        while (query.next()) {
            all.push_back(
                {query.smallInteger(0), query.real(1), query.real(2), query.real(3), query.real(4), query.integer(5)});
        }
        return all;
    });
}

Result<std::vector<PositionRow>> SqlReader::positions(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<PositionRow>> {
        Query query = m_connection->query(
            "SELECT p.variant_id, p.split, p.position, p.label, p.gold_index, p.mean_token_index, p.n, p.correct, "
            "p.accuracy, p.ci_low, p.ci_high, p.answer_nll FROM variants v JOIN positions p ON p.variant_id = v.id "
            "WHERE v.run_id = ? ORDER BY p.variant_id, p.split, p.position");
        query.bind(runId);
        std::vector<PositionRow> all;
        while (query.next()) {
            all.push_back({query.integer(0), query.text(1), query.smallInteger(2), query.text(3), query.smallInteger(4),
                           query.real(5), query.integer(6), query.integer(7), query.real(8), query.real(9),
                           query.real(10), query.real(11)});
        }
        return all;
    });
}

Result<std::vector<AttentionRow>> SqlReader::attention(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<AttentionRow>> {
        Query query = m_connection->query(
            "SELECT a.variant_id, a.position, a.label, a.layer, a.span, a.share, a.mean_per_token FROM variants v "
            "JOIN attention a ON a.variant_id = v.id WHERE v.run_id = ? "
            "ORDER BY a.variant_id, a.position, a.layer, a.span");
        query.bind(runId);
        std::vector<AttentionRow> all;
        while (query.next()) {
            all.push_back({query.integer(0), query.smallInteger(1), query.text(2), query.smallInteger(3),
                           query.smallInteger(4), query.real(5), query.real(6)});
        }
        return all;
    });
}

Result<std::vector<DeviationRow>> SqlReader::deviations(std::int64_t runId) {
    return serialised([&]() -> Result<std::vector<DeviationRow>> {
        Query query = m_connection->query(
            "SELECT d.variant_id, d.layer, d.deviation, d.ci_low, d.ci_high, d.rsa, d.cosine, d.prompts FROM variants "
            "v "
            "JOIN deviations d ON d.variant_id = v.id WHERE v.run_id = ? ORDER BY d.variant_id, d.layer");
        query.bind(runId);
        std::vector<DeviationRow> all;
        while (query.next()) {
            all.push_back({query.integer(0), query.smallInteger(1), query.real(2), query.real(3), query.real(4),
                           query.real(5), query.real(6), query.integer(7)});
        }
        return all;
    });
}

}  // namespace lpes::store
