#include "core/text/sentencepiece_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "core/text/oniguruma_pattern.h"
#include "core/text/unicode.h"
#include "core/text/word_token.h"

namespace lpes::text {

namespace {

/// Every way to cut a piece is looked up, so a piece of a megabyte would take minutes. Real ones have below 100 bytes.
constexpr std::size_t kLongestPiece = 256;

bool isType(std::int32_t type, PieceType wanted) {
    return type == static_cast<std::int32_t>(wanted);
}

/// Of llama.cpp's "undefined" (0) and of what it does not know it makes ordinary pieces.
bool isMade(std::int32_t type) {
    return !isType(type, PieceType::Unknown) && !isType(type, PieceType::Control) &&
           !isType(type, PieceType::UserDefined) && !isType(type, PieceType::Unused) && !isType(type, PieceType::Byte);
}

Result<void> checkPieces(const ScoredVocabulary& vocabulary) {
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        const std::string& piece = vocabulary.pieces[id];
        if (!std::isfinite(vocabulary.scores[id])) {
            return fail(ErrorCode::BadInput, fmt::format("The score of token {} is {}, not a finite number; fetch the "
                                                         "model's files again.",
                                                         id, vocabulary.scores[id]));
        }
        if (!isMade(vocabulary.types[id])) continue;
        if (firstInvalidUtf8(piece)) {
            return fail(ErrorCode::BadInput, fmt::format("Token {} is not UTF-8; fetch the model's files again.", id));
        }
        if (piece.size() > kLongestPiece) {
            return fail(ErrorCode::BadInput, fmt::format("Token {} has {} bytes, and at most {} are believed; fetch "
                                                         "the model's files again.",
                                                         id, piece.size(), kLongestPiece));
        }
    }
    return {};
}

/// Rank of each piece: 0 for the highest score; equal scores have one rank.
std::vector<std::uint32_t> ranksOf(const std::vector<float>& scores) {
    std::vector<std::uint32_t> order(scores.size());
    for (std::uint32_t id = 0; id < order.size(); ++id) order[id] = id;
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
    std::vector<std::uint32_t> ranks(scores.size());
    std::uint32_t rank = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k > 0 && scores[order[k]] != scores[order[k - 1]]) ++rank;
        ranks[order[k]] = rank;
    }
    return ranks;
}

std::vector<TokenizerSpec::ScoreMerge> mergesOf(const ScoredVocabulary& vocabulary) {
    std::unordered_map<std::string_view, TokenId> ids;
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        if (isMade(vocabulary.types[id])) ids.emplace(vocabulary.pieces[id], static_cast<TokenId>(id));
    }
    const std::vector<std::uint32_t> ranks = ranksOf(vocabulary.scores);
    std::vector<TokenizerSpec::ScoreMerge> merges;
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        const std::string_view piece = vocabulary.pieces[id];
        if (!isMade(vocabulary.types[id])) continue;
        for (std::size_t at = piece.empty() ? 0 : codePointAt(piece, 0).size; at < piece.size();
             at += codePointAt(piece, at).size) {
            const auto left = ids.find(piece.substr(0, at));
            if (left == ids.end()) continue;
            const auto right = ids.find(piece.substr(at));
            if (right == ids.end()) continue;
            merges.push_back({left->second, right->second, static_cast<TokenId>(id), ranks[id]});
        }
    }
    return merges;
}

void putAdded(const ScoredVocabulary& vocabulary, TokenizerSpec& spec) {
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        const std::int32_t type = vocabulary.types[id];
        const bool userDefined = isType(type, PieceType::UserDefined);
        const bool special = isType(type, PieceType::Control) || isType(type, PieceType::Unknown);
        if ((!userDefined && !special) || vocabulary.pieces[id].empty()) continue;
        TokenizerSpec::Added token;
        token.id = static_cast<TokenId>(id);
        token.content = vocabulary.pieces[id];
        token.special = special;
        token.normalized = token.inNormalForm = userDefined && vocabulary.userDefinedInNormalForm;
        spec.added.push_back(std::move(token));
    }
}

}  // namespace

const std::string_view kMetaspace = "\xE2\x96\x81";

Result<void> readScoredVocabulary(ScoredVocabulary vocabulary, TokenizerSpec& spec) {
    if (const auto sound = checkPieces(vocabulary); !sound) return sound;
    putAdded(vocabulary, spec);
    const auto unknown =
        std::find(vocabulary.types.begin(), vocabulary.types.end(), static_cast<std::int32_t>(PieceType::Unknown));
    if (unknown != vocabulary.types.end()) {
        spec.unknownId = static_cast<TokenId>(std::distance(vocabulary.types.begin(), unknown));
    }
    spec.fuseUnknown = true;
    if (spec.model == TokenizerSpec::Model::Unigram) {
        for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
            spec.scores.push_back(isMade(vocabulary.types[id]) ? static_cast<double>(vocabulary.scores[id])
                                                               : std::numeric_limits<double>::quiet_NaN());
        }
    } else {
        spec.scoreMerges = mergesOf(vocabulary);
    }
    spec.pieces = std::move(vocabulary.pieces);
    const auto bytes = byteTokens(spec);
    spec.byteFallback = std::all_of(bytes.begin(), bytes.end(), [](TokenId id) { return id >= 0; });
    return {};
}

void putSentencePieceDecoder(bool prefixed, TokenizerSpec& spec) {
    using Kind = TokenizerSpec::DecoderStep::Kind;
    spec.decoders = {{Kind::Replace, pcre2Literal(kMetaspace), " "}, {Kind::ByteFallback}, {Kind::Fuse}};
    if (!prefixed) return;
    TokenizerSpec::DecoderStep strip{Kind::Strip};
    strip.content = " ";
    strip.start = 1;
    spec.decoders.push_back(strip);
}

}  // namespace lpes::text
