#include "core/model/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace lpes::model {
namespace {

std::vector<Family> declared() {
    std::vector<Family> all;

    Family llama;  // Llama 1, 2, 3.x; Vicuna; StableBeluga
    llama.architecture = Architecture::Llama;
    llama.name = "llama";
    llama.classNames = {"LlamaForCausalLM"};
    llama.keyHeadsDefaultToHeads = true;
    llama.ggufName = "llama";
    llama.ggufInterleavesHeads = true;
    all.push_back(llama);

    Family mistral;  // GGUF writes it as llama
    mistral.architecture = Architecture::Mistral;
    mistral.name = "mistral";
    mistral.classNames = {"MistralForCausalLM"};
    mistral.configDefaults = R"({"sliding_window": 4096})";
    mistral.biases = Family::Biases::None;
    mistral.sliding = Family::Sliding::EveryLayer;
    all.push_back(mistral);

    Family qwen2;
    qwen2.architecture = Architecture::Qwen2;
    qwen2.name = "qwen2";
    qwen2.classNames = {"Qwen2ForCausalLM"};
    qwen2.configDefaults = R"({"sliding_window": 4096, "max_window_layers": 28})";
    qwen2.ggufName = "qwen2";
    qwen2.biases = Family::Biases::QueryKeyValue;
    qwen2.sliding = Family::Sliding::UpperLayers;
    all.push_back(qwen2);

    Family qwen3;
    qwen3.architecture = Architecture::Qwen3;
    qwen3.name = "qwen3";
    qwen3.classNames = {"Qwen3ForCausalLM"};
    qwen3.configDefaults = R"({"head_dim": 128, "sliding_window": 4096, "max_window_layers": 28})";
    qwen3.ggufName = "qwen3";
    qwen3.biases = Family::Biases::AttentionFlag;
    qwen3.sliding = Family::Sliding::UpperLayers;
    qwen3.queryKeyNorm = true;
    all.push_back(qwen3);

    Family phi3;
    phi3.architecture = Architecture::Phi3;
    phi3.name = "phi3";
    phi3.classNames = {"Phi3ForCausalLM"};
    phi3.keyHeadsDefaultToHeads = true;
    phi3.ggufName = "phi3";
    phi3.biases = Family::Biases::None;
    phi3.sliding = Family::Sliding::EveryLayer;
    phi3.fusedProjections = true;
    all.push_back(phi3);

    Family gemma2;
    gemma2.architecture = Architecture::Gemma2;
    gemma2.name = "gemma2";
    gemma2.classNames = {"Gemma2ForCausalLM"};
    gemma2.configDefaults =
        R"({"head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096, "tie_word_embeddings": true,
            "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})";
    gemma2.ggufName = "gemma2";
    gemma2.biases = Family::Biases::AttentionFlag;
    gemma2.sliding = Family::Sliding::Alternating;
    gemma2.slidingPeriod = 2;
    gemma2.gemmaNorms = true;
    gemma2.activation = Activation::GeluTanh;
    gemma2.ggufTheta = 10000.0;
    gemma2.ggufOmitsDefaults = true;
    gemma2.capsAttention = true;
    all.push_back(gemma2);

    Family gemma3;
    gemma3.architecture = Architecture::Gemma3;
    gemma3.name = "gemma3_text";
    gemma3.classNames = {"Gemma3ForCausalLM"};
    // The folders of the larger models name only what differs from Gemma3TextConfig.
    gemma3.configDefaults =
        R"({"head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096, "tie_word_embeddings": true,
            "vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "rms_norm_eps": 1e-6,
            "max_position_embeddings": 131072})";
    gemma3.ggufName = "gemma3";
    gemma3.biases = Family::Biases::AttentionFlag;
    gemma3.sliding = Family::Sliding::Alternating;
    gemma3.slidingPeriod = 6;
    gemma3.queryKeyNorm = true;
    gemma3.gemmaNorms = true;
    gemma3.activation = Activation::GeluTanh;
    gemma3.localTheta = 10000.0;
    gemma3.fullTheta = 1000000.0;
    all.push_back(gemma3);
    return all;
}

template <class Matches>
const Family* first(Matches matches) {
    const auto found = std::find_if(families().begin(), families().end(), matches);
    return found == families().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Family>& families() {
    static const std::vector<Family> kFamilies = declared();
    return kFamilies;
}

const Family& familyOf(Architecture architecture) {
    return *first([&](const Family& family) { return family.architecture == architecture; });
}

const Family* familyByClass(std::string_view className) {
    return first([&](const Family& family) {
        return std::find(family.classNames.begin(), family.classNames.end(), className) != family.classNames.end();
    });
}

const Family* familyByName(std::string_view modelType) {
    return first([&](const Family& family) { return family.name == modelType; });
}

const Family* familyByGgufName(std::string_view name) {
    return first([&](const Family& family) { return !name.empty() && family.ggufName == name; });
}

std::string knownFamilies() {
    std::string text;
    for (const Family& family : families()) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", family.classNames.front(), family.name);
    }
    return text;
}

std::string knownGgufFamilies() {
    std::string text;
    for (const Family& family : families()) {
        if (!family.ggufName.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", family.ggufName);
    }
    return text;
}

}  // namespace lpes::model
