#include "core/model/formats/torch_checkpoint.h"

#include "core/base/process_memory.h"
#include "core/model/formats/pickle.h"
#include "tests/core/model/model_testing.h"
#include "tests/support/torch_writer.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(LPES_TEST_DATA) / "golden" / "torch";

Result<std::vector<StoredTensor>> table(const std::string& bytes) {
    return readTorchCheckpoint(std::as_bytes(std::span(bytes)), "m.bin");
}

Error tableError(const std::string& bytes) {
    return refusalOf(table(bytes));
}

/// A checkpoint with this pickle and one storage of four floats.
std::string checkpoint(const std::string& pickle) {
    return zipBytes({{"x/data.pkl", pickle}, {"x/data/0", std::string(16, '\0')}});
}

const std::string kProtocol2 = "\x80\x02";
const TorchTensor kTensor = {"w", "FloatStorage", "0", 4, 0, {2, 2}, {2, 1}};

std::string checkpointOf(const std::function<void(TorchTensor&)>& edit) {
    TorchTensor tensor = kTensor;
    edit(tensor);
    return checkpoint(stateDictPickle({tensor}));
}

}  // namespace

TEST(TorchCheckpoint, HoldsWhatTorchSaved) {
    const auto reference = opened(kGolden / "safetensors");
    for (const char* layout : {"zip", "old", "sharded", "nested"}) {
        const auto source = opened(kGolden / layout);
        EXPECT_EQ(source->names(), reference->names()) << layout;
        for (const std::string& name : reference->names()) {
            EXPECT_EQ(source->find(name)->shape, reference->find(name)->shape);
            EXPECT_EQ(floats(*source, name), floats(*reference, name)) << layout << " " << name;
        }
        EXPECT_EQ(source->config().format, "pytorch");
        EXPECT_TRUE(source->config().tiedHead);
        EXPECT_EQ(source->config().weightTypes, std::string(layout) == "old"       ? "BF16"
                                                : std::string(layout) == "sharded" ? "F16"
                                                                                   : "F32");
    }
    // Buffers that belong to no part of the model: said, and in nobody's way.
    EXPECT_THAT(opened(kGolden / "zip")->config().warnings,
                testing::ElementsAre(AllOf(HasSubstr("3 of"), HasSubstr("'model.mask'"))));
    EXPECT_TRUE(opened(kGolden / "old")->config().warnings.empty());
}

TEST(TorchCheckpoint, IsUsedInPlaceWhereItIsAligned) {
    const auto zip = opened(kGolden / "zip");
    for (const std::string& name : zip->names()) EXPECT_FALSE(zip->direct(name, ComputeType::Float32).empty()) << name;
    EXPECT_TRUE(zip->direct("layer.0.q", ComputeType::BFloat16).empty());
    // Behind the older layout's pickles anything may be: whatever `direct` gives is aligned and right.
    const auto old = opened(kGolden / "old");
    for (const std::string& name : old->names()) {
        const auto bytes = old->direct(name, ComputeType::BFloat16);
        if (bytes.empty()) continue;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 2, 0u);
        EXPECT_EQ(bytes.data(), old->find(name)->bytes.data());
    }
}

TEST(TorchCheckpoint, AgreesWithSafetensorsAndGguf) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel({.tiedHead = false, .qkvBias = true, .outputBias = true, .mlpBias = true});
    for (const StorageType type : {StorageType::F32, StorageType::F16, StorageType::BF16}) {
        for (const bool old : {false, true}) {
            const TinyModel stored = storedAs(tiny, type, true);
            writeTorchFolder(stored, folder / "torch", type, old);
            writeHuggingFaceFolder(stored, folder / "safetensors", {.type = type});
            writeGguf(stored, folder / "m.gguf", {.type = type});
            expectSameWeights(*opened(folder / "torch"), stored);
            expectSameWeights(*opened(folder / "safetensors"), stored);
            expectSameWeights(*opened(folder / "m.gguf"), stored);
            EXPECT_TRUE(opened(folder / "torch")->tokenizerSpec());
        }
    }
}

TEST(TorchCheckpoint, GivesWayToSafetensors) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel();
    writeHuggingFaceFolder(tiny, folder.path());
    writeBytes(folder / "pytorch_model.bin", "garbage");
    EXPECT_EQ(opened(folder.path())->config().format, "safetensors");
    expectSameWeights(*opened(folder.path()), tiny);
}

TEST(TorchCheckpoint, ListsMissingShards) {
    TemporaryFolder folder;
    fs::copy(kGolden / "sharded", folder.path(), fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    fs::remove(folder / "pytorch_model-00002-of-00002.bin");
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("pytorch_model.bin.index.json"),
                   HasSubstr("1 of 2 shards"), HasSubstr("pytorch_model-00002-of-00002.bin"));
    writeBytes(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"w": "model.safetensors"}})");
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("pytorch_model.bin.index.json"),
                   HasSubstr(".bin file"));
}

TEST(TorchCheckpoint, OnItsOwnIsAPartOfAModel) {
    EXPECT_REFUSED(refusal(kGolden / "zip" / "pytorch_model.bin"), ErrorCode::BadInput, HasSubstr("give the folder"));
}

TEST(TorchCheckpoint, NeverCallsWhatItNames) {
    PickleWriter evil;
    evil.raw("\x80\x02").global("os", "system").raw("(").text("touch /tmp/owned").raw("tR.");
    EXPECT_REFUSED(tableError(checkpoint(evil.bytes)), ErrorCode::Unsupported, HasSubstr("m.bin"),
                   HasSubstr("'os.system'"), HasSubstr("nothing of it was executed"));
    PickleWriter stacked;
    stacked.raw("\x80\x04").text("builtins").text("eval").raw("\x93(").text("1").raw("tR.");
    EXPECT_REFUSED(tableError(checkpoint(stacked.bytes)), ErrorCode::Unsupported, HasSubstr("'builtins.eval'"));
    // Names that differ from the allowed ones by a little.
    for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
             {"torch", "load"},
             {"torch._utils", "_rebuild_tensor_v2.__globals__"},
             {"torch._utils", "_rebuild_tensor_v2 "},
             {"collections", "OrderedDict.fromkeys"},
             {"torch.storage", "FloatStorage"},
             {"torch", "FloatStorage.__init__"},
             {"", ""},
             {"numpy.core.multiarray", "scalar"},
             {"transformers.models.llama.modeling_llama", "LlamaForCausalLM"}}) {
        PickleWriter pickle;
        pickle.raw("\x80\x02").global(module, name).raw(".");
        EXPECT_REFUSED(tableError(checkpoint(pickle.bytes)), ErrorCode::Unsupported,
                       HasSubstr("'" + module + "." + name + "'"));
    }
    // A storage's class and a rebuilding function are values, not to be called at will.
    EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + "ctorch\nFloatStorage\n)R.")), ErrorCode::Unsupported,
                   HasSubstr("'torch.FloatStorage'"));
    // INST, OBJ, EXT1 and persistent ids as text
    EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + "(ios\nsystem\n.")), ErrorCode::Unsupported,
                   HasSubstr("'os.system'"));
    for (const char* code : {"(o.", "\x82\x01.", "P0\n.", "I1\n.", "\x97."}) {
        EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + code)), ErrorCode::Unsupported, HasSubstr("opcode"));
    }
    // What cannot be printed is not.
    EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + "co\x1bs\nsys\xfftem\n.")), ErrorCode::Unsupported,
                   HasSubstr("'o?s.sys?tem'"));
}

TEST(TorchCheckpoint, RefusesSenselessPickles) {
    EXPECT_EQ(tableError(checkpoint("")).code, ErrorCode::BadInput);
    EXPECT_EQ(tableError(checkpoint(".")).code, ErrorCode::BadInput);
    const std::string orderedDict = "ccollections\nOrderedDict\n";
    for (const std::string& codes : std::vector<std::string>{"",
                                                             "N",
                                                             "NN.",
                                                             "N.N",
                                                             "(NN",
                                                             "(.",  // stack and end
                                                             "t.",
                                                             "\x87.",
                                                             "s.",
                                                             "u.",
                                                             "Ns.",
                                                             "NNs.",
                                                             "NNNs.",
                                                             "]NNs.",  // items without a dict
                                                             "(NNNu.",
                                                             "}(Nu.",
                                                             "}]a.",
                                                             "Na.",  // … or without a value
                                                             "R.",
                                                             "NR.",
                                                             "))R.",
                                                             "N)R.",
                                                             orderedDict + "(NtR.",
                                                             orderedDict + "(](NetR.",  // calls
                                                             "b.",
                                                             "NNb.",
                                                             "Q.",
                                                             "h\x05.",
                                                             "q\x05.",  // attributes, ids, memo
                                                             "X\xff\xff\xff\xff" + std::string("ab."),
                                                             "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",  // lengths
                                                             "ccollections",
                                                             "ccollections\nOrdered",
                                                             "c" + std::string(4000, 'a') + "\nb\n."}) {
        EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + codes)), ErrorCode::BadInput, HasSubstr("m.bin"));
    }
    EXPECT_REFUSED(tableError(checkpoint("\x80\x01N.")), ErrorCode::Unsupported, HasSubstr("protocol 1"));
}

TEST(TorchCheckpoint, SurvivesBombs) {
    const std::int64_t before = peakResidentBytes().value();
    // Lists in lists, a million deep; a list that holds itself; doubling by memo, 2^5000 elements if it were written
    // out.
    std::string deep = kProtocol2;
    for (int i = 0; i < 500'000; ++i) deep += ']';
    for (int i = 1; i < 500'000; ++i) deep += 'a';
    EXPECT_REFUSED(tableError(checkpoint(deep + ".")), ErrorCode::BadInput, HasSubstr("a list"));
    EXPECT_REFUSED(tableError(checkpoint(std::string("\x80\x02]q\0h\0a.", 9))), ErrorCode::BadInput,
                   HasSubstr("a list"));
    std::string doubling = "\x80\x02]q";
    doubling += '\0';
    for (int i = 0; i < 5000; ++i) {
        doubling += std::string("(h\0h\0lq\0", 9);
    }
    EXPECT_FALSE(table(checkpoint(doubling + ".")));
    std::string tuples = std::string("\x80\x02)q\0", 5);
    for (int i = 0; i < 5000; ++i) tuples += std::string("h\0h\0\x86q\0", 7);
    EXPECT_FALSE(table(checkpoint(tuples + ".")));
    // A parameter that is made of itself
    PickleWriter self;
    self.raw("\x80\x02}(").text("w").global("torch._utils", "_rebuild_parameter").raw("(");
    self.global("torch._utils", "_rebuild_parameter").raw("(N\x88}tR\x88}tRu.");
    EXPECT_REFUSED(tableError(checkpoint(self.bytes)), ErrorCode::BadInput, HasSubstr("'w'"));
    // More values than any checkpoint has
    EXPECT_REFUSED(tableError(checkpoint(kProtocol2 + std::string(9'000'000, 'N') + ".")), ErrorCode::BadInput,
                   HasSubstr("larger than that of any model"));
    EXPECT_LT(peakResidentBytes().value() - before, 512 << 20);
}

TEST(TorchCheckpoint, PlacesTensorsInsideTheirStorages) {
    const auto whole = table(checkpoint(stateDictPickle({kTensor})));
    ASSERT_TRUE(whole) << whole.error().text();
    EXPECT_EQ(whole->front().bytes.size(), 16u);
    const auto part = table(checkpointOf([](TorchTensor& t) { t.shape = {1, 2}, t.strides = {9, 1}, t.offset = 2; }));
    ASSERT_TRUE(part) << part.error().text();
    EXPECT_EQ(part->front().type, StorageType::F32);
    EXPECT_EQ(part->front().bytes.size(), 8u);
    const auto empty = table(checkpointOf([](TorchTensor& t) { t.shape = {0, 7}; }));
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->front().bytes.empty());

    const std::int64_t huge = std::int64_t{1} << 62;
    for (const auto& edit : std::vector<std::function<void(TorchTensor&)>>{
             [](TorchTensor& t) { t.offset = 1; },
             [](TorchTensor& t) {
                 t.shape = {2, 3}, t.strides = {3, 1};
             },
             [](TorchTensor& t) {
                 t.strides = {4, 1};
             },
             [=](TorchTensor& t) { t.offset = huge; },
             [=](TorchTensor& t) {
                 t.strides = {huge, 1};
             },
             [=](TorchTensor& t) {
                 t.strides = {huge, huge};
             },
             [=](TorchTensor& t) {
                 t.shape = {huge, huge};
             },
             [=](TorchTensor& t) {
                 t.shape = {huge, 1}, t.strides = {0, 1}, t.offset = 4;
             },
             [](TorchTensor& t) { t.offset = -1; },
             [](TorchTensor& t) {
                 t.shape = {-2, 2};
             },
             [](TorchTensor& t) {
                 t.strides = {-2, 1};
             },
             [](TorchTensor& t) { t.strides = {1}; },
             [](TorchTensor& t) { t.shape.assign(17, 1), t.strides.assign(17, 1); }}) {
        EXPECT_REFUSED(tableError(checkpointOf(edit)), ErrorCode::BadInput, HasSubstr("m.bin"), HasSubstr("'w'"));
    }
}

TEST(TorchCheckpoint, RefusesTensorsThatDoNotLieInOnePieceWhenTheyAreNeeded) {
    const auto transposed = table(checkpointOf([](TorchTensor& t) { t.strides = {1, 2}; }));
    ASSERT_TRUE(transposed);
    EXPECT_EQ(transposed->front().type, std::nullopt);
    EXPECT_THAT(transposed->front().typeName, AllOf(HasSubstr("F32"), HasSubstr("strides [1, 2]")));
    // Every element the same one
    EXPECT_EQ(table(checkpointOf([](TorchTensor& t) { t.strides = {0, 0}; }))->front().type, std::nullopt);

    TemporaryFolder folder;
    const std::string name = huggingFaceName("layer.1.q");
    writeTorchFolder(makeTinyModel(), folder.path(), StorageType::F32, false, [&](TorchTensor& tensor) {
        if (tensor.name == name) std::swap(tensor.strides[0], tensor.strides[1]);
    });
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::Unsupported, HasSubstr("'" + name + "'"),
                   HasSubstr("F32 with strides [1, 64]"));
}

TEST(TorchCheckpoint, RefusesStoragesThatDoNotFit) {
    const std::int64_t huge = std::int64_t{1} << 62;
    for (const std::int64_t elements : {std::int64_t{3}, std::int64_t{5}, huge, std::int64_t{-1}}) {
        EXPECT_REFUSED(tableError(checkpointOf([=](TorchTensor& t) { t.storageElements = elements; })),
                       ErrorCode::BadInput, HasSubstr("storage"));
    }
    EXPECT_REFUSED(tableError(checkpointOf([](TorchTensor& t) { t.key = "1"; })), ErrorCode::BadInput,
                   HasSubstr("'data/1'"), HasSubstr("missing"));
    for (const char* key : {"../data.pkl", "", "0/../0", "a b"}) {
        EXPECT_REFUSED(tableError(checkpointOf([=](TorchTensor& t) { t.key = key; })), ErrorCode::BadInput,
                       HasSubstr("storage"));
    }
    TorchTensor second = kTensor;
    second.name = "v";
    second.storageClass = "IntStorage";
    EXPECT_REFUSED(tableError(checkpoint(stateDictPickle({kTensor, second}))), ErrorCode::BadInput,
                   HasSubstr("described twice"));
    EXPECT_REFUSED(tableError(checkpoint(stateDictPickle({kTensor, kTensor}))), ErrorCode::BadInput,
                   HasSubstr("'w' stands twice"));
    EXPECT_REFUSED(tableError(checkpointOf([](TorchTensor& t) { t.name = "a\nb"; })), ErrorCode::BadInput,
                   HasSubstr("'a?b'"));
}

TEST(TorchCheckpoint, TakesTheOneDictOfTensors) {
    const auto dictOf = [](const std::vector<std::string>& names) {
        std::string inner = stateDictPickle({kTensor});
        inner = inner.substr(2, inner.size() - 3);  // without PROTO and STOP
        PickleWriter pickle;
        pickle.raw("\x80\x02}(");
        for (const std::string& name : names) pickle.text(name).raw(inner);
        return checkpoint(pickle.text("epoch").integer(3).raw("u.").bytes);
    };
    for (const char* name : {"state_dict", "model", "module"}) {
        const auto read = table(dictOf({name}));
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(read->front().name, "w");
    }
    EXPECT_REFUSED(tableError(dictOf({"model", "module"})), ErrorCode::BadInput, HasSubstr("more than one"));
    EXPECT_REFUSED(tableError(dictOf({"optimizer"})), ErrorCode::BadInput, HasSubstr("state_dict()"));
    EXPECT_REFUSED(tableError(checkpoint("\x80\x02}.")), ErrorCode::BadInput, HasSubstr("no tensor"));
    EXPECT_REFUSED(tableError(checkpoint("\x80\x02K\x05.")), ErrorCode::BadInput, HasSubstr("a whole number"));
}

TEST(TorchCheckpoint, RefusesOtherLayoutsByName) {
    const std::string pickle = stateDictPickle({kTensor});
    const ZipPart data = {"x/data/0", std::string(16, '\0')};
    EXPECT_REFUSED(tableError(zipBytes({{"x/data.pkl", pickle}, data, {"x/byteorder", "big"}})), ErrorCode::Unsupported,
                   HasSubstr("big-endian"));
    EXPECT_REFUSED(tableError(zipBytes({{"x/data.pkl", pickle}, data, {"x/constants.pkl", "x"}})),
                   ErrorCode::Unsupported, HasSubstr("TorchScript"));
    EXPECT_REFUSED(tableError(zipBytes({{"x/y/data.pkl", pickle}, data})), ErrorCode::BadInput,
                   HasSubstr("FOLDER/data.pkl"));
    EXPECT_REFUSED(tableError(zipBytes({{"x/data.pkl", pickle}, data, {"other/1", ""}})), ErrorCode::BadInput,
                   HasSubstr("'other/1'"));
    EXPECT_REFUSED(tableError(std::string(257, '\0') + "ustar" + std::string(300, '\0')), ErrorCode::Unsupported,
                   HasSubstr("tar layout"));
    EXPECT_REFUSED(tableError("version https://git-lfs.github.com/spec/v1\n"), ErrorCode::BadInput,
                   HasSubstr("neither a zip archive nor a pickle"));
    EXPECT_REFUSED(tableError("\x80\x02N."), ErrorCode::BadInput, HasSubstr("none that torch.save made"));
    std::string old = oldTorchBytes({{"w", {{4}, {1, 2, 3, 4}}}}, StorageType::F32);
    ASSERT_TRUE(table(old));
    const std::size_t flag = old.find("little_endian") + 13;
    ASSERT_EQ(old[flag], '\x88');
    old[flag] = '\x89';
    EXPECT_REFUSED(tableError(old), ErrorCode::Unsupported, HasSubstr("little-endian"));
}

TEST(FieldReports, T04_CutAndTrailingBytesOfACheckpoint) {
    for (const char* layout : {"zip", "old"}) {
        const std::string good = readBytes(kGolden / layout / "pytorch_model.bin");
        ASSERT_TRUE(table(good));
        EXPECT_REFUSED(tableError(good.substr(0, good.size() - 1)), ErrorCode::BadInput, HasSubstr("m.bin"),
                       HasSubstr("download interrupted?"));
        EXPECT_REFUSED(tableError(good + std::string(16, '\0')), ErrorCode::BadInput, HasSubstr("m.bin"));
        for (std::size_t keep = 1; keep < good.size(); keep += 1 + keep / 7) {
            EXPECT_EQ(tableError(good.substr(0, keep)).code, ErrorCode::BadInput) << layout << " " << keep;
        }
    }
}
