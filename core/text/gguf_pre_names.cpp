#include "core/text/gguf_pre_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/known_steps.h"

namespace lpes::text {

namespace {

using Kind = TokenizerSpec::Step::Kind;

struct PreName {
    std::string_view name;
    const std::string_view* pattern;  ///< null: GPT-2's, inside ByteLevel
    bool digitsFirst = false;
    bool nfc = false;
    bool ignoreMerges = false;
    bool addBos = false;
};

constexpr std::array<PreName, 15> kNames = {{
    {"gpt-2", nullptr},
    {"phi-2", nullptr},
    {"smollm", nullptr, true},
    {"qwen2", &kQwen2Pattern, false, true},
    {"deepseek-r1-qwen", &kQwen2Pattern, false, true},
    {"llama-bpe", &kLlama3Pattern, false, false, true, true},
    {"llama3", &kLlama3Pattern, false, false, true, true},
    {"llama-v3", &kLlama3Pattern, false, false, true, true},
    {"falcon3", &kLlama3Pattern, false, false, true, true},
    {"pixtral", &kLlama3Pattern, false, false, true, true},
    {"smaug-bpe", &kLlama3Pattern},
    {"dbrx", &kLlama3Pattern},  // the converter's name for Phi-4 too
    {"tekken", &kTekkenPattern, false, false, true, true},
    {"gpt-4o", &kGpt4oPattern},
    {"llama4", &kGpt4oPattern},
}};

std::string knownNames() {
    std::string names;
    for (const PreName& known : kNames) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return names;
}

}  // namespace

Result<void> applyPreName(const std::string& pre, TokenizerSpec& spec, bool& addBos) {
    if (pre.empty()) {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("The GGUF file has no tokenizer.ggml.pre, so how it splits text is unknown; convert the "
                        "model again with a llama.cpp that writes the key (known: {}).",
                        knownNames()));
    }
    if (pre == "default") {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.pre is \"default\", llama.cpp's guess for a model that it did not "
                                "recognise, so how it splits text is unknown; use a file that names it (known: {}).",
                                knownNames()));
    }
    const auto at = std::find_if(kNames.begin(), kNames.end(), [&](const PreName& known) { return known.name == pre; });
    if (at == kNames.end()) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("tokenizer.ggml.pre {:?} is not supported; use a model with one "
                                "of {}, or its Hugging Face folder.",
                                pre, knownNames()));
    }
    if (at->digitsFirst) spec.steps.push_back({Kind::DigitsIndividual});
    if (at->pattern != nullptr) spec.steps.push_back(knownSplit(*at->pattern));
    spec.steps.push_back({at->pattern == nullptr ? Kind::ByteLevelRegex : Kind::ByteLevelPlain});
    if (at->nfc) spec.normalizers = {{TokenizerSpec::NormalizerStep::Kind::Nfc}};
    spec.ignoreMerges = at->ignoreMerges;
    addBos = at->addBos;
    return {};
}

}  // namespace lpes::text
