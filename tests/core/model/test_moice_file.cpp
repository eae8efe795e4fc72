#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "core/model/moice_file.h"
#include "core/model/moice_training.h"
#include "core/rope/rivals.h"
#include "tests/support/tiny_model.h"

namespace lpes::model {
namespace {

using test::TemporaryFolder;
using test::TinyTensor;

ModelConfig smallConfig() {
    ModelConfig config;
    config.numLayers = 2;
    config.numHeads = 2;
    config.numKvHeads = 1;
    config.headDim = 4;
    config.contextLength = 64;
    config.rope.theta = 10000.0;
    config.rope.headDim = 4;
    config.fingerprint = std::string(64, 'a');
    return config;
}

rope::MoiceRouters someRouters(const ModelConfig& config, const std::vector<double>& bases, int topK) {
    rope::MoiceRouters routers = emptyRouters(config, bases, topK);
    float next = -1.0f;
    for (const MoiceMatrix& matrix : moiceMatrices(routers)) {
        for (float& value : *matrix.values) value = next += 0.0625f;
    }
    return routers;
}

/// The tensors of a file as any other program may have written them.
std::map<std::string, TinyTensor> tensorsOf(rope::MoiceRouters routers) {
    std::map<std::string, TinyTensor> tensors;
    for (const MoiceMatrix& matrix : moiceMatrices(routers)) tensors[matrix.name] = {matrix.shape, *matrix.values};
    return tensors;
}

void expectRefused(const std::filesystem::path& file, const std::string& words,
                   const ModelConfig& config = smallConfig()) {
    const auto read = readMoiceRouters(file, config);
    ASSERT_FALSE(read.has_value()) << words;
    EXPECT_EQ(read.error().code, ErrorCode::BadInput) << read.error().text();
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().text();
    EXPECT_NE(read.error().message.find(file.string()), std::string::npos) << read.error().text();
}

TEST(MoiceFile, GivesBackWhatWasWritten) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    const rope::MoiceRouters routers = someRouters(config, {10000.0, 17500.25, 25000.0}, 2);
    ASSERT_TRUE(writeMoiceRouters(folder / "r", routers, config, {{"training", "{}"}}).has_value());
    const auto read = readMoiceRouters(folder / "r", config);
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ((*read)->bases, routers.bases);
    EXPECT_EQ((*read)->topK, 2);
    EXPECT_EQ((*read)->headDim, 4);
    EXPECT_EQ((*read)->layers, routers.layers);
    EXPECT_EQ((*read)->fingerprint, config.fingerprint);
}

TEST(MoiceFile, KeepsTheHashOfTheWeights) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    rope::MoiceRouters routers = someRouters(config, {10000.0, 20000.0}, 1);
    ASSERT_TRUE(writeMoiceRouters(folder / "older", routers, config).has_value());
    EXPECT_EQ((*readMoiceRouters(folder / "older", config))->weightsHash, "") << "not said";
    routers.weightsHash = std::string(64, 'c');
    ASSERT_TRUE(writeMoiceRouters(folder / "r", routers, config).has_value());
    EXPECT_EQ((*readMoiceRouters(folder / "r", config))->weightsHash, routers.weightsHash);
}

TEST(MoiceFile, TellsRoutersCheckpointsAndOtherFilesApart) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    MoiceRecipe recipe;
    recipe.bases = {10000.0, 20000.0};
    recipe.topK = 1;
    const MoiceTrainingState state = initialMoiceState(recipe, config);
    ASSERT_TRUE(writeMoiceRouters(folder / "r", state.routers, config).has_value());
    ASSERT_TRUE(writeMoiceCheckpoint(folder / "r.training", state, config, {{"steps", 3}}).has_value());
    test::writeBytes(folder / "bare", test::safetensorsBytes(tensorsOf(state.routers), StorageType::F32));
    test::writeBytes(folder / "text", "some text");
    EXPECT_EQ(moiceFileAt(folder / "r"), MoiceFile::Router);
    EXPECT_EQ(moiceFileAt(folder / "r.training"), MoiceFile::Checkpoint);
    EXPECT_EQ(moiceFileAt(folder / "bare"), std::nullopt) << "matrices of somebody else";
    EXPECT_EQ(moiceFileAt(folder / "text"), std::nullopt);
    EXPECT_EQ(moiceFileAt(folder / "none"), std::nullopt);
    expectRefused(folder / "r.training", "it is the checkpoint of a training and no router");
    EXPECT_TRUE(readMoiceCheckpoint(folder / "r.training", config).has_value());
}

TEST(MoiceFile, TakesBareMatricesInEveryFloatType) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    const rope::MoiceRouters routers = someRouters(config, rope::moiceBases(10000.0), 7);
    // Every value is a multiple of 1/16 below 16, which float16 and bfloat16 hold exactly.
    for (const StorageType type : {StorageType::F32, StorageType::F16, StorageType::BF16}) {
        test::writeBytes(folder / "r", test::safetensorsBytes(tensorsOf(routers), type));
        const auto read = readMoiceRouters(folder / "r", config);
        ASSERT_TRUE(read.has_value()) << read.error().text();
        EXPECT_EQ((*read)->bases, rope::moiceBases(10000.0));
        EXPECT_EQ((*read)->topK, 7);
        EXPECT_EQ((*read)->fingerprint, "") << "it does not say of which model it is";
        EXPECT_EQ((*read)->layers[0].w1, routers.layers[0].w1) << storageTypeName(type);
    }
}

TEST(MoiceFile, RefusesMatricesThatDoNotFit) {
    const TemporaryFolder folder;
    const auto good = tensorsOf(someRouters(smallConfig(), rope::moiceBases(10000.0), 7));
    const auto write = [&](const std::map<std::string, TinyTensor>& tensors) {
        test::writeBytes(folder / "r", test::safetensorsBytes(tensors, StorageType::F32));
    };
    const std::string last = "model.layers.1.self_attn.gate.w3.weight";
    auto tensors = good;
    tensors.erase(last);
    write(tensors);
    expectRefused(folder / "r", "'" + last + "' is missing");

    tensors = good;
    tensors[last].shape = {4, 7};
    write(tensors);
    expectRefused(folder / "r", "has shape [4, 7] where [7, 4] is needed");

    tensors = good;
    tensors[last].values[3] = std::numeric_limits<float>::infinity();
    write(tensors);
    expectRefused(folder / "r", "holds a value that is not finite");

    tensors = good;
    tensors["model.layers.2.self_attn.gate.w1.weight"] = good.at(last);
    write(tensors);
    expectRefused(folder / "r", "a model of 2 layers has no place for");

    test::writeBytes(folder / "r", "no safetensors file");
    expectRefused(folder / "r", "not safetensors");
    test::writeBytes(folder / "r", test::safetensorsBytes(good, StorageType::F32).substr(0, 700));
    expectRefused(folder / "r", "incomplete file");
    expectRefused(folder / "none", "cannot read");
}

TEST(MoiceFile, RefusesAnotherTypeOfNumbers) {
    const TemporaryFolder folder;
    auto tensors = tensorsOf(someRouters(smallConfig(), rope::moiceBases(10000.0), 7));
    std::string bytes = test::safetensorsBytes(tensors, StorageType::F32);
    for (std::size_t at = bytes.find("F32"); at != std::string::npos; at = bytes.find("F32", at))
        bytes.replace(at, 3, "I32");
    test::writeBytes(folder / "r", bytes);
    expectRefused(folder / "r", "has dtype I32");
}

TEST(MoiceFile, RefusesWhatIsOfAnotherModel) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    ASSERT_TRUE(writeMoiceRouters(folder / "r", someRouters(config, {10000.0, 20000.0}, 1), config).has_value());
    ModelConfig other = config;
    other.numLayers = 3;
    expectRefused(folder / "r", "metadata key 'layers' is '2'; the model has 3", other);
    other = config;
    other.headDim = other.rope.headDim = 8;
    expectRefused(folder / "r", "metadata key 'head_dim' is '4'; the model has 8", other);
    other = config;
    other.fingerprint = std::string(64, 'b');
    expectRefused(folder / "r", "fingerprint aaaaaaaaaaaaaaaa", other);
}

TEST(MoiceFile, RefusesMetadataThatMakesNoSense) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    const std::vector<std::pair<std::string, std::string>> edits{{R"("lpes-moice")", R"("lpes-other")"},
                                                                 {R"("version":"1")", R"("version":"2")"},
                                                                 {R"("version":"1")", R"("version":"x")"},
                                                                 {R"("top_k":"1")", R"("top_k":"3")"},
                                                                 {R"("top_k":"1")", R"("top_k":"0")"},
                                                                 {R"([10000.0,20000.0])", R"([true,  20000.0 ])"},
                                                                 {R"([10000.0,20000.0])", R"([10000.0,       ])"},
                                                                 {R"([10000.0,20000.0])", R"([10000.0,0.5    ])"},
                                                                 {R"("version":"1")", R"("version": 1 )"}};
    for (const auto& [from, to] : edits) {
        ASSERT_TRUE(writeMoiceRouters(folder / "r", someRouters(config, {10000.0, 20000.0}, 1), config).has_value());
        std::string bytes = test::readBytes(folder / "r");
        const std::size_t at = bytes.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        bytes.replace(at, from.size(), to);
        ASSERT_EQ(from.size(), to.size()) << from << " → " << to << ": the header's length must stay";
        test::writeBytes(folder / "r", bytes);
        const auto read = readMoiceRouters(folder / "r", config);
        ASSERT_FALSE(read.has_value()) << to;
        EXPECT_EQ(read.error().code, ErrorCode::BadInput) << read.error().text();
    }
}

TEST(MoiceFile, WritesNothingThatItWouldNotRead) {
    const TemporaryFolder folder;
    const ModelConfig config = smallConfig();
    rope::MoiceRouters routers = someRouters(config, {10000.0, 20000.0}, 1);
    routers.layers[1].w2[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(writeMoiceRouters(folder / "r", routers, config).error().code, ErrorCode::BadInput);
    EXPECT_FALSE(std::filesystem::exists(folder / "r"));
    EXPECT_EQ(writeMoiceRouters(folder / "none" / "r", someRouters(config, {10000.0}, 1), config).error().code,
              ErrorCode::Failed);
}

}  // namespace
}  // namespace lpes::model
