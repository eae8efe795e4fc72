// tokenizer.model with the files beside it, and which file of a folder is read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/files.h"
#include "core/text/oniguruma_pattern.h"
#include "core/text/read_guard.h"
#include "core/text/sentencepiece_model.h"
#include "core/text/spec_checks.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_json_steps.h"
#include "core/text/tokenizer_neighbours.h"

namespace lpes::text {

namespace {

using nlohmann::json;
using NormalizerKind = TokenizerSpec::NormalizerStep::Kind;

enum class Family { Llama, T5 };

/// The tokenizer classes whose ids are sentencepiece's own; others shift or reorder them.
Result<Family> familyOf(const json& config, const std::filesystem::path& folder) {
    const json& name = memberOf(config, "tokenizer_class");
    if (name.is_null()) return Family::Llama;
    static constexpr std::array<std::string_view, 8> kLlama = {
        "LlamaTokenizer",   "LlamaTokenizerFast",   "GemmaTokenizer",     "GemmaTokenizerFast",
        "MistralTokenizer", "MistralTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast"};
    const std::string text = name.is_string() ? name.get<std::string>() : name.dump();
    if (std::find(kLlama.begin(), kLlama.end(), text) != kLlama.end()) return Family::Llama;
    if (text == "T5Tokenizer" || text == "T5TokenizerFast") return Family::T5;
    return fail(ErrorCode::Unsupported,
                fmt::format("{} has the tokenizer_class {:?}, whose ids tokenizer.model alone does not tell (known: "
                            "LlamaTokenizer, GemmaTokenizer, T5Tokenizer); use a folder with a tokenizer.json.",
                            (folder / "tokenizer_config.json").string(), text));
}

void putAdded(TokenizerSpec& spec, TokenizerSpec::Added token) {
    const auto index = static_cast<std::size_t>(token.id);
    if (index >= spec.pieces.size()) {
        spec.pieces.resize(index + 1);
        if (spec.model == TokenizerSpec::Model::Unigram) {
            spec.scores.resize(index + 1, std::numeric_limits<double>::quiet_NaN());
        }
    }
    // transformers takes the name that the files beside the model give to a piece.
    spec.pieces[index] = token.content;
    const auto at =
        std::find_if(spec.added.begin(), spec.added.end(), [&](const auto& one) { return one.id == token.id; });
    if (at == spec.added.end()) {
        spec.added.push_back(std::move(token));
    } else {
        *at = std::move(token);
    }
}

/// added_tokens.json: {"content": id}.
Result<void> readAddedTokens(const std::filesystem::path& path, TokenizerSpec& spec) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return {};
    const auto file = parseJsonFile(path);
    if (!file) return fail(file.error());
    for (const auto& [content, value] : file->items()) {
        const auto id = idFrom(value, fmt::format("{}[{:?}]", path.string(), content));
        if (!id) return fail(id.error());
        if (content.empty()) return malformed(path.string(), "a text that is not empty");
        TokenizerSpec::Added token;
        token.id = *id;
        token.content = content;
        putAdded(spec, std::move(token));
    }
    return {};
}

/// added_tokens_decoder of tokenizer_config.json: {"id": {"content": …, flags}}.
Result<void> readDecoderTable(const json& table, const std::string& where, TokenizerSpec& spec) {
    if (table.is_null()) return {};
    if (!table.is_object()) return malformed(where, "an object");
    for (const auto& [key, value] : table.items()) {
        TokenizerSpec::Added token;
        const auto parsed = std::from_chars(key.data(), key.data() + key.size(), token.id);
        if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || token.id < 0 ||
            token.id >= kMaxVocabulary) {
            return malformed(where, fmt::format("an id from 0 to {} instead of {:?}", kMaxVocabulary - 1, key));
        }
        auto content = textAt(value, "content", where);
        if (!content) return fail(content.error());
        if (content->empty()) return malformed(where, "a content that is not empty");
        token.content = std::move(*content);
        for (const auto& [flag, target] :
             {std::pair{"special", &token.special}, std::pair{"lstrip", &token.lstrip},
              std::pair{"rstrip", &token.rstrip}, std::pair{"single_word", &token.singleWord}}) {
            const auto read = boolAt(value, flag, false, where);
            if (!read) return fail(read.error());
            *target = *read;
        }
        putAdded(spec, std::move(token));
    }
    return {};
}

TokenId idOfPiece(const TokenizerSpec& spec, const std::string& piece) {
    const auto at = std::find(spec.pieces.begin(), spec.pieces.end(), piece);
    return at == spec.pieces.end() ? -1 : static_cast<TokenId>(std::distance(spec.pieces.begin(), at));
}

/// The id of a token that tokenizer_config.json names, else of the model's own piece.
TokenId idNamed(const TokenizerSpec& spec, const json& token, const std::string& otherwise) {
    const json& text = token.is_object() ? memberOf(token, "content") : token;
    return idOfPiece(spec, text.is_string() ? text.get<std::string>() : otherwise);
}

/// sentencepiece's order: the map, then spaces, then the prefix.
void putNormalizers(const SentencePieceModel& model, bool everySegment, TokenizerSpec& spec) {
    const std::string space = model.escapeSpaces ? std::string(kMetaspace) : " ";
    if (!model.charsmap.empty()) spec.normalizers.push_back({NormalizerKind::CharsmapLongest, {}, model.charsmap});
    if (model.removeExtraSpaces) spec.normalizers.push_back({NormalizerKind::RemoveExtraSpaces});
    if (model.escapeSpaces) spec.normalizers.push_back({NormalizerKind::Replace, pcre2Literal(" "), space});
    if (!model.addDummyPrefix) return;
    spec.normalizers.push_back({everySegment ? NormalizerKind::Prepend : NormalizerKind::PrependFirst, {}, space});
}

Result<TokenizerSpec> readModelFolder(const std::filesystem::path& folder) {
    const auto path = folder / "tokenizer.model";
    const auto bytes = readTextFile(path);
    if (!bytes) return fail(bytes.error());
    auto model = parseSentencePieceModel(*bytes);
    if (!model) return fail(model.error());
    if (model->modelType != 1 && model->modelType != 2) {
        return fail(ErrorCode::Unsupported, fmt::format("tokenizer.model has the model_type {}, which is not supported "
                                                        "(known: 1 Unigram, 2 BPE); use another model.",
                                                        model->modelType));
    }
    if (model->spacesAsSuffix) {
        return fail(ErrorCode::Unsupported,
                    "tokenizer.model says treat_whitespace_as_suffix, which is not supported; use another model.");
    }
    json config = json::object();
    const auto configPath = folder / "tokenizer_config.json";
    if (std::error_code ignored; std::filesystem::exists(configPath, ignored)) {
        auto read = parseJsonFile(configPath);
        if (!read) return fail(read.error());
        config = std::move(*read);
    }
    const auto family = familyOf(config, folder);
    if (!family) return fail(family.error());

    TokenizerSpec spec;
    spec.model = model->modelType == 1 ? TokenizerSpec::Model::Unigram : TokenizerSpec::Model::Bpe;
    model->vocabulary.userDefinedInNormalForm = true;
    if (const auto read = readScoredVocabulary(std::move(model->vocabulary), spec); !read) return fail(read.error());
    spec.byteFallback = spec.byteFallback && model->byteFallback;
    if (const auto read = readAddedTokens(folder / "added_tokens.json", spec); !read) return fail(read.error());
    const auto table = readDecoderTable(memberOf(config, "added_tokens_decoder"),
                                        configPath.string() + ": added_tokens_decoder", spec);
    if (!table) return fail(table.error());
    // Only an explicit false is transformers' newer rule, a space in front of the whole text alone.
    const auto legacy = boolAt(config, "legacy", true, configPath.string());
    if (!legacy) return fail(legacy.error());
    putNormalizers(*model, *legacy, spec);
    putSentencePieceDecoder(model->addDummyPrefix, spec);

    spec.bosId = idNamed(spec, memberOf(config, "bos_token"), model->bosPiece);
    const TokenId eos = idNamed(spec, memberOf(config, "eos_token"), model->eosPiece);
    if (eos >= 0) spec.endIds.push_back(eos);
    if (*family == Family::Llama && spec.bosId >= 0) spec.prefixIds = {spec.bosId};
    if (*family == Family::T5 && eos >= 0) spec.suffixIds = {eos};
    if (const auto done = readNeighbours(folder, spec); !done) return fail(done.error());
    markTurnTokens(spec);
    completeEndIds(spec);
    return spec;
}

}  // namespace

Result<TokenizerSpec> readSentencePieceModel(const std::filesystem::path& folder) {
    return readGuarded(folder, [&] {
        auto spec = readModelFolder(folder);
        if (!spec && spec.error().context.empty()) spec.error().context = (folder / "tokenizer.model").string();
        return spec;
    });
}

Result<TokenizerSpec> readTokenizerFiles(const std::filesystem::path& folder) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / "tokenizer.json", ignored)) return readTokenizerJson(folder);
    if (std::filesystem::exists(folder / "tokenizer.model", ignored)) return readSentencePieceModel(folder);
    return fail(ErrorCode::BadInput,
                fmt::format("{} has neither tokenizer.json nor tokenizer.model; fetch the model's tokenizer files.",
                            folder.string()));
}

}  // namespace lpes::text
