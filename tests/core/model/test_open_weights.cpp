#include <sys/stat.h>

#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

class ModelFolder : public testing::Test {
  protected:
    TemporaryFolder folder;
    TinyModel tiny = makeTinyModel();
};

}  // namespace

TEST_F(ModelFolder, OpensASingleFileInEveryType) {
    for (const StorageType type : {StorageType::F32, StorageType::F16, StorageType::BF16}) {
        writeHuggingFaceFolder(tiny, folder.path(), {.type = type});
        const auto source = opened(folder.path());
        expectSameWeights(*source, storedAs(tiny, type, true));
        EXPECT_EQ(source->config().weightTypes, storageTypeName(type));
        EXPECT_EQ(source->config().format, "safetensors");
        EXPECT_EQ(source->config().name, folder.path().filename().string());
        EXPECT_TRUE(source->config().warnings.empty());
    }
}

TEST_F(ModelFolder, NamesTheModelAfterTheFolderEvenWithATrailingSlash) {
    writeHuggingFaceFolder(tiny, folder / "little");
    EXPECT_EQ(opened((folder / "little").string() + "/")->config().name, "little");
}

TEST_F(ModelFolder, OpensShards) {
    writeHuggingFaceFolder(tiny, folder.path(), {.shards = 3});
    // A shard that the index does not name is not looked at.
    writeBytes(folder / "model-00009-of-00009.safetensors", "garbage");
    const auto source = opened(folder.path());
    expectSameWeights(*source, tiny);
    EXPECT_EQ(source->find("layer.0.q")->file.parent_path(), folder.path());
}

TEST_F(ModelFolder, ListsMissingShards) {
    writeHuggingFaceFolder(tiny, folder.path(), {.shards = 4});
    std::filesystem::remove(folder / "model-00002-of-00004.safetensors");
    std::filesystem::remove(folder / "model-00004-of-00004.safetensors");
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("model.safetensors.index.json"),
                   HasSubstr("2 of 4 shards"), HasSubstr("model-00002-of-00004.safetensors"),
                   HasSubstr("model-00004-of-00004.safetensors"), Not(HasSubstr("model-00001")));
}

TEST_F(ModelFolder, RefusesAHostileIndex) {
    writeHuggingFaceFolder(tiny, folder.path(), {.shards = 2});
    for (const char* index :
         {R"({"weight_map": {"w": "../secret.safetensors"}})", R"({"weight_map": {"w": "/etc/passwd"}})",
          R"({"weight_map": {"w": 7}})", R"({"weight_map": {"w": "model.bin"}})", R"({"weight_map": {}})",
          R"({"weight_map": []})", "{}", "[]", "x"}) {
        writeBytes(folder / "model.safetensors.index.json", index);
        EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("model.safetensors.index.json"));
    }
}

TEST_F(ModelFolder, ATensorOfTheIndexThatItsShardLacksIsMissing) {
    writeHuggingFaceFolder(tiny, folder.path(), {.shards = 2});
    std::string index = readBytes(folder / "model.safetensors.index.json");
    const std::string name = "\"model.norm.weight\": \"model-0000";
    const std::size_t at = index.find(name) + name.size();
    index[at] = index[at] == '1' ? '2' : '1';
    writeBytes(folder / "model.safetensors.index.json", index);
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("'model.norm.weight' is missing"));
}

TEST_F(ModelFolder, NamesMissingAndMisshapedTensors) {
    writeHuggingFaceFolder(tiny, folder.path(),
                           {.leaveOut = {"model.layers.1.mlp.up_proj.weight", "model.norm.weight"}});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr(folder.path().string()),
                   HasSubstr("'model.norm.weight'"), HasSubstr("1 more"));
    TinyTensor wide = tiny.tensors.at("layer.0.v");
    wide.shape = {64, 32};
    writeHuggingFaceFolder(tiny, folder.path(), {.extra = {{"model.layers.0.self_attn.v_proj.weight", wide}}});
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("v_proj.weight"), HasSubstr("[64, 32]"),
                   HasSubstr("[32, 64]"));
}

TEST_F(ModelFolder, WarnsOfTensorsThatBelongToNoPart) {
    writeHuggingFaceFolder(tiny, folder.path(),
                           {.extra = {{"model.layers.0.self_attn.q_norm.weight", {{16}, std::vector<float>(16)}},
                                      {"model.layers.0.self_attn.rotary_emb.inv_freq", {{8}, std::vector<float>(8)}}}});
    EXPECT_THAT(opened(folder.path())->config().warnings,
                testing::ElementsAre(AllOf(HasSubstr("1 of"), HasSubstr("q_norm"))));
}

TEST_F(ModelFolder, RefusesWhatIsNoModel) {
    EXPECT_REFUSED(refusal(folder / "absent"), ErrorCode::BadInput, HasSubstr("absent"),
                   HasSubstr("no such file or folder"));
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("config.json"));
    writeHuggingFaceFolder(tiny, folder.path());
    EXPECT_REFUSED(refusal(folder / "config.json"), ErrorCode::BadInput, HasSubstr("give the folder"));
    EXPECT_REFUSED(refusal(folder / "model.safetensors"), ErrorCode::BadInput, HasSubstr("give the folder"));
    writeBytes(folder / "notes.txt", "hello");
    EXPECT_REFUSED(refusal(folder / "notes.txt"), ErrorCode::BadInput, HasSubstr("notes.txt"), HasSubstr("neither"));
    writeBytes(folder / "empty.gguf", "");
    EXPECT_REFUSED(refusal(folder / "empty.gguf"), ErrorCode::BadInput, HasSubstr("empty"));
    std::filesystem::remove(folder / "model.safetensors");
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("none of model.safetensors"),
                   HasSubstr("pytorch_model.bin"));
    writeBytes(folder / "pytorch_model.bin", "x");
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("pytorch_model.bin"),
                   HasSubstr("no PyTorch checkpoint"));
}

TEST_F(ModelFolder, OpensAGgufFileUnderAnyName) {
    writeGguf(tiny, folder / "model-file");
    expectSameWeights(*opened(folder / "model-file"), tiny);
}

TEST_F(ModelFolder, HandsOutTheSameTokenizerFromBothFormats) {
    writeHuggingFaceFolder(tiny, folder.path());
    writeGguf(tiny, folder / "m.gguf");
    const auto fromFolder = opened(folder.path())->tokenizerSpec();
    const auto fromGguf = opened(folder / "m.gguf")->tokenizerSpec();
    ASSERT_TRUE(fromFolder) << fromFolder.error().text();
    ASSERT_TRUE(fromGguf) << fromGguf.error().text();
    EXPECT_EQ(fromFolder->pieces, fromGguf->pieces);
    EXPECT_EQ(fromFolder->merges, fromGguf->merges);
    EXPECT_EQ(fromFolder->bosId, kTinyBos);
    EXPECT_EQ(fromGguf->bosId, kTinyBos);
}

TEST_F(ModelFolder, OpensWithoutATokenizerAndSaysSoWhenAsked) {
    writeHuggingFaceFolder(tiny, folder.path(), {.tokenizer = false});
    EXPECT_EQ(opened(folder.path())->tokenizerSpec().error().code, ErrorCode::BadInput);
    writeGguf(tiny, folder / "m.gguf", {.tokenizer = false});
    const auto spec = opened(folder / "m.gguf")->tokenizerSpec();
    ASSERT_FALSE(spec);
    EXPECT_REFUSED(spec.error(), ErrorCode::BadInput, HasSubstr("m.gguf"), HasSubstr("tokenizer.ggml.model"));
}
