#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "tests/support/temp_folder.h"

namespace lpes::test {

/// tests/golden/exam_prompts.json.
inline const nlohmann::json& examPrompts() {
    static const nlohmann::json golden = [] {
        std::ifstream file(LPES_TEST_DATA "/golden/exam_prompts.json");
        return nlohmann::json::parse(file);
    }();
    return golden;
}

/// Prompts that fit are those with at most `maxBytes` bytes in system prompt and text.
inline tasks::PromptOptions fitting(std::optional<std::size_t> maxBytes) {
    tasks::PromptOptions options;
    if (maxBytes) {
        options.fits = [most = *maxBytes](const tasks::TaskPrompt& prompt) {
            return prompt.system.size() + prompt.text.size() <= most;
        };
        options.officialTruncation = true;
    }
    return options;
}

/// Holds one golden case against the item that it names.
inline void expectGoldenPrompt(const tasks::Benchmark& benchmark, const nlohmann::json& expected) {
    SCOPED_TRACE(expected.dump());
    std::optional<std::size_t> maxBytes;
    if (!expected.at("max_bytes").is_null()) maxBytes = expected.at("max_bytes").get<std::size_t>();
    tasks::PromptOptions options = fitting(maxBytes);
    options.chat = expected.value("chat", false);
    const std::int64_t item = expected.at("item");
    ASSERT_LT(item, benchmark.size());
    EXPECT_EQ(benchmark.id(item), expected.at("id").get<std::string>());
    EXPECT_EQ(benchmark.group(item), expected.value("group", std::string()));
    EXPECT_EQ(benchmark.places(item), 1);
    const auto prompt = benchmark.prompt(item, 0, options);
    ASSERT_TRUE(prompt) << prompt.error().text();
    EXPECT_EQ(prompt->system, expected.value("system", std::string()));
    if (expected.contains("text")) {
        EXPECT_EQ(prompt->text, expected.at("text").get<std::string>());
    } else {
        EXPECT_EQ(sha256Hex(prompt->text), expected.at("text_sha256").get<std::string>()) << prompt->text;
    }
    EXPECT_EQ(prompt->answer, expected.at("answer").get<std::string>());
    EXPECT_EQ(prompt->references, expected.at("references").get<std::vector<std::string>>());
    EXPECT_EQ(prompt->note, expected.at("note").get<std::string>());
    EXPECT_EQ(prompt->question.end, prompt->text.size());
    EXPECT_EQ(prompt->instruction.begin, 0u);
}

/// Records as a JSON Lines text.
inline std::string jsonLines(const std::vector<nlohmann::json>& records) {
    std::string text;
    for (const auto& record : records) text += record.dump() + "\n";
    return text;
}

inline std::string partOf(const tasks::TaskPrompt& prompt, tasks::ByteSpan span) {
    return prompt.text.substr(span.begin, span.end - span.begin);
}

}  // namespace lpes::test
