#include "core/model/formats/safetensors.h"

#include <cstring>
#include <limits>

#include "core/base/process_memory.h"
#include "tests/core/model/model_testing.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;

namespace {

Result<std::vector<StoredTensor>> table(const std::string& bytes) {
    return readSafetensorsTable(std::as_bytes(std::span(bytes)), "m.safetensors");
}

Error tableError(const std::string& bytes) {
    return refusalOf(table(bytes));
}

std::string withLength(std::uint64_t length, const std::string& rest) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + rest;
}

class SafetensorsFile : public testing::Test {
  protected:
    SafetensorsFile() { writeHuggingFaceFolder(makeTinyModel(), folder.path()); }
    TemporaryFolder folder;
};

}  // namespace

TEST(FieldReports, T01_HostileHeaderLength) {
    TemporaryFolder folder;
    writeHuggingFaceFolder(makeTinyModel(), folder.path());
    const std::string good = readBytes(folder / "model.safetensors");
    const std::int64_t before = peakResidentBytes().value();
    for (const std::uint64_t length : {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63,
                                       std::uint64_t{good.size() + 1}, std::uint64_t{0}}) {
        writeBytes(folder / "model.safetensors", withLength(length, good.substr(8)));
        EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr("model.safetensors"),
                       HasSubstr("header length"), HasSubstr(std::to_string(length)));
    }
    EXPECT_LT(peakResidentBytes().value() - before, 32 << 20);
}

TEST(FieldReports, T02_SpanDoesNotMatchShape) {
    const std::string data(65536, '\0');
    for (const char* shape :
         {"[32,8]", "[32000,8000]", "[4294967296,4294967296,4294967296]", "[9223372036854775807,2]"}) {
        const std::string header =
            std::string(R"({"w":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":[0,65536]}})";
        EXPECT_REFUSED(tableError(safetensorsBytes(header, data)), ErrorCode::BadInput, HasSubstr("m.safetensors"),
                       HasSubstr("'w'"), HasSubstr("[0,65536]"), HasSubstr("span does not match shape × dtype"));
    }
}

TEST(FieldReports, T04_CutAndTrailingBytes) {
    for (const int shards : {1, 3}) {
        TemporaryFolder folder;
        writeHuggingFaceFolder(makeTinyModel(), folder.path(), {.shards = shards});
        const std::string name = shards == 1 ? "model.safetensors" : "model-00002-of-00003.safetensors";
        const std::string good = readBytes(folder / name);
        writeBytes(folder / name, good.substr(0, good.size() - 1));
        EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr(name),
                       HasSubstr("incomplete file (download interrupted?)"));
        writeBytes(folder / name, good + std::string(16, '\0'));
        EXPECT_REFUSED(refusal(folder.path()), ErrorCode::BadInput, HasSubstr(name),
                       HasSubstr("16 bytes stand behind"));
    }
}

TEST_F(SafetensorsFile, CutAnywhereIsRefused) {
    const std::string good = readBytes(folder / "model.safetensors");
    for (std::size_t keep = 0; keep < good.size(); keep += 1 + keep / 3) {
        EXPECT_FALSE(table(good.substr(0, keep))) << keep;
    }
    EXPECT_TRUE(table(good));
}

TEST(SafetensorsTable, AcceptsWhatTheFormatAllows) {
    const auto read = table(safetensorsBytes(
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,2],"data_offsets":[8,16]},)"
        R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"e":{"dtype":"F32","shape":[0,4],"data_offsets":[16,16]}}  )",
        std::string(16, 'x')));
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(read->size(), 3u);
    EXPECT_EQ((*read)[0].name, "a");
    EXPECT_FALSE((*read)[0].type);
    EXPECT_EQ((*read)[0].typeName, "I64");
    EXPECT_EQ((*read)[1].type, StorageType::BF16);
    EXPECT_EQ((*read)[1].bytes.size(), 8u);
}

TEST(SafetensorsTable, RefusesGapsAndOverlaps) {
    const auto two = [](const char* second, std::size_t size) {
        return safetensorsBytes(std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)") +
                                    R"("b":{"dtype":"F32","shape":[2],"data_offsets":)" + second + "}}",
                                std::string(size, '\0'));
    };
    EXPECT_TRUE(table(two("[8,16]", 16)));
    EXPECT_REFUSED(tableError(two("[12,20]", 20)), ErrorCode::BadInput, HasSubstr("'b'"), HasSubstr("leave a gap"));
    EXPECT_REFUSED(tableError(two("[4,12]", 12)), ErrorCode::BadInput, HasSubstr("'b'"), HasSubstr("overlap"));
    EXPECT_REFUSED(tableError(two("[0,8]", 8)), ErrorCode::BadInput, HasSubstr("overlap"));
}

TEST(SafetensorsTable, RefusesHeadersThatAreNotWhatTheyShouldBe) {
    const std::string data(8, '\0');
    const char* headers[] = {
        "[1,2]",
        " {}",
        "{",
        R"({"a":1})",
        R"({"a":{"shape":[2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2]}})",
        R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999999]}})",
        R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,0]}})",
        R"({"a":{"dtype":"F32","shape":[[[[[2]]]]],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
        "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
    };
    for (const char* header : headers) {
        EXPECT_REFUSED(tableError(safetensorsBytes(header, data)), ErrorCode::BadInput, HasSubstr("m.safetensors"));
    }
}

TEST(SafetensorsTable, RefusesAnUnknownTypeByName) {
    EXPECT_REFUSED(
        tableError(safetensorsBytes(R"({"a":{"dtype":"Q9","shape":[2],"data_offsets":[0,8]}})", std::string(8, '\0'))),
        ErrorCode::Unsupported, HasSubstr("'a'"), HasSubstr("Q9"));
}

TEST_F(SafetensorsFile, RefusesANeededTensorOfATypeThatNoWeightHas) {
    std::string bytes = readBytes(folder / "model.safetensors");
    for (std::size_t at = bytes.find("\"F32\""); at != std::string::npos; at = bytes.find("\"F32\""))
        bytes.replace(at, 5, "\"I32\"");
    writeBytes(folder / "model.safetensors", bytes);
    EXPECT_REFUSED(refusal(folder.path()), ErrorCode::Unsupported, HasSubstr("model.embed_tokens.weight"),
                   HasSubstr("I32"));
}
