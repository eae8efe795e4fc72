#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/text/gguf_pre_names.h"
#include "core/text/oniguruma_pattern.h"
#include "core/text/sentencepiece_vocabulary.h"
#include "core/text/spec_checks.h"
#include "core/text/tokenizer.h"
#include "core/text/word_token.h"

namespace lpes::text {

namespace {

Result<TokenId> idFrom(std::int64_t id, std::string_view key, std::size_t size) {
    if (id < 0) return TokenId{-1};
    if (id >= static_cast<std::int64_t>(size)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{} is {}, outside the vocabulary of {}; fetch the GGUF file again.", key, id, size));
    }
    return static_cast<TokenId>(id);
}

Result<void> checkSizes(const GgufVocabulary& vocabulary) {
    const std::size_t size = vocabulary.tokens.size();
    if (size > static_cast<std::size_t>(kMaxVocabulary)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("tokenizer.ggml.tokens has {} entries, and at most {} are possible; "
                                "fetch the GGUF file again.",
                                size, kMaxVocabulary));
    }
    if (!vocabulary.tokenTypes.empty() && vocabulary.tokenTypes.size() != size) {
        return fail(ErrorCode::BadInput,
                    fmt::format("tokenizer.ggml.token_type has {} entries for {} tokens; fetch the GGUF file again.",
                                vocabulary.tokenTypes.size(), size));
    }
    return {};
}

/// Rows of the embedding without a token, which the converter to GGUF gives a name.
bool isPadding(const std::string& piece, std::int32_t type, std::size_t id) {
    return type == static_cast<std::int32_t>(PieceType::Unused) && piece == fmt::format("[PAD{}]", id);
}

/// Byte-level BPE.
Result<void> readBytePieces(const GgufVocabulary& vocabulary, TokenizerSpec& spec) {
    spec.pieces = vocabulary.tokens;
    for (std::size_t id = 0; id < vocabulary.tokenTypes.size(); ++id) {
        const std::int32_t type = vocabulary.tokenTypes[id];
        std::string& piece = spec.pieces[id];
        const bool control = type == static_cast<std::int32_t>(PieceType::Control);
        if (control || type == static_cast<std::int32_t>(PieceType::UserDefined)) {
            TokenizerSpec::Added token;
            token.id = static_cast<TokenId>(id);
            token.content = piece;
            token.special = control;
            // GGUF does not keep `normalized`; false is what Qwen 2's tokenizer.json says, and what llama.cpp does.
            spec.added.push_back(std::move(token));
        } else if (isPadding(piece, type, id)) {
            piece.clear();
        }
    }
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
        const std::string& merge = vocabulary.merges[rank];
        const std::size_t space = merge.find(' ', 1);
        if (space == std::string::npos || space + 1 == merge.size()) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("tokenizer.ggml.merges[{}] is {:?}, not two pieces with a space between them; fetch "
                            "the GGUF file again.",
                            rank, merge));
        }
        spec.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    }
    return {};
}

/// Kinds of the pieces of an old file that does not tell them.
std::vector<std::int32_t> guessedTypes(const std::vector<std::string>& tokens, std::int64_t unknownId,
                                       std::int64_t bosId, std::int64_t eosId) {
    std::vector<std::int32_t> types(tokens.size(), static_cast<std::int32_t>(PieceType::Normal));
    TokenizerSpec spec;
    spec.pieces = tokens;
    const auto put = [&](std::int64_t id, PieceType type) {
        if (id >= 0 && id < static_cast<std::int64_t>(types.size())) {
            types[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(type);
        }
    };
    for (const TokenId id : byteTokens(spec)) put(id, PieceType::Byte);
    put(bosId, PieceType::Control);
    put(eosId, PieceType::Control);
    put(unknownId, PieceType::Unknown);
    return types;
}

/// llama.cpp tells the stripping of Phi-3's added tokens by the model's name, since GGUF does not carry it.
void applyPhi3Flags(const std::string& modelName, TokenizerSpec& spec) {
    std::string name = modelName;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.find("phi-3") == std::string::npos && name.find("phi3") == std::string::npos) return;
    for (auto& token : spec.added) {
        token.rstrip = token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
    }
}

/// sentencepiece's BPE.
Result<void> readScoredPieces(const GgufVocabulary& vocabulary, TokenizerSpec& spec) {
    const std::size_t size = vocabulary.tokens.size();
    if (vocabulary.scores.size() != size) {
        return fail(ErrorCode::BadInput,
                    fmt::format("tokenizer.ggml.scores has {} entries for {} tokens; fetch the GGUF file again.",
                                vocabulary.scores.size(), size));
    }
    ScoredVocabulary scored;
    scored.pieces = vocabulary.tokens;
    scored.scores = vocabulary.scores;
    scored.types = vocabulary.tokenTypes.empty()
                       ? guessedTypes(vocabulary.tokens, vocabulary.unknownId, vocabulary.bosId, vocabulary.eosId)
                       : vocabulary.tokenTypes;
    for (std::size_t id = 0; id < size; ++id) {
        if (isPadding(scored.pieces[id], scored.types[id], id)) scored.pieces[id].clear();
    }
    if (const auto read = readScoredVocabulary(std::move(scored), spec); !read) return read;
    applyPhi3Flags(vocabulary.modelName, spec);
    const bool prefixed = vocabulary.addSpacePrefix != 0;
    using NormalizerKind = TokenizerSpec::NormalizerStep::Kind;
    spec.normalizers.push_back({NormalizerKind::Replace, pcre2Literal(" "), std::string(kMetaspace)});
    if (prefixed) spec.normalizers.push_back({NormalizerKind::Prepend, {}, std::string(kMetaspace)});
    putSentencePieceDecoder(prefixed, spec);
    return {};
}

/// What llama.cpp takes for absent keys of a "llama" vocabulary.
GgufVocabulary withDefaults(const GgufVocabulary& vocabulary) {
    GgufVocabulary whole = vocabulary;
    if (vocabulary.model != "llama") return whole;
    const auto size = static_cast<std::int64_t>(vocabulary.tokens.size());
    const auto settle = [&](std::int64_t& id, std::int64_t otherwise) {
        if (id < 0 && otherwise < size) id = otherwise;
    };
    settle(whole.bosId, 1);
    settle(whole.eosId, 2);
    settle(whole.unknownId, 0);
    return whole;
}

Result<void> readIds(const GgufVocabulary& vocabulary, bool addBos, TokenizerSpec& spec) {
    const std::size_t size = spec.pieces.size();
    const auto bos = idFrom(vocabulary.bosId, "tokenizer.ggml.bos_token_id", size);
    if (!bos) return fail(bos.error());
    spec.bosId = *bos;
    const auto unknown = idFrom(vocabulary.unknownId, "tokenizer.ggml.unknown_token_id", size);
    if (!unknown) return fail(unknown.error());
    if (*unknown >= 0 && vocabulary.model == "llama") spec.unknownId = *unknown;
    TokenId eos = -1;
    for (const auto& [id, key] : {std::pair{vocabulary.eotId, "tokenizer.ggml.eot_token_id"},
                                  std::pair{vocabulary.eomId, "tokenizer.ggml.eom_token_id"},
                                  std::pair{vocabulary.eosId, "tokenizer.ggml.eos_token_id"}}) {
        const auto end = idFrom(id, key, size);
        if (!end) return fail(end.error());
        if (*end >= 0) spec.endIds.push_back(*end);
        eos = *end;
    }
    const auto around = [](bool wanted, TokenId id, const char* what, std::vector<TokenId>& ids) -> Result<void> {
        if (wanted && id < 0) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("The GGUF file asks for a token {} the text and names none; fetch it again.", what));
        }
        if (wanted) ids.push_back(id);
        return {};
    };
    const bool bosWanted = vocabulary.addBos >= 0 ? vocabulary.addBos != 0 : addBos;
    if (const auto done = around(bosWanted, spec.bosId, "in front of", spec.prefixIds); !done) return done;
    return around(vocabulary.addEos > 0, eos, "behind", spec.suffixIds);
}

Result<TokenizerSpec> build(const GgufVocabulary& given) {
    const bool scored = given.model == "llama";
    if (given.model != "gpt2" && !scored) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.model {:?} is not supported; only \"gpt2\" (byte-level BPE) and "
                                "\"llama\" (sentencepiece BPE) are.",
                                given.model));
    }
    if (const auto sound = checkSizes(given); !sound) return fail(sound.error());
    const GgufVocabulary vocabulary = withDefaults(given);
    TokenizerSpec spec;
    bool addBos = scored;
    if (!scored) {
        if (const auto known = applyPreName(vocabulary.pre, spec, addBos); !known) return fail(known.error());
    }
    const auto read = scored ? readScoredPieces(vocabulary, spec) : readBytePieces(vocabulary, spec);
    if (!read) return fail(read.error());
    if (const auto ids = readIds(vocabulary, addBos, spec); !ids) return fail(ids.error());
    markTurnTokens(spec);
    completeEndIds(spec);
    return spec;
}

}  // namespace

Result<TokenizerSpec> specFromGguf(const GgufVocabulary& vocabulary) {
    try {
        return build(vocabulary);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for the vocabulary; close other programs.");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The vocabulary of the GGUF file could not be read; fetch it again.",
                    error.what());
    }
}

}  // namespace lpes::text
