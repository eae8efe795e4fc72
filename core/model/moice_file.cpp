#include "core/model/moice_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/files.h"
#include "core/model/formats/dequantize.h"
#include "core/model/formats/safetensors.h"
#include "core/rope/rivals.h"

namespace lpes::model {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "lpes-moice";
constexpr int kVersion = 1;
constexpr std::size_t kMostExperts = 256;
constexpr const char* kTrainAgain = "use a router of this model, or train one with 'lpes train moice'";
constexpr const char* kWeightsHash = "weights_hash";

bool isCheckpoint(const std::map<std::string, std::string>& metadata) {
    return metadata.contains(kMoiceIdentity) && metadata.contains(kMoiceCurve);
}

/// Reads one router file. The file's numbers are hostile until they are checked.
class RouterReader {
  public:
    RouterReader(const std::filesystem::path& path, const ModelConfig& config, MoiceFile wanted)
        : m_path(path), m_config(config), m_wanted(wanted) {}

    Result<std::shared_ptr<const rope::MoiceRouters>> read() {
        const auto mapped = MappedFile::open(m_path);
        if (!mapped) return fail(mapped.error());
        const auto tensors = readSafetensorsTable(mapped->bytes(), m_path);
        if (!tensors) return fail(tensors.error());
        auto metadata = readSafetensorsMetadata(mapped->bytes(), m_path);
        if (!metadata) return fail(metadata.error());
        m_metadata = std::move(*metadata);
        if (m_wanted == MoiceFile::Router && isCheckpoint(m_metadata)) {
            return refuse(
                "it is the checkpoint of a training and no router; finish the training with 'lpes train moice "
                "--resume' "
                "and use the router that it writes, whose name has no '.training'");
        }
        for (const StoredTensor& tensor : *tensors) m_tensors[tensor.name] = &tensor;
        auto routers = isBare() ? bare() : described();
        if (!routers) return fail(routers.error());
        if (auto filled = fill(*routers); !filled) return fail(filled.error());
        rope::PositionMethod method;
        method.text = fmt::format("moice:{}", m_path.string());
        method.moice = std::make_shared<const rope::MoiceRouters>(std::move(*routers));
        if (auto fits = rope::checkMethod(method, methodModel(m_config)); !fits) {
            Error error = fits.error();
            error.message = fmt::format("'{}': {}", m_path.string(), error.message);
            return fail(error);
        }
        return method.moice;
    }

  private:
    [[nodiscard]] tl::unexpected<Error> refuse(const std::string& why) const { return refuseFile(m_path, why); }

    [[nodiscard]] std::string text(const std::string& key) const {
        const auto found = m_metadata.find(key);
        return found == m_metadata.end() ? std::string() : found->second;
    }

    /// A whole number of the metadata; empty where it is none.
    [[nodiscard]] std::optional<int> integer(const std::string& key) const {
        const std::string digits = text(key);
        int value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
        return value;
    }

    [[nodiscard]] tl::unexpected<Error> refuseKey(const std::string& key, const std::string& advice) const {
        return refuse(fmt::format("metadata key '{}' is '{}'; {}", key, text(key).substr(0, 80), advice));
    }

    /// "pt" is what PyTorch's own tools say of every file.
    [[nodiscard]] bool isBare() const { return text("format").empty() || text("format") == "pt"; }

    Result<rope::MoiceRouters> described() const {
        if (text("format") != kFormat) return refuseKey("format", fmt::format("a router file has '{}'", kFormat));
        const auto version = integer("version");
        if (!version || *version < 1) return refuseKey("version", "it must be a whole number from 1");
        if (*version > kVersion)
            return refuseKey("version", fmt::format("this program reads up to {}; use a newer one", kVersion));
        const auto layers = integer("layers"), headDim = integer("head_dim"), topK = integer("top_k");
        if (!layers || *layers != m_config.numLayers)
            return refuseKey("layers", fmt::format("the model has {}; {}", m_config.numLayers, kTrainAgain));
        if (!headDim || *headDim != m_config.headDim)
            return refuseKey("head_dim", fmt::format("the model has {}; {}", m_config.headDim, kTrainAgain));
        if (const std::string made = text("fingerprint"); !made.empty() && made != m_config.fingerprint) {
            return refuse(fmt::format("it was trained on a model with fingerprint {} and this one has {}; {}",
                                      made.substr(0, 16), m_config.fingerprint.substr(0, 16), kTrainAgain));
        }
        const json bases = json::parse(text("bases"), nullptr, false);
        const bool numbers = bases.is_array() && !bases.empty() && bases.size() <= kMostExperts &&
                             std::all_of(bases.begin(), bases.end(), [](const json& one) { return one.is_number(); });
        if (!numbers) return refuseKey("bases", fmt::format("it must be a JSON list of 1 to {} numbers", kMostExperts));
        if (!topK || *topK < 1 || static_cast<std::size_t>(*topK) > bases.size())
            return refuseKey("top_k", fmt::format("give 1 to the number of experts, {}", bases.size()));
        rope::MoiceRouters routers = emptyRouters(m_config, bases.get<std::vector<double>>(), *topK);
        routers.fingerprint = text("fingerprint");
        routers.weightsHash = text(kWeightsHash);
        return routers;
    }

    Result<rope::MoiceRouters> bare() const {
        std::vector<double> bases = rope::moiceBases(m_config.rope.theta);
        const auto topK = static_cast<int>(bases.size());
        rope::MoiceRouters routers = emptyRouters(m_config, std::move(bases), topK);
        routers.fingerprint.clear();
        return routers;
    }

    Result<void> fill(rope::MoiceRouters& routers) const {
        const auto matrices = moiceMatrices(routers);
        for (const auto& matrix : matrices) {
            if (auto read = fillMatrix(matrix); !read) return read;
        }
        for (const auto& [name, tensor] : m_tensors) {
            if (!name.starts_with("model.layers.") || name.find(".self_attn.gate.") == std::string::npos) continue;
            const bool known = std::any_of(matrices.begin(), matrices.end(),
                                           [&](const MoiceMatrix& matrix) { return matrix.name == name; });
            if (!known) {
                return refuse(fmt::format("it holds '{}', which a model of {} layers has no place for; {}", name,
                                          m_config.numLayers, kTrainAgain));
            }
        }
        return {};
    }

    Result<void> fillMatrix(const MoiceMatrix& matrix) const {
        const auto found = m_tensors.find(matrix.name);
        if (found == m_tensors.end()) {
            return refuse(fmt::format("the tensor '{}' is missing; {}", matrix.name, kTrainAgain));
        }
        const StoredTensor& tensor = *found->second;
        if (tensor.shape != matrix.shape) {
            return refuse(fmt::format("the tensor '{}' has shape {} where {} is needed; {}", matrix.name,
                                      shapeText(tensor.shape), shapeText(matrix.shape), kTrainAgain));
        }
        if (!tensor.type) {
            return refuse(
                fmt::format("the tensor '{}' has dtype {}; F32, F16 or BF16 is needed", matrix.name, tensor.typeName));
        }
        if (!widenToFloat(*tensor.type, tensor.bytes.data(), matrix.values->size(), matrix.values->data())) {
            return refuse(fmt::format("the tensor '{}' holds a value that is not finite; train it again", matrix.name));
        }
        return {};
    }

    const std::filesystem::path& m_path;
    const ModelConfig& m_config;
    const MoiceFile m_wanted;
    std::map<std::string, std::string> m_metadata;
    std::map<std::string, const StoredTensor*> m_tensors;
};

}  // namespace

Result<std::shared_ptr<const rope::MoiceRouters>> readMoiceRouters(const std::filesystem::path& path,
                                                                   const ModelConfig& config, MoiceFile wanted) {
    return RouterReader(path, config, wanted).read();
}

std::optional<MoiceFile> moiceFileAt(const std::filesystem::path& path) {
    const auto mapped = MappedFile::open(path);
    if (!mapped) return std::nullopt;
    const auto metadata = readSafetensorsMetadata(mapped->bytes(), path);
    if (!metadata) return std::nullopt;
    const auto format = metadata->find("format");
    if (format == metadata->end() || format->second != kFormat) return std::nullopt;
    return isCheckpoint(*metadata) ? MoiceFile::Checkpoint : MoiceFile::Router;
}

rope::MoiceRouters emptyRouters(const ModelConfig& config, std::vector<double> bases, int topK) {
    rope::MoiceRouters routers;
    const std::size_t experts = bases.size();
    const std::size_t wide = experts * static_cast<std::size_t>(config.headDim);
    routers.bases = std::move(bases);
    routers.headDim = config.headDim;
    routers.topK = topK;
    routers.fingerprint = config.fingerprint;
    for (int layer = 0; layer < config.numLayers; ++layer) {
        routers.layers.push_back(
            {std::vector<float>(wide), std::vector<float>(wide), std::vector<float>(experts * experts)});
    }
    return routers;
}

std::vector<MoiceMatrix> moiceMatrices(rope::MoiceRouters& routers) {
    const auto experts = static_cast<std::int64_t>(routers.bases.size());
    std::vector<MoiceMatrix> matrices;
    for (std::size_t i = 0; i < routers.layers.size(); ++i) {
        const std::string gate = fmt::format("model.layers.{}.self_attn.gate.", i);
        matrices.push_back({gate + "w1.weight", {experts, routers.headDim}, &routers.layers[i].w1});
        matrices.push_back({gate + "w2.weight", {experts, experts}, &routers.layers[i].w2});
        matrices.push_back({gate + "w3.weight", {experts, routers.headDim}, &routers.layers[i].w3});
    }
    return matrices;
}

std::map<std::string, std::string> moiceMetadata(const rope::MoiceRouters& routers, const ModelConfig& config) {
    std::map<std::string, std::string> metadata{{"format", kFormat},
                                                {"version", std::to_string(kVersion)},
                                                {"bases", json(routers.bases).dump()},
                                                {"top_k", std::to_string(routers.topK)},
                                                {"fingerprint", config.fingerprint},
                                                {"architecture", architectureName(config.architecture)},
                                                {"theta", json(config.rope.theta).dump()},
                                                {"head_dim", std::to_string(config.headDim)},
                                                {"layers", std::to_string(config.numLayers)}};
    if (!routers.weightsHash.empty()) metadata[kWeightsHash] = routers.weightsHash;
    return metadata;
}

Result<void> writeMoiceRouters(const std::filesystem::path& path, const rope::MoiceRouters& routers,
                               const ModelConfig& config, const MoiceNotes& notes) {
    auto copy = std::make_shared<rope::MoiceRouters>(routers);
    rope::PositionMethod method;
    method.text = "moice";
    method.moice = copy;
    if (auto fits = rope::checkMethod(method, methodModel(config)); !fits) return fits;
    std::map<std::string, std::string> metadata = moiceMetadata(routers, config);
    for (const auto& [key, value] : notes) metadata.emplace(key, value);
    std::vector<FloatTensor> tensors;
    for (const MoiceMatrix& matrix : moiceMatrices(*copy))
        tensors.push_back({matrix.name, matrix.shape, *matrix.values});
    return writeFileAtomically(path, makeSafetensors(tensors, metadata));
}

}  // namespace lpes::model
