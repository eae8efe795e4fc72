#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/tasks/benchmark.h"

namespace lpes::tasks::testing {

inline nlohmann::json goldenPrompts() {
    std::ifstream file(LPES_TEST_DATA "/golden/task_prompts.json");
    EXPECT_TRUE(file.good());
    return nlohmann::json::parse(file);
}

/// The lines of a golden as one file's text.
inline std::string linesOf(const nlohmann::json& lines) {
    std::string text;
    for (const auto& line : lines) text += line.get<std::string>() + "\n";
    return text;
}

inline BenchmarkSpec specFor(std::string task, std::optional<std::filesystem::path> data = std::nullopt) {
    BenchmarkSpec spec;
    spec.task = std::move(task);
    spec.data = std::move(data);
    return spec;
}

inline std::string textOf(const TaskPrompt& prompt, ByteSpan span) {
    return prompt.text.substr(span.begin, span.end - span.begin);
}

/// The error with which opening ends.
inline Error openingError(const BenchmarkSpec& spec) {
    const auto opened = openBenchmark(spec);
    EXPECT_FALSE(opened) << spec.task;
    return opened ? Error{} : opened.error();
}

/// What holds for every benchmark's items: ids differ, spans lie inside the text and in order.
inline void expectSoundItems(const Benchmark& benchmark) {
    std::set<std::string> ids;
    EXPECT_EQ(benchmark.info().hash.size(), 64u);
    EXPECT_EQ(benchmark.info().templateHash.size(), 64u);
    EXPECT_FALSE(benchmark.info().templateText.empty());
    for (std::int64_t i = 0; i < benchmark.size(); ++i) {
        EXPECT_TRUE(ids.insert(benchmark.id(i)).second) << benchmark.id(i);
        EXPECT_EQ(benchmark.contentHash(i).value().size(), 32u);
        const int places = benchmark.places(i);
        ASSERT_GE(places, 1);
        for (const int place : std::set<int>{0, places / 2, places - 1}) {
            const auto prompt = benchmark.prompt(i, place);
            ASSERT_TRUE(prompt) << prompt.error().text();
            EXPECT_EQ(prompt->goldIndex, place);
            std::size_t last = prompt->instruction.end;
            for (const ByteSpan& record : prompt->records) {
                EXPECT_LE(last, record.begin);
                last = record.end;
                EXPECT_LT(record.begin, record.end);
            }
            EXPECT_LE(last, prompt->question.begin);
            EXPECT_EQ(prompt->question.end, prompt->text.size());
            EXPECT_FALSE(prompt->references.empty());
        }
    }
}

/// Where the real benchmark files lie; nothing where this machine has none.
inline std::optional<std::filesystem::path> sharedData(const std::string& file) {
    const char* folder = std::getenv("LPES_SHARED_DATA");
    if (folder == nullptr) return std::nullopt;
    const auto path = std::filesystem::path(folder) / file;
    return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace lpes::tasks::testing
