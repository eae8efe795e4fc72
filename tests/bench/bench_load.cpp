// Reading weights: GB/s of numbers written per storage type, and a model's time and memory to load, beside the rate at
// which this machine copies memory. bench_load [MODEL [THREADS [float32]]]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "core/model/formats/block_kernels.h"
#include "core/model/formats/dequantize.h"
#include "core/model/formats/storage.h"
#include "core/model/formats/weight_source.h"

using namespace lpes;
using namespace lpes::model;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Best of several runs: the machine may be shared.
template <class Work>
double bestSeconds(const Work& work, int runs = 7) {
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
        const auto start = Clock::now();
        work();
        best = std::min(best, secondsSince(start));
    }
    return best;
}

/// A line of /proc/self/status in MiB.
double memoryMiB(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) / 1024.0;
    }
    return 0.0;
}

void measureKernels() {
    constexpr std::size_t kRow = 4096, kRows = 1024;  // 16 MiB of floats: more than the second cache
    // Aligned as LibTorch aligns its tensors.
    struct alignas(64) Line {
        std::array<float, 16> values;
    };
    std::vector<Line> wideLines(kRow * kRows / 16), copyLines(kRow * kRows / 16), narrowLines(kRow * kRows / 32);
    const std::span<float> wide(wideLines[0].values.data(), kRow * kRows),
        copy(copyLines[0].values.data(), wide.size());
    const std::span<std::uint16_t> narrow(reinterpret_cast<std::uint16_t*>(narrowLines.data()), wide.size());
    const double outBytes = static_cast<double>(wide.size()) * 4.0;
    const double copying = bestSeconds([&] { std::memcpy(copy.data(), wide.data(), wide.size() * sizeof(float)); });
    fmt::print("one thread, GB/s written    copy {:.1f}\n", outBytes / copying / 1e9);
    fmt::print("{:8} {:>10} {:>10} {:>10} {:>14}\n", "type", "portable", "chosen", "bfloat16", "G elements/s");
    using enum StorageType;
    for (const StorageType type :
         {F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS}) {
        const BlockSize block = blockSize(type);
        const auto rowBytes = kRow / static_cast<std::size_t>(block.elements) * static_cast<std::size_t>(block.bytes);
        std::vector<std::byte> bytes(rowBytes * kRows);
        RandomStream random(1, kStreamTests);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        const auto rows = [&](const auto& convert) {
            return bestSeconds([&] {
                for (std::size_t row = 0; row < kRows; ++row) convert(bytes.data() + row * rowBytes, row * kRow);
            });
        };
        const double portable = rows([&](const std::byte* in, std::size_t at) {
            (void)portableBlockKernels().widen(type, in, kRow, wide.data() + at);
        });
        const double chosen =
            rows([&](const std::byte* in, std::size_t at) { (void)widenToFloat(type, in, kRow, wide.data() + at); });
        const double rounded = rows(
            [&](const std::byte* in, std::size_t at) { (void)convertToBFloat16(type, in, kRow, narrow.data() + at); });
        fmt::print("{:8} {:10.1f} {:10.1f} {:10.1f} {:14.2f}\n", storageTypeName(type), outBytes / portable / 1e9,
                   outBytes / chosen / 1e9, outBytes / 2 / rounded / 1e9,
                   static_cast<double>(wide.size()) / rounded / 1e9);
    }
}

/// Every tensor into memory of its own, rows shared out among the threads, and the file's pages given back.
int measureLoading(const std::string& path, ComputeType type, std::size_t threads) {
    const double before = memoryMiB("VmRSS:");
    const auto start = Clock::now();
    const auto opened = openWeights(path);
    if (!opened) {
        fmt::print(stderr, "{}\n", opened.error().text());
        return 1;
    }
    const WeightSource& source = **opened;
    const double opening = secondsSince(start);
    const std::size_t elementBytes = type == ComputeType::Float32 ? 4 : 2;
    std::vector<std::unique_ptr<std::byte[]>> weights;
    double bytes = 0.0;
    for (const std::string& name : source.names()) {
        const TensorView& view = *source.find(name);
        const std::int64_t rows = rowCountOf(view);
        const std::size_t rowBytes = static_cast<std::size_t>(view.shape.back()) * elementBytes;
        const auto size = static_cast<std::size_t>(rows) * rowBytes;
        const std::span out(weights.emplace_back(new std::byte[size]).get(), size);
        const auto share = [&](std::int64_t first, std::int64_t end) {
            const auto part = out.subspan(static_cast<std::size_t>(first) * rowBytes,
                                          static_cast<std::size_t>(end - first) * rowBytes);
            if (auto done = source.readRows(name, type, first, end - first, part); !done)
                fmt::print(stderr, "{}\n", done.error().text());
        };
        const auto parts = std::min<std::int64_t>(static_cast<std::int64_t>(threads), rows);
        std::vector<std::jthread> workers;
        for (std::int64_t i = 1; i < parts; ++i) workers.emplace_back(share, rows * i / parts, rows * (i + 1) / parts);
        share(0, rows / parts);
        workers.clear();
        source.release(name);
        bytes += static_cast<double>(out.size());
    }
    const double seconds = secondsSince(start);
    const double stored = static_cast<double>(source.config().weightBytes);
    fmt::print(
        "{}: {} as {}, {} thread(s): opened in {:.3f} s, ready in {:.3f} s = {:.2f} GB/s of the file; peak {:.0f} "
        "MiB over the start's for {:.0f} MiB of weights (ratio {:.3f})\n",
        path, source.config().weightTypes, type == ComputeType::Float32 ? "float32" : "bfloat16", threads, opening,
        seconds, stored / seconds / 1e9, memoryMiB("VmHWM:") - before, bytes / 1048576.0,
        (memoryMiB("VmHWM:") - before) / (bytes / 1048576.0));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        measureKernels();
        return 0;
    }
    const std::size_t threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
    const bool wide = argc > 3 && std::string(argv[3]) == "float32";
    return measureLoading(argv[1], wide ? ComputeType::Float32 : ComputeType::BFloat16,
                          std::max<std::size_t>(threads, 1));
}
