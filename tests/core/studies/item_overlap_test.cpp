// Is a profile reported on items that it was searched on? Items are known by what they hold, not by what they are
// called.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/studies/evaluation_summary.h"
#include "core/studies/studies.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using studies::PreparedTask;
using studies::TaskSpec;
using testing::HasSubstr;
using testing::Not;

class ItemOverlap : public testing::Test {
  protected:
    /// A user's own items, each with another answer.
    [[nodiscard]] TaskSpec own(const std::string& file, const std::vector<int>& numbers) const {
        std::vector<json> records;
        for (const int number : numbers) records.push_back(bakery("at " + std::to_string(number)));
        return ownTask(folder.path() / file, records);
    }
    [[nodiscard]] static PreparedTask prepared(const TaskSpec& spec) { return take(studies::prepareTask(spec, 12)); }

    /// What a search leaves in its profile that searched on the first two items of a task and selected on the third.
    [[nodiscard]] static json provenanceOf(const TaskSpec& spec) {
        const PreparedTask task = prepared(spec);
        const std::vector<std::string> ids = task.ids(), hashes = take(task.contentHashes(ids));
        return {
            {"data_set_hash", task.info().hash},
            {"item_seed", task.spec.seedOfItems()},
            {"items", {{"search", json::array({ids[0], ids[1]})}, {"select", json::array({ids[2]})}}},
            {"item_hashes", {{"search", json::array({hashes[0], hashes[1]})}, {"select", json::array({hashes[2]})}}}};
    }
    [[nodiscard]] static json withoutHashes(json provenance) {
        provenance.erase("item_hashes");
        return provenance;
    }

    /// Every item of a task, run at one position.
    [[nodiscard]] static std::vector<analysis::ItemOutcome> outcomesOf(const PreparedTask& task) {
        std::vector<analysis::ItemOutcome> outcomes;
        for (const std::string& id : task.ids()) outcomes.emplace_back().itemId = id;
        return outcomes;
    }

    /// The file of a profile with this provenance.
    [[nodiscard]] rope::MethodSpec methodWith(const json& provenance) const {
        const json profile{{"format", "lpes-profile"},
                           {"version", 1},
                           {"model", {{"architecture", "llama"}, {"layers", 2}, {"head_dim", 16}, {"rope_theta", 1e4}}},
                           {"scales", {1.0, 1.5}},
                           {"provenance", provenance}};
        return take(rope::parseMethod("lpes:" + folder.write("p.json", profile.dump()).string()));
    }

    /// What is said of a profile with this provenance when it is reported on a task's items.
    [[nodiscard]] json overlap(const json& provenance, const TaskSpec& spec) {
        const PreparedTask task = prepared(spec);
        return heldOut(methodWith(provenance), task, outcomesOf(task))["searched_on"];
    }
    [[nodiscard]] json heldOut(const rope::MethodSpec& method, const PreparedTask& task,
                               const std::vector<analysis::ItemOutcome>& outcomes) {
        studies::ItemHashes items(task);
        return take(studies::heldOutJson(method, items, outcomes, store->reader()));
    }
    [[nodiscard]] std::int64_t seen(const json& provenance, const TaskSpec& spec) {
        const json said = overlap(provenance, spec);
        if (!said.is_object()) return 0;
        EXPECT_EQ(said["matched_by"], "content");
        return said["searched_items"].get<std::int64_t>();
    }

    /// A finished search of the data base that wrote a profile with these scales, [L] or [L][G]; its number.
    std::int64_t found(const json& scales, const json& provenance, const json& more = json::object(),
                       store::RunState state = store::RunState::Finished) {
        store::RunRow run;
        run.kind = "search";
        const auto id = take(store->addRun(run));
        json profile{{"format", "lpes-profile"}, {"version", 1}, {"scales", scales}, {"provenance", provenance}};
        profile["model"] = {
            {"architecture", "llama"}, {"layers", scales.size()}, {"head_dim", 16}, {"rope_theta", 1e4}};
        json result{{"profile", profile}};
        result["profile"].update(more.value("profile", json::object()));
        if (more.contains("front")) result["front"] = more["front"];
        EXPECT_TRUE(store->endRun(id, state, 1.0, "generations", "", result.dump()));
        return id;
    }
    /// What is said of a method by its spelling on all items of a task.
    [[nodiscard]] json saidOf(const std::string& method, const TaskSpec& spec) {
        const PreparedTask task = prepared(spec);
        return heldOut(take(rope::parseMethod(method)), task, outcomesOf(task));
    }

    const TempFolder folder;
    const std::unique_ptr<store::StoreWriter> store = openStore(folder.path() / "lpes.db");
};

TEST_F(ItemOverlap, ARenamedCopyOfTheDataIsKnown) {
    const json provenance = provenanceOf(own("mine.jsonl", {1, 2, 3, 4, 5}));
    EXPECT_EQ(seen(provenance, own("mine.jsonl", {1, 2, 3, 4, 5})), 3);
    EXPECT_EQ(seen(provenance, own("other.jsonl", {1, 2, 3, 4, 5})), 3);
}

TEST_F(ItemOverlap, AReorderedAndShortenedCopyIsKnown) {
    const json provenance = provenanceOf(own("mine.jsonl", {1, 2, 3, 4, 5}));
    const json said = overlap(provenance, own("copy.jsonl", {5, 2, 4, 3}));
    EXPECT_EQ(said["searched_items"], 2);
    EXPECT_EQ(said["items"], 4);
    EXPECT_EQ(said["profile"], (folder.path() / "p.json").string());
    TaskSpec first = own("copy.jsonl", {5, 2, 4, 3});
    first.limit = 2;
    EXPECT_EQ(seen(provenance, first), 1);
    first.limit = 1;
    EXPECT_EQ(seen(provenance, first), 0);
}

TEST_F(ItemOverlap, CountsTheItemsThatWereRun) {
    const PreparedTask task = prepared(own("mine.jsonl", {1, 2, 3, 4, 5}));
    const rope::MethodSpec method = methodWith(provenanceOf(task.spec));
    std::vector<analysis::ItemOutcome> outcomes = outcomesOf(task);
    outcomes.pop_back();                   // stopped ahead of the last
    outcomes.push_back(outcomes.front());  // the first is too long at its second position
    outcomes.back().position = 1;
    outcomes.back().skippedTooLong = true;
    const json said = heldOut(method, task, outcomes)["searched_on"];
    EXPECT_EQ(said["searched_items"], 2);
    EXPECT_EQ(said["items"], 3);
    EXPECT_EQ(heldOut(method, task, {})["searched_on"], nullptr);
}

TEST_F(ItemOverlap, AFileThatDoesNotSayWhatItWasSearchedOnIsCalledUnknown) {
    const PreparedTask task = prepared(own("mine.jsonl", {1, 2, 3}));
    const auto provenance = [&](const rope::MethodSpec& method) { return heldOut(method, task, {})["provenance"]; };
    const json searched = provenanceOf(task.spec);
    EXPECT_EQ(provenance(methodWith(searched)), "recorded");
    EXPECT_EQ(provenance(methodWith(withoutHashes(searched))), "recorded") << "an older one, by names";
    EXPECT_EQ(provenance(methodWith(json::object())), "unknown");
    EXPECT_EQ(provenance(methodWith({{"items", 3}})), "unknown");
    const std::string csv = folder.write("p.csv", "layer,scale\n0,1.0\n1,1.5\n").string();
    EXPECT_EQ(provenance(take(rope::parseMethod("lpes:" + csv))), "unknown");
    EXPECT_EQ(provenance(take(rope::parseMethod("longrope:" + csv))), "unknown");
    EXPECT_EQ(provenance(take(rope::parseMethod("baseline"))), nullptr);
    EXPECT_EQ(provenance(take(rope::parseMethod("uniform:1.5"))), nullptr);
    EXPECT_EQ(studies::provenanceText({{"method", "lpes:p.csv"}, {"provenance", "unknown"}}),
              "The file of lpes:p.csv does not say what it was searched on; whether these items are held out is "
              "unknown.");
    EXPECT_EQ(studies::provenanceText({{"method", "lpes:p.json"}, {"provenance", "recorded"}}), "");
    EXPECT_EQ(studies::provenanceText({{"method", "baseline"}}), "");
}

TEST_F(ItemOverlap, OtherItemsUnderTheSameNameAreHeldOut) {
    const TaskSpec searched = own("mine.jsonl", {1, 2, 3, 4, 5});
    const json provenance = provenanceOf(searched);
    const std::vector<std::string> ids = prepared(searched).ids();
    const TaskSpec other = own("mine.jsonl", {11, 12, 13, 14, 15});
    ASSERT_EQ(prepared(other).ids(), ids);
    EXPECT_EQ(seen(provenance, other), 0);
}

TEST_F(ItemOverlap, GeneratedItemsOfAnotherSeedAreHeldOut) {
    TaskSpec spec;
    spec.task = "kv";
    spec.keys = "words";
    spec.pairs = 4;
    const json provenance = provenanceOf(spec);
    EXPECT_EQ(seen(provenance, spec), 3);
    spec.limit = 2;
    EXPECT_EQ(seen(provenance, spec), 2) << "a part of the data";
    spec.itemSeed = 2;
    EXPECT_EQ(seen(provenance, spec), 0);
}

TEST_F(ItemOverlap, AQuestionIsTheSameAmongShuffledDocuments) {
    const auto file = [&](const std::string& name, bool shuffled) {
        std::vector<json> records;
        for (const std::string question : {"p?", "q?", "r?"}) {
            const auto document = [](const std::string& text, bool gold) {
                return json{{"title", "T"}, {"text", text}, {"isgold", gold}};
            };
            json documents = json::array(
                {document("the answer to " + question, true), document("ferry", false), document("mill", false)});
            if (shuffled) std::reverse(documents.begin(), documents.end());
            records.push_back({{"question", question}, {"answers", json::array({"yes"})}, {"ctxs", documents}});
        }
        TaskSpec spec;
        spec.task = "mdqa";
        spec.data = folder.write(name, jsonLines(records)).string();
        return spec;
    };
    EXPECT_EQ(seen(provenanceOf(file("a.jsonl", false)), file("b.jsonl", true)), 3);
}

TEST_F(ItemOverlap, AnOlderProfileIsHeldAgainstNames) {
    const json provenance = withoutHashes(provenanceOf(own("mine.jsonl", {1, 2, 3, 4, 5})));
    const json said = overlap(provenance, own("mine.jsonl", {1, 2, 3, 4, 5}));
    EXPECT_EQ(said["searched_items"], 3);
    EXPECT_EQ(said["matched_by"], "ids");
    EXPECT_THAT(studies::overlapText(said), HasSubstr("By the items' names"));
    EXPECT_EQ(overlap(provenance, own("other.jsonl", {1, 2, 3, 4, 5})), nullptr) << "all that names can tell";
    TaskSpec spec;
    spec.task = "kv";
    spec.keys = "words";
    spec.pairs = 4;
    const json generated = withoutHashes(provenanceOf(spec));
    spec.limit = 2;
    EXPECT_EQ(overlap(generated, spec)["searched_items"], 2);
    spec.itemSeed = 2;
    EXPECT_EQ(overlap(generated, spec), nullptr);
}

TEST_F(ItemOverlap, IsNotSaidOfAProfileThatDoesNotKnow) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3});
    for (const char* provenance :
         {"{}", R"({"items": 3})", R"({"items": {"search": "all"}})", R"({"items": {"search": [1, null]}})",
          R"({"item_hashes": 3})", R"({"item_hashes": {"search": "all", "select": [1, null, "00"]}})"}) {
        EXPECT_EQ(overlap(json::parse(provenance), spec), nullptr) << provenance;
    }
}

TEST_F(ItemOverlap, DamagedHashesLeaveTheNames) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3});
    json provenance = provenanceOf(spec);
    provenance["item_hashes"] = {{"search", 7}};
    EXPECT_EQ(overlap(provenance, spec)["matched_by"], "ids");
}

TEST_F(ItemOverlap, HashesAreAskedOfTheTasksOwnItems) {
    const PreparedTask task = prepared(own("mine.jsonl", {1, 2, 3}));
    const std::vector<std::string> ids = task.ids();
    const std::vector<std::string> turned(ids.rbegin(), ids.rend());
    std::vector<std::string> hashes = take(task.contentHashes(ids));
    std::reverse(hashes.begin(), hashes.end());
    EXPECT_EQ(take(task.contentHashes(turned)), hashes);
    const auto none = task.contentHash("mine/7");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("has no item 'mine/7'"));
}

TEST_F(ItemOverlap, ASearchKnowsItsOwnItemsWhereTheDataHoldThemTwice) {
    const PreparedTask task = prepared(own("mine.jsonl", {1, 2, 3, 1, 5, 3}));
    const std::vector<std::string> ids = task.ids();
    studies::ItemHashes items(task);
    const auto outcomes = [&](const std::vector<std::size_t>& asked) {
        std::vector<analysis::ItemOutcome> of;
        for (const std::size_t item : asked) of.emplace_back().itemId = ids[item];
        return of;
    };
    EXPECT_EQ(take(studies::ownOverlapJson({{ids[0]}, {ids[1]}, {ids[2], ids[4], ids[5]}}, items, outcomes({2, 4, 5}))),
              nullptr)
        << "twice in the report alone";
    const tasks::Splits splits{{ids[0], ids[2]}, {ids[1]}, {ids[3], ids[4], ids[5]}};
    const json said = take(studies::ownOverlapJson(splits, items, outcomes({3, 4, 5})));
    EXPECT_EQ(said["searched_items"], 2);
    EXPECT_EQ(said["items"], 3);
    std::vector<analysis::ItemOutcome> fewer = outcomes({3, 4, 5});
    fewer.back().skippedTooLong = true;
    const json left = take(studies::ownOverlapJson(splits, items, fewer));
    EXPECT_EQ(left["searched_items"], 1) << "of those that were asked";
    EXPECT_EQ(left["items"], 2);
    EXPECT_EQ(take(studies::ownOverlapJson(splits, items, {})), nullptr);
    EXPECT_THAT(studies::overlapText(said),
                testing::AllOf(HasSubstr("NOT HELD OUT: the data hold items more than once"), HasSubstr("2 of the 3")));
}

TEST_F(ItemOverlap, AFileOfScalesIsKnownByTheSearchThatFoundThem) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3, 4, 5});
    const std::int64_t run = found({1.0, 1.23456}, provenanceOf(spec));
    const std::string csv = "lpes:" + folder.write("p.csv", "layer,scale\n0,1.0\n1,1.2346\n").string();
    const json said = saidOf(csv, spec);
    EXPECT_EQ(said["provenance"], "scales");
    EXPECT_EQ(said["searched_on"]["searched_items"], 3);
    EXPECT_EQ(said["searched_on"]["items"], 5);
    EXPECT_EQ(said["searched_on"]["matched_by"], "scales");
    EXPECT_EQ(said["searched_on"]["run_id"], run);
    EXPECT_THAT(studies::overlapText(said["searched_on"]),
                testing::AllOf(HasSubstr("NOT HELD OUT: "), HasSubstr("p.csv has the scales of the profile that run 1 "
                                                                      "found, which was searched on 3 of the 5")));
    const json elsewhere = saidOf(csv, own("other.jsonl", {11, 12, 13}));
    EXPECT_EQ(elsewhere["searched_on"], nullptr) << "its search saw none of these";
    EXPECT_EQ(elsewhere["provenance"], "scales") << "which is known";
    const std::string longRope = "longrope:" + folder.write("f.csv", "1,1,1\n1.23456,1.23456,1.23456\n").string();
    EXPECT_EQ(saidOf(longRope, spec)["searched_on"]["run_id"], run);
    const PreparedTask task = prepared(spec);
    json byHand = provenanceOf(spec);
    byHand.erase("items");
    byHand.erase("item_hashes");
    found({1.0, 1.5}, provenanceOf(spec));
    EXPECT_EQ(heldOut(methodWith(byHand), task, outcomesOf(task))["searched_on"]["run_id"], run + 1)
        << "a profile that does not say what it saw";
}

TEST_F(ItemOverlap, OfSeveralSearchesThatFoundTheSameTheOneThatSawMostIsNamed) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3, 4, 5}), other = own("other.jsonl", {3, 14, 15});
    found({1.1, 1.5}, provenanceOf(other));
    const std::int64_t most = found({1.1, 1.5}, provenanceOf(spec));
    found({1.1, 1.5}, provenanceOf(other));
    const std::string csv = "lpes:" + folder.write("p.csv", "0,1.1\n1,1.5\n").string();
    const json said = saidOf(csv, spec)["searched_on"];
    EXPECT_EQ(said["searched_items"], 3);
    EXPECT_EQ(said["run_id"], most);
}

TEST_F(ItemOverlap, AMemberOfAFrontAndScalesByBandAreKnownToo) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3, 4});
    const json provenance = provenanceOf(spec);
    const std::int64_t front = found({1.1, 1.5}, provenance, {{"front", {7, {{"scales", {1.3, 0.9}}}}}});
    const std::string member = "lpes:" + folder.write("m.csv", "0,1.3\n1,0.9\n").string();
    EXPECT_EQ(saidOf(member, spec)["searched_on"]["run_id"], front);
    const json bands{{"profile", {{"per", "band"}, {"band_ends", {2, 3}}}}};
    const std::int64_t band = found({{1.1, 1.2}, {1.3, 1.4}}, provenance, bands);
    const std::string factors = "longrope:" + folder.write("b.csv", "1.1,1.1,1.2\n1.3,1.3,1.4\n").string();
    EXPECT_EQ(saidOf(factors, spec)["searched_on"]["run_id"], band);
    const std::string grouped =
        "lpes:" + folder.write("g.csv", "layer,group,scale\n0,0-1,1.1\n0,2-2,1.2\n1,0-1,1.3\n1,2-2,1.4\n").string();
    EXPECT_EQ(saidOf(grouped, spec)["searched_on"]["run_id"], band);
}

TEST_F(ItemOverlap, OtherScalesAndUnfinishedSearchesSayNothing) {
    const TaskSpec spec = own("mine.jsonl", {1, 2, 3, 4});
    const json provenance = provenanceOf(spec);
    found({1.0, 1.0}, provenance);
    found({1.1, 1.5}, provenance, json::object(), store::RunState::Stopped);
    found({1.1, 1.6, 1.7}, provenance);
    found({1.2, 1.7}, {{"data_set", "mine"}});
    const auto unknown = [&](const std::string& name, const std::string& text) {
        const json said = saidOf(name + folder.write("p.csv", text).string(), spec);
        EXPECT_EQ(said["searched_on"], nullptr) << text;
        EXPECT_EQ(said["provenance"], "unknown") << text;
    };
    unknown("lpes:", "0,1\n1,1\n");  // changes nothing, whoever found it
    unknown("lpes:", "0,1.1\n1,1.5\n");
    unknown("lpes:", "0,1.1\n1,1.6\n");
    unknown("lpes:", "0,1.2\n1,1.7\n");  // that search does not say its items
    unknown("longrope:", "1.1,1.5\n1.6,1.6\n1.7,1.7\n");
    unknown("longrope:", "nonsense\n");
}

/// Counts how often an item is read for its hash.
class CountedItems : public tasks::Benchmark {
  public:
    explicit CountedItems(std::shared_ptr<const tasks::Benchmark> items) : m_items(std::move(items)) {}
    [[nodiscard]] const tasks::BenchmarkInfo& info() const override { return m_items->info(); }
    [[nodiscard]] std::int64_t size() const override { return m_items->size(); }
    [[nodiscard]] std::string id(std::int64_t item) const override { return m_items->id(item); }
    [[nodiscard]] int places(std::int64_t item) const override { return m_items->places(item); }
    [[nodiscard]] Result<std::string> contentHash(std::int64_t item) const override {
        ++hashed;
        return m_items->contentHash(item);
    }
    [[nodiscard]] Result<tasks::TaskPrompt> prompt(std::int64_t item, int goldIndex,
                                                   const tasks::PromptOptions& options) const override {
        return m_items->prompt(item, goldIndex, options);
    }
    mutable int hashed = 0;

  private:
    std::shared_ptr<const tasks::Benchmark> m_items;
};

TEST_F(ItemOverlap, AnItemIsHashedOnceForAllThatAskForIt) {
    PreparedTask task = prepared(own("mine.jsonl", {1, 2, 3, 4, 5}));
    const json provenance = provenanceOf(task.spec);
    const auto counted = std::make_shared<CountedItems>(task.benchmark);
    task.benchmark = counted;
    studies::ItemHashes items(task);
    const auto outcomes = outcomesOf(task);
    const rope::MethodSpec method = methodWith(provenance);
    for (int profile = 0; profile < 3; ++profile)
        EXPECT_TRUE(take(studies::heldOutJson(method, items, outcomes, store->reader()))["searched_on"].is_object());
    const std::vector<std::string> ids = task.ids();
    EXPECT_TRUE(studies::ownOverlapJson({{ids[0]}, {ids[1]}, {ids[2], ids[3], ids[4]}}, items, outcomes));
    EXPECT_EQ(take(items.of(ids)), take(task.contentHashes(ids)));
    EXPECT_EQ(counted->hashed, 5 + 5) << "the task itself keeps none";
    EXPECT_FALSE(items.of("mine/7"));
}

TEST_F(ItemOverlap, NothingIsSaidOfNothing) {
    EXPECT_EQ(studies::overlapText(nullptr), "");
    EXPECT_EQ(studies::overlapText(3), "");
    EXPECT_THAT(studies::overlapText({{"profile", "p.json"}, {"searched_items", 2}, {"items", 3}}),
                Not(HasSubstr("names")));
}

TEST(SearchOverlap, IsSaidOfTheReportAndKeptInTheProfile) {
    const StudyFolder folder(withContext(1024));
    auto store = openStore(folder / "lpes.db");
    NullObserver observer;
    studies::SearchRunSettings settings = smallSearch(folder);
    settings.task = ownTask(folder / "same.jsonl", std::vector<json>(12, bakery()));
    settings.search.maxGenerations = 1;
    const json result = take(studies::runSearch(settings, *store, observer, {})).result;
    const json& said = result["heldout"]["best"]["searched_on"];
    ASSERT_TRUE(said.is_object());
    EXPECT_EQ(said["searched_items"], 6);
    EXPECT_EQ(said["items"], 6);
    EXPECT_EQ(result["profile"]["provenance"]["heldout"]["best"]["searched_on"], said);
}

}  // namespace
}  // namespace lpes::test
