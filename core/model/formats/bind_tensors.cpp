#include "core/model/formats/bind_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/base/checksum.h"
#include "core/base/files.h"
#include "core/model/formats/dequantize.h"
#include "core/model/formats/tensor_names.h"

namespace lpes::model {

namespace {

/// The same numbers, whatever the storage types; stops at the first difference.
bool sameValues(const StoredTensor& a, const StoredTensor& b) {
    if (a.shape.size() != 2 || a.shape != b.shape || !a.type || !b.type) return false;
    if (a.type == b.type) return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
    const auto rows = static_cast<std::size_t>(a.shape.front());
    const auto width = static_cast<std::size_t>(a.shape.back());
    std::vector<float> left(width), right(width);
    for (std::size_t row = 0; row < rows; ++row) {
        (void)widenToFloat(*a.type, a.bytes.data() + row * (a.bytes.size() / rows), width, left.data());
        (void)widenToFloat(*b.type, b.bytes.data() + row * (b.bytes.size() / rows), width, right.data());
        if (left != right) return false;
    }
    return true;
}

class Binder {
  public:
    Binder(ModelDraft draft, const std::vector<StoredTensor>& stored, Naming naming, const std::filesystem::path& path)
        : m_draft(std::move(draft)), m_naming(naming), m_path(path) {
        for (const StoredTensor& tensor : stored) m_stored.emplace(tensor.name, &tensor);
        m_model.config = m_draft.config;
        m_layerKinds = layerKinds(familyOf(m_model.config.architecture));
        m_prefix = m_draft.prefixes.front();
        for (const std::string& prefix : m_draft.prefixes) {
            if (find(storedName(globalKinds()[0], -1, naming, prefix)) != nullptr) m_prefix = prefix;
        }
    }

    Result<BoundModel> bind() {
        ModelConfig& config = m_model.config;
        config.qkvBias = m_draft.qkvBias.value_or(anyOf(Group::QkvBias));
        config.outputBias = m_draft.outputBias.value_or(anyOf(Group::OutputBias));
        config.mlpBias = m_draft.mlpBias.value_or(anyOf(Group::MlpBias));
        if (auto done = settleHead(); !done) return fail(done.error());
        for (const TensorKind& kind : globalKinds()) {
            if (auto done = take(kind, -1); !done) return fail(done.error());
        }
        for (int layer = 0; layer < config.numLayers; ++layer) {
            for (const TensorKind& kind : m_layerKinds) {
                if (auto done = take(kind, layer); !done) return fail(done.error());
            }
        }
        if (!m_missing.empty()) return refuseMissing();
        warnOfUnused();
        summarise();
        return std::move(m_model);
    }

  private:
    tl::unexpected<Error> refuse(const std::string& why, ErrorCode code = ErrorCode::BadInput) const {
        return refuseFile(m_path, why, code);
    }

    std::string nameOf(const TensorKind& kind, int layer) const { return storedName(kind, layer, m_naming, m_prefix); }

    const StoredTensor* find(const std::string& name) const {
        const auto found = m_stored.find(name);
        return found == m_stored.end() ? nullptr : found->second;
    }

    bool anyOf(Group group) const {
        for (const TensorKind& kind : m_layerKinds) {
            if (kind.group != group) continue;
            for (int layer = 0; layer < m_model.config.numLayers; ++layer) {
                if (find(nameOf(kind, layer)) != nullptr) return true;
            }
        }
        return false;
    }

    bool needed(Group group) const {
        const ModelConfig& config = m_model.config;
        switch (group) {
            case Group::Always:
                return true;
            case Group::Head:
                return !config.tiedHead;
            case Group::QkvBias:
                return config.qkvBias;
            case Group::OutputBias:
                return config.outputBias;
            case Group::MlpBias:
                return config.mlpBias;
        }
        return true;
    }

    /// Tied or not: what the metadata says, then what is there (weight_source.h).
    Result<void> settleHead() {
        const TensorKind& headKind = globalKinds()[2];
        const TensorKind& embeddingKind = globalKinds()[0];
        const std::string headName = nameOf(headKind, -1);
        const StoredTensor* head = find(headName);
        ModelConfig& config = m_model.config;
        if (!m_draft.tied) {
            config.tiedHead = head == nullptr;
            return {};
        }
        if (!*m_draft.tied) {
            if (head != nullptr) return {};
            return refuse(fmt::format(
                "tensor '{}' is missing although tie_word_embeddings is false ({}); fetch the model again, or "
                "set tie_word_embeddings to true if its head is its embedding",
                headName, config.origins["tied_head"]));
        }
        const StoredTensor* embedding = find(nameOf(embeddingKind, -1));
        config.tiedHead = head == nullptr || (embedding != nullptr && sameValues(*head, *embedding));
        if (!config.tiedHead) {
            config.warnings.push_back(
                fmt::format("tie_word_embeddings is true, but '{}' is there and differs from the embedding: "
                            "it is used, as transformers does",
                            headName));
            config.origins["tied_head"] = fmt::format("'{}' differs from the embedding", headName);
        } else if (head != nullptr) {
            m_used.insert(headName);
        }
        return {};
    }

    Result<void> take(const TensorKind& kind, int layer) {
        if (!needed(kind.group)) return {};
        const std::string name = nameOf(kind, layer);
        const StoredTensor* tensor = find(name);
        if (tensor == nullptr) {
            if (m_missing.empty() || m_missing.back() != name) m_missing.push_back(name);
            return {};
        }
        const std::vector<std::int64_t> shape = neededShape(kind, m_model.config);
        std::vector<std::int64_t> stored = shape;
        std::int64_t firstRow = 0;
        if (!kind.fusedRows.empty()) {
            stored[0] = 0;
            for (std::size_t part = 0; part < kind.fusedRows.size(); ++part) {
                if (part == kind.fusedPart) firstRow = stored[0];
                stored[0] += extent(kind.fusedRows[part], m_model.config);
            }
        }
        if (tensor->shape != stored) {
            return refuse(fmt::format(
                "tensor '{}' has shape {}, but the configuration asks for {}; the two do not belong together", name,
                shapeText(tensor->shape), shapeText(stored)));
        }
        if (!tensor->type) {
            return refuse(fmt::format("tensor '{}' has type {}, which is not supported; F32, F16 and BF16 are", name,
                                      tensor->typeName),
                          ErrorCode::Unsupported);
        }
        m_used.insert(name);
        BoundTensor bound;
        // Rows are stored one behind the other, whole blocks each: a part is a stretch of bytes.
        const std::size_t rowBytes = tensor->bytes.size() / static_cast<std::size_t>(stored[0]);
        bound.view = {name, shape, *tensor->type,
                      tensor->bytes.subspan(static_cast<std::size_t>(firstRow) * rowBytes,
                                            static_cast<std::size_t>(shape[0]) * rowBytes),
                      tensor->file};
        bound.interleavedRows = kind.rotated && m_draft.interleavedQk;
        bound.lessOne = kind.norm && m_draft.normsLessOne;
        m_model.tensors.emplace(canonicalName(kind, layer), std::move(bound));
        return {};
    }

    tl::unexpected<Error> refuseMissing() const {
        const std::string more = m_missing.size() > 1 ? fmt::format(" and {} more are", m_missing.size() - 1) : " is";
        return refuse(fmt::format("tensor '{}'{} missing; fetch the model again", m_missing.front(), more));
    }

    void warnOfUnused() {
        std::vector<std::string> unused;
        for (const auto& [name, tensor] : m_stored) {
            // Old checkpoints carry the rotary frequencies, which the configuration determines; GGUF's factors were
            // read with the configuration.
            const bool rotary = name.ends_with("rotary_emb.inv_freq") || name == "rope_freqs.weight" ||
                                name == "rope_factors_short.weight" || name == "rope_factors_long.weight";
            if (m_used.count(name) == 0 && !rotary) unused.emplace_back(name);
        }
        if (unused.empty()) return;
        std::sort(unused.begin(), unused.end());
        m_model.config.warnings.push_back(
            fmt::format("{} of the file's tensors are not part of this architecture and were ignored (first: '{}')",
                        unused.size(), unused.front().substr(0, 200)));
    }

    void summarise() {
        ModelConfig& config = m_model.config;
        std::map<std::string, std::int64_t> bytesByType;
        for (const auto& [name, bound] : m_model.tensors) {
            const auto bytes = static_cast<std::int64_t>(bound.view.bytes.size());
            config.parameters += *elementCount(bound.view.shape);
            config.weightBytes += bytes;
            bytesByType[storageTypeName(bound.view.type)] += bytes;
        }
        std::vector<std::pair<std::int64_t, std::string>> types;
        for (const auto& [type, bytes] : bytesByType) types.emplace_back(-bytes, type);
        std::sort(types.begin(), types.end());
        for (const auto& [bytes, type] : types) config.weightTypes += (config.weightTypes.empty() ? "" : ", ") + type;
        config.fingerprint = fingerprint();
    }

    /// Every field that changes what the model computes, then the table by name. Doubles in full precision.
    std::string fingerprint() const {
        const ModelConfig& config = m_model.config;
        Sha256 sum;
        sum.add(fmt::format(
            "lpes model 1\n{} {} layers {} hidden {} heads {} kv {} dim {} inner {} vocab {} context {}\n",
            config.format, architectureName(config.architecture), config.numLayers, config.hiddenSize, config.numHeads,
            config.numKvHeads, config.headDim, config.intermediateSize, config.vocabSize, config.contextLength));
        sum.add(fmt::format("eps {} tied {} bias {} {} {} rope {} theta {} factor {}\n", config.rmsNormEps,
                            config.tiedHead, config.qkvBias, config.outputBias, config.mlpBias,
                            rope::ropeTypeName(config.rope.type), config.rope.theta, config.rope.factor));
        sum.add(furtherFields());
        for (const auto& [name, bound] : m_model.tensors) {
            sum.add(fmt::format("{} {} {} {}\n", bound.view.name, shapeText(bound.view.shape),
                                storageTypeName(bound.view.type), bound.view.bytes.size()));
        }
        return sum.hex();
    }

    /// What plain Llama and Qwen2 models have none of: their fingerprints stand in profiles and data bases.
    std::string furtherFields() const {
        const ModelConfig& config = m_model.config;
        const auto rotary = [](const rope::RopeConfig& rope) {
            return fmt::format(
                "{} theta {} factor {} of {} original {} beta {} {} {} freq {} {} attention {} lists {} {}",
                rope::ropeTypeName(rope.type), rope.theta, rope.factor, rope.rotaryDim, rope.originalContext,
                rope.betaFast, rope.betaSlow, rope.truncate, rope.lowFreqFactor, rope.highFreqFactor,
                rope.attentionFactor, fmt::join(rope.shortFactors, ","), fmt::join(rope.longFactors, ","));
        };
        using Type = rope::RopeConfig::Type;
        std::string text;
        if (config.rope.rotaryDim > 0 || (config.rope.type != Type::Default && config.rope.type != Type::Linear)) {
            text += "rope " + rotary(config.rope) + "\n";
        }
        if (config.slidingRope) text += "sliding rope " + rotary(*config.slidingRope) + "\n";
        if (config.slidingWindow > 0) {
            text += fmt::format("window {} layers ", config.slidingWindow);
            for (const bool slides : config.slidingLayers) text += slides ? '1' : '0';
            text += '\n';
        }
        if (config.attentionSoftcap > 0.0 || config.logitSoftcap > 0.0 || config.embeddingScale != 1.0) {
            text += fmt::format("caps {} {} scales {} {}\n", config.attentionSoftcap, config.logitSoftcap,
                                config.embeddingScale, config.attentionScale);
        }
        return text;
    }

    ModelDraft m_draft;
    std::vector<TensorKind> m_layerKinds;
    std::string m_prefix;
    Naming m_naming;
    const std::filesystem::path& m_path;
    std::unordered_map<std::string_view, const StoredTensor*> m_stored;
    std::set<std::string, std::less<>> m_used;
    std::vector<std::string> m_missing;
    BoundModel m_model;
};

}  // namespace

Result<BoundModel> bindTensors(ModelDraft draft, const std::vector<StoredTensor>& stored, Naming naming,
                               const std::filesystem::path& path) {
    return Binder(std::move(draft), stored, naming, path).bind();
}

}  // namespace lpes::model
