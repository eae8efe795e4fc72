#include <signal.h>
#include <sys/resource.h>

#include <set>

#include "core/store/connection.h"
#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreCrash : public StoreTest {};

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(StoreCrash, KillInTheMiddleOfWritingLosesNothingThatWasCommitted) {
    int committed = 0;
    for (int sitting = 0; sitting < 5; ++sitting) {
        const int first = committed;
        Child child([&](int pipe) {
            auto writer = openWriter("lpes search");
            if (sitting == 0) addRun(*writer);
            if (sitting > 0 && !writer->reopenRun(1, 1)) ::_exit(1);
            const std::int64_t variant = writer->ensureVariant(1, "baseline", {}).value();
            for (int item = first;; ++item) {
                if (!writer->recordOutcomes(variant, "search", threeOutcomes(item))) ::_exit(1);
                say(pipe, "+");
            }
        });
        // Far enough for the log to be copied back into the file (every 1,000 pages) in some of the sittings.
        for (int seen = 0; seen < 400 + 300 * sitting; ++seen) ASSERT_TRUE(child.readByte());
        child.kill();
        committed += 400 + 300 * sitting + static_cast<int>(child.readAll().size());

        auto reader = openReader();
        EXPECT_EQ(reader->run(1).value().state, RunState::Interrupted);
        const auto rows = reader->outcomes(1, "search").value();
        EXPECT_EQ(rows.size() % 3, 0u) << "half a transaction";
        std::set<std::string> items;
        for (const OutcomeRow& row : rows) items.insert(row.itemId);
        for (int item = 0; item < committed; ++item)
            ASSERT_TRUE(items.contains("item-" + std::to_string(item))) << item;
        EXPECT_LE(static_cast<int>(items.size()), committed + 1) << "one may be committed but not yet told";
        committed = static_cast<int>(items.size());
        reader.reset();
        EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    }
    auto writer = openWriter();
    EXPECT_EQ(static_cast<int>(writer->reader().outcomes(1, "search").value().size()), committed * 3);
}

TEST_F(StoreCrash, FullDiskIsAnErrorAndTheDataBaseStaysWhole) {
    Child child([&](int pipe) {
        ::signal(SIGXFSZ, SIG_IGN);
        auto writer = openWriter();
        const std::int64_t variant = writer->ensureVariant(addRun(*writer), "baseline", {}).value();
        rlimit limit{};
        ::getrlimit(RLIMIT_FSIZE, &limit);
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = 400 << 10;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        int item = 0;
        Result<void> stored;
        for (; item < 100000; ++item) {
            stored = writer->recordOutcomes(variant, "search", threeOutcomes(item));
            if (!stored) break;
        }
        say(pipe, outcomeText(stored) + "\n");
        const std::size_t kept = writer->reader().outcomes(variant, "search").value().size();
        say(pipe, kept == static_cast<std::size_t>(item) * 3 ? "kept\n" : "lost\n");
        limit.rlim_cur = before;
        ::setrlimit(RLIMIT_FSIZE, &limit);
        say(pipe, outcomeText(writer->recordOutcomes(variant, "search", threeOutcomes(item))) + " again");
    });
    EXPECT_THAT(child.readAll(), AllOf(HasSubstr("database: "), HasSubstr(path.string()), HasSubstr("space"),
                                       HasSubstr("kept\n"), HasSubstr("ok again")));
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    const auto rows = openReader()->outcomes(1, "search").value();
    EXPECT_GT(rows.size(), 90u);
    EXPECT_EQ(rows.size() % 3, 0u);
}

TEST_F(StoreCrash, FullFileIsNamedAsAFullDisk) {
    auto connection = std::move(Connection::open(path, Access::ReadWrite).value());
    connection->database().exec("CREATE TABLE t (x TEXT); PRAGMA max_page_count = 10");
    Result<void> stored;
    int rows = 0;
    for (; rows < 1000 && stored; ++rows) {
        stored = connection->transaction([&]() -> Result<void> {
            for (int i = 0; i < 3; ++i) connection->query("INSERT INTO t VALUES (?)").bind(std::string(800, 'x')).run();
            return {};
        });
    }
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, ErrorCode::Database);
    EXPECT_THAT(stored.error().message, AllOf(HasSubstr("full"), HasSubstr(path.string())));
    Query count = connection->query("SELECT count(*) FROM t");
    ASSERT_TRUE(count.next());
    EXPECT_EQ(count.integer(0), 3 * (rows - 1)) << "the failed transaction was rolled back as a whole";
}

TEST_F(StoreCrash, DeathBeforeTheFirstTableIsANewFile) {
    { SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("PRAGMA journal_mode = WAL"); }
    ASSERT_GT(std::filesystem::file_size(path), 0u);
    EXPECT_EQ(addRun(*openWriter()), 1);
}

}  // namespace lpes::store::test
