#include "core/text/tokenizer_json_steps.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text/base64.h"
#include "core/text/spec_checks.h"

namespace lpes::text {

namespace {

using nlohmann::json;
using Kind = TokenizerSpec::Step::Kind;
using Behavior = TokenizerSpec::Step::Behavior;
using Prepend = TokenizerSpec::Step::Prepend;
using NormalizerStep = TokenizerSpec::NormalizerStep;

constexpr const char* kPreTokenizers =
    "ByteLevel, Digits, Metaspace, Punctuation, Split, Whitespace, WhitespaceSplit, Sequence of them";
constexpr const char* kNormalizers =
    "none, Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Strip, StripAccents, Sequence of them";

Result<Behavior> behaviorAt(const json& value, const char* otherwise, const std::string& where) {
    const auto name = value.contains("behavior") ? textAt(value, "behavior", where) : Result<std::string>(otherwise);
    if (!name) return fail(name.error());
    static constexpr std::array<std::pair<const char*, Behavior>, 5> kBehaviors = {
        {{"Isolated", Behavior::Isolated},
         {"Removed", Behavior::Removed},
         {"MergedWithPrevious", Behavior::MergedWithPrevious},
         {"MergedWithNext", Behavior::MergedWithNext},
         {"Contiguous", Behavior::Contiguous}}};
    for (const auto& [known, behavior] : kBehaviors) {
        if (*name == known) return behavior;
    }
    return unknownPiece(fmt::format("{} with behavior {:?}", where, *name),
                        "Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed");
}

Result<void> readSplit(const json& value, TokenizerSpec& spec) {
    const std::string where = "pre_tokenizer(Split)";
    TokenizerSpec::Step step{Kind::Split};
    const auto behavior = behaviorAt(value, "", where);
    if (!behavior) return fail(behavior.error());
    step.behavior = *behavior;
    const auto invert = boolAt(value, "invert", false, where);
    if (!invert) return fail(invert.error());
    step.invert = *invert;
    auto pattern = patternAt(value, where);
    if (!pattern) return fail(pattern.error());
    step.pattern = std::move(*pattern);
    spec.steps.push_back(std::move(step));
    return {};
}

/// "prepend_scheme", and the older "add_prefix_space".
Result<Prepend> prependAt(const json& value, const std::string& where) {
    const auto old = boolAt(value, "add_prefix_space", true, where);
    if (!old) return fail(old.error());
    if (!value.contains("prepend_scheme")) return *old ? Prepend::Always : Prepend::Never;
    const auto scheme = textAt(value, "prepend_scheme", where);
    if (!scheme) return fail(scheme.error());
    if (*scheme == "always") return Prepend::Always;
    if (*scheme == "first") return Prepend::First;
    if (*scheme == "never") return Prepend::Never;
    return unknownPiece(fmt::format("{} with prepend_scheme {:?}", where, *scheme), "always, first, never");
}

Result<void> readMetaspace(const json& value, TokenizerSpec& spec) {
    const std::string where = "pre_tokenizer(Metaspace)";
    TokenizerSpec::Step step{Kind::Metaspace};
    auto replacement = textAt(value, "replacement", where);
    if (!replacement) return fail(replacement.error());
    if (replacement->empty()) return malformed(where + ".replacement", "a character");
    step.content = std::move(*replacement);
    const auto prepend = prependAt(value, where);
    if (!prepend) return fail(prepend.error());
    step.prepend = *prepend;
    const auto split = boolAt(value, "split", true, where);
    if (!split) return fail(split.error());
    step.split = *split;
    spec.steps.push_back(std::move(step));
    return {};
}

Result<void> readByteLevel(const json& value, TokenizerSpec& spec) {
    const auto prefix = boolAt(value, "add_prefix_space", true, "pre_tokenizer(ByteLevel)");
    if (!prefix) return fail(prefix.error());
    const auto regex = boolAt(value, "use_regex", true, "pre_tokenizer(ByteLevel)");
    if (!regex) return fail(regex.error());
    TokenizerSpec::Step step{*regex ? Kind::ByteLevelRegex : Kind::ByteLevelPlain};
    step.prefixSpace = *prefix;
    spec.steps.push_back(std::move(step));
    return {};
}

Result<void> readPreTokenizerStep(const std::string& type, const json& value, TokenizerSpec& spec) {
    if (type == "ByteLevel") return readByteLevel(value, spec);
    if (type == "Split") return readSplit(value, spec);
    if (type == "Metaspace") return readMetaspace(value, spec);
    if (type == "Digits") {
        const auto individual = boolAt(value, "individual_digits", false, "pre_tokenizer(Digits)");
        if (!individual) return fail(individual.error());
        spec.steps.push_back({*individual ? Kind::DigitsIndividual : Kind::DigitsGrouped});
        return {};
    }
    if (type == "Punctuation") {
        const auto behavior = behaviorAt(value, "Isolated", "pre_tokenizer(Punctuation)");
        if (!behavior) return fail(behavior.error());
        TokenizerSpec::Step step{Kind::Punctuation};
        step.behavior = *behavior;
        spec.steps.push_back(std::move(step));
        return {};
    }
    if (type == "Whitespace" || type == "WhitespaceSplit") {
        spec.steps.push_back({type == "Whitespace" ? Kind::Whitespace : Kind::WhitespaceSplit});
        return {};
    }
    return unknownPiece(fmt::format("The pre-tokenizer {:?}", type), kPreTokenizers);
}

Result<NormalizerStep> normalizerStep(const std::string& type, const json& value) {
    using NKind = NormalizerStep::Kind;
    static constexpr std::array<std::pair<const char*, NKind>, 6> kPlain = {{{"NFC", NKind::Nfc},
                                                                             {"NFD", NKind::Nfd},
                                                                             {"NFKC", NKind::Nfkc},
                                                                             {"NFKD", NKind::Nfkd},
                                                                             {"Lowercase", NKind::Lowercase},
                                                                             {"StripAccents", NKind::StripAccents}}};
    for (const auto& [name, kind] : kPlain) {
        if (type == name) return NormalizerStep{kind};
    }
    const std::string where = fmt::format("normalizer({})", type);
    if (type == "Prepend") {
        auto content = textAt(value, "prepend", where);
        if (!content) return fail(content.error());
        return NormalizerStep{NKind::Prepend, {}, std::move(*content)};
    }
    if (type == "Replace") {
        auto pattern = patternAt(value, where);
        if (!pattern) return fail(pattern.error());
        auto content = textAt(value, "content", where);
        if (!content) return fail(content.error());
        return NormalizerStep{NKind::Replace, std::move(*pattern), std::move(*content)};
    }
    if (type == "Strip") {
        const auto left = boolAt(value, "strip_left", true, where);
        if (!left) return fail(left.error());
        const auto right = boolAt(value, "strip_right", true, where);
        if (!right) return fail(right.error());
        return NormalizerStep{NKind::Strip, {}, {}, *left, *right};
    }
    if (type == "Precompiled") {
        const auto map = textAt(value, "precompiled_charsmap", where);
        if (!map) return fail(map.error());
        auto bytes = bytesFromBase64(*map);
        if (!bytes) return malformed(where + ".precompiled_charsmap", "a map in base64");
        return NormalizerStep{NKind::Charsmap, {}, std::move(*bytes)};
    }
    return unknownPiece(fmt::format("The normalizer {:?}", type), kNormalizers);
}

}  // namespace

Result<void> readNormalizer(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "normalizer", "normalizers",
                     [&](const std::string& type, const json& step) -> Result<void> {
                         auto read = normalizerStep(type, step);
                         if (!read) return fail(read.error());
                         spec.normalizers.push_back(std::move(*read));
                         return {};
                     });
}

Result<void> readPreTokenizer(const json& value, TokenizerSpec& spec) {
    return forEachOf(value, "pre_tokenizer", "pretokenizers",
                     [&](const std::string& type, const json& step) { return readPreTokenizerStep(type, step, spec); });
}

}  // namespace lpes::text
