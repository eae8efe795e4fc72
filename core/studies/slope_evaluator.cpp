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

/// The passes that a request falls into, none with prompts of two items: whoever asks next may want one of them with
/// others, and a row must not depend on who asked first. thread-compatible, but different ones may be run at the same
/// time.
class SlopePasses {
  public:
    /// Reads what is stored.
    static Result<SlopePasses> begin(const SlopeSubject& subject, std::span<const std::size_t> entries) {
        auto stored = subject.store.reader().slopes(subject.variantId, subject.split);
        if (!stored) return fail(stored.error());
        SlopePasses passes(subject, entries);
        for (store::SlopeRow& row : *stored)
            passes.m_known.emplace(std::pair(row.itemId, row.position), std::move(row));
        return passes;
    }

    [[nodiscard]] std::size_t count() const { return m_passes.size(); }

    Result<void> run(std::size_t number, model::AnswerSession& session, ChunkObserver& observer,
                     const std::stop_token& stop) {
        const std::span<const std::size_t> pass = m_passes[number];
        const auto cost = kSlopeCost * static_cast<std::int64_t>(pass.size());
        // A pass is stored as a whole: what is there is all of it.
        if (std::ranges::all_of(pass, [this](std::size_t entry) { return stored(entry) != m_known.end(); })) {
            for (const std::size_t entry : pass) m_rows[number].push_back(stored(entry)->second);
            return observer.chunkDone(0, cost);
        }
        if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        auto made = measure(pass, session, stop);
        if (!made) return fail(made.error());
        m_rows[number] = std::move(*made);
        if (auto done = m_subject.store.recordSlopes(m_subject.variantId, m_subject.split, m_rows[number]); !done)
            return done;
        return observer.chunkDone(cost, 0);
    }

    /// In order of the entries, whatever the order in which the passes were run.
    [[nodiscard]] std::vector<store::SlopeRow> rows() && {
        std::vector<store::SlopeRow> all;
        for (std::vector<store::SlopeRow>& pass : m_rows) std::ranges::move(pass, std::back_inserter(all));
        return all;
    }

  private:
    using Known = std::map<std::pair<std::string, int>, store::SlopeRow>;

    SlopePasses(const SlopeSubject& subject, std::span<const std::size_t> entries) : m_subject(subject) {
        const auto size = static_cast<std::size_t>(subject.plan.pass().prompts);
        std::size_t begin = 0;
        for (std::size_t end = 1; end <= entries.size(); ++end) {
            const bool within = end < entries.size() && subject.plan.entries()[entries[end]].position != 0;
            if (within && end - begin < size) continue;
            m_passes.push_back(entries.subspan(begin, end - begin));
            begin = end;
        }
        m_rows.resize(m_passes.size());
    }

    [[nodiscard]] Known::const_iterator stored(std::size_t entry) const {
        const PromptPlan::Entry& own = m_subject.plan.entries()[entry];
        return m_known.find({own.itemId, own.position});
    }

    [[nodiscard]] Result<std::vector<store::SlopeRow>> measure(std::span<const std::size_t> entries,
                                                               model::AnswerSession& session,
                                                               const std::stop_token& stop) const {
        std::vector<model::ScoredPrompt> batch;
        for (const std::size_t entry : entries) {
            auto tokens = m_subject.plan.tokens(entry);
            if (!tokens) return fail(tokens.error());
            batch.push_back({(*tokens)->prompt, (*tokens)->answer});
        }
        auto gradients = session.scaleGradients(batch, lpesMethod(m_subject.groups, m_subject.scales), stop,
                                                {m_subject.plan.pass().sharePrefixes});
        if (!gradients) return fail(gradients.error());
        std::vector<store::SlopeRow> made;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const PromptPlan::Entry& entry = m_subject.plan.entries()[entries[i]];
            model::ScaleGradient& own = (*gradients)[i];
            made.push_back(
                {entry.itemId, entry.position, own.meanNll, byGroup(std::move(own.gradient), m_subject.groups)});
        }
        return made;
    }

    const SlopeSubject& m_subject;
    std::vector<std::span<const std::size_t>> m_passes;
    Known m_known;
    std::vector<std::vector<store::SlopeRow>> m_rows;  ///< by pass
};

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
                                                       std::span<const std::size_t> entries,
                                                       model::AnswerSession& session, ChunkObserver& observer,
                                                       std::stop_token stop) {
    auto passes = SlopePasses::begin(subject, entries);
    if (!passes) return fail(passes.error());
    for (std::size_t pass = 0; pass < passes->count(); ++pass) {
        if (auto done = passes->run(pass, session, observer, stop); !done) return fail(done.error());
    }
    return std::move(*passes).rows();
}

Result<std::vector<store::SlopeRow>> measureItemSlopes(const SlopeSubject& subject,
                                                       std::span<const std::size_t> entries, SessionPool& pool,
                                                       ChunkObserver& observer, std::stop_token stop) {
    auto passes = SlopePasses::begin(subject, entries);
    if (!passes) return fail(passes.error());
    const auto work = [&](std::size_t pass, model::AnswerSession& session, const std::stop_token& halt) {
        return passes->run(pass, session, observer, halt);
    };
    if (auto done = pool.run(passes->count(), work, stop); !done) return fail(done.error());
    return std::move(*passes).rows();
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
