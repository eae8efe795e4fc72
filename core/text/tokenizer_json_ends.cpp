// The pieces of tokenizer.json that work behind the model: post-processor and decoder.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/text/spec_checks.h"
#include "core/text/tokenizer_json_steps.h"

namespace lpes::text {

namespace {

using nlohmann::json;
using DecoderStep = TokenizerSpec::DecoderStep;
using Kind = DecoderStep::Kind;

/// The ids of a special token of a template, appended.
Result<void> readTemplateToken(const json& value, const std::string& name, const std::string& where,
                               std::vector<TokenId>& ids) {
    const auto tokens = value.find("special_tokens");
    if (tokens == value.end() || !tokens->is_object() || !tokens->contains(name)) {
        return malformed(where + ".special_tokens", fmt::format("an entry for {:?}", name));
    }
    const json& token = (*tokens)[name];
    const auto list = token.is_object() ? token.find("ids") : token.end();
    if (!token.is_object() || list == token.end() || !list->is_array() || list->empty()) {
        return malformed(where + ".special_tokens", fmt::format("the ids of {:?}", name));
    }
    for (const json& id : *list) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxVocabulary)) {
            return malformed(where + ".special_tokens", fmt::format("the ids of {:?}", name));
        }
        ids.push_back(id.get<TokenId>());
    }
    return {};
}

/// TemplateProcessing's "single": special tokens, the sequence, special tokens.
Result<void> readTemplate(const json& value, TokenizerSpec& spec) {
    const std::string where = "post_processor(TemplateProcessing)";
    const auto single = value.find("single");
    if (single == value.end() || !single->is_array()) return malformed(where + ".single", "a list");
    std::vector<TokenId> before;
    std::vector<TokenId> behind;
    bool sequenceSeen = false;
    for (const json& item : *single) {
        if (!item.is_object()) return malformed(where + ".single", "a list of objects");
        if (item.contains("Sequence")) {
            if (sequenceSeen) {
                return unknownPiece("TemplateProcessing that repeats the text", "special tokens around the text");
            }
            sequenceSeen = true;
            continue;
        }
        if (!item.contains("SpecialToken")) return malformed(where + ".single", "Sequence and SpecialToken items");
        const auto name = textAt(item["SpecialToken"], "id", where + ".single.SpecialToken");
        if (!name) return fail(name.error());
        const auto read = readTemplateToken(value, *name, where, sequenceSeen ? behind : before);
        if (!read) return read;
    }
    if (!sequenceSeen) return malformed(where + ".single", "a Sequence item");
    // A later processor of a Sequence works on what the earlier ones have made.
    spec.prefixIds.insert(spec.prefixIds.begin(), before.begin(), before.end());
    spec.suffixIds.insert(spec.suffixIds.end(), behind.begin(), behind.end());
    if (!spec.prefixIds.empty()) spec.bosId = spec.prefixIds.front();
    return {};
}

Result<DecoderStep> readStrip(const json& value) {
    const std::string where = "decoder(Strip)";
    auto content = textAt(value, "content", where);
    if (!content) return fail(content.error());
    if (content->empty()) return malformed(where + ".content", "a character");
    const auto start = countAt(value, "start", 0, where);
    if (!start) return fail(start.error());
    const auto stop = countAt(value, "stop", 0, where);
    if (!stop) return fail(stop.error());
    DecoderStep step{Kind::Strip};
    step.content = std::move(*content);
    step.start = *start;
    step.stop = *stop;
    return step;
}

Result<DecoderStep> readReplace(const json& value) {
    auto pattern = patternAt(value, "decoder(Replace)");
    if (!pattern) return fail(pattern.error());
    auto content = textAt(value, "content", "decoder(Replace)");
    if (!content) return fail(content.error());
    return DecoderStep{Kind::Replace, std::move(*pattern), std::move(*content)};
}

Result<DecoderStep> readMetaspaceDecoder(const json& value) {
    const std::string where = "decoder(Metaspace)";
    auto replacement = textAt(value, "replacement", where);
    if (!replacement) return fail(replacement.error());
    if (replacement->empty()) return malformed(where + ".replacement", "a character");
    const auto prefix = boolAt(value, "add_prefix_space", true, where);
    if (!prefix) return fail(prefix.error());
    DecoderStep step{Kind::Metaspace};
    step.content = std::move(*replacement);
    step.prepended = *prefix;
    if (value.contains("prepend_scheme")) {
        const auto scheme = textAt(value, "prepend_scheme", where);
        if (!scheme) return fail(scheme.error());
        step.prepended = *scheme != "never";
    }
    return step;
}

Result<DecoderStep> decoderStep(const std::string& type, const json& value) {
    if (type == "ByteLevel") return DecoderStep{Kind::ByteLevel};
    if (type == "ByteFallback") return DecoderStep{Kind::ByteFallback};
    if (type == "Fuse") return DecoderStep{Kind::Fuse};
    if (type == "Strip") return readStrip(value);
    if (type == "Replace") return readReplace(value);
    if (type == "Metaspace") return readMetaspaceDecoder(value);
    return unknownPiece(fmt::format("The decoder {:?}", type),
                        "ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, Sequence of them");
}

}  // namespace

Result<void> readPostProcessor(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "post_processor", "processors",
                     [&](const std::string& type, const json& step) -> Result<void> {
                         // ByteLevel trims the offsets of tokens; the ids stay as they are.
                         if (type == "ByteLevel") return {};
                         if (type == "TemplateProcessing") return readTemplate(step, spec);
                         return unknownPiece(fmt::format("The post-processor {:?}", type),
                                             "ByteLevel, TemplateProcessing, Sequence of them");
                     });
}

Result<void> readDecoder(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "decoder", "decoders", [&](const std::string& type, const json& step) -> Result<void> {
        auto read = decoderStep(type, step);
        if (!read) return fail(read.error());
        spec.decoders.push_back(std::move(*read));
        return {};
    });
}

}  // namespace lpes::text
