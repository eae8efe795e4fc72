#include "core/text/spec_checks.h"

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
    for (const auto& merge : spec.scoreMerges) {
        if (inRange(merge.left) && inRange(merge.right) && inRange(merge.whole)) continue;
        return fail(ErrorCode::BadInput, fmt::format("A merge names an id outside the vocabulary of {}; fetch the "
                                                     "model's files again.",
                                                     size));
    }
    for (const auto* around : {&spec.prefixIds, &spec.suffixIds}) {
        for (const TokenId id : *around) {
            if (inRange(id)) continue;
            return fail(ErrorCode::BadInput,
                        fmt::format("The tokenizer's files put the token {} around a text, which is outside the "
                                    "vocabulary of {}; fetch the model's files again.",
                                    id, size));
        }
    }
    return {};
}

namespace {

/// Length in front of every text, so that no two vocabularies read as the same bytes.
void add(Sha256& sum, std::string_view text) {
    sum.add(fmt::format("{}:", text.size()));
    sum.add(text);
}

void addVocabulary(Sha256& sum, const TokenizerSpec& spec) {
    for (std::size_t id = 0; id < spec.pieces.size(); ++id) {
        // Ids without a token are padding of the embedding, which tokenizer.json does not list and GGUF does.
        if (spec.pieces[id].empty()) continue;
        sum.add(fmt::format("{} ", id));
        add(sum, spec.pieces[id]);
    }
    add(sum, "merges");
    for (const auto& [left, right] : spec.merges) {
        add(sum, left);
        add(sum, right);
    }
    add(sum, "added");
    std::vector<const TokenizerSpec::Added*> added;
    for (const auto& token : spec.added) added.push_back(&token);
    std::sort(added.begin(), added.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
    for (const auto* token : added) {
        sum.add(fmt::format("{} {:d}{:d}{:d}{:d}{:d} ", token->id, token->special, token->lstrip, token->rstrip,
                            token->singleWord, token->normalized));
    }
}

/// What the first version of the fingerprint covers: byte-level BPE with Digits, isolated Splits, and NFC or nothing.
bool isFirstKind(const TokenizerSpec& spec) {
    using Step = TokenizerSpec::Step;
    const auto simpleStep = [](const Step& step) {
        return step.kind <= Step::Kind::ByteLevelPlain && step.behavior == Step::Behavior::Isolated && !step.invert;
    };
    const bool nfc =
        spec.normalizers.size() == 1 && spec.normalizers.front().kind == TokenizerSpec::NormalizerStep::Kind::Nfc;
    return spec.model == TokenizerSpec::Model::Bpe && endsInByteLevel(spec) && (nfc || spec.normalizers.empty()) &&
           spec.scoreMerges.empty() && !spec.byteFallback &&
           std::all_of(spec.steps.begin(), spec.steps.end(), simpleStep);
}

/// Profiles and runs carry it, so it stays as it is.
void addFirstKind(Sha256& sum, const TokenizerSpec& spec) {
    add(sum, "lpes byte-level BPE 1");
    addVocabulary(sum, spec);
    add(sum, "steps");
    for (const auto& step : spec.steps) {
        sum.add(fmt::format("{} ", static_cast<int>(step.kind)));
        add(sum, step.pattern);
    }
    sum.add(fmt::format("nfc {:d} prefix {:d} whole {:d} unknown {} {:d}", !spec.normalizers.empty(),
                        spec.steps.back().prefixSpace, spec.ignoreMerges, spec.unknownId, spec.fuseUnknown));
}

void addSecondKind(Sha256& sum, const TokenizerSpec& spec) {
    add(sum, "lpes tokenizer 2");
    addVocabulary(sum, spec);
    // Millions of them in a large vocabulary: as bytes, not as text.
    std::string numbers;
    for (const auto& merge : spec.scoreMerges) {
        for (const auto number : {static_cast<std::uint32_t>(merge.left), static_cast<std::uint32_t>(merge.right),
                                  static_cast<std::uint32_t>(merge.whole), merge.rank}) {
            for (unsigned shift = 0; shift < 32; shift += 8) numbers.push_back(static_cast<char>(number >> shift));
        }
    }
    add(sum, numbers);
    add(sum, "scores");
    for (const double score : spec.scores) sum.add(fmt::format("{} ", score));
    add(sum, "in normal form");
    std::vector<TokenId> inNormalForm;
    for (const auto& token : spec.added) {
        if (token.inNormalForm) inNormalForm.push_back(token.id);
    }
    std::sort(inNormalForm.begin(), inNormalForm.end());
    for (const TokenId id : inNormalForm) sum.add(fmt::format("{} ", id));
    add(sum, "normalizers");
    for (const auto& step : spec.normalizers) {
        sum.add(fmt::format("{} {:d}{:d} ", static_cast<int>(step.kind), step.left, step.right));
        add(sum, step.pattern);
        add(sum, step.content);
    }
    add(sum, "steps");
    for (const auto& step : spec.steps) {
        sum.add(fmt::format("{} {} {:d} {} {:d}{:d} ", static_cast<int>(step.kind), static_cast<int>(step.behavior),
                            step.invert, static_cast<int>(step.prepend), step.split, step.prefixSpace));
        add(sum, step.pattern);
        add(sum, step.content);
    }
    sum.add(fmt::format("model {} bytes {:d} whole {:d} unknown {} {:d}", static_cast<int>(spec.model),
                        spec.byteFallback, spec.ignoreMerges, spec.unknownId, spec.fuseUnknown));
}

}  // namespace

std::string fingerprintOf(const TokenizerSpec& spec) {
    Sha256 sum;
    if (isFirstKind(spec)) {
        addFirstKind(sum, spec);
    } else {
        addSecondKind(sum, spec);
    }
    return sum.hex();
}

bool endsInByteLevel(const TokenizerSpec& spec) {
    using Kind = TokenizerSpec::Step::Kind;
    return !spec.steps.empty() &&
           (spec.steps.back().kind == Kind::ByteLevelRegex || spec.steps.back().kind == Kind::ByteLevelPlain);
}

void markTurnTokens(TokenizerSpec& spec) {
    for (auto& token : spec.added) {
        // Phi-3 has a "</s>" that is not special.
        const bool endsTurn = isEndOfTurnSpelling(token.content) && token.content != "</s>";
        if (!endsTurn && token.content != "<start_of_turn>") continue;
        token.special = true;
        token.normalized = token.inNormalForm = false;
    }
}

void completeEndIds(TokenizerSpec& spec) {
    for (const auto& token : spec.added) {
        if (token.special && isEndOfTurnSpelling(token.content)) spec.endIds.push_back(token.id);
    }
    std::sort(spec.endIds.begin(), spec.endIds.end());
    spec.endIds.erase(std::unique(spec.endIds.begin(), spec.endIds.end()), spec.endIds.end());
}

}  // namespace lpes::text
