#include <fmt/format.h>

#include <new>

#include "core/text/known_steps.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::Step::Kind;

constexpr std::string_view kKnownPre = "gpt-2, smollm, qwen2, llama-bpe";

/// What a GGUF file does not carry and only the name in tokenizer.ggml.pre tells (llama.cpp, src/llama-vocab.cpp; the
/// steps themselves as in the tokenizer.json of the models that the name stands for).
Result<void> applyPre(const std::string& pre, TokenizerSpec& spec) {
    if (pre == "gpt-2") {
        spec.steps = {{Kind::ByteLevelRegex, {}}};
    } else if (pre == "smollm") {
        spec.steps = {{Kind::DigitsIndividual, {}}, {Kind::ByteLevelRegex, {}}};
    } else if (pre == "qwen2") {
        spec.normalizer = TokenizerSpec::Normalizer::Nfc;
        spec.steps = {knownSplit(kQwen2Pattern), {Kind::ByteLevelPlain, {}}};
    } else if (pre == "llama-bpe") {
        spec.ignoreMerges = true;
        spec.addBos = true;
        spec.steps = {knownSplit(kLlama3Pattern), {Kind::ByteLevelPlain, {}}};
    } else if (pre.empty()) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("The GGUF file has no tokenizer.ggml.pre, so how it splits text is unknown; convert the "
                        "model again with a llama.cpp that writes the key (known: {}).",
                        kKnownPre));
    } else if (pre == "default") {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.pre is \"default\", llama.cpp's guess for a model that it did not "
                                "recognise, so how it splits text is unknown; use a file that names it (known: {}).",
                                kKnownPre));
    } else {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.pre {:?} is not supported; use a model with one "
                                "of {}, or its Hugging Face folder.",
                                pre, kKnownPre));
    }
    return {};
}

Result<TokenId> idFrom(std::int64_t id, std::string_view key, std::size_t size) {
    if (id < 0) return TokenId{-1};
    if (id >= static_cast<std::int64_t>(size)) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{} is {}, outside the vocabulary of {}; fetch the GGUF file again.", key, id, size));
    }
    return static_cast<TokenId>(id);
}

Result<void> readTokens(const GgufVocabulary& vocabulary, TokenizerSpec& spec) {
    constexpr std::int32_t kControl = 3;
    constexpr std::int32_t kUserDefined = 4;
    constexpr std::int32_t kUnused = 5;
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
    spec.pieces = vocabulary.tokens;
    for (std::size_t id = 0; id < vocabulary.tokenTypes.size(); ++id) {
        const std::int32_t type = vocabulary.tokenTypes[id];
        std::string& piece = spec.pieces[id];
        if (type == kControl || type == kUserDefined) {
            TokenizerSpec::Added token;
            token.id = static_cast<TokenId>(id);
            token.content = piece;
            token.special = type == kControl;
            // GGUF does not keep `normalized`; false is what Qwen 2's tokenizer.json says, and what llama.cpp does.
            spec.added.push_back(std::move(token));
        } else if (type == kUnused && piece == fmt::format("[PAD{}]", id)) {
            // Rows of the embedding without a token, which the converter to GGUF gives a name.
            piece.clear();
        }
    }
    return {};
}

Result<TokenizerSpec> build(const GgufVocabulary& vocabulary) {
    if (vocabulary.model != "gpt2") {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.model {:?} is not supported; only \"gpt2\" (byte-level BPE) is.",
                                vocabulary.model));
    }
    TokenizerSpec spec;
    if (const auto known = applyPre(vocabulary.pre, spec); !known) return fail(known.error());
    if (const auto read = readTokens(vocabulary, spec); !read) return fail(read.error());
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
    const auto bos = idFrom(vocabulary.bosId, "tokenizer.ggml.bos_token_id", spec.pieces.size());
    if (!bos) return fail(bos.error());
    spec.bosId = *bos;
    if (vocabulary.addBos >= 0) spec.addBos = vocabulary.addBos != 0;
    for (const auto& [id, key] : {std::pair{vocabulary.eosId, "tokenizer.ggml.eos_token_id"},
                                  std::pair{vocabulary.eotId, "tokenizer.ggml.eot_token_id"}}) {
        const auto end = idFrom(id, key, spec.pieces.size());
        if (!end) return fail(end.error());
        if (*end >= 0) spec.endIds.push_back(*end);
    }
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
