#include "core/model/formats/zip_table.h"

#include <cstring>

#include "tests/core/model/model_testing.h"
#include "tests/support/torch_writer.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;
using testing::HasSubstr;

namespace {

Result<std::vector<ZipEntry>> entries(const std::string& bytes) {
    return readZipTable(std::as_bytes(std::span(bytes)), "m.bin");
}

Error zipError(const std::string& bytes) {
    return refusalOf(entries(bytes));
}

const std::vector<ZipPart> kParts = {{"a/one", "1111"}, {"a/two", std::string(100, '2')}};

/// Writes a number over the bytes at `offset` behind the n-th `signature`.
template <class T>
std::string patched(std::string bytes, const char* signature, std::size_t offset, T value, int which = 0) {
    std::size_t at = bytes.find(signature);
    for (int i = 0; i < which; ++i) at = bytes.find(signature, at + 1);
    std::memcpy(bytes.data() + at + offset, &value, sizeof value);
    return bytes;
}

constexpr const char* kLocal = "PK\x03\x04";
constexpr const char* kCentral = "PK\x01\x02";
constexpr const char* kEnd = "PK\x05\x06";
constexpr const char* kEnd64 = "PK\x06\x06";
constexpr const char* kLocator = "PK\x06\x07";

}  // namespace

TEST(ZipTable, FindsStoredEntries) {
    for (const bool zip64 : {false, true}) {
        const std::string bytes = zipBytes(kParts, zip64);
        const auto read = entries(bytes);
        ASSERT_TRUE(read) << read.error().text();
        ASSERT_EQ(read->size(), 2u);
        EXPECT_EQ(read->at(1).name, "a/two");
        EXPECT_EQ(read->at(1).bytes.size(), 100u);
        EXPECT_EQ(static_cast<char>(read->at(1).bytes[99]), '2');
        EXPECT_EQ(reinterpret_cast<const char*>(read->at(0).bytes.data()) - bytes.data(), 64);
    }
    EXPECT_TRUE(entries(zipBytes({})));
}

TEST(ZipTable, ReadsSizesAndOffsetsOf64Bits) {
    // The second entry's numbers move into a zip64 field, as they do beyond 4 GB.
    std::string bytes = zipBytes(kParts, false);
    const std::size_t table = bytes.find(kCentral), second = bytes.find(kCentral, table + 1);
    std::uint32_t header = 0;
    std::memcpy(&header, bytes.data() + second + 42, 4);
    const std::uint64_t wide[] = {100, 100, header};
    std::string field("\x01\x00\x18\x00", 4);
    field.append(reinterpret_cast<const char*>(wide), sizeof wide);
    const std::uint32_t elsewhere = 0xffffffff;
    for (const std::size_t at : {20, 24, 42}) std::memcpy(bytes.data() + second + at, &elsewhere, 4);
    bytes[second + 30] = static_cast<char>(field.size());
    bytes.insert(bytes.find(kEnd), field);
    std::uint32_t size = 0;
    const std::size_t end = bytes.find(kEnd);
    std::memcpy(&size, bytes.data() + end + 12, 4);
    size += static_cast<std::uint32_t>(field.size());
    std::memcpy(bytes.data() + end + 12, &size, 4);
    const auto read = entries(bytes);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->at(1).bytes.size(), 100u);
    // A field that is too short for all three
    bytes[second + 46 + 5 + 2] = 16;
    EXPECT_EQ(zipError(bytes).code, ErrorCode::BadInput);
}

TEST(ZipTable, RefusesWhatIsNotStoredByName) {
    EXPECT_REFUSED(zipError(zipBytes({{"a/x", "12", 8}})), ErrorCode::Unsupported, HasSubstr("'a/x'"),
                   HasSubstr("compressed (method 8)"));
    EXPECT_REFUSED(zipError(zipBytes({{"a/x", "12", 0, 1}})), ErrorCode::Unsupported, HasSubstr("encrypted"));
    EXPECT_REFUSED(zipError(patched<std::uint16_t>(zipBytes(kParts), kEnd, 4, 1)), ErrorCode::Unsupported,
                   HasSubstr("several files"));
    // The table says stored, the entry's own header compressed.
    EXPECT_EQ(zipError(patched<std::uint16_t>(zipBytes(kParts), kLocal, 8, 8)).code, ErrorCode::BadInput);
}

TEST(ZipTable, RefusesNamesThatLeadElsewhere) {
    for (const std::string name : {"../x", "/etc/passwd", "a/../../x", "a\\x", "a/..", "", "a\nb", "a\xff"}) {
        EXPECT_EQ(zipError(zipBytes({{name, "12"}})).code, ErrorCode::BadInput) << name;
    }
    EXPECT_REFUSED(zipError(zipBytes({{"a/x", "1"}, {"a/x", "2"}})), ErrorCode::BadInput, HasSubstr("'a/x'"),
                   HasSubstr("twice"));
    EXPECT_TRUE(entries(zipBytes({{"a/..x", "12"}, {"a/.data/id", ""}})));
}

TEST(ZipTable, RefusesNumbersThatDoNotFit) {
    for (const bool zip64 : {false, true}) {
        const std::string good = zipBytes(kParts, zip64);
        const std::vector<std::string> bad = {
            patched<std::uint32_t>(good, kCentral, 42, 7),           // header elsewhere
            patched<std::uint32_t>(good, kCentral, 42, 0xfffffff0),  // far outside
            patched<std::uint32_t>(good, kCentral, 42, 0xffffffff),  // 64 bits that are not there
            patched<std::uint32_t>(good, kCentral, 24, 5),           // stored ≠ size
            patched<std::uint32_t>(patched<std::uint32_t>(good, kCentral, 24, 1u << 30), kCentral, 20, 1u << 30),
            patched<std::uint32_t>(patched<std::uint32_t>(good, kCentral, 24, 200), kCentral, 20, 200),  // overlap
            patched<std::uint32_t>(good, kCentral, 42, 0, 1),    // both in the same place
            patched<std::uint16_t>(good, kCentral, 28, 0xffff),  // name length
            patched<std::uint16_t>(good, kCentral, 30, 0xffff),  // extra length
            patched<std::uint16_t>(good, kCentral, 32, 1),       // comment length
            patched<std::uint16_t>(good, kLocal, 26, 0xffff),    // name length in the own header
            patched<std::uint16_t>(good, kLocal, 28, 0xffff),    // extra length in the own header
            patched<std::uint16_t>(good, kEnd, 10, 3),
            patched<std::uint16_t>(good, kEnd, 10, 1),
            patched<std::uint32_t>(good, kEnd, 12, 0),
            patched<std::uint32_t>(good, kEnd, 12, 0xfffffffe),
            patched<std::uint32_t>(good, kEnd, 16, 1),
            patched<std::uint16_t>(good, kEnd, 20, 1),  // comment beyond the file
            good + "x",
            "x" + good,
        };
        for (std::size_t i = 0; i < bad.size(); ++i) {
            const auto read = entries(bad[i]);
            ASSERT_FALSE(read) << i << (zip64 ? " zip64" : "");
            EXPECT_EQ(read.error().code, ErrorCode::BadInput) << read.error().text();
        }
    }
}

TEST(ZipTable, RefusesAWideEndRecordThatDoesNotFit) {
    const std::string good = zipBytes(kParts, true);
    const std::uint64_t huge = UINT64_MAX - 3;
    for (const std::string& bad : {patched(good, kLocator, 8, huge), patched<std::uint64_t>(good, kLocator, 8, 0),
                                   patched(good, kEnd64, 4, huge), patched(good, kEnd64, 32, huge),
                                   patched(good, kEnd64, 40, huge), patched(good, kEnd64, 48, huge)}) {
        EXPECT_EQ(zipError(bad).code, ErrorCode::BadInput);
    }
    // Even where the narrow record leaves the number to it.
    std::string open = patched<std::uint16_t>(good, kEnd, 10, 0xffff);
    open = patched<std::uint32_t>(patched<std::uint32_t>(open, kEnd, 12, 0xffffffff), kEnd, 16, 0xffffffff);
    EXPECT_TRUE(entries(open));
    for (const std::size_t at : {32, 40, 48}) {
        EXPECT_EQ(zipError(patched(open, kEnd64, at, huge)).code, ErrorCode::BadInput);
        EXPECT_EQ(zipError(patched(open, kEnd64, at, std::uint64_t{1} << 40)).code, ErrorCode::BadInput);
    }
}
