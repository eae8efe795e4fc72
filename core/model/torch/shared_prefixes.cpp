#include "core/model/torch/shared_prefixes.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace lpes::model {

namespace {

std::size_t commonTokens(std::span<const text::TokenId> one, std::span<const text::TokenId> other) {
    return static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
}

}  // namespace

SharedPrefixes SharedPrefixes::none(std::span<const std::vector<text::TokenId>> sequences) {
    SharedPrefixes result;
    result.m_places.resize(sequences.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) result.add({i}, sequences[i]);
    return result;
}

SharedPrefixes SharedPrefixes::find(std::span<const std::vector<text::TokenId>> sequences,
                                    std::span<const std::vector<int>> kinds) {
    std::vector<std::size_t> order(sequences.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return std::tie(kinds[a], sequences[a]) < std::tie(kinds[b], sequences[b]);
    });
    SharedPrefixes result;
    result.m_places.resize(sequences.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t sequence = order[i], ahead = order[i == 0 ? 0 : i - 1];
        const bool alike = i > 0 && kinds[sequence] == kinds[ahead];
        const std::size_t common = alike ? commonTokens(sequences[ahead], sequences[sequence]) : 0;
        result.add({sequence, common < kFewestSharedTokens ? 0 : common, ahead}, sequences[sequence]);
    }
    return result;
}

void SharedPrefixes::add(const Beginning& beginning, std::span<const text::TokenId> ids) {
    m_beginnings.push_back(beginning);
    const auto [sequence, known, ahead] = beginning;
    Place& place = m_places[sequence];
    place = {known, ahead, m_prompts.size(), m_rows};
    if (known == ids.size()) {
        place.prompt = m_places[ahead].prompt;
        return;
    }
    m_prompts.push_back({ids.subspan(known), static_cast<int>(known),
                         known > 0 ? static_cast<std::int64_t>(m_places[ahead].prompt) : -1});
    m_rows += std::ssize(m_prompts.back().ids);
}

std::int64_t SharedPrefixes::keys() const {
    return std::accumulate(m_prompts.begin(), m_prompts.end(), std::int64_t{0},
                           [](std::int64_t sum, const PackedPrompt& prompt) { return sum + prompt.length(); });
}

std::int64_t SharedPrefixes::row(std::size_t sequence, std::size_t position) const {
    while (position < m_places[sequence].known) sequence = m_places[sequence].ahead;
    const Place& place = m_places[sequence];
    return place.begin + static_cast<std::int64_t>(position - place.known);
}

std::vector<int> lengthVariants(const PositionMethod& method, const rope::MethodModel& model, std::size_t length) {
    const auto variant = [&](bool sliding) {
        return rope::lengthVariant(rope::methodRope(method, model, sliding), static_cast<int>(length));
    };
    std::vector<int> variants{variant(false)};
    if (model.slidingRope) variants.push_back(variant(true));
    return variants;
}

SharedPrefixes sharedPrefixes(std::span<const std::vector<text::TokenId>> sequences, const PositionMethod& method,
                              const rope::MethodModel& model, bool share) {
    if (!share || !sharesPrefixes(method)) return SharedPrefixes::none(sequences);
    std::vector<std::vector<int>> kinds;
    for (const auto& sequence : sequences) kinds.push_back(lengthVariants(method, model, sequence.size()));
    return SharedPrefixes::find(sequences, kinds);
}

std::vector<std::vector<text::TokenId>> scoredSequences(std::span<const ScoredPrompt> batch) {
    std::vector<std::vector<text::TokenId>> sequences;
    for (const ScoredPrompt& item : batch) {
        std::vector<text::TokenId>& ids = sequences.emplace_back(item.prompt);
        ids.insert(ids.end(), item.answer.begin(), item.answer.end() - 1);
    }
    return sequences;
}

}  // namespace lpes::model
