#include "core/studies/slope_evaluator.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/studies/model_setup.h"

namespace lpes::studies {

namespace {

/// What a session gives by head or frequency → [L·G] by the groups.
std::vector<double> byGroup(std::vector<double> gradient, const curve::ScaleGroups& groups) {
    if (groups.kind != curve::ScaleGroups::Kind::Band) return gradient;
    const auto frequencies = static_cast<std::size_t>(groups.bandEnds.back());
    std::vector<double> sums;
    for (std::size_t layer = 0; layer * frequencies < gradient.size(); ++layer) {
        int begin = 0;
        for (const int end : groups.bandEnds) {
            const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(layer * frequencies);
            sums.push_back(std::accumulate(first + begin, first + end, 0.0));
            begin = end;
        }
    }
    return sums;
}

Result<void> measurePass(const SlopeSubject& subject, std::span<const std::size_t> entries,
                         std::vector<store::SlopeRow>& rows, const std::stop_token& stop) {
    std::vector<model::ScoredPrompt> batch;
    for (const std::size_t entry : entries) {
        auto tokens = subject.plan.tokens(entry);
        if (!tokens) return fail(tokens.error());
        batch.push_back({(*tokens)->prompt, (*tokens)->answer});
    }
    auto gradients = subject.session.scaleGradients(batch, lpesMethod(subject.groups, subject.scales), stop);
    if (!gradients) return fail(gradients.error());
    std::vector<store::SlopeRow> made;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const PromptPlan::Entry& entry = subject.plan.entries()[entries[i]];
        model::ScaleGradient& own = (*gradients)[i];
        made.push_back({entry.itemId, entry.position, own.meanNll, byGroup(std::move(own.gradient), subject.groups)});
    }
    if (auto done = subject.store.recordSlopes(subject.variantId, subject.split, made); !done) return done;
    std::ranges::move(made, std::back_inserter(rows));
    return {};
}

}  // namespace

std::vector<std::vector<std::size_t>> entriesByItem(const PromptPlan& plan) {
    std::vector<std::vector<std::size_t>> items;
    for (std::size_t i = 0; i < plan.entries().size(); ++i) {
        const PromptPlan::Entry& entry = plan.entries()[i];
        if (entry.tooLong) continue;
        if (entry.position == 0) items.emplace_back();
        items.back().push_back(i);
    }
    return items;
}

Result<std::vector<store::SlopeRow>> measureItemSlopes(const SlopeSubject& subject,
                                                       std::span<const std::size_t> entries, ChunkObserver& observer,
                                                       std::stop_token stop) {
    auto stored = subject.store.reader().slopes(subject.variantId, subject.split);
    if (!stored) return fail(stored.error());
    std::map<std::pair<std::string, int>, store::SlopeRow> known;
    for (store::SlopeRow& row : *stored) known.emplace(std::pair(row.itemId, row.position), std::move(row));

    std::vector<store::SlopeRow> rows;
    const auto size = static_cast<std::size_t>(subject.plan.pass().prompts);
    for (std::size_t first = 0; first < entries.size(); first += size) {
        const auto pass = entries.subspan(first, std::min(size, entries.size() - first));
        const auto row = [&](std::size_t entry) {
            const PromptPlan::Entry& own = subject.plan.entries()[entry];
            return known.find({own.itemId, own.position});
        };
        const auto prompts = static_cast<std::int64_t>(pass.size());
        // A pass is stored as a whole: what is there is all of it.
        if (std::ranges::all_of(pass, [&](std::size_t entry) { return row(entry) != known.end(); })) {
            for (const std::size_t entry : pass) rows.push_back(row(entry)->second);
            if (auto told = observer.chunkDone(0, kSlopeCost * prompts); !told) return fail(told.error());
            continue;
        }
        if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        if (auto done = measurePass(subject, pass, rows, stop); !done) return fail(done.error());
        if (auto told = observer.chunkDone(kSlopeCost * prompts, 0); !told) return fail(told.error());
    }
    return rows;
}

MeanSlopes meanByPosition(const std::vector<store::SlopeRow>& rows, std::size_t positions) {
    MeanSlopes means{std::vector<double>(positions, 0.0), std::vector<std::vector<double>>(positions)};
    std::vector<double> counts(positions, 0.0);
    for (const store::SlopeRow& row : rows) {
        const auto position = static_cast<std::size_t>(row.position);
        std::vector<double>& sum = means.slope[position];
        sum.resize(row.slope.size(), 0.0);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += row.slope[i];
        means.nll[position] += row.nll;
        counts[position] += 1.0;
    }
    for (std::size_t position = 0; position < positions; ++position) {
        for (double& value : means.slope[position]) value /= counts[position];
        means.nll[position] /= counts[position];
    }
    return means;
}

search::Slope weightedSlope(const MeanSlopes& means, const std::vector<double>& weights, double gapPenalty) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto [best, worst] = std::ranges::minmax_element(means.nll);
    search::Slope result{gapPenalty * (*worst - *best), std::vector<double>(means.slope.front().size(), 0.0)};
    for (std::size_t position = 0; position < weights.size(); ++position) {
        const auto place = means.nll.begin() + static_cast<std::ptrdiff_t>(position);
        const double share = weights[position] / total;
        const double gap = gapPenalty * (static_cast<double>(place == worst) - static_cast<double>(place == best));
        result.loss += share * means.nll[position];
        for (std::size_t i = 0; i < result.byScale.size(); ++i)
            result.byScale[i] += (share + gap) * means.slope[position][i];
    }
    return result;
}

}  // namespace lpes::studies
