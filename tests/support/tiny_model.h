#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/formats/weight_source.h"
#include "core/model/model_config.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/temp_folder.h"

/// Tiny random models, made by code and written as the files that real models come in. Failures to write throw
/// std::runtime_error, which GoogleTest reports.
namespace lpes::test {

/// hiddenSize, intermediateSize and numHeads·headDim must be multiples of 32 for the Q formats, of 256 for the K
/// formats; vocabSize is 260 … 900.
struct TinyModelSpec {
    model::Architecture architecture = model::Architecture::Llama;
    int numLayers = 2;
    int hiddenSize = 64;
    int numHeads = 4;
    int numKvHeads = 2;
    int headDim = 16;
    int intermediateSize = 96;
    int vocabSize = 300;
    int contextLength = 512;
    double rmsNormEps = 1e-5;
    double ropeTheta = 10000.0;
    double linearFactor = 1.0;  ///< other than 1: rope type linear
    bool tiedHead = true;
    bool qkvBias = false;  ///< Qwen2 always has it, whatever stands here
    bool outputBias = false;
    bool mlpBias = false;
    bool addBos = false;  ///< the tokenizer puts <|im_start|> in front
    std::uint64_t seed = 1;
    std::string name = "tiny";
};

struct TinyTensor {
    std::vector<std::int64_t> shape;  ///< row major, [out, in]
    std::vector<float> values;
};

/// Weights under the canonical names of core/model/formats/weight_source.h, q and k in half-split order. `head` is
/// absent when tied. Scaled so that attention is neither flat nor one-hot, hence logits depend on positions.
struct TinyModel {
    TinyModelSpec spec;
    std::map<std::string, TinyTensor> tensors;
};

/// The same spec gives the same weights on every machine.
[[nodiscard]] TinyModel makeTinyModel(const TinyModelSpec& spec = {});

/// The model as it is after being stored as `type`: matrices rounded or quantised and widened again. Vectors (norms,
/// biases) are left alone for the Q formats, as GGUF keeps them in F32; `vectorsToo` rounds them as well (F16, BF16 in
/// a Hugging Face folder).
[[nodiscard]] TinyModel storedAs(const TinyModel& tiny, model::StorageType type, bool vectorsToo = false);

struct HuggingFaceOptions {
    model::StorageType type = model::StorageType::F32;  ///< F32, F16 or BF16
    int shards = 1;               ///< more than 1: model-0000i-of-0000n.safetensors and model.safetensors.index.json
    bool headDimKey = true;       ///< write head_dim (needed when it is not hidden / heads)
    bool ropeParameters = false;  ///< transformers 5's rope_parameters in place of rope_theta and rope_scaling
    bool biasKeys = true;         ///< write attention_bias and mlp_bias (Llama)
    bool tokenizer = true;        ///< write tokenizer.json, tokenizer_config.json and generation_config.json
    std::string configPatch{};    ///< RFC 7386 merge patch over config.json: {"rope_theta": null} removes a key
    std::set<std::string> leaveOut{};           ///< Hugging Face names of tensors not to write
    std::map<std::string, TinyTensor> extra{};  ///< Hugging Face names of tensors to add or replace, stored as `type`
};

/// Writes config.json, the weights, and the tokenizer files into `folder`, which is made if it is not there.
void writeHuggingFaceFolder(const TinyModel& tiny, const std::filesystem::path& folder,
                            const HuggingFaceOptions& options = {});

struct GgufOptions {
    model::StorageType type = model::StorageType::F32;  ///< of the matrices; vectors are F32
    bool permute = true;    ///< interleave the rows of q and k where GGUF does (Llama); false makes a wrong Llama file
    bool tokenizer = true;  ///< write tokenizer.ggml.*
    std::function<void(GgufWriter&)> edit{};  ///< last word before the bytes are made
};

/// Writes the same weights as a GGUF file (version 3).
void writeGguf(const TinyModel& tiny, const std::filesystem::path& file, const GgufOptions& options = {});

/// Writes them as a split set stem-0000i-of-0000n.gguf, as llama-gguf-split does: all metadata in the first file, the
/// tensors in their order over the files from `firstWithTensors` on. `editPart` has the last word on each file.
void writeGgufSet(const TinyModel& tiny, const std::filesystem::path& folder, const std::string& stem, int files,
                  const GgufOptions& options = {}, const std::function<void(int, GgufWriter&)>& editPart = {},
                  int firstWithTensors = 0);
[[nodiscard]] std::string ggufSetName(const std::string& stem, int index, int files);

// Pieces, for tests of damaged files.

/// A tensor's name in a Hugging Face folder ("layer.0.q" → "model.layers.0.self_attn.q_proj.weight") and in GGUF.
[[nodiscard]] std::string huggingFaceName(const std::string& canonicalName);
[[nodiscard]] std::string ggufName(const std::string& canonicalName);
/// A safetensors file: length prefix, header, data.
[[nodiscard]] std::string safetensorsBytes(const std::string& header, const std::string& data);
/// Tensors under their file names → a good safetensors file.
[[nodiscard]] std::string safetensorsBytes(const std::map<std::string, TinyTensor>& tensors, model::StorageType type);
[[nodiscard]] std::string readBytes(const std::filesystem::path& file);
void writeBytes(const std::filesystem::path& file, const std::string& bytes);

/// A TempFolder whose files are named with a slash.
class TemporaryFolder : public TempFolder {
  public:
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path() / name; }
};

/// The tiny models' vocabulary: 3 special tokens, 256 bytes, then merges. Byte-level BPE with GPT-2's pre-tokenizer.
struct TinyVocabulary {
    std::vector<std::string> pieces;  ///< id → spelling in the byte-level alphabet
    std::vector<std::pair<std::string, std::string>> merges;
};
inline constexpr int kTinyEndOfText = 0;  ///< <|endoftext|>
inline constexpr int kTinyBos = 1;        ///< <|im_start|>
inline constexpr int kTinyEos = 2;        ///< <|im_end|>
[[nodiscard]] TinyVocabulary tinyVocabulary(int vocabSize);

}  // namespace lpes::test
