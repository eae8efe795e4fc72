// Is a profile reported on items that it was searched on? Items are known by what they hold, not by what they are
// called.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
    [[nodiscard]] json overlap(const json& provenance, const TaskSpec& spec) const {
        const PreparedTask task = prepared(spec);
        return take(studies::overlapJson(methodWith(provenance), task, outcomesOf(task)));
    }
    [[nodiscard]] std::int64_t seen(const json& provenance, const TaskSpec& spec) const {
        const json said = overlap(provenance, spec);
        if (!said.is_object()) return 0;
        EXPECT_EQ(said["matched_by"], "content");
        return said["searched_items"].get<std::int64_t>();
    }

    const TempFolder folder;
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
    const json said = take(studies::overlapJson(method, task, outcomes));
    EXPECT_EQ(said["searched_items"], 2);
    EXPECT_EQ(said["items"], 3);
    EXPECT_EQ(take(studies::overlapJson(method, task, {})), nullptr);
}

TEST_F(ItemOverlap, AFileThatDoesNotSayWhatItWasSearchedOnIsCalledUnknown) {
    const auto provenance = [](const rope::MethodSpec& method) { return studies::provenanceJson(method); };
    const json searched = provenanceOf(own("mine.jsonl", {1, 2, 3}));
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
    EXPECT_EQ(take(studies::ownOverlapJson({{ids[0]}, {ids[1]}, {ids[2], ids[4], ids[5]}}, task)), nullptr)
        << "twice in the report alone";
    const json said = take(studies::ownOverlapJson({{ids[0], ids[2]}, {ids[1]}, {ids[3], ids[4], ids[5]}}, task));
    EXPECT_EQ(said["searched_items"], 2);
    EXPECT_EQ(said["items"], 3);
    EXPECT_THAT(studies::overlapText(said),
                testing::AllOf(HasSubstr("NOT HELD OUT: the data hold items more than once"), HasSubstr("2 of the 3")));
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
