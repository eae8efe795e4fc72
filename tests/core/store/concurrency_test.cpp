#include <atomic>
#include <set>
#include <thread>

#include "tests/core/store/store_fixture.h"

namespace lpes::store::test {

class StoreConcurrency : public StoreTest {};

TEST_F(StoreConcurrency, ManyThreadsRecordThroughOneWriter) {
    constexpr int kThreads = 8, kItems = 100;
    auto writer = openWriter();
    const std::int64_t run = addRun(*writer);
    std::atomic<int> failures = 0;
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < kThreads; ++thread) {
            threads.emplace_back([&, thread] {
                for (int item = 0; item < kItems; ++item) {
                    // Half of the variants are shared by all threads: only one of them may make the row.
                    const std::vector<double> scales = {item % 2 == 0 ? 1.0 : 1.0 + thread, 1.0 + item};
                    const auto variant = writer->ensureVariant(run, "candidate", scales);
                    CandidateRow candidate;
                    candidate.generation = thread;
                    candidate.index = item;
                    candidate.variantId = variant.value_or(0);
                    if (!variant || !writer->recordOutcomes(*variant, "search", threeOutcomes(item)) ||
                        !writer->recordCandidate(run, candidate) || !writer->heartbeat(run, item) ||
                        !writer->reader().run(run)) {
                        ++failures;
                    }
                }
            });
        }
    }
    EXPECT_EQ(failures, 0);
    auto reader = openReader();
    EXPECT_EQ(reader->candidates(run).value().size(), std::size_t{kThreads * kItems});
    // Even items: one variant for all threads; odd items: one for each.
    EXPECT_EQ(reader->variants(run).value().size(), std::size_t{50 + kThreads * 50});
    EXPECT_EQ(std::stoi(ask("SELECT count(*) FROM outcomes")), 3 * (50 + kThreads * 50));
}

// T26: the window is open on the data base while a search writes; the viewer is opened and closed repeatedly.
TEST(FieldReports, T26_ViewerOpenWhileASearchWrites) {
    class Store : public StoreTest {
      public:
        void TestBody() override {
            constexpr int kItems = 1200;
            auto writer = openWriter();
            const std::int64_t run = addRun(*writer);
            const std::int64_t variant = writer->ensureVariant(run, "baseline", {}).value();
            std::atomic<int> committed = 0;
            std::atomic<bool> done = false;
            std::string writeError, readError;
            std::jthread search([&] {
                for (int item = 0; item < kItems && writeError.empty(); ++item) {
                    const auto stored = writer->recordOutcomes(variant, "search", threeOutcomes(item));
                    if (!stored) writeError = stored.error().text();
                    committed = item + 1;
                }
                done = true;
            });
            auto lasting = openReader();
            std::size_t last = 0;
            int looks = 0;
            while (!done && readError.empty()) {
                const std::size_t before = static_cast<std::size_t>(committed);
                const auto fresh = StoreReader::open(path);
                if (!fresh) {
                    readError = fresh.error().text();
                    break;
                }
                for (StoreReader* reader : {lasting.get(), fresh->get()}) {
                    const auto rows = reader->outcomes(variant, "search");
                    const auto state = reader->run(run);
                    if (!rows || !state) {
                        readError = rows ? state.error().text() : rows.error().text();
                        break;
                    }
                    EXPECT_GE(rows->size(), 3 * before) << "what was committed is visible at once";
                    EXPECT_EQ(rows->size() % 3, 0u) << "half a transaction is never visible";
                    EXPECT_GE(rows->size(), last);
                    EXPECT_EQ(state->state, RunState::Running);
                    last = rows->size();
                }
                ++looks;
            }
            search.join();
            EXPECT_EQ(writeError, "");
            EXPECT_EQ(readError, "");
            EXPECT_GT(looks, 1);
            EXPECT_EQ(lasting->outcomes(variant, "search").value().size(), std::size_t{3 * kItems});
            lasting.reset();
            writer.reset();
            EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
        }
    };
    Store().TestBody();
}

TEST_F(StoreConcurrency, ReaderInAnotherProcessSeesWhatIsCommitted) {
    auto writer = openWriter();
    const std::int64_t variant = writer->ensureVariant(addRun(*writer), "baseline", {}).value();
    EXPECT_TRUE(writer->recordOutcomes(variant, "search", threeOutcomes(1)));
    Child child([&](int pipe) {
        auto reader = openReader();
        say(pipe, std::to_string(reader->outcomes(variant, "search").value().size()) +
                      std::string(runStateName(reader->run(1).value().state)));
    });
    EXPECT_EQ(child.readAll(), "3running");
}

TEST_F(StoreConcurrency, AReaderThatStaysOpenDoesNotKeepTheLogFromBeingCopiedBack) {
    auto writer = openWriter();
    const std::int64_t variant = writer->ensureVariant(addRun(*writer), "baseline", {}).value();
    auto reader = openReader();
    OutcomeRow row = someOutcome(0, 0);
    row.generated = std::string(100'000, 'x');
    for (int item = 0; item < 200; ++item) {
        row.itemId = std::to_string(item);
        EXPECT_TRUE(writer->recordOutcomes(variant, "search", std::vector<OutcomeRow>{row}));
        ASSERT_TRUE(reader->run(1));
    }
    EXPECT_LT(std::filesystem::file_size(folder / "lpes.db-wal"), 12u << 20) << "20 MB were written";
}

}  // namespace lpes::store::test
