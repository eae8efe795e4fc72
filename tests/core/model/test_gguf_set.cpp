#include "core/model/formats/gguf_set.h"

#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;
using testing::Not;

namespace {

class GgufSet : public testing::Test {
  protected:
    using Edit = std::function<void(int, GgufWriter&)>;

    void write(const Edit& edit = {}, int files = 3) { writeGgufSet(tiny, folder.path(), "m", files, {}, edit); }
    std::filesystem::path file(int index, int files = 3) const { return folder / ggufSetName("m", index, files); }

    TemporaryFolder folder;
    TinyModel tiny = makeTinyModel();
};

}  // namespace

TEST_F(GgufSet, IsOpenedByAnyOfItsFiles) {
    write();
    writeGguf(tiny, folder / "whole.gguf");
    const std::string fingerprint = opened(folder / "whole.gguf")->config().fingerprint;
    for (int i = 0; i < 3; ++i) {
        const auto source = opened(file(i));
        expectSameWeights(*source, tiny);
        EXPECT_EQ(source->config().fingerprint, fingerprint);
        EXPECT_TRUE(source->config().warnings.empty());
        EXPECT_TRUE(source->tokenizerSpec());
    }
}

TEST_F(GgufSet, OfTheGgufPackageIsTheFileThatItWasMadeOf) {
    const std::filesystem::path golden = std::filesystem::path(LPES_TEST_DATA) / "golden";
    const auto whole = opened(golden / "families" / "llama31.gguf");
    for (const int index : {0, 3}) {
        const auto set = opened(golden / "gguf_set" / ggufSetName("llama31", index, 5));
        EXPECT_EQ(set->config().fingerprint, whole->config().fingerprint);
        ASSERT_EQ(set->names(), whole->names());
        for (const std::string& name : whole->names()) EXPECT_EQ(floats(*set, name), floats(*whole, name)) << name;
    }
}

TEST_F(GgufSet, MayHaveItsMetadataInAFileOfItsOwn) {
    writeGgufSet(tiny, folder.path(), "m", 3, {}, {}, 1);
    expectSameWeights(*opened(file(0)), tiny);
    expectSameWeights(*opened(file(2)), tiny);
}

TEST_F(GgufSet, OfOneFileIsAFile) {
    write({}, 1);
    expectSameWeights(*opened(file(0, 1)), tiny);
    std::filesystem::rename(file(0, 1), folder / "any.gguf");
    expectSameWeights(*opened(folder / "any.gguf"), tiny);
}

TEST_F(GgufSet, MayMixVersions2And3) {
    write([](int i, GgufWriter& writer) { writer.version = i == 1 ? 2 : 3; });
    expectSameWeights(*opened(file(0)), tiny);
}

TEST_F(GgufSet, ListsMissingFiles) {
    write({}, 4);
    std::filesystem::remove(file(0, 4));
    std::filesystem::remove(file(2, 4));
    EXPECT_REFUSED(refusal(file(3, 4)), ErrorCode::BadInput, HasSubstr("2 of the set's 4 files"),
                   HasSubstr("m-00001-of-00004.gguf"), HasSubstr("m-00003-of-00004.gguf"), Not(HasSubstr("m-00002")));
}

TEST_F(GgufSet, RefusesARenamedFile) {
    write();
    std::filesystem::rename(file(1), folder / "other.gguf");
    EXPECT_REFUSED(refusal(folder / "other.gguf"), ErrorCode::BadInput, HasSubstr("other.gguf"),
                   HasSubstr("file 2 of a set of 3"), HasSubstr("-00002-of-00003.gguf"));
    std::filesystem::copy_file(file(2), file(1));
    EXPECT_REFUSED(refusal(file(1)), ErrorCode::BadInput, HasSubstr("file 3 of a set of 3"));
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("m-00002-of-00003.gguf"), HasSubstr("split.no"),
                   HasSubstr("is 2, where 1"));
}

TEST_F(GgufSet, RefusesNumbersThatDoNotBelongTogether) {
    write([](int i, GgufWriter& writer) {
        if (i == 1) writer.setUint16("split.count", 4);
    });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("m-00002"), HasSubstr("split.count"),
                   HasSubstr("is 4, where 3"));
    write([](int i, GgufWriter& writer) {
        if (i == 2) writer.values.erase("split.count");
    });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("m-00003"), HasSubstr("split.count"),
                   HasSubstr("missing"));
    write([](int, GgufWriter& writer) { writer.values.erase("split.no"); });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("split.no"), HasSubstr("missing"));
    write([](int, GgufWriter& writer) { writer.setInt32("split.tensors.count", 5); });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("split.tensors.count is 5"));
    write([](int i, GgufWriter& writer) { writer.setInt32("split.tensors.count", i); });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("split.tensors.count"), HasSubstr("another file"));
}

TEST_F(GgufSet, RefusesHostileNumbers) {
    const auto refusedWith = [&](const std::string& key, const std::function<void(GgufWriter&)>& edit) {
        write([&](int i, GgufWriter& writer) {
            if (i == 0) edit(writer);
        });
        EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr(key));
    };
    refusedWith("split.count", [](GgufWriter& writer) { writer.setInt32("split.count", -3); });
    refusedWith("split.count", [](GgufWriter& writer) { writer.setUint32("split.count", UINT32_MAX); });
    refusedWith("split.count", [](GgufWriter& writer) { writer.setString("split.count", "3"); });
    refusedWith("split.no", [](GgufWriter& writer) { writer.setUint16("split.no", 3); });
    refusedWith("split.no", [](GgufWriter& writer) { writer.setInt32("split.no", -1); });
    refusedWith("split.tensors.count", [](GgufWriter& writer) { writer.setInt32("split.tensors.count", -1); });
    // 65,535 files, none of which is there
    write([](int, GgufWriter& writer) { writer.setUint16("split.count", 65535); });
    std::filesystem::rename(file(0), folder / ggufSetName("m", 0, 65535));
    EXPECT_REFUSED(refusal(folder / ggufSetName("m", 0, 65535)), ErrorCode::BadInput,
                   HasSubstr("65534 of the set's 65535"), HasSubstr("..."));
}

TEST_F(GgufSet, RefusesATensorThatTwoFilesHave) {
    GgufWriter::Tensor first;
    write([&](int i, GgufWriter& writer) {
        if (i == 0) first = writer.tensors.front();
        if (i == 2) writer.tensors.push_back(first);
    });
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("m-00003"), HasSubstr("'" + first.name + "'"),
                   HasSubstr("m-00001"));
}

TEST_F(GgufSet, NamesTheFileThatIsDamaged) {
    write();
    const std::string good = readBytes(file(1));
    writeBytes(file(1), good.substr(0, good.size() - 64));
    EXPECT_REFUSED(refusal(file(0)), ErrorCode::BadInput, HasSubstr("m-00002-of-00003.gguf"),
                   HasSubstr("download interrupted?"));
}
