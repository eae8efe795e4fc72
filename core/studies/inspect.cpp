#include "core/studies/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/model/torch/torch_runtime.h"
#include "core/studies/json_rows.h"
#include "core/studies/method_words.h"
#include "core/studies/resuming.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// Tokens up to which lengths are computed with: those of an int.
constexpr double kLongestShown = std::numeric_limits<int>::max();

/// What a layer's scale does on top of the model's own scaling, in words.
std::string scaleMeaning(const rope::RopeConfig& rope) {
    using Type = rope::RopeConfig::Type;
    const std::string plain = "a layer's scale s divides its positions: angle = (m / s) * inv_freq";
    switch (rope.type) {
        case Type::Default:
            return plain;
        case Type::Linear:
            return plain + fmt::format("; with the model's own factor positions are divided by {} * s", rope.factor);
        case Type::Dynamic:
            return plain + fmt::format(
                               "; inv_freq is that of the prompt's length, whose base grows beyond {} tokens, "
                               "whatever s is",
                               rope.originalContext);
        case Type::LongRope:
            return plain + fmt::format(
                               "; inv_freq has the short factors up to {} tokens of prompt and the long ones "
                               "beyond, whatever s is; cos and sin keep the attention factor",
                               rope.originalContext);
        case Type::Yarn:
            return plain + "; inv_freq is YaRN's, cos and sin keep the attention factor";
        case Type::Llama3:
        case Type::FrequencyFactors:
            return plain + "; inv_freq is the model's own rescaled one";
    }
    return plain;
}

/// Passes warnings on and keeps them for the answer.
class KeptWarnings final : public ProgressObserver {
  public:
    explicit KeptWarnings(ProgressObserver& next) : m_next(next) {}
    void progressed(const Progress& progress) override { m_next.progressed(progress); }
    void warned(const std::string& message) override {
        m_next.warned(message);
        const std::scoped_lock lock(m_mutex);
        m_warnings.push_back(message);
    }
    [[nodiscard]] const std::vector<std::string>& all() const { return m_warnings; }

  private:
    ProgressObserver& m_next;
    std::mutex m_mutex;
    std::vector<std::string> m_warnings;
};

/// One rotary embedding with the origin of each value, so that nobody has to guess which base is in force.
json ropeJson(const rope::RopeConfig& rope) {
    using Type = rope::RopeConfig::Type;
    json out{{"type", rope::ropeTypeName(rope.type)},
             {"theta", rope.theta},
             {"origin", rope.thetaOrigin},
             {"factor", rope.factor},
             {"head_dim", rope.headDim}};
    if (rope.rotaryDim > 0) out["rotary_dim"] = rope.rotaryDim;
    if (rope.originalContext > 0) out["original_context"] = rope.originalContext;
    if (rope.type == Type::Yarn) {
        out["beta_fast"] = rope.betaFast;
        out["beta_slow"] = rope.betaSlow;
    }
    if (rope.type == Type::Llama3) {
        out["low_freq_factor"] = rope.lowFreqFactor;
        out["high_freq_factor"] = rope.highFreqFactor;
    }
    if (rope.type == Type::Yarn || rope.type == Type::LongRope) {
        out["attention_factor"] = rope.attentionFactor;
        out["attention_factor_origin"] = rope.attentionFactorOrigin;
    }
    if (rope.type == Type::LongRope) {
        out["short_factor"] = rope.shortFactors;
        out["long_factor"] = rope.longFactors;
    }
    if (rope.type == Type::FrequencyFactors) out["frequency_factors"] = rope.shortFactors;
    out["meaning"] = scaleMeaning(rope);
    return out;
}

json ropeJson(const model::ModelConfig& config) {
    json out = ropeJson(config.rope);
    // The block is the file's own text; it is shown as JSON where it is JSON, which it is for both formats.
    const json block = json::parse(config.rope.originalBlock, nullptr, false);
    out["original"] = block.is_discarded() ? json(config.rope.originalBlock) : block;
    if (config.slidingRope) out["sliding"] = ropeJson(*config.slidingRope);
    return out;
}

/// [L][R/2] inverse frequencies after each layer's scale: positions/s is the same as inv_freq/s.
json effectiveFrequencies(const model::ModelConfig& config, const rope::PositionMethod& method, int length,
                          int path = 0) {
    const rope::MethodModel model = model::methodModel(config);
    json layers = json::array();
    for (int layer = 0; layer < config.numLayers; ++layer) {
        const double scale = method.scales.empty() ? 1.0 : method.scales[static_cast<std::size_t>(layer)];
        json row = json::array();
        for (const double frequency :
             rope::methodFrequencies(method, model, layer, config.slides(layer), length, path)) {
            row.push_back(frequency / scale);
        }
        layers.push_back(std::move(row));
    }
    return layers;
}

/// What a method has beside scales and frequencies by layer.
void addMethodFields(json& out, const model::ModelConfig& config, const rope::PositionMethod& method) {
    if (method.rope) out["method_rope"] = ropeJson(*method.rope);
    if (method.slidingRope) out["method_rope"]["sliding"] = ropeJson(*method.slidingRope);
    if (!method.headScales.empty()) out["head_scales"] = method.headScales;
    if (!method.divisors.empty()) out["divisors"] = method.divisors;
    if (method.msPoe) {
        const rope::MsPoe& msPoe = *method.msPoe;
        out["head_ratios"] = {
            {"ratios", msPoe.ratios}, {"first_layer", msPoe.firstLayer}, {"last_layer", msPoe.lastLayer}};
        // What no score decides has no threshold.
        const bool scored = msPoe.headOrder == rope::MethodPart::HeadOrder::Scored;
        out["head_ratios"]["heads"] = scored ? "scored" : "normal";
        out["head_ratios"]["threshold"] = scored ? json(msPoe.threshold) : json(nullptr);
    }
    if (!method.buckets && !method.moice) return;
    const std::vector<double>& bases = method.moice ? method.moice->bases : method.buckets->bases;
    json paths = json::array();
    for (std::size_t path = 0; path < bases.size(); ++path) {
        paths.push_back(
            {{"base", bases[path]}, {"inv_freq", effectiveFrequencies(config, method, 1, static_cast<int>(path))}});
    }
    out["bases"] = std::move(paths);
    if (method.bucketSearch) out["bases_search"] = bucketSearchJson(method);
}

/// Bytes by context length: powers of two up to the model's context, and the context itself. `cost`: the method's.
json memoryJson(const model::ModelConfig& config, model::ComputeType type, const rope::MethodCost& cost) {
    std::vector<int> lengths;
    for (int tokens = 1024; tokens < config.contextLength; tokens *= 2) {
        lengths.push_back(tokens);
        if (tokens > config.contextLength / 2) break;
    }
    lengths.push_back(config.contextLength);
    const std::int64_t weights = model::estimateWeightBytes(config, type);
    json rows = json::array();
    for (const int tokens : lengths) {
        const std::int64_t cache = model::estimateKvCacheBytes(config, type, tokens, cost);
        const std::int64_t activations = model::estimateActivationBytes(config, type, tokens, cost) - cache;
        rows.push_back({{"dtype", model::computeTypeName(type)},
                        {"tokens", tokens},
                        {"weight_bytes", weights},
                        {"activation_bytes", activations},
                        {"kv_cache_bytes", cache},
                        {"total_bytes", weights + activations + cache}});
    }
    return rows;
}

json fitsJson(const model::DeviceFit& fit, const std::string& device) {
    json gpus = json::array();
    for (const model::DeviceFit::Gpu& gpu : fit.gpus) {
        gpus.push_back({{"device", gpu.name}, {"free_bytes", gpu.freeBytes}, {"layers", gpu.layers}});
    }
    json out{{"device", device},
             {"available_bytes", fit.availableBytes},
             {"weights_fit", fit.weightsFit},
             {"longest_context", fit.longestContext}};
    if (!gpus.empty()) out["gpus"] = std::move(gpus);
    return out;
}

/// A model can be inspected although its tokenizer is missing or is none that this version knows.
json tokenizerJson(const model::WeightSource& weights, json& warnings) {
    auto spec = weights.tokenizerSpec();
    auto tokenizer = spec ? text::makeTokenizer(std::move(*spec))
                          : Result<std::shared_ptr<const text::Tokenizer>>(fail(spec.error()));
    if (!tokenizer) {
        warnings.push_back("the tokenizer cannot be used: " + tokenizer.error().text());
        return nullptr;
    }
    return {{"description", (*tokenizer)->description()},
            {"vocabulary", (*tokenizer)->vocabularySize()},
            {"bos_id", (*tokenizer)->bosId()},
            {"end_ids", (*tokenizer)->endIds()},
            {"fingerprint", (*tokenizer)->fingerprint()}};
}

}  // namespace

json describeModel(const OpenedModel& opened, const rope::PositionMethod& method) {
    const model::ModelConfig& config = opened.weights->config();
    json out{{"architecture", model::architectureName(config.architecture)},
             {"format", config.format},
             {"name", config.name},
             {"path", opened.path.string()},
             {"layers", config.numLayers},
             {"heads", config.numHeads},
             {"kv_heads", config.numKvHeads},
             {"head_dim", config.headDim},
             {"hidden", config.hiddenSize},
             {"intermediate", config.intermediateSize},
             {"vocab", config.vocabSize},
             {"context", config.contextLength},
             {"rms_norm_eps", config.rmsNormEps},
             {"tied_head", config.tiedHead},
             {"biases", {{"qkv", config.qkvBias}, {"output", config.outputBias}, {"mlp", config.mlpBias}}},
             {"rope", ropeJson(config)},
             {"inv_freq", effectiveFrequencies(config, method, 1)},
             {"weight_types", config.weightTypes},
             {"parameters", config.parameters},
             {"weight_bytes", config.weightBytes},
             {"fingerprint", config.fingerprint},
             {"origins", config.origins},
             {"warnings", config.warnings}};
    // Where frequencies depend on the prompt's length: those of short prompts above, of the longest here.
    if (rope::dependsOnLength(method.rope.value_or(config.rope))) {
        const double longest = config.contextLength * method.contextFactor;
        out["inv_freq_long"] =
            effectiveFrequencies(config, method, static_cast<int>(std::min<double>(longest, kLongestShown)));
    }
    if (config.slidingWindow > 0) {
        std::vector<int> sliding;
        for (int layer = 0; layer < config.numLayers; ++layer) {
            if (config.slides(layer)) sliding.push_back(layer);
        }
        out["sliding_window"] = {{"tokens", config.slidingWindow}, {"layers", sliding}};
    }
    out["attention"] = {{"scale", config.attentionScale},
                        {"softcap", config.attentionSoftcap},
                        {"query_key_norm", config.queryKeyNorm}};
    out["logit_softcap"] = config.logitSoftcap;
    out["activation"] = config.activation == model::Activation::Silu ? "silu" : "gelu_tanh";
    out["layer_scales"] =
        method.scales.empty() ? rope::LayerScales(static_cast<std::size_t>(config.numLayers), 1.0) : method.scales;
    addMethodFields(out, config, method);
    return out;
}

Result<json> inspectModel(const std::string& model, const std::string& method, const std::string& device,
                          ProgressObserver& observer) {
    auto spec = rope::parseMethod(method);
    if (!spec) return fail(spec.error());
    auto opened = openModel(model, false);
    if (!opened) return fail(opened.error());
    const model::ModelConfig& config = opened->weights->config();
    KeptWarnings kept(observer);
    auto resolved = methodFor(*spec, *opened->weights, kept);
    if (!resolved) return fail(resolved.error());
    json out = describeModel(*opened, *resolved);
    out["method"] = method;
    for (const std::string& warning : kept.all()) out["warnings"].push_back(warning);
    MethodHashes hashes;
    noteMethodHash(hashes, *spec, *resolved);
    out["method_hash"] = hashJson(hashes, spec->text);
    for (const rope::MethodPart& part : spec->parts) {
        out["method_meaning"].push_back({{"part", rope::methodName(part.kind)},
                                         {"meaning", partMeaning(part, *resolved, model::methodModel(config))}});
    }
    out["method_cost"] = costJson(*resolved, model::methodModel(config));
    out["tokenizer"] = tokenizerJson(*opened->weights, out["warnings"]);
    const auto type = model::defaultComputeType(device);
    if (!type) return fail(type.error());
    const rope::MethodCost cost = rope::methodCost(*resolved);
    const auto fit = model::fitOnDevice(*opened->weights, device, *type, cost);
    if (!fit) return fail(fit.error());
    out["memory"] = memoryJson(config, *type, cost);
    if (*fit) out["fits"] = fitsJson(**fit, device);
    return out;
}

Result<json> tokenizeText(const std::string& model, const std::string& text, bool parseSpecial) {
    auto opened = openModel(model, true);
    if (!opened) return fail(opened.error());
    auto encoding = opened->tokenizer->encode(text, {parseSpecial, true});
    if (!encoding) return fail(encoding.error());
    json pieces = json::array();
    for (const text::TokenId id : encoding->ids) pieces.push_back(opened->tokenizer->piece(id));
    json out{{"ids", encoding->ids}, {"pieces", std::move(pieces)}, {"bos_added", encoding->bosAdded}};
    if (!encoding->withoutToken.empty()) out["bytes_without_token"] = encoding->withoutToken;
    return out;
}

Result<std::vector<text::TokenId>> parseIds(const std::string& text) {
    std::vector<text::TokenId> ids;
    std::string_view rest = text;
    for (;;) {
        const std::size_t comma = rest.find(',');
        std::string_view part = rest.substr(0, comma);
        while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
        while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
        text::TokenId id = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
        if (error != std::errc{} || end != part.data() + part.size() || id < 0) {
            return fail(
                ErrorCode::Usage,
                fmt::format("'{}' in --ids is no token id; write whole numbers from 0, separated by commas", part));
        }
        ids.push_back(id);
        if (comma == std::string_view::npos) return ids;
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace lpes::studies
