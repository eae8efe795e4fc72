#include "core/model/formats/gguf.h"

#include <cstring>

#include "core/base/process_memory.h"
#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;

namespace {

template <class T>
std::string raw(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

std::string ggufText(const std::string& characters) {
    return raw<std::uint64_t>(characters.size()) + characters;
}

std::string head(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
    return "GGUF" + raw(version) + raw(tensors) + raw(values);
}

std::string tensorEntry(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                        std::uint64_t offset) {
    std::string entry = ggufText(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) entry += raw(dim);
    return entry + raw(type) + raw(offset);
}

Result<GgufFile> parse(const std::string& bytes) {
    return readGguf(std::as_bytes(std::span(bytes)), "m.gguf");
}

Error parseError(const std::string& bytes) {
    const auto read = parse(bytes);
    if (read) {
        ADD_FAILURE() << "accepted";
        return {};
    }
    return read.error();
}

const std::string kPadding(4096, '\0');

}  // namespace

TEST(FieldReports, T16_HostileGguf) {
    const std::int64_t before = peakResidentBytes().value();
    // dimension 0
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {4, 0}, 0, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("m.gguf"), HasSubstr("'w'"), HasSubstr("dimension 1 of size 0"));
    // n_dims 1,000,000, and none
    for (const std::uint32_t dims : {1'000'000u, 0u}) {
        EXPECT_REFUSED(parseError(head(1, 0) + ggufText("w") + raw(dims) + kPadding), ErrorCode::BadInput,
                       HasSubstr("n_dims"), HasSubstr(std::to_string(dims)));
    }
    // n_tensors 2^61, and as many keys
    EXPECT_REFUSED(parseError(head(std::uint64_t{1} << 61, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("tensor_count"), HasSubstr("2305843009213693952"));
    EXPECT_REFUSED(parseError(head(0, std::uint64_t{1} << 61) + kPadding), ErrorCode::BadInput,
                   HasSubstr("metadata_kv_count"), HasSubstr("2305843009213693952"));
    // empty key
    EXPECT_REFUSED(parseError(head(0, 1) + ggufText("") + raw<std::uint32_t>(4) + raw<std::uint32_t>(1) + kPadding),
                   ErrorCode::BadInput, HasSubstr("key 0"), HasSubstr("empty"));
    // key beyond 65,535 bytes
    EXPECT_REFUSED(
        parseError(head(0, 1) + ggufText(std::string(65536, 'k')) + raw<std::uint32_t>(4) + raw<std::uint32_t>(1)),
        ErrorCode::BadInput, HasSubstr("65536"), HasSubstr("65535"));
    // offset not aligned
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {4}, 0, 16) + kPadding), ErrorCode::BadInput,
                   HasSubstr("'w'"), HasSubstr("offset 16"), HasSubstr("alignment 32"));
    // sizes whose product or sum wraps
    const std::uint64_t half = std::uint64_t{1} << 32;
    for (const auto& dims : std::vector<std::vector<std::uint64_t>>{{half, half},
                                                                    {half, half / 2},
                                                                    {half, half, half, half},
                                                                    {std::uint64_t{1} << 63},
                                                                    {UINT64_MAX},
                                                                    {std::uint64_t{1} << 62}}) {
        EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", dims, 0, 0) + kPadding), ErrorCode::BadInput,
                       HasSubstr("'w'"));
    }
    for (const std::uint64_t offset : {UINT64_MAX - 31, std::uint64_t{1} << 63}) {
        EXPECT_REFUSED(
            parseError(head(2, 0) + tensorEntry("a", {8}, 0, 0) + tensorEntry("b", {8}, 0, offset) + kPadding),
            ErrorCode::BadInput, HasSubstr("'b'"), HasSubstr(std::to_string(offset)));
    }
    EXPECT_LT(peakResidentBytes().value() - before, 32 << 20);
}

TEST(FieldReports, T16_TokenizerListsOfAnotherType) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel();
    const auto refusedWith = [&](const std::string& key, const std::function<void(GgufWriter&)>& edit) {
        writeGguf(tiny, folder / "m.gguf", {.edit = edit});
        EXPECT_REFUSED(refusal(folder / "m.gguf"), ErrorCode::BadInput, HasSubstr("m.gguf"), HasSubstr(key));
    };
    refusedWith("tokenizer.ggml.scores", [](GgufWriter& writer) {
        writer.values["tokenizer.ggml.scores"] = {
            GgufWriter::Array, raw<std::uint32_t>(GgufWriter::U8) + raw<std::uint64_t>(300) + std::string(300, '\1')};
    });
    refusedWith("tokenizer.ggml.scores",
                [](GgufWriter& writer) { writer.setFloat32s("tokenizer.ggml.scores", std::vector<float>(299)); });
    refusedWith("tokenizer.ggml.token_type",
                [](GgufWriter& writer) { writer.setFloat32s("tokenizer.ggml.token_type", std::vector<float>(300)); });
    refusedWith("tokenizer.ggml.token_type", [](GgufWriter& writer) {
        writer.setInt32s("tokenizer.ggml.token_type", std::vector<std::int32_t>(301));
    });
    refusedWith("tokenizer.ggml.tokens", [](GgufWriter& writer) { writer.setUint32("tokenizer.ggml.tokens", 300); });
    refusedWith("tokenizer.ggml.merges", [](GgufWriter& writer) { writer.setInt32s("tokenizer.ggml.merges", {1, 2}); });
    refusedWith("tokenizer.ggml.bos_token_id",
                [](GgufWriter& writer) { writer.setString("tokenizer.ggml.bos_token_id", "1"); });
    writeGguf(tiny, folder / "m.gguf", {.edit = [](GgufWriter& writer) {
                  writer.setFloat32s("tokenizer.ggml.scores", std::vector<float>(300));
              }});
    EXPECT_TRUE(openWeights(folder / "m.gguf"));
}

TEST(GgufTable, ReadsVersions2And3) {
    for (const std::uint32_t version : {2u, 3u}) {
        // What is read points into the bytes.
        const std::string bytes = head(1, 1, version) + ggufText("general.name") + raw<std::uint32_t>(8) +
                                  ggufText("x") + tensorEntry("w", {32, 2}, 8, 0) + kPadding;
        const auto read = parse(bytes);
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(read->version, version);
        EXPECT_EQ(read->values.at("general.name").string(), "x");
        ASSERT_EQ(read->tensors.size(), 1u);
        EXPECT_EQ(read->tensors[0].shape, (std::vector<std::int64_t>{2, 32}));
        EXPECT_EQ(read->tensors[0].type, StorageType::Q8_0);
        EXPECT_EQ(read->tensors[0].bytes.size(), 68u);
    }
}

TEST(GgufTable, RefusesOtherFilesVersionsAndByteOrdersByName) {
    EXPECT_REFUSED(parseError("GGML" + head(0, 0).substr(4)), ErrorCode::BadInput, HasSubstr("not a GGUF file"));
    EXPECT_REFUSED(parseError(""), ErrorCode::BadInput, HasSubstr("not a GGUF file"));
    EXPECT_REFUSED(parseError(head(0, 0, 1)), ErrorCode::Unsupported, HasSubstr("version 1"));
    EXPECT_REFUSED(parseError(head(0, 0, 4)), ErrorCode::Unsupported, HasSubstr("version 4"));
    EXPECT_REFUSED(parseError(head(0, 0, 0x03000000)), ErrorCode::Unsupported, HasSubstr("big-endian"));
}

TEST(GgufTable, RefusesOtherTensorTypesByName) {
    for (const auto& [number, name] : std::map<std::uint32_t, std::string>{{9, "Q8_1"},
                                                                           {15, "Q8_K"},
                                                                           {16, "IQ2_XXS"},
                                                                           {28, "F64"},
                                                                           {34, "TQ1_0"},
                                                                           {39, "MXFP4"},
                                                                           {4, "Q4_2"},
                                                                           {999, "number 999"}}) {
        EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {256}, number, 0) + kPadding), ErrorCode::Unsupported,
                       HasSubstr("'w'"), HasSubstr(name));
    }
}

TEST(GgufTable, RefusesRowsThatBlocksDoNotDivide) {
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {48, 2}, 2, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("rows of 48"));
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {320, 2}, 12, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("rows of 320"), HasSubstr("blocks of 256"));
}

TEST(GgufTable, RefusesDamagedMetadata) {
    const std::string key = ggufText("k");
    const std::string bad[] = {
        key + raw<std::uint32_t>(13) + kPadding,                   // no such type
        key + raw<std::uint32_t>(7) + "\2" + kPadding,             // BOOL of value 2
        key + raw<std::uint32_t>(8) + raw(UINT64_MAX) + kPadding,  // endless string
        key + raw<std::uint32_t>(9) + raw<std::uint32_t>(4) + raw(std::uint64_t{1} << 62) +
            kPadding,  // array of 2^64 bytes
        key + raw<std::uint32_t>(9) + raw<std::uint32_t>(8) + raw(std::uint64_t{500}) + kPadding + ggufText("x"),
        key + raw<std::uint32_t>(9) + raw<std::uint32_t>(99) + kPadding,
        ggufText("a\x01z") + raw<std::uint32_t>(4) + kPadding,
        raw(UINT64_MAX) + kPadding,
    };
    for (const std::string& rest : bad) {
        EXPECT_REFUSED(parseError(head(0, 1) + rest.substr(0, rest.find(kPadding)) + std::string(64, '\x7f')),
                       ErrorCode::BadInput, HasSubstr("m.gguf"), HasSubstr("key"));
    }
    std::string nested = key + raw<std::uint32_t>(9);
    for (int i = 0; i < 100; ++i) nested += raw<std::uint32_t>(9) + raw<std::uint64_t>(1);
    EXPECT_REFUSED(parseError(head(0, 1) + nested + kPadding), ErrorCode::BadInput, HasSubstr("nests arrays"));
    const std::string value = key + raw<std::uint32_t>(4) + raw<std::uint32_t>(1);
    EXPECT_REFUSED(parseError(head(0, 2) + value + value), ErrorCode::BadInput, HasSubstr("'k'"), HasSubstr("twice"));
}

TEST(GgufTable, RefusesDamagedTensorEntries) {
    const std::string first = tensorEntry("a", {8}, 0, 0);
    EXPECT_REFUSED(parseError(head(2, 0) + first + first + kPadding), ErrorCode::BadInput, HasSubstr("'a'"),
                   HasSubstr("twice"));
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("", {8}, 0, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("name of 0 bytes"));
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry(std::string(300, 'n'), {8}, 0, 0) + kPadding),
                   ErrorCode::BadInput, HasSubstr("300 bytes"));
    EXPECT_REFUSED(parseError(head(2, 0) + first + tensorEntry("b", {8}, 0, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("overlap"));
    EXPECT_REFUSED(parseError(head(2, 0) + first + tensorEntry("b", {8}, 0, 64) + kPadding), ErrorCode::BadInput,
                   HasSubstr("gap"));
    EXPECT_REFUSED(parseError(head(1, 0) + tensorEntry("w", {2000}, 0, 0) + kPadding), ErrorCode::BadInput,
                   HasSubstr("'w'"));
}

TEST(GgufTable, FollowsTheAlignmentKeyAndChecksIt) {
    TemporaryFolder folder;
    const TinyModel tiny = makeTinyModel();
    writeGguf(tiny, folder / "m.gguf", {.edit = [](GgufWriter& writer) {
                  writer.alignment = 128;
                  writer.setUint32("general.alignment", 128);
              }});
    expectSameWeights(*opened(folder / "m.gguf"), tiny);
    for (const std::uint32_t alignment : {0u, 4u, 48u, 1u << 30}) {
        writeGguf(tiny, folder / "m.gguf",
                  {.edit = [&](GgufWriter& writer) { writer.setUint32("general.alignment", alignment); }});
        EXPECT_REFUSED(refusal(folder / "m.gguf"), ErrorCode::BadInput, HasSubstr("general.alignment"),
                       HasSubstr(std::to_string(alignment)));
    }
}

TEST(GgufTable, CutAnywhereIsRefused) {
    TemporaryFolder folder;
    writeGguf(makeTinyModel(), folder / "m.gguf", {.type = StorageType::Q4_0});
    const std::string good = readBytes(folder / "m.gguf");
    EXPECT_TRUE(parse(good));
    for (std::size_t keep = 0; keep + 32 < good.size(); keep += 1 + keep / 5) {
        EXPECT_EQ(parseError(good.substr(0, keep)).code, ErrorCode::BadInput) << keep;
    }
    // The last tensor is F32, so its data ends the file but for padding.
    EXPECT_REFUSED(parseError(good.substr(0, good.size() - 33)), ErrorCode::BadInput,
                   HasSubstr("download interrupted?"));
}

TEST(GgufTable, WarnsOfTrailingBytes) {
    TemporaryFolder folder;
    writeGguf(makeTinyModel(), folder / "m.gguf");
    writeBytes(folder / "m.gguf", readBytes(folder / "m.gguf") + std::string(100, 'x'));
    EXPECT_THAT(opened(folder / "m.gguf")->config().warnings,
                testing::ElementsAre(HasSubstr("100 bytes stand behind")));
}
