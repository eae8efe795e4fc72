#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/files.h"
#include "core/text/byte_alphabet.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_json_steps.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

namespace {

using nlohmann::json;

Result<json> parseFile(const std::filesystem::path& path) {
    const auto text = readTextFile(path);
    if (!text) return fail(text.error());
    try {
        json value = json::parse(*text);
        if (!value.is_object()) {
            return fail(ErrorCode::BadInput,
                        fmt::format("{} is not a JSON object; fetch the file again.", path.string()));
        }
        return value;
    } catch (const json::exception& error) {
        return fail(ErrorCode::BadInput, fmt::format("{} is not valid JSON; fetch the file again.", path.string()),
                    error.what());
    }
}

const json& at(const json& object, const std::string& key) {
    static const json null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
}

Result<TokenId> idOf(const json& value, const std::string& where) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxVocabulary)) {
        return malformed(where, fmt::format("an id from 0 to {}", kMaxVocabulary - 1));
    }
    return value.get<TokenId>();
}

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
    const json& vocabulary = at(model, "vocab");
    if (!vocabulary.is_object() || vocabulary.empty()) return malformed("model.vocab", "pieces with their ids");
    for (const auto& [piece, value] : vocabulary.items()) {
        const auto id = idOf(value, fmt::format("model.vocab[{:?}]", piece));
        if (!id) return fail(id.error());
        const auto put = putPiece(spec, *id, piece, "model.vocab");
        if (!put) return put;
    }
    return {};
}

Result<void> readMerges(const json& model, TokenizerSpec& spec) {
    const json& merges = at(model, "merges");
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

Result<void> readModel(const json& model, TokenizerSpec& spec) {
    if (!model.is_object()) return malformed("model", "an object");
    // Files from before the "type" key are BPE when they have merges.
    const json& type = at(model, "type");
    if (!(type.is_null() && model.contains("merges")) && type != json("BPE")) {
        return refuseField("type", type, "\"BPE\"");
    }
    const json& dropout = at(model, "dropout");
    if (!dropout.is_null() && dropout != json(0) && dropout != json(0.0)) {
        return refuseField("dropout", dropout, "no dropout");
    }
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const json& value = at(model, affix);
        if (!value.is_null() && value != json("")) return refuseField(affix, value, "null there");
    }
    for (const auto& [key, target] :
         {std::pair{"ignore_merges", &spec.ignoreMerges}, std::pair{"fuse_unk", &spec.fuseUnknown}}) {
        const auto value = boolAt(model, key, false, "model");
        if (!value) return fail(value.error());
        *target = *value;
    }
    const auto byteFallback = boolAt(model, "byte_fallback", false, "model");
    if (!byteFallback) return fail(byteFallback.error());
    if (const auto vocabulary = readVocabulary(model, spec); !vocabulary) return vocabulary;
    if (const auto merges = readMerges(model, spec); !merges) return merges;

    const json& vocabulary = at(model, "vocab");
    const json& unknown = at(model, "unk_token");
    if (!unknown.is_null()) {
        if (!unknown.is_string() || !vocabulary.contains(unknown.get<std::string>())) {
            return malformed("model.unk_token", "a piece of the vocabulary");
        }
        spec.unknownId = vocabulary[unknown.get<std::string>()].get<TokenId>();
    }
    if (*byteFallback) {
        // It only matters for characters of the alphabet without a token.
        for (unsigned byte = 0; byte < 256; ++byte) {
            const char c = static_cast<char>(byte);
            if (!vocabulary.contains(bytesToAlphabet(std::string_view(&c, 1)))) {
                return refuseField("byte_fallback", json(true), "a token for every byte, or no byte_fallback");
            }
        }
    }
    return {};
}

Result<void> readAdded(const json& list, TokenizerSpec& spec) {
    if (list.is_null()) return {};
    if (!list.is_array()) return malformed("added_tokens", "a list");
    for (std::size_t k = 0; k < list.size(); ++k) {
        const std::string where = fmt::format("added_tokens[{}]", k);
        auto content = textAt(list[k], "content", where);
        if (!content) return fail(content.error());
        const auto id = idOf(at(list[k], "id"), where + ".id");
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

TokenId idOfSpecial(const TokenizerSpec& spec, const json& token) {
    const json& text = token.is_object() ? at(token, "content") : token;
    if (!text.is_string()) return -1;
    for (const auto& added : spec.added) {
        if (added.content == text.get_ref<const std::string&>()) return added.id;
    }
    return -1;
}

/// bos_token, eos_token and add_bos_token of tokenizer_config.json, eos_token_id of generation_config.json.
Result<void> readNeighbours(const std::filesystem::path& folder, TokenizerSpec& spec) {
    std::error_code ignored;
    if (const auto path = folder / "tokenizer_config.json"; std::filesystem::exists(path, ignored)) {
        const auto config = parseFile(path);
        if (!config) return fail(config.error());
        if (const TokenId bos = idOfSpecial(spec, at(*config, "bos_token")); bos >= 0 && spec.bosId < 0)
            spec.bosId = bos;
        if (const TokenId end = idOfSpecial(spec, at(*config, "eos_token")); end >= 0) spec.endIds.push_back(end);
        // What it says explicitly goes before the post-processor, as in transformers.
        const auto addBos = boolAt(*config, "add_bos_token", spec.addBos, path.string());
        if (!addBos) return fail(addBos.error());
        spec.addBos = *addBos;
    }
    if (const auto path = folder / "generation_config.json"; std::filesystem::exists(path, ignored)) {
        const auto config = parseFile(path);
        if (!config) return fail(config.error());
        const json& ends = at(*config, "eos_token_id");
        for (const json& end : ends.is_array() ? ends : ends.is_null() ? json::array() : json::array({ends})) {
            const auto id = idOf(end, path.string() + ": eos_token_id");
            if (!id) return fail(id.error());
            spec.endIds.push_back(*id);
        }
    }
    return {};
}

Result<TokenizerSpec> readFolder(const std::filesystem::path& folder) {
    const auto path = folder / "tokenizer.json";
    const auto file = parseFile(path);
    if (!file) return fail(file.error());
    const auto named = [&](Error error) {
        if (error.context.empty()) error.context = path.string();
        return fail(std::move(error));
    };
    TokenizerSpec spec;
    if (const auto model = readModel(at(*file, "model"), spec); !model) return named(model.error());
    if (const auto added = readAdded(at(*file, "added_tokens"), spec); !added) return named(added.error());
    if (const auto done = readNormalizer(at(*file, "normalizer"), spec); !done) return named(done.error());
    if (const auto done = readPreTokenizer(at(*file, "pre_tokenizer"), spec); !done) return named(done.error());
    if (const auto done = readPostProcessor(at(*file, "post_processor"), spec); !done) return named(done.error());
    if (const auto done = readDecoder(at(*file, "decoder")); !done) return named(done.error());
    if (const auto neighbours = readNeighbours(folder, spec); !neighbours) return fail(neighbours.error());
    completeEndIds(spec);
    return spec;
}

}  // namespace

Result<TokenizerSpec> readTokenizerJson(const std::filesystem::path& folder) {
    try {
        return readFolder(folder);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for the vocabulary; close other programs.");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{} could not be read; fetch the tokenizer files again.", folder.string()),
                    error.what());
    }
}

}  // namespace lpes::text
