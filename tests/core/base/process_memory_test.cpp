#include "core/base/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

using namespace lpes;

namespace {

TEST(ProcessMemory, ThePeakRisesByWhatIsTouchedAndBeginsAnewWhenAsked) {
    constexpr std::int64_t kBytes = std::int64_t{128} << 20;
    releaseFreedMemory();
    if (!resetPeakResident()) GTEST_SKIP() << "this kernel does not let a process begin its peak anew";
    const auto before = residentBytes();
    ASSERT_TRUE(before.has_value());
    {
        const auto block = std::make_unique<char[]>(kBytes);
        std::memset(block.get(), 1, kBytes);
        // What is never read need not be written.
        ASSERT_EQ(block[kBytes / 2], 1);
    }
    const auto peak = peakResidentBytes();
    ASSERT_TRUE(peak.has_value());
    EXPECT_GE(*peak - *before, kBytes * 9 / 10);
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer keeps what is freed for a while";
#endif
    releaseFreedMemory();
    ASSERT_TRUE(resetPeakResident());
    EXPECT_LT(*peakResidentBytes(), *peak - kBytes / 2) << "the block is gone";
}

}  // namespace
