#include "core/text/tokenizer_json_steps.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/oniguruma_pattern.h"
#include "core/text/tokenizer_spec.h"

namespace lpes::text {

namespace {

using nlohmann::json;
using Kind = TokenizerSpec::Step::Kind;

/// Sequences may hold sequences; a file that nests deeper is an attack on the stack.
constexpr int kMaxNesting = 16;

tl::unexpected<Error> unsupported(const std::string& what, const std::string& known) {
    return fail(ErrorCode::Unsupported, fmt::format("{} in tokenizer.json is not supported (known: {}); use another "
                                                    "model.",
                                                    what, known));
}

/// Calls `one` for the value, or for each member of a Sequence, which stand under `membersKey`.
template <class One>
Result<void> forEachOf(const json& value, const std::string& where, const std::string& membersKey, const One& one,
                       int depth = 0) {
    if (value.is_null()) return {};
    const auto type = textAt(value, "type", where);
    if (!type) return fail(type.error());
    if (*type != "Sequence") return one(*type, value);
    const auto members = value.find(membersKey);
    if (members == value.end() || !members->is_array()) return malformed(where + "." + membersKey, "a list");
    if (depth >= kMaxNesting) return malformed(where, fmt::format("at most {} sequences in each other", kMaxNesting));
    for (const json& member : *members) {
        const auto done = forEachOf(member, where + "." + membersKey, membersKey, one, depth + 1);
        if (!done) return done;
    }
    return {};
}

Result<void> readSplit(const json& value, TokenizerSpec& spec) {
    const std::string where = "pre_tokenizer(Split)";
    const auto behavior = textAt(value, "behavior", where);
    if (!behavior) return fail(behavior.error());
    const auto invert = boolAt(value, "invert", false, where);
    if (!invert) return fail(invert.error());
    if (*behavior != "Isolated") return unsupported(fmt::format("Split with behavior {:?}", *behavior), "Isolated");
    if (*invert) return unsupported("Split with invert", "invert false");
    const auto pattern = value.find("pattern");
    if (pattern == value.end() || !pattern->is_object()) return malformed(where + ".pattern", "an object");
    Result<std::string> translated;
    if (pattern->contains("Regex")) {
        const auto regex = textAt(*pattern, "Regex", where + ".pattern");
        if (!regex) return fail(regex.error());
        translated = pcre2FromOniguruma(*regex);
        if (!translated) return fail(translated.error());
    } else {
        const auto literal = textAt(*pattern, "String", where + ".pattern");
        if (!literal) return fail(literal.error());
        translated = pcre2Literal(*literal);
    }
    if (translated->empty()) return malformed(where + ".pattern", "a pattern that is not empty");
    spec.steps.push_back({Kind::Split, *translated});
    return {};
}

Result<void> readPreTokenizerStep(const std::string& type, const json& value, TokenizerSpec& spec) {
    if (type == "ByteLevel") {
        const auto prefix = boolAt(value, "add_prefix_space", true, "pre_tokenizer(ByteLevel)");
        if (!prefix) return fail(prefix.error());
        const auto regex = boolAt(value, "use_regex", true, "pre_tokenizer(ByteLevel)");
        if (!regex) return fail(regex.error());
        spec.addPrefixSpace = *prefix;
        spec.steps.push_back({*regex ? Kind::ByteLevelRegex : Kind::ByteLevelPlain, {}});
        return {};
    }
    if (type == "Digits") {
        const auto individual = boolAt(value, "individual_digits", false, "pre_tokenizer(Digits)");
        if (!individual) return fail(individual.error());
        spec.steps.push_back({*individual ? Kind::DigitsIndividual : Kind::DigitsGrouped, {}});
        return {};
    }
    if (type == "Split") return readSplit(value, spec);
    return unsupported(fmt::format("The pre-tokenizer {:?}", type), "ByteLevel, Digits, Split, Sequence of them");
}

/// TemplateProcessing whose "single" is [one special token,] the sequence.
Result<void> readTemplate(const json& value, TokenizerSpec& spec) {
    const std::string where = "post_processor(TemplateProcessing)";
    const auto single = value.find("single");
    if (single == value.end() || !single->is_array()) return malformed(where + ".single", "a list");
    std::vector<std::string> inFront;
    bool sequenceSeen = false;
    for (const json& item : *single) {
        if (!item.is_object()) return malformed(where + ".single", "a list of objects");
        if (item.contains("Sequence")) {
            if (sequenceSeen) return unsupported("TemplateProcessing that repeats the text", "BOS in front");
            sequenceSeen = true;
            continue;
        }
        if (!item.contains("SpecialToken")) return malformed(where + ".single", "Sequence and SpecialToken items");
        const auto name = textAt(item["SpecialToken"], "id", where + ".single.SpecialToken");
        if (!name) return fail(name.error());
        if (sequenceSeen) {
            return unsupported(fmt::format("TemplateProcessing that puts {:?} behind the text", *name), "BOS in front");
        }
        inFront.push_back(*name);
    }
    if (!sequenceSeen) return malformed(where + ".single", "a Sequence item");
    if (inFront.empty()) return {};
    if (inFront.size() > 1) return unsupported("TemplateProcessing with several tokens in front", "one BOS in front");

    const auto tokens = value.find("special_tokens");
    if (tokens == value.end() || !tokens->is_object() || !tokens->contains(inFront.front())) {
        return malformed(where + ".special_tokens", fmt::format("an entry for {:?}", inFront.front()));
    }
    const json& token = (*tokens)[inFront.front()];
    const auto ids = token.is_object() ? token.find("ids") : token.end();
    if (!token.is_object() || ids == token.end() || !ids->is_array() || ids->size() != 1 ||
        !(*ids)[0].is_number_unsigned() ||
        (*ids)[0].get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxVocabulary)) {
        return malformed(where + ".special_tokens", fmt::format("one id for {:?}", inFront.front()));
    }
    spec.bosId = (*ids)[0].get<TokenId>();
    spec.addBos = true;
    return {};
}

}  // namespace

tl::unexpected<Error> malformed(const std::string& where, const std::string& expected) {
    return fail(ErrorCode::BadInput,
                fmt::format("{} is malformed: {} was expected; fetch the tokenizer files again.", where, expected));
}

Result<bool> boolAt(const json& value, const std::string& key, bool otherwise, const std::string& where) {
    const auto at = value.find(key);
    if (at == value.end() || at->is_null()) return otherwise;
    if (!at->is_boolean()) return malformed(where + "." + key, "true or false");
    return at->get<bool>();
}

Result<std::string> textAt(const json& value, const std::string& key, const std::string& where) {
    if (!value.is_object()) return malformed(where, "an object");
    const auto at = value.find(key);
    if (at == value.end() || !at->is_string()) return malformed(where + "." + key, "a text");
    return at->get<std::string>();
}

Result<void> readNormalizer(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "normalizer", "normalizers", [&](const std::string& type, const json&) -> Result<void> {
        if (type != "NFC") return unsupported(fmt::format("The normalizer {:?}", type), "none, NFC");
        spec.normalizer = TokenizerSpec::Normalizer::Nfc;
        return {};
    });
}

Result<void> readPreTokenizer(const json& value, TokenizerSpec& spec) {
    if (value.is_null()) return unsupported("A tokenizer without a pre-tokenizer", "ByteLevel, Digits, Split");
    return forEachOf(value, "pre_tokenizer", "pretokenizers",
                     [&](const std::string& type, const json& step) { return readPreTokenizerStep(type, step, spec); });
}

Result<void> readPostProcessor(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "post_processor", "processors",
                     [&](const std::string& type, const json& step) -> Result<void> {
                         // ByteLevel trims the offsets of tokens; the ids stay as they are.
                         if (type == "ByteLevel") return {};
                         if (type == "TemplateProcessing") return readTemplate(step, spec);
                         return unsupported(fmt::format("The post-processor {:?}", type),
                                            "ByteLevel, TemplateProcessing with BOS in front");
                     });
}

Result<void> readDecoder(const json& value) {
    return forEachOf(value, "decoder", "decoders", [](const std::string& type, const json&) -> Result<void> {
        if (type == "ByteLevel") return {};
        return unsupported(fmt::format("The decoder {:?}", type), "ByteLevel");
    });
}

}  // namespace lpes::text
