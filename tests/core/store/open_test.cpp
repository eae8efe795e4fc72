#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreOpen : public StoreTest {
  protected:
    std::string bytes() {
        std::ifstream file(path, std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    void write(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
    void fill() {
        auto writer = openWriter();
        const std::int64_t run = addRun(*writer);
        const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
        for (int item = 0; item < 300; ++item)
            EXPECT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(item)));
    }
    /// Reader and writer refuse the file as it is with a Database error that names it, and leave it alone.
    void expectRefused(const std::string& part) {
        const std::string before = bytes();
        const auto reader = StoreReader::open(path);
        const auto writer = StoreWriter::open(path, {"x"});
        for (const std::string& text : {outcomeText(reader), outcomeText(writer)}) {
            EXPECT_THAT(text, ::testing::AllOf(::testing::HasSubstr("database: "), ::testing::HasSubstr(path.string()),
                                               ::testing::HasSubstr(part)));
        }
        EXPECT_EQ(bytes() == before, true) << "the file was touched";
    }
};

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(StoreOpen, WriterMakesFolderAndFile) {
    path = folder / "a" / "b" / "lpes.db";
    openWriter();
    EXPECT_TRUE(openReader()->runs().value().empty());
}

TEST_F(StoreOpen, ReaderOfAMissingFileSaysSoAndMakesNothing) {
    const auto reader = StoreReader::open(path);
    EXPECT_THAT(outcomeText(reader), AllOf(StartsWith("database: there is no data base"), HasSubstr(path.string())));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(StoreOpen, EmptyFileIsNewForAWriterAndEmptyForAReader) {
    write("");
    EXPECT_THAT(outcomeText(StoreReader::open(path)), HasSubstr("is empty"));
    EXPECT_EQ(addRun(*openWriter()), 1);
    EXPECT_TRUE(StoreReader::open(path));
}

TEST_F(StoreOpen, ForeignFilesAreRefusedUntouched) {
    write(std::string(5000, 'x'));
    expectRefused("not a data base of LPES Studio");
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db.lock"));
    std::filesystem::remove(path);
    sql("CREATE TABLE t (x); PRAGMA user_version = 1");
    expectRefused("another program");
    std::filesystem::remove(path);
    sql("PRAGMA application_id = 1234; CREATE TABLE t (x)");
    expectRefused("another program");
    EXPECT_FALSE(std::filesystem::exists(folder / "lpes.db.lock"));
}

TEST_F(StoreOpen, TruncatedFileIsDamaged) {
    fill();
    const auto size = std::filesystem::file_size(path);
    ASSERT_GT(size, 40000u);
    std::filesystem::resize_file(path, size / 2);
    expectRefused("damaged");
    std::filesystem::resize_file(path, 700);
    expectRefused("");
    std::filesystem::resize_file(path, 50);
    expectRefused("");
}

TEST_F(StoreOpen, DamageInTheMiddleIsAnErrorThatNamesTheFile) {
    fill();
    {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(4096);
        const std::string garbage(std::filesystem::file_size(path) - 4096, '\x5a');
        file << garbage;
    }
    const auto reader = StoreReader::open(path);
    const std::string text = reader ? outcomeText((*reader)->runs()) : outcomeText(reader);
    EXPECT_THAT(text, AllOf(HasSubstr("database: "), HasSubstr("damaged"), HasSubstr(path.string())));
    EXPECT_THAT(outcomeText(StoreWriter::open(path, {"x"})), HasSubstr("damaged"));
}

TEST_F(StoreOpen, MissingTableIsAnError) {
    fill();
    sql("DROP TABLE attention");
    EXPECT_THAT(outcomeText(openReader()->attention(1)), AllOf(HasSubstr("database: "), HasSubstr(path.string())));
}

TEST_F(StoreOpen, FolderInPlaceOfTheFileIsRefused) {
    path = folder;
    EXPECT_THAT(outcomeText(StoreWriter::open(path, {"x"})), HasSubstr("it is a folder"));
    EXPECT_THAT(outcomeText(StoreReader::open(path)), HasSubstr("it is a folder"));
    EXPECT_THAT(outcomeText(StoreReader::open("")), HasSubstr("file name is missing"));
    std::ofstream(folder / "file") << "x";
    EXPECT_THAT(outcomeText(StoreWriter::open(folder / "file" / "lpes.db", {"x"})), HasSubstr("database: "));
}

TEST_F(StoreOpen, UnwritableFolderIsRefusedInOneSentence) {
    std::filesystem::permissions(folder, std::filesystem::perms(0555));
    EXPECT_THAT(asNobody([&] { return outcomeText(StoreWriter::open(path, {"x"})); }),
                AllOf(HasSubstr("database: cannot write"), HasSubstr(path.string()), HasSubstr("writable")));
    EXPECT_THAT(asNobody([&] { return outcomeText(StoreWriter::open(folder / "sub" / "lpes.db", {"x"})); }),
                AllOf(HasSubstr("database: cannot make the folder"), HasSubstr("sub")));
}

TEST_F(StoreOpen, WriteProtectedFileIsRefusedByTheWriter) {
    fill();
    std::filesystem::permissions(folder, std::filesystem::perms(0777));
    std::filesystem::permissions(folder / "lpes.db.lock", std::filesystem::perms(0666));
    std::filesystem::permissions(path, std::filesystem::perms(0444));
    EXPECT_THAT(asNobody([&] { return outcomeText(StoreWriter::open(path, {"x"})); }),
                AllOf(HasSubstr("database: cannot write"), HasSubstr(path.string())));
}

TEST_F(StoreOpen, ReaderInAnUnwritableFolderIsToldWhy) {
    fill();
    std::filesystem::permissions(folder, std::filesystem::perms(0555));
    EXPECT_THAT(asNobody([&] {
                    auto reader = StoreReader::open(path);
                    return reader ? outcomeText((*reader)->runs()) : outcomeText(reader);
                }),
                AllOf(HasSubstr("database: "), HasSubstr(path.string()), HasSubstr("folder where you may write")));
}

TEST_F(StoreOpen, NameThatLooksLikeAnUriIsAFile) {
    const auto old = std::filesystem::current_path();
    std::filesystem::current_path(folder);
    const auto writer = StoreWriter::open("file:x?mode=memory", {"x"});
    std::filesystem::current_path(old);
    ASSERT_TRUE(writer) << writer.error().text();
    EXPECT_TRUE(std::filesystem::exists(folder / "file:x?mode=memory"));
}

class DefaultDatabasePath : public ::testing::Test {
  protected:
    DefaultDatabasePath() {
        for (const char* name : {"LPES_DB", "XDG_DATA_HOME", "HOME"}) {
            const char* value = std::getenv(name);
            m_saved.emplace_back(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
            ::unsetenv(name);
        }
    }
    ~DefaultDatabasePath() override {
        for (const auto& [name, value] : m_saved) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
    }

  private:
    std::vector<std::pair<const char*, std::optional<std::string>>> m_saved;
};

TEST_F(DefaultDatabasePath, ComesFromLpesDbThenXdgThenHome) {
    ::setenv("HOME", "/home/somebody", 1);
    EXPECT_EQ(defaultDatabasePath(), "/home/somebody/.local/share/lpes/lpes.db");
    ::setenv("XDG_DATA_HOME", "/data", 1);
    EXPECT_EQ(defaultDatabasePath(), "/data/lpes/lpes.db");
    ::setenv("LPES_DB", "", 1);
    EXPECT_EQ(defaultDatabasePath(), "/data/lpes/lpes.db");
    ::setenv("LPES_DB", "my.db", 1);
    EXPECT_EQ(defaultDatabasePath(), "my.db");
}

}  // namespace lpes::store::test
