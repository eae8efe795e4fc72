#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/store/names.h"
#include "core/store/number_text.h"
#include "core/store/sql_writer.h"

namespace lpes::store {

Result<void> SqlWriter::checkVariant(std::int64_t runId, std::int64_t variantId) {
    Query query = m_connection->query("SELECT 1 FROM variants WHERE id = ? AND run_id = ?");
    if (query.bind(variantId, runId).next()) return {};
    return fail(ErrorCode::Usage, fmt::format("run {} of the data base '{}' has no variant {}", runId,
                                              m_connection->path().string(), variantId));
}

Result<void> SqlWriter::setSplit(std::int64_t runId, const std::string& split, std::span<const std::string> itemIds) {
    return write([&]() -> Result<void> {
        const Result<RunState> exists = stateOf(runId);
        if (!exists) return fail(exists.error());
        m_connection->query("DELETE FROM split_items WHERE run_id = ? AND split = ?").bind(runId, split).run();
        std::int64_t ord = 0;
        for (const std::string& item : itemIds) {
            {
                Query twice =
                    m_connection->query("SELECT ord FROM split_items WHERE run_id = ? AND split = ? AND item_id = ?");
                if (twice.bind(runId, split, item).next()) {
                    return fail(ErrorCode::Usage,
                                fmt::format("the split '{}' of run {} lists the item '{}' twice, at {} and at {}; item "
                                            "ids must differ",
                                            split, runId, item, twice.integer(0), ord));
                }
            }
            m_connection->query("INSERT INTO split_items (run_id, split, ord, item_id) VALUES (?,?,?,?)")
                .bind(runId, split, ord++, item)
                .run();
        }
        return {};
    });
}

Result<std::int64_t> SqlWriter::ensureVariant(std::int64_t runId, const std::string& name,
                                              std::span<const double> scales) {
    for (std::size_t layer = 0; layer < scales.size(); ++layer) {
        if (!std::isfinite(scales[layer])) {
            return fail(ErrorCode::Usage,
                        fmt::format("the scale of layer {} in '{}' is {}; scales must be finite numbers", layer, name,
                                    scales[layer]));
        }
    }
    return write([&]() -> Result<std::int64_t> {
        const std::string text = numbersToText(scales);
        // What has no scales is told apart by its name: two methods that work without a profile are not one variant.
        const std::string key = scales.empty() ? "name:" + name : text;
        Query known = m_connection->query("SELECT id FROM variants WHERE run_id = ? AND scales_key = ?");
        if (known.bind(runId, key).next()) return known.integer(0);
        return inserted(
            m_connection->query("INSERT INTO variants (run_id, name, scales_json, scales_key) VALUES (?,?,?,?)")
                .bind(runId, name, text, key));
    });
}

Result<void> SqlWriter::recordOutcomes(std::int64_t variantId, const std::string& split,
                                       std::span<const OutcomeRow> rows) {
    return write([&]() -> Result<void> {
        for (const OutcomeRow& row : rows) {
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO outcomes (variant_id, split, item_id, position, gold_index, gold_token, "
                    "prompt_tokens, skipped_too_long, correct, nll, generated, score, strict, generated_score, "
                    "unknown_tokens) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
                .bind(variantId, split, row.itemId, row.position, row.goldIndex, row.goldToken, row.promptTokens,
                      row.skippedTooLong, row.correct, row.nll, row.generated, row.score, row.strict,
                      row.generatedScore, row.unknownTokens)
                .run();
        }
        return {};
    });
}

Result<void> SqlWriter::recordSlopes(std::int64_t variantId, const std::string& split, std::span<const SlopeRow> rows) {
    return write([&]() -> Result<void> {
        for (const SlopeRow& row : rows) {
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO slopes (variant_id, split, item_id, position, nll, slope_json) VALUES "
                    "(?,?,?,?,?,?)")
                .bind(variantId, split, row.itemId, row.position, row.nll, numbersToText(row.slope))
                .run();
        }
        return {};
    });
}

Result<void> SqlWriter::recordCandidate(std::int64_t runId, const CandidateRow& row) {
    return write([&]() -> Result<void> {
        if (row.variantId != 0) {
            if (Result<void> known = checkVariant(runId, row.variantId); !known) return known;
        }
        const auto unlessNegative = [](int value) { return value < 0 ? std::nullopt : std::optional<int>(value); };
        // A given up one's fitness is of some of the items: it must not stand beside the others'.
        const bool none = row.state == CandidateRow::State::Failed || row.state == CandidateRow::State::GivenUp ||
                          row.state == CandidateRow::State::Infeasible;
        m_connection
            ->query(
                "INSERT OR REPLACE INTO candidates (run_id, generation, idx, variant_id, points_json, state, fitness, "
                "by_position_json, reason, duplicate_generation, duplicate_idx, objectives_json) VALUES "
                "(?,?,?,?,?,?,?,?,?,?,?,?)")
            .bind(runId, row.generation, row.index,
                  row.variantId == 0 ? std::nullopt : std::optional<std::int64_t>(row.variantId), row.pointsJson,
                  candidateStateName(row.state), none ? std::numeric_limits<double>::quiet_NaN() : row.fitness,
                  numbersToText(row.byPosition), row.reason, unlessNegative(row.duplicateGeneration),
                  unlessNegative(row.duplicateIndex), numbersToText(row.objectives))
            .run();
        return {};
    });
}

Result<void> SqlWriter::recordGeneration(std::int64_t runId, const GenerationRow& row) {
    return write([&]() -> Result<void> {
        m_connection
            ->query(
                "INSERT OR REPLACE INTO generations (run_id, generation, best, mean, worst, stddev, diversity, "
                "evaluations, population_json, front_size, hypervolume) VALUES (?,?,?,?,?,?,?,?,?,?,?)")
            .bind(runId, row.generation, row.best, row.mean, row.worst, row.stddev, row.diversity, row.evaluations,
                  row.populationJson, row.frontSize, row.hypervolume)
            .run();
        return {};
    });
}

Result<void> SqlWriter::recordTrainingSteps(std::int64_t runId, std::span<const TrainingStepRow> rows) {
    return write([&]() -> Result<void> {
        for (const TrainingStepRow& row : rows) {
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO training_steps (run_id, step, loss, lm_loss, aux_loss, grad_norm, tokens) "
                    "VALUES (?,?,?,?,?,?,?)")
                .bind(runId, row.step, row.loss, row.lmLoss, row.auxLoss, row.gradNorm, row.tokens)
                .run();
        }
        return {};
    });
}

Result<void> SqlWriter::recordPositions(std::int64_t runId, std::span<const PositionRow> rows) {
    return write([&]() -> Result<void> {
        for (const PositionRow& row : rows) {
            if (Result<void> known = checkVariant(runId, row.variantId); !known) return known;
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO positions (variant_id, split, position, label, gold_index, "
                    "mean_token_index, n, correct, accuracy, ci_low, ci_high, answer_nll) "
                    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")
                .bind(row.variantId, row.split, row.position, row.label, row.goldIndex, row.meanTokenIndex, row.n,
                      row.correct, row.accuracy, row.ciLow, row.ciHigh, row.answerNll)
                .run();
        }
        return {};
    });
}

Result<void> SqlWriter::recordAttention(std::int64_t runId, std::span<const AttentionRow> rows) {
    return write([&]() -> Result<void> {
        for (const AttentionRow& row : rows) {
            if (Result<void> known = checkVariant(runId, row.variantId); !known) return known;
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO attention (variant_id, position, layer, span, label, share, "
                    "mean_per_token) VALUES (?,?,?,?,?,?,?)")
                .bind(row.variantId, row.position, row.layer, row.span, row.label, row.share, row.meanPerToken)
                .run();
        }
        return {};
    });
}

Result<void> SqlWriter::recordDeviations(std::int64_t runId, std::span<const DeviationRow> rows) {
    return write([&]() -> Result<void> {
        for (const DeviationRow& row : rows) {
            if (Result<void> known = checkVariant(runId, row.variantId); !known) return known;
            m_connection
                ->query(
                    "INSERT OR REPLACE INTO deviations (variant_id, layer, deviation, ci_low, ci_high, rsa, cosine, "
                    "prompts) VALUES (?,?,?,?,?,?,?,?)")
                .bind(row.variantId, row.layer, row.deviation, row.ciLow, row.ciHigh, row.rsa, row.cosine, row.prompts)
                .run();
        }
        return {};
    });
}

Result<std::int64_t> SqlWriter::saveProfile(std::int64_t runId, const std::string& profileJson) {
    return write([&]() -> Result<std::int64_t> {
        // A resumed run may arrive at its profile a second time.
        Query known = m_connection->query("SELECT id FROM profiles WHERE run_id = ? AND json = ?");
        if (known.bind(runId, profileJson).next()) return known.integer(0);
        return inserted(m_connection->query("INSERT INTO profiles (run_id, created_ms, json) VALUES (?,?,?)")
                            .bind(runId, nowUtcMs(), profileJson));
    });
}

}  // namespace lpes::store
