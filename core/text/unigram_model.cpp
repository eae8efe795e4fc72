#include "core/text/unigram_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "core/text/unicode.h"

namespace lpes::text {

namespace {

constexpr double kUnknownPenalty = 10.0;

}  // namespace

Result<UnigramModel> UnigramModel::make(const TokenizerSpec& spec) {
    if (spec.scores.size() != spec.pieces.size()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("The vocabulary has {} scores for {} pieces; fetch the model's files again.",
                                spec.scores.size(), spec.pieces.size()));
    }
    std::unordered_set<TokenId> special;
    for (const auto& token : spec.added) {
        if (token.special) special.insert(token.id);
    }
    UnigramModel made;
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t id = 0; id < spec.pieces.size(); ++id) {
        const double score = spec.scores[id];
        if (spec.pieces[id].empty() || std::isnan(score)) continue;
        lowest = std::min(lowest, score);
        // Text that happens to spell a special token is not that token here: AddedTokens decides about those.
        if (!special.contains(static_cast<TokenId>(id))) {
            made.m_pieces.push_back({spec.pieces[id], static_cast<TokenId>(id), score});
        }
    }
    if (made.m_pieces.empty()) {
        return fail(ErrorCode::BadInput, "None of the vocabulary's pieces can be made; fetch the model's files again.");
    }
    std::sort(made.m_pieces.begin(), made.m_pieces.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
    for (std::size_t k = 1; k < made.m_pieces.size(); ++k) {
        const auto& one = made.m_pieces[k - 1];
        if (one.text == made.m_pieces[k].text) {
            return fail(ErrorCode::BadInput, fmt::format("The vocabulary spells {:?} twice (ids {} and {}); fetch the "
                                                         "model's files again.",
                                                         one.text, one.id, made.m_pieces[k].id));
        }
    }
    std::size_t at = 0;
    for (unsigned byte = 0; byte <= 256; ++byte) {
        while (at < made.m_pieces.size() && static_cast<unsigned char>(made.m_pieces[at].text[0]) < byte) ++at;
        made.m_firstByte[byte] = static_cast<std::uint32_t>(at);
    }
    made.m_unknownScore = lowest - kUnknownPenalty;
    made.m_unknownId = spec.unknownId;
    made.m_byteToken.fill(-1);
    if (spec.byteFallback) made.m_byteToken = byteTokens(spec);
    return made;
}

void UnigramModel::tokenize(std::string_view word, Scratch& scratch, std::vector<WordToken>& out) const {
    auto& best = scratch.best;
    best.assign(word.size() + 1, {});
    best[0].reached = true;
    for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t size = codePointAt(word, begin).size;
        const double before = best[begin].score;
        const auto offer = [&](std::size_t end, double score, TokenId id) {
            auto& node = best[end];
            if (node.reached && before + score <= node.score) return;
            node = {before + score, static_cast<std::uint32_t>(begin), id, true};
        };
        bool single = false;
        // The pieces that begin with the text so far are a stretch of the sorted list, which every byte narrows.
        const auto first = static_cast<unsigned char>(word[begin]);
        auto low = m_pieces.begin() + m_firstByte[first];
        auto high = m_pieces.begin() + m_firstByte[first + 1u];
        for (std::size_t length = 1; low != high; ++length) {
            if (low->text.size() == length) {
                offer(begin + length, low->score, low->id);
                single = single || length == size;
                ++low;
            }
            if (low == high || begin + length >= word.size()) break;
            const auto next = static_cast<unsigned char>(word[begin + length]);
            const auto byteAt = [length](const Piece& piece) { return static_cast<unsigned char>(piece.text[length]); };
            low = std::lower_bound(low, high, next,
                                   [&](const Piece& piece, auto value) { return byteAt(piece) < value; });
            high = std::upper_bound(low, high, next,
                                    [&](auto value, const Piece& piece) { return value < byteAt(piece); });
        }
        if (!single) offer(begin + size, m_unknownScore, -1);
        begin += size;
    }
    scratch.ends.clear();
    for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
        scratch.ends.push_back(static_cast<std::uint32_t>(end));
    }
    std::vector<WordToken> missing;
    for (std::size_t k = scratch.ends.size(); k-- > 0;) {
        const auto& node = best[scratch.ends[k]];
        if (node.id >= 0) {
            out.push_back({node.id, node.begin});
            continue;
        }
        // A run of unknown characters is one token.
        while (k > 0 && best[scratch.ends[k - 1]].id < 0) --k;
        putUnknown(word, node.begin, scratch.ends[k], out, missing);
    }
    out.insert(out.end(), missing.begin(), missing.end());
}

void UnigramModel::putUnknown(std::string_view word, std::size_t begin, std::size_t end, std::vector<WordToken>& out,
                              std::vector<WordToken>& missing) const {
    const std::string_view run = word.substr(begin, end - begin);
    const bool allBytes = std::all_of(run.begin(), run.end(),
                                      [&](char byte) { return m_byteToken[static_cast<unsigned char>(byte)] >= 0; });
    if (!allBytes && m_unknownId >= 0) out.push_back({m_unknownId, static_cast<std::uint32_t>(begin)});
    for (std::size_t at = begin; at < end; ++at) {
        const auto offset = static_cast<std::uint32_t>(at);
        if (allBytes) {
            out.push_back({m_byteToken[static_cast<unsigned char>(word[at])], offset});
        } else {
            missing.push_back({-1, offset});
        }
    }
}

}  // namespace lpes::text
