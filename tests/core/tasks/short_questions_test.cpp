#include "core/tasks/short_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace lpes::tasks {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(ShortQuestions, AreMmluPromptsWithoutExamples) {
    const auto questions = shortQuestions().value();
    ASSERT_EQ(questions.size(), 103u);
    std::set<std::string> subjects, prompts;
    for (const ShortQuestion& question : questions) {
        EXPECT_THAT(question.prompt, StartsWith("The following are multiple choice questions (with answers) about  "));
        EXPECT_THAT(question.prompt, EndsWith("\nAnswer:"));
        EXPECT_THAT(question.choices, ::testing::Contains(question.answer));
        EXPECT_THAT(question.solved, EndsWith("\nAnswer:" + question.answer));
        subjects.insert(question.subject);
        prompts.insert(question.prompt);
    }
    EXPECT_EQ(subjects.size(), 52u);
    EXPECT_EQ(prompts.size(), questions.size()) << "each is asked once";
}

}  // namespace
}  // namespace lpes::tasks
