#include "core/base/temporary_folder.h"

#include <gmock/gmock.h>

#include <stdlib.h>

#include <fstream>
#include <optional>
#include <string>

namespace lpes {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, GoesWithWhatIsInItAndOnlyOnce) {
    fs::path path;
    {
        auto made = TemporaryFolder::make("lpes-test-");
        ASSERT_TRUE(made) << made.error().text();
        const TemporaryFolder owner = std::move(*made);
        path = owner.path();
        EXPECT_TRUE(fs::is_directory(path));
        std::ofstream(path / "file") << "x";
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFolder, ThatCannotBeMadeIsNamedWithTheRemedy) {
    const char* before = getenv("TMPDIR");
    const std::optional<std::string> kept = before ? std::optional<std::string>(before) : std::nullopt;
    setenv("TMPDIR", "/dev/null", 1);
    const auto made = TemporaryFolder::make("lpes-test-");
    if (kept) {
        setenv("TMPDIR", kept->c_str(), 1);
    } else {
        unsetenv("TMPDIR");
    }
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::Failed);
    EXPECT_THAT(made.error().message, testing::HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace lpes
