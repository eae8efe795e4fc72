#include <algorithm>

#include "core/base/random.h"
#include "tests/core/model/model_testing.h"
#include "tests/support/torch_writer.h"

using namespace lpes;
using namespace lpes::model;
using namespace lpes::test;

namespace {

/// Flips, inserts, overwrites or cuts a few bytes; mostly near the front, where the tables are.
std::string mutated(std::string bytes, std::size_t tableBytes, RandomStream& random) {
    const auto place = [&] {
        return random.below(random.below(8) == 0 ? bytes.size() : std::min(tableBytes, bytes.size()));
    };
    const std::uint64_t edits = 1 + random.below(3);
    for (std::uint64_t i = 0; i < edits && !bytes.empty(); ++i) {
        const std::size_t at = place();
        switch (random.below(6)) {
            case 0:
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << random.below(8)));
                break;
            case 1:
                bytes[at] = static_cast<char>(random.below(256));
                break;
            case 2:
                bytes.insert(at, 1 + random.below(9), static_cast<char>(random.below(256)));
                break;
            case 3:
                bytes.erase(at, 1 + random.below(9));
                break;
            case 4:
                bytes.replace(at, 8, std::string(8, random.below(2) == 0 ? '\xff' : '\0'));
                break;
            default:
                bytes.resize(random.below(4) == 0 ? at : bytes.size());
                break;
        }
    }
    return bytes;
}

/// Opens the file and reads everything that it offers; whatever comes back, nothing may crash.
int survives(const std::filesystem::path& model) {
    const auto source = openWeights(model);
    if (!source) {
        EXPECT_FALSE(source.error().message.empty());
        EXPECT_NE(source.error().code, ErrorCode::Failed) << source.error().text();
        EXPECT_NE(source.error().code, ErrorCode::OutOfMemory) << source.error().text();
        return 0;
    }
    std::vector<float> room;
    for (const std::string& name : (*source)->names()) {
        std::size_t count = 1;
        for (const std::int64_t dim : (*source)->find(name)->shape) count *= static_cast<std::size_t>(dim);
        room.resize(count);
        (void)(*source)->read(name, ComputeType::Float32, std::as_writable_bytes(std::span(room)));
    }
    return 1;
}

const TinyModelSpec kSmall = {
    .numLayers = 1, .hiddenSize = 32, .numHeads = 2, .numKvHeads = 1, .intermediateSize = 32, .vocabSize = 260};
constexpr int kRounds = 2000;

}  // namespace

TEST(Mutations, OfSafetensorsNeverCrash) {
    TemporaryFolder folder;
    writeHuggingFaceFolder(makeTinyModel(kSmall), folder.path(), {.type = StorageType::BF16, .tokenizer = false});
    const std::string good = readBytes(folder / "model.safetensors");
    const std::size_t table = 8 + static_cast<unsigned char>(good[0]) + 256u * static_cast<unsigned char>(good[1]);
    int opened = 0;
    for (int round = 0; round < kRounds; ++round) {
        RandomStream random(1, kStreamTests, static_cast<std::uint32_t>(round));
        writeBytes(folder / "model.safetensors", mutated(good, table, random));
        opened += survives(folder.path());
    }
    EXPECT_GT(opened, 0);
    EXPECT_LT(opened, kRounds / 2);
}

TEST(Mutations, OfGgufNeverCrash) {
    TemporaryFolder folder;
    writeGguf(makeTinyModel(kSmall), folder / "m.gguf", {.type = StorageType::Q5_1});
    const std::string good = readBytes(folder / "m.gguf");
    const std::size_t table = good.find("token_embd.weight") + 200;
    int opened = 0;
    for (int round = 0; round < kRounds; ++round) {
        RandomStream random(2, kStreamTests, static_cast<std::uint32_t>(round));
        writeBytes(folder / "m.gguf", mutated(good, table, random));
        const auto source = openWeights(folder / "m.gguf");
        if (source) (void)(*source)->tokenizerSpec();
        opened += survives(folder / "m.gguf");
    }
    EXPECT_GT(opened, 0);
    EXPECT_LT(opened, kRounds);
}

TEST(Mutations, OfTorchCheckpointsNeverCrash) {
    for (const bool old : {false, true}) {
        TemporaryFolder folder;
        writeTorchFolder(makeTinyModel(kSmall), folder.path(), StorageType::BF16, old);
        const std::string good = readBytes(folder / "pytorch_model.bin");
        // The pickles are in front; a zip archive's own table is behind everything, and is reached by turning it round.
        const std::size_t pickles = good.rfind("OrderedDict");
        const std::size_t table = good.size() - good.find("PK\x01\x02");
        int opened = 0;
        for (int round = 0; round < kRounds; ++round) {
            RandomStream random(4, kStreamTests, static_cast<std::uint32_t>(round));
            std::string bytes = good;
            if (!old && round % 2 == 0) {
                std::reverse(bytes.begin(), bytes.end());
                bytes = mutated(bytes, table, random);
                std::reverse(bytes.begin(), bytes.end());
            } else {
                bytes = mutated(bytes, pickles, random);
            }
            writeBytes(folder / "pytorch_model.bin", bytes);
            opened += survives(folder.path());
        }
        EXPECT_GT(opened, 0);
        EXPECT_LT(opened, kRounds / 2);
    }
}

TEST(Mutations, OfSplitGgufNeverCrash) {
    TemporaryFolder folder;
    writeGgufSet(makeTinyModel(kSmall), folder.path(), "m", 2, {.type = StorageType::Q4_0});
    for (const int part : {0, 1}) {
        const std::string name = ggufSetName("m", part, 2);
        const std::string good = readBytes(folder / name);
        const std::size_t table = std::min<std::size_t>(good.size(), part == 0 ? good.find(".weight") + 200 : 600);
        for (int round = 0; round < kRounds / 4; ++round) {
            RandomStream random(5, kStreamTests, static_cast<std::uint32_t>(round));
            writeBytes(folder / name, mutated(good, table, random));
            survives(folder / ggufSetName("m", 0, 2));
        }
        writeBytes(folder / name, good);
    }
    EXPECT_EQ(survives(folder / ggufSetName("m", 1, 2)), 1);
}

TEST(Mutations, OfConfigurationAndIndexNeverCrash) {
    TemporaryFolder folder;
    writeHuggingFaceFolder(makeTinyModel(kSmall), folder.path(), {.shards = 2, .tokenizer = false});
    for (const char* name : {"config.json", "model.safetensors.index.json"}) {
        const std::string good = readBytes(folder / name);
        for (int round = 0; round < kRounds / 2; ++round) {
            RandomStream random(3, kStreamTests, static_cast<std::uint32_t>(round));
            writeBytes(folder / name, mutated(good, good.size(), random));
            survives(folder.path());
        }
        writeBytes(folder / name, good);
    }
    EXPECT_EQ(survives(folder.path()), 1);
}
