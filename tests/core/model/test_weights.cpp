#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/model/formats/dequantize.h"
#include "tests/core/model/model_testing.h"
#include "tests/support/block_quantizer.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;

namespace {

using enum StorageType;
constexpr StorageType kMatrixTypes[] = {F32,  F16,  BF16, Q8_0, Q4_0, Q4_1,   Q5_0,  Q5_1,
                                        Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS};

/// Every row is a multiple of 256, as the K formats need; the heads are unlike in number and width.
const TinyModelSpec kWide = {.numLayers = 1,
                             .hiddenSize = 256,
                             .numHeads = 8,
                             .numKvHeads = 2,
                             .headDim = 32,
                             .intermediateSize = 256,
                             .vocabSize = 260};

class Weights : public testing::Test {
  protected:
    TemporaryFolder folder;
};

}  // namespace

TEST(FieldReports, T06_TiedHead) {
    TemporaryFolder folder;
    const TinyModel tied = makeTinyModel({.tiedHead = true});
    // (a) tie=true, no lm_head
    writeHuggingFaceFolder(tied, folder.path());
    auto source = opened(folder.path());
    EXPECT_TRUE(source->config().tiedHead);
    EXPECT_EQ(source->find("head"), nullptr);
    EXPECT_TRUE(source->config().warnings.empty());

    // (b) tie=true and an lm_head that is the embedding, in the same type …
    writeHuggingFaceFolder(tied, folder.path(), {.extra = {{"lm_head.weight", tied.tensors.at("embedding")}}});
    source = opened(folder.path());
    EXPECT_TRUE(source->config().tiedHead);
    EXPECT_TRUE(source->config().warnings.empty());
    // … and one that differs in one value: it is used, with a warning
    TinyTensor other = tied.tensors.at("embedding");
    other.values.back() += 1.0f;
    writeHuggingFaceFolder(tied, folder.path(), {.extra = {{"lm_head.weight", other}}});
    source = opened(folder.path());
    EXPECT_FALSE(source->config().tiedHead);
    EXPECT_EQ(floats(*source, "head"), other.values);
    EXPECT_THAT(source->config().warnings,
                testing::ElementsAre(testing::AllOf(HasSubstr("lm_head.weight"), HasSubstr("differs"))));

    // (c) tie=false, no lm_head
    writeHuggingFaceFolder(tied, folder.path(), {.configPatch = R"({"tie_word_embeddings": false})"});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("lm_head.weight"),
                   HasSubstr("tie_word_embeddings"));
    writeHuggingFaceFolder(tied, folder.path(), {.configPatch = R"({"tie_word_embeddings": null})"});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("lm_head.weight"));
    // tie=false with lm_head
    const TinyModel separate = makeTinyModel({.tiedHead = false});
    writeHuggingFaceFolder(separate, folder.path());
    expectSameWeights(*opened(folder.path()), separate);
}

TEST(FieldReports, T06_TiedHeadOfGguf) {
    TemporaryFolder folder;
    for (const bool tied : {true, false}) {
        const TinyModel tiny = makeTinyModel({.tiedHead = tied});
        writeGguf(tiny, folder / "m.gguf");
        EXPECT_EQ(opened(folder / "m.gguf")->config().tiedHead, tied);
        expectSameWeights(*opened(folder / "m.gguf"), tiny);
    }
}

TEST(FieldReports, T07_ExplicitHeadDim) {
    TemporaryFolder folder;
    const TinyModel wide = makeTinyModel({.headDim = 32});
    writeHuggingFaceFolder(wide, folder.path());
    auto source = opened(folder.path());
    EXPECT_EQ(source->config().headDim, 32);
    EXPECT_EQ(source->config().rope.headDim, 32);
    EXPECT_EQ(source->config().origins.at("head_dim"), "config.json head_dim");
    EXPECT_EQ(source->find("layer.0.q")->shape, (std::vector<std::int64_t>{128, 64}));
    expectSameWeights(*source, wide);

    const TinyModel derived = makeTinyModel();
    writeHuggingFaceFolder(derived, folder.path(), {.headDimKey = false});
    source = opened(folder.path());
    EXPECT_EQ(source->config().headDim, 16);
    EXPECT_EQ(source->config().origins.at("head_dim"), "hidden_size / num_attention_heads");
    expectSameWeights(*source, derived);

    // head_dim that the tensors contradict
    writeHuggingFaceFolder(wide, folder.path(), {.headDimKey = false});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("q_proj.weight"), HasSubstr("[128, 64]"),
                   HasSubstr("[64, 64]"));
}

TEST(FieldReports, T08_Qwen2BiasWithoutAKey) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel({.architecture = Architecture::Qwen2});
    ASSERT_EQ(tiny.tensors.count("layer.0.q_bias"), 1u);
    ASSERT_EQ(tiny.tensors.count("layer.0.o_bias"), 0u);
    writeHuggingFaceFolder(tiny, folder.path());
    auto source = opened(folder.path());
    EXPECT_TRUE(source->config().qkvBias);
    EXPECT_FALSE(source->config().outputBias);
    expectSameWeights(*source, tiny);
    writeHuggingFaceFolder(tiny, folder.path(), {.leaveOut = {"model.layers.1.self_attn.k_proj.bias"}});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("model.layers.1.self_attn.k_proj.bias"));
}

TEST(FieldReports, T08_LlamaBiasWithoutAKey) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel({.qkvBias = true, .mlpBias = true});
    writeHuggingFaceFolder(tiny, folder.path(), {.biasKeys = false});
    const auto source = opened(folder.path());
    EXPECT_TRUE(source->config().qkvBias);
    EXPECT_FALSE(source->config().outputBias);
    EXPECT_TRUE(source->config().mlpBias);
    EXPECT_EQ(source->config().origins.at("qkv_bias"), "the tensors");
    expectSameWeights(*source, tiny);
    // With attention_bias the o projection has one too, as in transformers' LlamaAttention.
    writeHuggingFaceFolder(tiny, folder.path());
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("self_attn.o_proj.bias"));
    const TinyModel full = makeTinyModel({.qkvBias = true, .outputBias = true, .mlpBias = true});
    writeHuggingFaceFolder(full, folder.path());
    expectSameWeights(*opened(folder.path()), full);
}

TEST(FieldReports, T17_SameWeightsFromBothFormats) {
    TemporaryFolder folder;
    for (const Architecture architecture : {Architecture::Llama, Architecture::Qwen2}) {
        for (const StorageType type : kMatrixTypes) {
            TinyModelSpec spec = kWide;
            spec.architecture = architecture;
            spec.tiedHead = false;
            spec.qkvBias = spec.outputBias = spec.mlpBias = true;
            const TinyModel tiny = makeTinyModel(spec);
            const TinyModel stored = storedAs(tiny, type);
            writeHuggingFaceFolder(stored, folder.path());
            writeGguf(tiny, folder / "m.gguf", {.type = type});
            const auto fromFolder = opened(folder.path());
            const auto fromGguf = opened(folder / "m.gguf");
            EXPECT_EQ(fromFolder->names(), fromGguf->names());
            for (const std::string& name : fromFolder->names()) {
                EXPECT_EQ(floats(*fromFolder, name), floats(*fromGguf, name))
                    << architectureName(architecture) << " " << storageTypeName(type) << " " << name;
            }
            EXPECT_EQ(fromFolder->config().parameters, fromGguf->config().parameters);
            EXPECT_NE(fromFolder->config().fingerprint, fromGguf->config().fingerprint);
        }
    }
}

TEST(FieldReports, T17_ForgottenRowOrderIsSeen) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel({.qkvBias = true});
    writeGguf(tiny, folder / "m.gguf", {.permute = false});
    const auto wrong = opened(folder / "m.gguf");
    for (const char* name : {"layer.0.q", "layer.0.k", "layer.1.q_bias", "layer.1.k_bias"}) {
        EXPECT_NE(floats(*wrong, name), tiny.tensors.at(name).values) << name;
    }
    for (const char* name : {"layer.0.v", "layer.0.o", "layer.1.v_bias", "embedding"}) {
        EXPECT_EQ(floats(*wrong, name), tiny.tensors.at(name).values) << name;
    }
}

TEST(RowOrder, IsTheOneOfLlamaCppsConverter) {
    const auto golden =
        nlohmann::json::parse(readBytes(std::string(LPES_TEST_DATA) + "/golden/ggml_blocks.json")).at("llama_permute");
    TinyModel tiny = makeTinyModel();
    ASSERT_EQ(golden.at("heads"), tiny.spec.numHeads);
    ASSERT_EQ(golden.at("head_dim"), tiny.spec.headDim);
    TinyTensor& q = tiny.tensors.at("layer.0.q");
    const std::vector<int> order = golden.at("hf_row_of_gguf_row");
    // Row r of the file holds the number of the Hugging Face row that the converter puts there.
    for (std::size_t row = 0; row < order.size(); ++row) {
        for (std::size_t i = 0; i < 64; ++i) q.values[row * 64 + i] = static_cast<float>(order[row]);
    }
    TemporaryFolder folder;
    writeGguf(tiny, folder / "m.gguf", {.permute = false});
    const std::vector<float> read = floats(*opened(folder / "m.gguf"), "layer.0.q");
    for (std::size_t row = 0; row < order.size(); ++row) EXPECT_EQ(read[row * 64], static_cast<float>(row));
}

TEST_F(Weights, AreUsedInPlaceWhereTheyAlreadyAreRight) {
    const TinyModel tiny = makeTinyModel();
    writeHuggingFaceFolder(tiny, folder.path());
    auto source = opened(folder.path());
    const auto bytes = source->direct("layer.0.q", ComputeType::Float32);
    ASSERT_EQ(bytes.size(), tiny.tensors.at("layer.0.q").values.size() * 4);
    EXPECT_EQ(std::memcmp(bytes.data(), tiny.tensors.at("layer.0.q").values.data(), bytes.size()), 0);
    EXPECT_TRUE(source->direct("layer.0.q", ComputeType::BFloat16).empty());
    EXPECT_TRUE(source->direct("layer.9.q", ComputeType::Float32).empty());

    writeHuggingFaceFolder(tiny, folder.path(), {.type = StorageType::BF16});
    source = opened(folder.path());
    EXPECT_FALSE(source->direct("layer.0.q", ComputeType::BFloat16).empty());
    EXPECT_TRUE(source->direct("layer.0.q", ComputeType::Float32).empty());

    writeGguf(tiny, folder / "m.gguf");
    source = opened(folder / "m.gguf");
    EXPECT_TRUE(source->direct("layer.0.q", ComputeType::Float32).empty()) << "its rows are interleaved";
    EXPECT_FALSE(source->direct("layer.0.v", ComputeType::Float32).empty());
    writeGguf(makeTinyModel({.architecture = Architecture::Qwen2}), folder / "q.gguf");
    EXPECT_FALSE(opened(folder / "q.gguf")->direct("layer.0.q", ComputeType::Float32).empty());
}

TEST_F(Weights, AreNotUsedInPlaceWhereTheyAreNotAligned) {
    const TinyModel tiny = makeTinyModel();
    writeHuggingFaceFolder(tiny, folder.path());
    const std::string good = readBytes(folder / "model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, good.data(), 8);
    writeBytes(folder / "model.safetensors", safetensorsBytes(good.substr(8, length) + " ", good.substr(8 + length)));
    const auto source = opened(folder.path());
    EXPECT_TRUE(source->direct("layer.0.q", ComputeType::Float32).empty());
    expectSameWeights(*source, tiny);
}

TEST_F(Weights, ReadAsBfloat16AreTheRoundedFloats) {
    TinyModelSpec spec = kWide;
    spec.qkvBias = true;
    const TinyModel tiny = makeTinyModel(spec);
    for (const StorageType type : kMatrixTypes) {
        writeGguf(tiny, folder / "m.gguf", {.type = type});
        const auto source = opened(folder / "m.gguf");
        for (const std::string& name : source->names()) {
            const std::vector<float> wide = floats(*source, name);
            std::vector<std::uint16_t> narrow(wide.size()), expected(wide.size());
            ASSERT_TRUE(source->read(name, ComputeType::BFloat16, std::as_writable_bytes(std::span(narrow))));
            ASSERT_TRUE(convertToBFloat16(StorageType::F32, reinterpret_cast<const std::byte*>(wide.data()),
                                          wide.size(), expected.data()));
            EXPECT_EQ(narrow, expected) << storageTypeName(type) << " " << name;
        }
    }
}

TEST_F(Weights, AreReadByRowsAsTheyAreReadWhole) {
    TinyModelSpec spec = kWide;
    spec.qkvBias = true;
    const TinyModel tiny = makeTinyModel(spec);
    for (const StorageType type : {BF16, Q4_K, IQ4_NL}) {
        writeGguf(tiny, folder / "m.gguf", {.type = type});
        const auto source = opened(folder / "m.gguf");
        for (const std::string& name : source->names()) {
            const std::vector<float> whole = floats(*source, name);
            const std::int64_t rows = rowCountOf(*source->find(name));
            const std::size_t width = whole.size() / static_cast<std::size_t>(rows);
            std::vector<float> parts(whole.size());
            // Blocks that divide neither the heads nor the rows.
            for (std::int64_t row = 0; row < rows; row += 7) {
                const std::int64_t count = std::min<std::int64_t>(7, rows - row);
                const auto part = std::span(parts).subspan(static_cast<std::size_t>(row) * width,
                                                           static_cast<std::size_t>(count) * width);
                ASSERT_TRUE(source->readRows(name, ComputeType::Float32, row, count, std::as_writable_bytes(part)));
            }
            EXPECT_EQ(parts, whole) << storageTypeName(type) << " " << name;
        }
    }
}

TEST_F(Weights, OfAVectorInBlocksAreBroughtIntoOrder) {
    TinyModelSpec spec = kWide;
    spec.qkvBias = true;
    const TinyModel tiny = makeTinyModel(spec);
    writeGguf(tiny, folder / "m.gguf", {.edit = [](GgufWriter& writer) {
                  for (GgufWriter::Tensor& tensor : writer.tensors) {
                      if (tensor.name != "blk.0.attn_q.bias") continue;
                      tensor.bytes = encode(decode(tensor.bytes, F32), Q8_0);
                      tensor.type = ggmlType(Q8_0);
                  }
              }});
    const std::vector<float> read = floats(*opened(folder / "m.gguf"), "layer.0.q_bias");
    const std::vector<float>& wanted = tiny.tensors.at("layer.0.q_bias").values;
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(read[i], wanted[i], 0.02) << i;
}

TEST_F(Weights, CanBeReadAgainAfterTheirPagesWereReleased) {
    const TinyModel tiny = makeTinyModel(kWide);
    writeHuggingFaceFolder(tiny, folder.path());
    const auto source = opened(folder.path());
    const auto direct = source->direct("layer.0.q", ComputeType::Float32);
    for (const std::string& name : source->names()) source->release(name);
    source->release("nothing");
    expectSameWeights(*source, tiny);
    EXPECT_EQ(std::memcmp(direct.data(), tiny.tensors.at("layer.0.q").values.data(), direct.size()), 0);
}

TEST_F(Weights, RefuseAReadOfTheWrongSizeOrName) {
    writeHuggingFaceFolder(makeTinyModel(), folder.path());
    const auto source = opened(folder.path());
    std::vector<float> room(10);
    const auto bytes = std::as_writable_bytes(std::span(room));
    EXPECT_EQ(source->read("final_norm", ComputeType::Float32, bytes).error().code, ErrorCode::Usage);
    EXPECT_EQ(source->read("nothing", ComputeType::Float32, bytes).error().code, ErrorCode::Usage);
    std::vector<float> row(64);
    const auto one = std::as_writable_bytes(std::span(row));
    EXPECT_TRUE(source->readRows("layer.0.q", ComputeType::Float32, 63, 1, one));
    EXPECT_TRUE(source->readRows("layer.0.q", ComputeType::Float32, 64, 0, {}));
    for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {64, 1}, {-1, 1}, {0, -1}, {0, 2}, {INT64_MAX, 1}, {1, INT64_MAX}}) {
        EXPECT_REFUSED(source->readRows("layer.0.q", ComputeType::Float32, first, count, one).error(), ErrorCode::Usage,
                       HasSubstr("layer.0.q"));
    }
    EXPECT_EQ(source->checkFinite("nothing").error().code, ErrorCode::Usage);
}

TEST_F(Weights, ThatAreNotFiniteAreRefusedWhenRead) {
    for (const float poison : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        for (const StorageType type : {StorageType::F32, StorageType::F16, StorageType::BF16}) {
            TinyModel tiny = makeTinyModel();
            tiny.tensors.at("layer.1.up").values[64 * 5 + 3] = poison;
            writeHuggingFaceFolder(tiny, folder.path(), {.type = type});
            const auto source = opened(folder.path());
            std::vector<float> out(tiny.tensors.at("layer.1.up").values.size());
            const auto bytes = std::as_writable_bytes(std::span(out));
            const auto wide = source->read("layer.1.up", ComputeType::Float32, bytes);
            ASSERT_FALSE(wide);
            EXPECT_REFUSED(wide.error(), ErrorCode::BadInput, HasSubstr("model.safetensors"),
                           HasSubstr("model.layers.1.mlp.up_proj.weight"), HasSubstr("row 5"));
            EXPECT_FALSE(source->read("layer.1.up", ComputeType::BFloat16, bytes.first(bytes.size() / 2)));
            EXPECT_FALSE(source->checkFinite("layer.1.up"));
            EXPECT_TRUE(source->checkFinite("layer.0.up"));
        }
    }
}

TEST_F(Weights, AreCountedAndIdentified) {
    const TinyModel tiny = makeTinyModel();
    std::int64_t count = 0;
    for (const auto& [name, tensor] : tiny.tensors) count += static_cast<std::int64_t>(tensor.values.size());
    writeGguf(tiny, folder / "a.gguf", {.type = StorageType::Q4_1});
    const ModelConfig first = opened(folder / "a.gguf")->config();
    EXPECT_EQ(first.parameters, count);
    EXPECT_EQ(first.weightTypes, "Q4_1, F32");
    EXPECT_EQ(first.fingerprint.size(), 64u);

    // Neither the place nor the name nor the values are part of the identity; configuration and table are.
    writeGguf(makeTinyModel({.seed = 9, .name = "other"}), folder / "b.gguf", {.type = StorageType::Q4_1});
    EXPECT_EQ(opened(folder / "b.gguf")->config().fingerprint, first.fingerprint);
    writeGguf(makeTinyModel({.ropeTheta = 10001.0}), folder / "b.gguf", {.type = StorageType::Q4_1});
    EXPECT_NE(opened(folder / "b.gguf")->config().fingerprint, first.fingerprint);
    writeGguf(tiny, folder / "b.gguf", {.type = StorageType::Q5_1});
    EXPECT_NE(opened(folder / "b.gguf")->config().fingerprint, first.fingerprint);
}
