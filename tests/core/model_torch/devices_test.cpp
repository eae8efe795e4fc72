#include "core/model/torch/devices.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/model/torch/torch_runtime.h"
#include "tests/support/temp_folder.h"

namespace lpes::model {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

TEST(Devices, AMachineWithoutAGpuSaysWhyAndGoesOn) {
    const GpuDiscovery& found = discoverGpus();
    if (found.gpus.empty()) {
        EXPECT_FALSE(found.problem.empty());
        EXPECT_EQ(gpuStatus(), "no GPU: " + found.problem);
        const auto memory = gpuMemory(0);
        ASSERT_FALSE(memory.has_value());
        EXPECT_EQ(memory.error().code, ErrorCode::Unsupported);
        EXPECT_EQ(memory.error().message.rfind("no GPU", 0), 0u) << memory.error().message;
    } else {
        EXPECT_TRUE(found.problem.empty());
        EXPECT_FALSE(gpuStatus().empty());
    }
    EXPECT_EQ(availableDevices().front(), "cpu");
}

TEST(Devices, EveryGpuHasANameAndMemory) {
    if (discoverGpus().gpus.empty()) GTEST_SKIP() << "no CUDA device: " << discoverGpus().problem;
    for (const Gpu& gpu : discoverGpus().gpus) {
        EXPECT_FALSE(gpu.name.empty());
        EXPECT_GE(gpu.computeMajor, 5);
        const auto memory = gpuMemory(gpu.index);
        ASSERT_TRUE(memory.has_value()) << memory.error().text();
        EXPECT_GT(memory->freeBytes, 0);
        EXPECT_LE(memory->freeBytes, memory->totalBytes);
    }
    EXPECT_FALSE(gpuMemory(static_cast<int>(discoverGpus().gpus.size())).has_value());
}

TEST(Devices, CudaHalfIsTakenFromBesideTheLoadedLibTorch) {
    const test::TempFolder folder;
    write(folder.path() / "lib" / "libtorch_cuda.so", "");
    const auto found = findCudaHalf(folder.path() / "lib", "/nonexistent");
    ASSERT_TRUE(found.has_value()) << found.error().text();
    EXPECT_EQ(*found, folder.path() / "lib" / "libtorch_cuda.so");
}

TEST(Devices, ANamedLibTorchMustHaveTheSameVersion) {
    const test::TempFolder folder;
    const fs::path root = folder.path() / "torch";
    write(root / "lib" / "libtorch_cuda.so", "");
    write(root / "version.py", "from typing import Optional\n__version__ = '" + libTorchVersion() + "+cu130'\n");
    for (const fs::path& named : {root, folder.path()}) {
        const auto found = findCudaHalf("/nonexistent", named);
        ASSERT_TRUE(found.has_value()) << found.error().text();
        EXPECT_EQ(*found, root / "lib" / "libtorch_cuda.so");
    }
    write(root / "version.py", "__version__ = '2.6.1'\n");
    const auto other = findCudaHalf("/nonexistent", root);
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().code, ErrorCode::Unsupported);
    EXPECT_NE(other.error().message.find("2.6.1"), std::string::npos) << other.error().message;
    EXPECT_NE(other.error().message.find(libTorchVersion()), std::string::npos) << other.error().message;
}

TEST(Devices, WithoutACudaHalfTheRemedyIsNamed) {
    const test::TempFolder folder;
    const auto found = findCudaHalf(folder.path(), folder.path());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().code, ErrorCode::Unsupported);
    EXPECT_NE(found.error().message.find("setup.sh --cuda"), std::string::npos) << found.error().message;
}

}  // namespace
}  // namespace lpes::model
