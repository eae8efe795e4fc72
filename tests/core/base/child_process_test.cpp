#include "core/base/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "core/base/shell_words.h"

namespace lpes {
namespace {

/// What a command prints.
std::string printed(const std::vector<std::string>& command, bool ownSession = false) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const auto child = startChild({command, -1, ends[1], -1, ownSession});
    ::close(ends[1]);
    EXPECT_TRUE(child);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    EXPECT_EQ(waitForChild(*child), 0);
    return text;
}

TEST(ChildProcess, ExitCodesAndSignalsComeBack) {
    EXPECT_EQ(waitForChild(startChild({{"sh", "-c", "exit 7"}}).value()), 7);
    EXPECT_EQ(waitForChild(startChild({{"sh", "-c", "kill -TERM $$"}}).value()), 128 + SIGTERM);
}

TEST(ChildProcess, OneThatGoesOnIsWaitedForNoLongerThanAsked) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const auto child = startChild({{"sh", "-c", "read line; exit 4"}, ends[0]});
    ::close(ends[0]);
    ASSERT_TRUE(child);
    EXPECT_FALSE(waitForChild(*child, 0));
    ::close(ends[1]);
    EXPECT_EQ(waitForChild(*child, 60'000), 4);
}

TEST(ChildProcess, ArgumentsArriveAsTheyAre) {
    EXPECT_EQ(printed({"printf", "%s|", "a b", "$HOME", "it's", "two\nlines", ""}), "a b|$HOME|it's|two\nlines||");
}

TEST(ChildProcess, AMissingProgramIsNamed) {
    const auto missing = startChild({{"lpes-no-such-program"}});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(missing.error().message, testing::HasSubstr("lpes-no-such-program"));
}

TEST(ChildProcess, ItsSessionIsItsOwnWhereAsked) {
    const std::string both = printed({"sh", "-c", "read -r a b c d e f rest < /proc/self/stat; echo $a $f"}, true);
    const std::size_t blank = both.find(' ');
    ASSERT_NE(blank, std::string::npos) << both;
    EXPECT_EQ(both.substr(0, blank) + "\n", both.substr(blank + 1)) << "number of the process, and of its session";
}

TEST(ShellWord, AShellReadsBackWhatWasMeant) {
    for (const std::string& text : {std::string("plain"), std::string(), std::string("two words"), std::string("it's"),
                                    std::string("$HOME `date` $(date)"),
                                    std::string("\"quoted\" \\ * ? [a] ~ # ! ; & |"), std::string("two\nlines\n."),
                                    std::string("'"), std::string("''"), std::string("-n"), std::string("größer/ü")}) {
        EXPECT_EQ(printed({"sh", "-c", "printf %s " + shellWord(text)}), text) << shellWord(text);
    }
    EXPECT_EQ(shellWord("/usr/bin/lpes-1.0_x"), "/usr/bin/lpes-1.0_x") << "what needs no quotes has none";
}

}  // namespace
}  // namespace lpes
