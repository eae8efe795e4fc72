#include "core/tasks/line_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/process_memory.h"
#include "core/base/stop.h"
#include "tests/core/tasks/gzip_text.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using test::gzipText;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

/// All lines, or the error with which they end; `before` takes the lines ahead of the error.
Result<Lines> readAll(const std::filesystem::path& path, Lines* before = nullptr,
                      std::size_t maxLineBytes = LineReader::kDefaultMaxLineBytes) {
    auto reader = LineReader::open(path, {}, maxLineBytes);
    if (!reader) return fail(reader.error());
    Lines lines;
    std::string line;
    for (;;) {
        const auto more = reader->next(line);
        if (!more) {
            if (before != nullptr) *before = lines;
            EXPECT_TRUE(line.empty()) << "half a line was handed out";
            const auto again = reader->next(line);
            EXPECT_FALSE(again.has_value()) << "the error did not last";
            return fail(more.error());
        }
        if (!*more) return lines;
        lines.push_back(line);
        EXPECT_EQ(reader->lineNumber(), static_cast<std::int64_t>(lines.size()));
    }
}

TEST(LineReader, GivesTheSameLinesPlainAndCompressed) {
    const TempFolder folder;
    for (const std::string text : {"", "one", "one\n", "one\n\ntwo", "\n", "a\r\nb\n"}) {
        const auto plain = readAll(folder.write("plain", text));
        const auto compressed = readAll(folder.write("compressed", gzipText(text)));
        ASSERT_TRUE(plain && compressed) << text;
        EXPECT_EQ(*plain, *compressed) << text;
    }
    EXPECT_THAT(readAll(folder.write("a", "one\n\ntwo")).value(), ElementsAre("one", "", "two"));
    EXPECT_THAT(readAll(folder.write("b", "x\n")).value(), ElementsAre("x"));
}

TEST(LineReader, ReadsLinesLongerThanItsBuffers) {
    const TempFolder folder;
    std::string text;
    Lines expected;
    for (std::size_t i = 0; i < 20; ++i) {
        expected.push_back(std::string(i * 31'337, static_cast<char>('a' + i)));
        text += expected.back() + "\n";
    }
    EXPECT_EQ(readAll(folder.write("plain", text)).value(), expected);
    EXPECT_EQ(readAll(folder.write("compressed", gzipText(text))).value(), expected);
}

TEST(LineReader, ReadsSeveralMembersInARow) {
    const TempFolder folder;
    const auto path = folder.write("a.gz", gzipText("one\ntw") + gzipText("") + gzipText("o\nthree\n"));
    EXPECT_THAT(readAll(path).value(), ElementsAre("one", "two", "three"));
}

TEST(LineReader, RefusesAStreamCutAnywhere) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 60; ++i) text += fmt::format("line {}\n", i * i);
    text += "no newline at the end";
    const std::string whole = gzipText(text);
    for (std::size_t size = 2; size < whole.size(); ++size) {
        Lines before;
        const auto lines = readAll(folder.write("cut.gz", std::string_view(whole).substr(0, size)), &before);
        ASSERT_FALSE(lines) << "cut after " << size << " of " << whole.size() << " bytes";
        EXPECT_EQ(lines.error().code, ErrorCode::BadInput);
        EXPECT_THAT(lines.error().message, HasSubstr("incomplete"));
        EXPECT_LE(before.size(), 60u) << "the last line came although the stream's end was missing";
    }
}

TEST(LineReader, RefusesAnIncompleteSecondMember) {
    const TempFolder folder;
    const std::string second = gzipText("two\n");
    const auto lines = readAll(folder.write("a.gz", gzipText("one\n") + second.substr(0, second.size() - 1)));
    ASSERT_FALSE(lines);
    EXPECT_THAT(lines.error().message, HasSubstr("incomplete"));
}

TEST(LineReader, RefusesDamageAnywhere) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("line {}\n", i * i);
    const std::string whole = gzipText(text);
    for (const std::size_t place : {std::size_t{2}, whole.size() / 2, whole.size() - 8, whole.size() - 1}) {
        std::string damaged = whole;
        damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
        const auto lines = readAll(folder.write("damaged.gz", damaged));
        ASSERT_FALSE(lines) << place;
        EXPECT_EQ(lines.error().code, ErrorCode::BadInput);
        EXPECT_THAT(lines.error().message, HasSubstr("damaged.gz"));
    }
}

TEST(LineReader, RefusesBytesBehindTheStream) {
    const TempFolder folder;
    const auto lines = readAll(folder.write("a.gz", gzipText("one\n") + "rubbish"));
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().code, ErrorCode::BadInput);
}

TEST(LineReader, TakesALineAtTheLimitAndRefusesOneByteMore) {
    const TempFolder folder;
    EXPECT_EQ(readAll(folder.write("a", "12345\n12345\n"), nullptr, 5).value().size(), 2u);
    Lines before;
    const auto lines = readAll(folder.write("b", "12345\n123456\n"), &before, 5);
    ASSERT_FALSE(lines);
    EXPECT_EQ(before.size(), 1u);
    EXPECT_THAT(lines.error().message, HasSubstr("line 2"));
    EXPECT_THAT(lines.error().message, HasSubstr("5 bytes"));
}

// A few kilobytes that inflate to a gigabyte must not cost a gigabyte.
TEST(LineReader, HoldsNoMoreThanALine) {
    const TempFolder folder;
    const std::string member = gzipText(std::string(std::size_t{16} << 20, '\n'));
    std::string bomb;
    for (int i = 0; i < 64; ++i) bomb += member;
    const auto path = folder.write("bomb.gz", bomb);
    const std::int64_t before = peakResidentBytes().value();
    auto reader = LineReader::open(path);
    ASSERT_TRUE(reader);
    std::string line;
    for (int i = 0; i < 10'000'000; ++i) ASSERT_TRUE(reader->next(line).value());
    EXPECT_LT(peakResidentBytes().value() - before, 32 << 20) << "bytes";

    const auto endless = folder.write("endless.gz", gzipText(std::string(std::size_t{100} << 20, 'x')));
    const auto lines = readAll(endless);
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().code, ErrorCode::BadInput);
    EXPECT_THAT(lines.error().message, HasSubstr("longer than"));
}

TEST(LineReader, NamesWhatCannotBeRead) {
    const TempFolder folder;
    const auto missing = readAll(folder.path() / "missing.jsonl");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::BadInput);
    EXPECT_THAT(missing.error().message, HasSubstr("missing.jsonl"));
    const auto isFolder = readAll(folder.path());
    ASSERT_FALSE(isFolder);
    EXPECT_EQ(isFolder.error().code, ErrorCode::BadInput);
}

TEST(LineReader, EndsWithinABufferWhenStopped) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "a line of text\n";
    for (const std::string& bytes : {text, gzipText(text)}) {
        std::stop_source stop;
        auto reader = LineReader::open(folder.write("long", bytes), stop.get_token()).value();
        std::string line;
        ASSERT_TRUE(reader.next(line).value());
        stop.request_stop();
        std::int64_t more = 0;
        auto next = reader.next(line);
        for (; next; next = reader.next(line)) ++more;
        EXPECT_TRUE(wasStopped(next.error())) << next.error().text();
        EXPECT_LT(more, (1 << 16) / 10) << "lines";
    }
}

}  // namespace
}  // namespace lpes::tasks
