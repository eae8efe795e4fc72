#include "core/model/formats/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/random.h"
#include "core/model/formats/block_kernels.h"
#include "core/model/formats/storage.h"
#include "tests/support/block_quantizer.h"
#include "tests/support/tiny_model.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;

namespace {

std::vector<std::byte> fromHex(const std::string& text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

using enum StorageType;
constexpr StorageType kAll[] = {F32,  F16,  BF16, Q8_0, Q4_0, Q4_1,   Q5_0,  Q5_1,
                                Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS};

}  // namespace

TEST(Dequantization, EqualsTheGgufPackageBitForBit) {
    const auto golden = nlohmann::json::parse(readBytes(std::string(LPES_TEST_DATA) + "/golden/ggml_blocks.json"));
    int compared = 0;
    for (const StorageType type : kAll) {
        if (type == StorageType::F32) continue;
        const auto& entry = golden.at("gguf_types").at(storageTypeName(type));
        const std::vector<std::byte> bytes = fromHex(entry.at("bytes"));
        const std::vector<std::byte> expected = fromHex(entry.at("float32"));
        std::vector<float> values(expected.size() / 4);
        ASSERT_EQ(values.size() / static_cast<std::size_t>(blockSize(type).elements) *
                      static_cast<std::size_t>(blockSize(type).bytes),
                  bytes.size());
        EXPECT_TRUE(widenToFloat(type, bytes.data(), values.size(), values.data())) << storageTypeName(type);
        for (std::size_t i = 0; i < values.size(); ++i) {
            float wanted = 0.0f;
            std::memcpy(&wanted, expected.data() + 4 * i, 4);
            // −0 and +0 differ in how a zero minimum was added, and compare equal.
            ASSERT_EQ(values[i], wanted) << storageTypeName(type) << " element " << i;
            ++compared;
        }
    }
    EXPECT_GT(compared, 10000);
}

TEST(Dequantization, WidensEveryHalfExactly) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        float value = 0.0f;
        const bool finite = widenToFloat(StorageType::F16, reinterpret_cast<const std::byte*>(&half), 1, &value);
        const float expected = fromHalf(half);
        EXPECT_EQ(finite, std::isfinite(expected)) << bits;
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(value)) << bits;
        } else {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected)) << bits;
        }
    }
}

TEST(Dequantization, IsTheSameOnEveryProcessor) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) {
        GTEST_SKIP() << "this processor has no AVX2 and F16C to compare with";
    }
#endif
    RandomStream random(8, kStreamTests);
    for (const StorageType type : kAll) {
        const std::size_t count = 16 * 256;
        std::vector<std::byte> bytes(count / static_cast<std::size_t>(blockSize(type).elements) *
                                     static_cast<std::size_t>(blockSize(type).bytes));
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        std::vector<std::uint32_t> portable(count), avx2(count);
        const auto widened = [&](const BlockKernels& kernels, std::vector<std::uint32_t>& out) {
            return kernels.widen(type, bytes.data(), count, reinterpret_cast<float*>(out.data()));
        };
        EXPECT_EQ(widened(portableBlockKernels(), portable), widened(avx2BlockKernels(), avx2));
        for (std::size_t i = 0; i < count; ++i) {
            // What is not a number has no bits to agree on.
            if (std::isnan(std::bit_cast<float>(portable[i])) && std::isnan(std::bit_cast<float>(avx2[i]))) continue;
            ASSERT_EQ(portable[i], avx2[i]) << storageTypeName(type) << " element " << i;
        }
    }
}

TEST(Dequantization, RoundsToBfloat16NearestEven) {
    const float values[] = {
        1.0f, 1.00390625f /* tie, even below */, 1.01171875f /* tie, even above */, -0.0f, 3.1415927f, 1e-40f};
    const std::uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0x8000, 0x4049, 0x0001};
    std::uint16_t rounded[6] = {};
    EXPECT_TRUE(convertToBFloat16(StorageType::F32, reinterpret_cast<const std::byte*>(values), 6, rounded));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(rounded[i], expected[i]) << i;
}

TEST(Dequantization, RoundsToBfloat16AfterComputingInFloat) {
    RandomStream random(7, kStreamTests);
    std::vector<float> values(256 * 9);  // more than one chunk, and no multiple of it
    for (float& value : values) value = static_cast<float>(random.normal());
    for (const StorageType type : kAll) {
        const std::string bytes = encode(values, type);
        const auto* in = reinterpret_cast<const std::byte*>(bytes.data());
        std::vector<float> wide(values.size());
        std::vector<std::uint16_t> narrow(values.size()), expected(values.size());
        EXPECT_TRUE(widenToFloat(type, in, wide.size(), wide.data()));
        EXPECT_TRUE(convertToBFloat16(type, in, narrow.size(), narrow.data()));
        EXPECT_TRUE(convertToBFloat16(StorageType::F32, reinterpret_cast<const std::byte*>(wide.data()), wide.size(),
                                      expected.data()));
        EXPECT_EQ(narrow, expected) << storageTypeName(type);
    }
}

TEST(Dequantization, FindsWhatIsNotFinite) {
    constexpr std::size_t kCount = 512;
    std::vector<float> values(kCount, 0.5f), out(kCount);
    std::vector<std::uint16_t> narrow(kCount);
    for (const StorageType type : kAll) {
        std::string bytes = encode(values, type);
        const auto unit = static_cast<std::size_t>(blockSize(type).bytes);
        // The last element, or the last block's scale, becomes infinite. Some types have their scales last.
        const std::size_t at =
            type == Q2_K ? bytes.size() - 4 : bytes.size() - (type == Q3_K || type == Q6_K ? 2 : unit);
        const std::string infinity = type == StorageType::F32    ? std::string("\0\0\x80\x7f", 4)
                                     : type == StorageType::BF16 ? std::string("\x80\x7f", 2)
                                                                 : std::string("\0\x7c", 2);
        bytes.replace(at, infinity.size(), infinity);
        const auto* in = reinterpret_cast<const std::byte*>(bytes.data());
        const std::size_t good = kCount - static_cast<std::size_t>(blockSize(type).elements);
        EXPECT_FALSE(widenToFloat(type, in, kCount, out.data())) << storageTypeName(type);
        EXPECT_FALSE(convertToBFloat16(type, in, kCount, narrow.data())) << storageTypeName(type);
        EXPECT_TRUE(widenToFloat(type, in, good, out.data())) << storageTypeName(type);
    }
}

TEST(Dequantization, CountsRoundingToInfinityAsNotFinite) {
    const float largest = std::numeric_limits<float>::max();
    std::uint16_t narrow = 0;
    EXPECT_FALSE(convertToBFloat16(StorageType::F32, reinterpret_cast<const std::byte*>(&largest), 1, &narrow));
}
