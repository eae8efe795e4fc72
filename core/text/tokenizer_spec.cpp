#include "core/text/tokenizer_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/base/checksum.h"
#include "core/text/known_steps.h"
#include "core/text/unicode.h"

namespace lpes::text {

Result<void> checkSpec(const TokenizerSpec& spec) {
    const auto size = static_cast<std::int64_t>(spec.pieces.size());
    if (size == 0 || size > kMaxVocabulary) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("The vocabulary has {} pieces, and 1 to {} are possible; fetch the model's files again.", size,
                        kMaxVocabulary));
    }
    const auto inRange = [&](TokenId id) { return id >= 0 && id < size; };
    std::unordered_set<TokenId> seen;
    for (const auto& token : spec.added) {
        if (!inRange(token.id) || !seen.insert(token.id).second) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("The added token {:?} has id {}, which is {} (vocabulary of {}); fetch the model's "
                            "files again.",
                            token.content, token.id, inRange(token.id) ? "taken already" : "out of range", size));
        }
        const std::string& piece = spec.pieces[static_cast<std::size_t>(token.id)];
        if (piece != token.content) {
            return fail(ErrorCode::BadInput, fmt::format("Id {} is {:?} in the vocabulary and {:?} among the added "
                                                         "tokens; fetch the model's files again.",
                                                         token.id, piece, token.content));
        }
        if (firstInvalidUtf8(token.content)) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("The added token with id {} is not UTF-8; fetch the model's files again.", token.id));
        }
    }
    const auto checkOne = [&](TokenId id, std::string_view name) -> Result<void> {
        if (inRange(id) || (id == -1 && name != "end")) return {};
        return fail(ErrorCode::BadInput,
                    fmt::format("The {} token has id {}, which is outside the vocabulary of {}; fetch "
                                "the model's files again.",
                                name, id, size));
    };
    if (const auto bos = checkOne(spec.bosId, "beginning-of-sequence"); !bos) return bos;
    if (const auto unknown = checkOne(spec.unknownId, "unknown"); !unknown) return unknown;
    for (const TokenId id : spec.endIds) {
        if (const auto end = checkOne(id, "end"); !end) return end;
    }
    if (spec.addBos && spec.bosId < 0) {
        return fail(
            ErrorCode::BadInput,
            "The tokenizer's files ask for a beginning-of-sequence token and name none; fetch the model's files "
            "again.");
    }
    return {};
}

std::string fingerprintOf(const TokenizerSpec& spec) {
    Sha256 sum;
    // Length in front of every text, so that no two vocabularies read as the same bytes.
    const auto add = [&](std::string_view text) {
        sum.add(fmt::format("{}:", text.size()));
        sum.add(text);
    };
    add("lpes byte-level BPE 1");
    for (std::size_t id = 0; id < spec.pieces.size(); ++id) {
        // Ids without a token are padding of the embedding, which tokenizer.json does not list and GGUF does.
        if (spec.pieces[id].empty()) continue;
        sum.add(fmt::format("{} ", id));
        add(spec.pieces[id]);
    }
    add("merges");
    for (const auto& [left, right] : spec.merges) {
        add(left);
        add(right);
    }
    add("added");
    std::vector<const TokenizerSpec::Added*> added;
    for (const auto& token : spec.added) added.push_back(&token);
    std::sort(added.begin(), added.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
    for (const auto* token : added) {
        sum.add(fmt::format("{} {:d}{:d}{:d}{:d}{:d} ", token->id, token->special, token->lstrip, token->rstrip,
                            token->singleWord, token->normalized));
    }
    add("steps");
    for (const auto& step : spec.steps) {
        sum.add(fmt::format("{} ", static_cast<int>(step.kind)));
        add(step.pattern);
    }
    sum.add(fmt::format("nfc {:d} prefix {:d} whole {:d} unknown {} {:d}",
                        spec.normalizer == TokenizerSpec::Normalizer::Nfc, spec.addPrefixSpace, spec.ignoreMerges,
                        spec.unknownId, spec.fuseUnknown));
    return sum.hex();
}

void completeEndIds(TokenizerSpec& spec) {
    for (const auto& token : spec.added) {
        if (token.special && isEndOfTurnSpelling(token.content)) spec.endIds.push_back(token.id);
    }
    std::sort(spec.endIds.begin(), spec.endIds.end());
    spec.endIds.erase(std::unique(spec.endIds.begin(), spec.endIds.end()), spec.endIds.end());
}

}  // namespace lpes::text
