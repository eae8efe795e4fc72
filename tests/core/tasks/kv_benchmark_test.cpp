#include <gmock/gmock.h>

#include <thread>

#include "tests/core/tasks/benchmark_check.h"
#include "tests/core/tasks/gzip_text.h"
#include "tests/core/tasks/kv_dataset.h"
#include "tests/support/temp_folder.h"

namespace lpes::tasks {
namespace {

using testing::generateKv;
using ::testing::HasSubstr;
using testing::KvDataset;
using testing::openingError;
using testing::readKvFile;
using testing::specFor;
using testing::textOf;

const std::string kExcerpt = LPES_TEST_DATA "/data/lost-in-the-middle/kv-retrieval-12_keys.jsonl";

/// Stored runs name items by these ids and sets by these hashes.
void expectSameAs(const Benchmark& benchmark, const KvDataset& dataset) {
    EXPECT_EQ(benchmark.info().name, dataset.name);
    EXPECT_EQ(benchmark.info().hash, dataset.hash);
    EXPECT_EQ(benchmark.info().templateHash, kvTemplateHash());
    ASSERT_EQ(benchmark.size(), static_cast<std::int64_t>(dataset.items.size()));
    for (std::int64_t i = 0; i < benchmark.size(); ++i) {
        const KvItem& item = dataset.items[static_cast<std::size_t>(i)];
        EXPECT_EQ(benchmark.id(i), item.id);
        ASSERT_EQ(benchmark.places(i), dataset.pairs);
        for (int gold = 0; gold < dataset.pairs; ++gold) {
            const RenderedPrompt expected = renderKvPrompt(item, gold);
            const TaskPrompt prompt = benchmark.prompt(i, gold).value();
            EXPECT_EQ(prompt.text, expected.prompt);
            EXPECT_EQ(prompt.answer, expected.answer);
            EXPECT_EQ(prompt.references, std::vector<std::string>{expected.value});
            EXPECT_EQ(textOf(prompt, prompt.evidence.at(0)),
                      "\"" + item.gold.first + "\": \"" + item.gold.second + "\"");
        }
    }
    testing::expectSoundItems(benchmark);
}

TEST(KvBenchmark, GivesTheItemsOfTheFileReader) {
    for (const std::optional<int> pairs : {std::optional<int>(), std::optional<int>(5)}) {
        for (const std::optional<std::int64_t> limit :
             {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
            BenchmarkSpec spec = specFor("kv", kExcerpt);
            spec.pairs = pairs;
            spec.limit = limit;
            const auto benchmark = openBenchmark(spec);
            ASSERT_TRUE(benchmark) << benchmark.error().text();
            expectSameAs(**benchmark, readKvFile(kExcerpt, pairs, limit).value());
        }
    }
}

TEST(KvBenchmark, GivesTheItemsOfTheGenerator) {
    for (const std::string keys : {"uuid", "hex:4", "words"}) {
        BenchmarkSpec spec = specFor("kv");
        spec.keys = keys;
        spec.pairs = 7;
        spec.limit = 4;
        spec.seed = 42;
        const auto benchmark = openBenchmark(spec);
        ASSERT_TRUE(benchmark) << benchmark.error().text();
        expectSameAs(**benchmark, generateKv(parseKeyKind(keys).value(), 7, 4, 42, commonWords()).value());
    }
}

TEST(KvBenchmark, GeneratesTwentyUuidPairsUnlessToldOtherwise) {
    const auto benchmark = openBenchmark(specFor("kv")).value();
    EXPECT_EQ(benchmark->info().name, "uuid");
    EXPECT_EQ(benchmark->size(), 100);
    EXPECT_EQ(benchmark->places(0), 20);
    EXPECT_TRUE(benchmark->info().movable);
    EXPECT_EQ(benchmark->info().defaultScore.kind, ScoreKind::Kind::Strict);
    EXPECT_THAT(benchmark->info().templateText,
                HasSubstr("Key: \"{gold_key}\"\nCorresponding value: \"{gold_value}\""));
    const TaskPrompt prompt = benchmark->prompt(0, 0).value();
    EXPECT_EQ(prompt.rule.metric, Metric::Contains);
    EXPECT_EQ(prompt.rule.maxNewTokens, 100);
}

TEST(KvBenchmark, CanBeAskedBySeveralWorkers) {
    const auto benchmark = openBenchmark(specFor("kv", kExcerpt)).value();
    std::vector<std::thread> workers;
    for (int w = 0; w < 4; ++w) {
        workers.emplace_back([&] {
            for (int i = 0; i < 300; ++i) EXPECT_TRUE(benchmark->prompt(i % 3, i % 12));
        });
    }
    for (std::thread& worker : workers) worker.join();
}

TEST(KvBenchmark, RefusesWhatItCannotDo) {
    BenchmarkSpec spec = specFor("kv", kExcerpt);
    spec.keys = "words";
    EXPECT_EQ(openingError(spec).code, ErrorCode::Usage);
    spec = specFor("kv", kExcerpt);
    spec.pairs = 13;
    EXPECT_THAT(openingError(spec).message, HasSubstr("12 records"));
    spec.pairs = 1;
    EXPECT_EQ(openingError(spec).code, ErrorCode::Usage);
    spec = specFor("kv");
    spec.limit = 0;
    EXPECT_EQ(openingError(spec).code, ErrorCode::Usage);
    EXPECT_EQ(openingError(specFor("kv", "/no/such/file.jsonl")).code, ErrorCode::BadInput);
}

TEST(OpenBenchmark, NamesTheTasksThatThereAre) {
    for (const std::string task : {"", "KV", "mdqa:x", "kv:", "zeroscrolls", "leval", "qa"}) {
        const Error error = openingError(specFor(task));
        EXPECT_EQ(error.code, ErrorCode::Usage) << task;
        EXPECT_THAT(error.message, HasSubstr("mdqa-random"));
    }
}

TEST(OpenBenchmark, RefusesAnOptionThatTheTaskDoesNotHave) {
    const auto expectRefused = [](BenchmarkSpec spec, const std::string& option) {
        const Error error = openingError(spec);
        EXPECT_EQ(error.code, ErrorCode::Usage);
        EXPECT_THAT(error.message, HasSubstr("--" + option));
    };
    BenchmarkSpec spec = specFor("kv", kExcerpt);
    spec.docs = 10;
    expectRefused(spec, "docs");
    spec = specFor("mdqa", kExcerpt);
    spec.pairs = 10;
    expectRefused(spec, "pairs");
    spec = specFor("jsonl", kExcerpt);
    spec.shots = 3;
    expectRefused(spec, "shots");
    spec = specFor("jsonl", kExcerpt);
    spec.niah.length = 3000;
    expectRefused(spec, "haystack");
    for (const char* task : {"kv", "mdqa", "jsonl", "zeroscrolls:quality", "leval:quality", "mmlu", "ceval"}) {
        spec = specFor(task, kExcerpt);
        spec.seed = 1;
        expectRefused(spec, "item-seed");
    }
}

TEST(OpenBenchmark, AsksForAFileAndForATokenizer) {
    for (const std::string task : {"mdqa", "mdqa-random", "jsonl"}) {
        const Error error = openingError(specFor(task));
        EXPECT_EQ(error.code, ErrorCode::Usage);
        EXPECT_THAT(error.message, HasSubstr("--data"));
    }
    EXPECT_THAT(openingError(specFor("niah")).message, HasSubstr("name a model"));
}

}  // namespace
}  // namespace lpes::tasks
