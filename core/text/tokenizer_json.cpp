#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/text/byte_alphabet.h"
#include "core/text/read_guard.h"
#include "core/text/spec_checks.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_json_steps.h"
#include "core/text/tokenizer_neighbours.h"

namespace lpes::text {

namespace {

using nlohmann::json;

Result<void> putPiece(TokenizerSpec& spec, TokenId id, const std::string& piece, const std::string& where) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= spec.pieces.size()) spec.pieces.resize(index + 1);
    std::string& slot = spec.pieces[index];
    if (!slot.empty() && slot != piece) {
        return fail(ErrorCode::BadInput, fmt::format("{} gives id {} to {:?} and to {:?}; fetch tokenizer.json again.",
                                                     where, id, slot, piece));
    }
    slot = piece;
    return {};
}

Result<void> readVocabulary(const json& model, TokenizerSpec& spec) {
    const json& vocabulary = memberOf(model, "vocab");
    if (!vocabulary.is_object() || vocabulary.empty()) return malformed("model.vocab", "pieces with their ids");
    for (const auto& [piece, value] : vocabulary.items()) {
        const auto id = idFrom(value, fmt::format("model.vocab[{:?}]", piece));
        if (!id) return fail(id.error());
        const auto put = putPiece(spec, *id, piece, "model.vocab");
        if (!put) return put;
    }
    return {};
}

Result<void> readMerges(const json& model, TokenizerSpec& spec) {
    const json& merges = memberOf(model, "merges");
    if (!merges.is_array()) return malformed("model.merges", "a list");
    spec.merges.reserve(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const json& merge = merges[rank];
        if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
            spec.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
            continue;
        }
        const std::string pair = merge.is_string() ? merge.get<std::string>() : std::string();
        const std::size_t space = pair.find(' ');
        if (space == std::string::npos || pair.find(' ', space + 1) != std::string::npos) {
            return malformed(fmt::format("model.merges[{}]", rank), "\"left right\" or [\"left\", \"right\"]");
        }
        spec.merges.emplace_back(pair.substr(0, space), pair.substr(space + 1));
    }
    return {};
}

tl::unexpected<Error> refuseField(const std::string& field, const json& value, const std::string& instead) {
    return fail(ErrorCode::Unsupported, fmt::format("model.{} is {} in tokenizer.json, which is not supported; use a "
                                                    "tokenizer with {}.",
                                                    field, value.dump(), instead));
}

/// Unigram's vocabulary: [[piece, score], …], the id being the position.
Result<void> readScores(const json& model, TokenizerSpec& spec) {
    const json& vocabulary = memberOf(model, "vocab");
    if (!vocabulary.is_array() || vocabulary.empty()) return malformed("model.vocab", "pieces with their scores");
    if (vocabulary.size() > static_cast<std::size_t>(kMaxVocabulary)) {
        return malformed("model.vocab", fmt::format("at most {} pieces", kMaxVocabulary));
    }
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const json& item = vocabulary[id];
        const bool sound = item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_number();
        if (!sound || !std::isfinite(item[1].get<double>())) {
            return malformed(fmt::format("model.vocab[{}]", id), "[\"piece\", score]");
        }
        spec.pieces.push_back(item[0].get<std::string>());
        spec.scores.push_back(item[1].get<double>());
    }
    const json& unknown = memberOf(model, "unk_id");
    if (unknown.is_null()) return {};
    if (!unknown.is_number_unsigned() || unknown.get<std::uint64_t>() >= vocabulary.size()) {
        return malformed("model.unk_id", fmt::format("an id below {}", vocabulary.size()));
    }
    spec.unknownId = unknown.get<TokenId>();
    return {};
}

Result<void> readBpe(const json& model, TokenizerSpec& spec) {
    const json& dropout = memberOf(model, "dropout");
    if (!dropout.is_null() && dropout != json(0) && dropout != json(0.0)) {
        return refuseField("dropout", dropout, "no dropout");
    }
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const json& value = memberOf(model, affix);
        if (!value.is_null() && value != json("")) return refuseField(affix, value, "null there");
    }
    for (const auto& [key, target] :
         {std::pair{"ignore_merges", &spec.ignoreMerges}, std::pair{"fuse_unk", &spec.fuseUnknown}}) {
        const auto value = boolAt(model, key, false, "model");
        if (!value) return fail(value.error());
        *target = *value;
    }
    if (const auto vocabulary = readVocabulary(model, spec); !vocabulary) return vocabulary;
    if (const auto merges = readMerges(model, spec); !merges) return merges;

    const json& vocabulary = memberOf(model, "vocab");
    const json& unknown = memberOf(model, "unk_token");
    if (!unknown.is_null()) {
        if (!unknown.is_string() || !vocabulary.contains(unknown.get<std::string>())) {
            return malformed("model.unk_token", "a piece of the vocabulary");
        }
        spec.unknownId = vocabulary[unknown.get<std::string>()].get<TokenId>();
    }
    return {};
}

Result<void> readModel(const json& model, TokenizerSpec& spec) {
    if (!model.is_object()) return malformed("model", "an object");
    // Files from before the "type" key are BPE when they have merges, Unigram when they have an unk_id.
    const json& type = memberOf(model, "type");
    const bool untyped = type.is_null();
    const auto byteFallback = boolAt(model, "byte_fallback", false, "model");
    if (!byteFallback) return fail(byteFallback.error());
    spec.byteFallback = *byteFallback;
    if (type == json("BPE") || (untyped && model.contains("merges"))) return readBpe(model, spec);
    if (type == json("Unigram") || (untyped && model.contains("unk_id"))) {
        spec.model = TokenizerSpec::Model::Unigram;
        return readScores(model, spec);
    }
    return refuseField("type", type, "\"BPE\" or \"Unigram\"");
}

/// A byte-level model does not need byte_fallback; it only matters for characters of the alphabet without a token.
Result<void> settleByteFallback(TokenizerSpec& spec) {
    if (!spec.byteFallback || !endsInByteLevel(spec)) return {};
    const std::unordered_set<std::string_view> pieces(spec.pieces.begin(), spec.pieces.end());
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        if (!pieces.contains(bytesToAlphabet(std::string_view(&c, 1)))) {
            return refuseField("byte_fallback", json(true), "a token for every byte, or no byte_fallback");
        }
    }
    spec.byteFallback = false;
    return {};
}

Result<void> readAdded(const json& list, TokenizerSpec& spec) {
    if (list.is_null()) return {};
    if (!list.is_array()) return malformed("added_tokens", "a list");
    for (std::size_t k = 0; k < list.size(); ++k) {
        const std::string where = fmt::format("added_tokens[{}]", k);
        auto content = textAt(list[k], "content", where);
        if (!content) return fail(content.error());
        const auto id = idFrom(memberOf(list[k], "id"), where + ".id");
        if (!id) return fail(id.error());
        if (content->empty()) return malformed(where + ".content", "a text that is not empty");
        if (const auto put = putPiece(spec, *id, *content, "added_tokens"); !put) return put;
        TokenizerSpec::Added token;
        token.id = *id;
        token.content = std::move(*content);
        const auto special = boolAt(list[k], "special", false, where);
        if (!special) return fail(special.error());
        token.special = *special;
        for (const auto& [key, target, otherwise] :
             {std::tuple{"lstrip", &token.lstrip, false}, std::tuple{"rstrip", &token.rstrip, false},
              std::tuple{"single_word", &token.singleWord, false},
              std::tuple{"normalized", &token.normalized, !token.special}}) {
            const auto value = boolAt(list[k], key, otherwise, where);
            if (!value) return fail(value.error());
            *target = *value;
        }
        spec.added.push_back(std::move(token));
    }
    return {};
}

Result<TokenizerSpec> readFolder(const std::filesystem::path& folder) {
    const auto path = folder / "tokenizer.json";
    const auto file = parseJsonFile(path);
    if (!file) return fail(file.error());
    const auto named = [&](Error error) {
        if (error.context.empty()) error.context = path.string();
        return fail(std::move(error));
    };
    TokenizerSpec spec;
    if (const auto model = readModel(memberOf(*file, "model"), spec); !model) return named(model.error());
    if (const auto added = readAdded(memberOf(*file, "added_tokens"), spec); !added) return named(added.error());
    if (const auto done = readNormalizer(memberOf(*file, "normalizer"), spec); !done) return named(done.error());
    if (const auto done = readPreTokenizer(memberOf(*file, "pre_tokenizer"), spec); !done) return named(done.error());
    if (const auto done = readPostProcessor(memberOf(*file, "post_processor"), spec); !done) return named(done.error());
    if (const auto done = readDecoder(memberOf(*file, "decoder"), spec); !done) return named(done.error());
    if (const auto done = settleByteFallback(spec); !done) return named(done.error());
    // Without a decoder the tokenizers library puts spaces between pieces.
    if (spec.decoders.empty() && !endsInByteLevel(spec)) {
        spec.decoders.push_back({TokenizerSpec::DecoderStep::Kind::JoinWithSpaces});
    }
    // A Unigram model's added tokens may lie behind its vocabulary.
    if (spec.model == TokenizerSpec::Model::Unigram) {
        spec.scores.resize(spec.pieces.size(), std::numeric_limits<double>::quiet_NaN());
    }
    if (const auto neighbours = readNeighbours(folder, spec); !neighbours) return fail(neighbours.error());
    completeEndIds(spec);
    return spec;
}

}  // namespace

Result<TokenizerSpec> readTokenizerJson(const std::filesystem::path& folder) {
    return readGuarded(folder, [&] { return readFolder(folder); });
}

}  // namespace lpes::text
