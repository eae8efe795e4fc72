#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/core/model_torch/session_helpers.h"
#include "tests/support/torch_writer.h"

namespace lpes::model {
namespace {

using test::load;
using test::makeTinyModel;
using test::MemoryWeights;
using test::randomIds;
using testing::HasSubstr;

TEST(Loading, RefusesAnotherDeviceByName) {
    NullObserver nobody;
    const auto result =
        loadCausalLm(std::make_shared<MemoryWeights>(makeTinyModel()), {ComputeType::Float32, "cuda:0"}, nobody);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(result.error().message, HasSubstr("cuda:0"));
}

TEST(Loading, PicksTheComputeTypeOfTheProcessorWhenNoneIsGiven) {
    NullObserver nobody;
    const auto result = loadCausalLm(std::make_shared<MemoryWeights>(makeTinyModel()), {}, nobody);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ((*result)->computeType(), hasNativeBFloat16() ? ComputeType::BFloat16 : ComputeType::Float32);
    EXPECT_EQ((*result)->device(), "cpu");
}

TEST(Loading, ReportsEveryTensorAndStopsBetweenTwo) {
    struct Counter final : ProgressObserver {
        void progressed(const Progress& progress) override {
            last = progress;
            if (progress.done == 5) source.request_stop();
        }
        void warned(const std::string&) override {}
        Progress last;
        std::stop_source source;
    } observer;
    const auto weights = std::make_shared<MemoryWeights>(makeTinyModel());
    ASSERT_TRUE(loadCausalLm(weights, {ComputeType::Float32, "cpu"}, observer).has_value());
    EXPECT_EQ(observer.last.done, observer.last.total);
    EXPECT_EQ(observer.last.total, static_cast<std::int64_t>(weights->names().size()));

    Counter stopping;
    const auto stopped = loadCausalLm(weights, {ComputeType::Float32, "cpu"}, stopping, stopping.source.get_token());
    ASSERT_FALSE(stopped.has_value());
    EXPECT_TRUE(wasStopped(stopped.error()));
    EXPECT_EQ(stopping.last.done, 5);
}

/// Says of one tensor that it is larger than any machine's memory, and reads the tiny one all the same.
class Claiming final : public WeightSource {
  public:
    Claiming(std::string name, bool mayBeRead)
        : m_inner(makeTinyModel()), m_name(std::move(name)), m_mayBeRead(mayBeRead) {
        m_view = *m_inner.find(m_name);
        m_view.shape = {std::int64_t{1} << 22, std::int64_t{1} << 22};
    }
    const ModelConfig& config() const override { return m_inner.config(); }
    std::vector<std::string> names() const override { return m_inner.names(); }
    const TensorView* find(const std::string& name) const override {
        return name == m_name ? &m_view : m_inner.find(name);
    }
    std::span<const std::byte> direct(const std::string&, ComputeType) const override { return {}; }
    Result<void> readRows(const std::string& name, ComputeType type, std::int64_t first, std::int64_t count,
                          std::span<std::byte> out) const override {
        EXPECT_TRUE(m_mayBeRead) << "read before the check";
        return m_inner.readRows(name, type, first, count, out);
    }
    void release(const std::string&) const override {}
    Result<void> checkFinite(const std::string&) const override { return {}; }
    Result<text::TokenizerSpec> tokenizerSpec() const override { return m_inner.tokenizerSpec(); }

  private:
    MemoryWeights m_inner;
    TensorView m_view;
    std::string m_name;
    bool m_mayBeRead;
};

TEST(Loading, SaysSoBeforeAllocatingWhatDoesNotFit) {
    NullObserver nobody;
    const auto result = loadCausalLm(std::make_shared<Claiming>("embedding", false),
                                     {ComputeType::Float32, "cpu", Residency::Dequantised}, nobody);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
    EXPECT_THAT(result.error().message, HasSubstr("67108864 MiB"));
}

TEST(Loading, WeightsThatStayAsStoredGiveTheLogitsOfDequantisedOnes) {
    const test::TemporaryFolder folder;
    test::TinyModelSpec spec;
    spec.hiddenSize = 256;
    spec.headDim = 64;
    spec.intermediateSize = 256;
    spec.tiedHead = false;
    for (const StorageType type : {StorageType::Q4_K, StorageType::Q6_K, StorageType::Q8_0, StorageType::F16}) {
        for (const Architecture architecture : {Architecture::Llama, Architecture::Qwen2}) {
            spec.architecture = architecture;
            test::GgufOptions options;
            options.type = type;
            test::writeGguf(makeTinyModel(spec), folder / "m.gguf", options);
            const auto weights = openWeights(folder / "m.gguf");
            ASSERT_TRUE(weights.has_value()) << weights.error().text();
            const auto loaded = [&](Residency residency) {
                NullObserver nobody;
                auto model = loadCausalLm(*weights, {ComputeType::Float32, "cpu", residency}, nobody);
                EXPECT_TRUE(model.has_value());
                return *model;
            };
            const auto dense = loaded(Residency::Dequantised), stored = loaded(Residency::AsStored);
            EXPECT_FALSE(dense->keepsWeightsAsStored());
            EXPECT_TRUE(stored->keepsWeightsAsStored());
            EXPECT_LT(stored->residentBytes(), dense->residentBytes() / 20);
            const auto ids = randomIds(90, 1);
            const LayerScales scales{1.3, 0.8};
            const auto a = dense->newSession(2)->scoreText(ids, scales, 1);
            const auto b = stored->newSession(2)->scoreText(ids, scales, 1);
            ASSERT_TRUE(a.has_value() && b.has_value());
            for (std::size_t i = 0; i < a->logProbs.size(); ++i) ASSERT_NEAR(a->logProbs[i], b->logProbs[i], 2e-4) << i;
            const ScoredPrompt item{ids, {3}};
            const auto c = dense->newSession(1)->scaleGradients(std::span(&item, 1), scales);
            const auto d = stored->newSession(1)->scaleGradients(std::span(&item, 1), scales);
            ASSERT_TRUE(c.has_value() && d.has_value());
            EXPECT_NEAR(c->front().gradient[0], d->front().gradient[0], 1e-3);
        }
    }
}

TEST(Loading, LeavesWeightsAsStoredWhereTheyWouldNotFitAndSaysSo) {
    class Listener final : public ProgressObserver {
      public:
        void progressed(const Progress&) override {}
        void warned(const std::string& message) override { warnings.push_back(message); }
        std::vector<std::string> warnings;
    };
    Listener listener;
    const auto model =
        loadCausalLm(std::make_shared<Claiming>("layer.0.down", true), {ComputeType::Float32, "cpu"}, listener);
    ASSERT_TRUE(model.has_value()) << model.error().text();
    EXPECT_TRUE((*model)->keepsWeightsAsStored());
    EXPECT_THAT(listener.warnings,
                testing::ElementsAre(testing::AllOf(HasSubstr("67108864 MiB"), HasSubstr("as they are stored"))));
}

TEST(Loading, UsesMappedBytesAsTheyAreAndKeepsThemAlive) {
    auto weights = std::make_shared<MemoryWeights>(makeTinyModel(), true);
    std::atomic<int> reads = 0;
    weights->onRead = [&](const std::string&) { ++reads; };
    const std::weak_ptr<const WeightSource> watch = weights;
    auto direct = load(weights);
    EXPECT_EQ(reads, 0);
    weights.reset();
    EXPECT_FALSE(watch.expired());
    const auto ids = randomIds(100, 1);
    const auto copied = load(std::make_shared<MemoryWeights>(makeTinyModel()));
    const auto a = direct->newSession(1)->scoreText(ids, {}, 1), b = copied->newSession(1)->scoreText(ids, {}, 1);
    ASSERT_TRUE(a.has_value() && b.has_value());
    for (std::size_t i = 0; i < a->logProbs.size(); ++i) ASSERT_NEAR(a->logProbs[i], b->logProbs[i], 1e-5);
    EXPECT_EQ(direct->residentBytes(), copied->residentBytes());
    direct.reset();
    EXPECT_TRUE(watch.expired()) << "the mapping outlives the model";
}

TEST(Loading, SessionsOutliveTheModelHandle) {
    auto model = test::loadTiny();
    const auto session = model->newSession(1);
    model.reset();
    EXPECT_TRUE(session->scoreText(randomIds(20, 1), {}, 1).has_value());
}

TEST(Loading, PassesOnWhatTheFileSays) {
    class Damaged final : public WeightSource {
      public:
        const ModelConfig& config() const override { return m_inner.config(); }
        std::vector<std::string> names() const override { return m_inner.names(); }
        const TensorView* find(const std::string& name) const override { return m_inner.find(name); }
        std::span<const std::byte> direct(const std::string&, ComputeType) const override { return {}; }
        Result<void> readRows(const std::string& name, ComputeType, std::int64_t, std::int64_t,
                              std::span<std::byte>) const override {
            return fail(ErrorCode::BadInput, "tensor " + name + " holds NaN");
        }
        void release(const std::string&) const override {}
        Result<void> checkFinite(const std::string&) const override { return {}; }
        Result<text::TokenizerSpec> tokenizerSpec() const override { return m_inner.tokenizerSpec(); }

      private:
        MemoryWeights m_inner{makeTinyModel()};
    };
    NullObserver nobody;
    const auto result = loadCausalLm(std::make_shared<Damaged>(), {ComputeType::Float32, "cpu"}, nobody);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::BadInput);
    EXPECT_THAT(result.error().message, HasSubstr("embedding"));
}

TEST(Runtime, NamesItselfForRunRecords) {
    EXPECT_THAT(libTorchVersion(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
    EXPECT_THAT(deviceDescription("cpu"), HasSubstr("("));
}

// The same numbers, whichever file they come from: quantised, or quantised and widened again before they were stored.
TEST(Loading, GivesTheSameLogitsFromEveryFormatAndQuantisation) {
    const test::TemporaryFolder folder;
    test::TinyModelSpec spec{.hiddenSize = 256, .numHeads = 4, .numKvHeads = 2, .headDim = 64, .intermediateSize = 256};
    const test::TinyModel tiny = makeTinyModel(spec);
    const auto score = [&](const std::filesystem::path& path) {
        const auto result =
            test::loadFrom(path, ComputeType::Float32)->newSession(1)->scoreText(randomIds(120, 1), {}, 1);
        if (!result) throw std::runtime_error(result.error().text());
        return result->logProbs;
    };
    using enum StorageType;
    for (const StorageType type : {Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, Q8_0}) {
        const test::TinyModel stored = storedAs(tiny, type);
        test::writeGguf(tiny, folder / "m.gguf", {.type = type});
        test::writeGgufSet(tiny, folder.path(), "set", 2, {.type = type});
        test::writeHuggingFaceFolder(stored, folder / "safetensors");
        test::writeTorchFolder(stored, folder / "torch", F32);
        test::writeTorchFolder(stored, folder / "old", F32, true);
        const auto wanted = score(folder / "safetensors");
        for (const char* name : {"m.gguf", "set-00002-of-00002.gguf", "torch", "old"}) {
            const auto got = score(folder / name);
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                ASSERT_NEAR(got[i], wanted[i], 1e-4) << storageTypeName(type) << " " << name << " " << i;
            }
        }
    }
}

// The rows of q and k are interleaved in a GGUF of Llama and not in one of Qwen2.
TEST(FieldReports, T17_SafetensorsAndGgufOfTheSameWeightsGiveTheSameLogits) {
    const test::TemporaryFolder folder;
    for (const Architecture architecture : {Architecture::Llama, Architecture::Qwen2}) {
        test::TinyModelSpec spec;
        spec.architecture = architecture;
        spec.numLayers = 3;
        const test::TinyModel tiny = makeTinyModel(spec);
        const auto name = architectureName(architecture);
        test::writeHuggingFaceFolder(tiny, folder / name);
        test::writeGguf(tiny, folder / (name + ".gguf"));
        test::GgufOptions wrong;
        wrong.permute = false;
        test::writeGguf(tiny, folder / (name + "-unpermuted.gguf"), wrong);

        const auto ids = randomIds(300, 1);
        const auto score = [&](const std::shared_ptr<const CausalLm>& model) {
            const auto result = model->newSession(1)->scoreText(ids, LayerScales{1.0, 1.4, 0.8}, 1);
            if (!result) throw std::runtime_error(result.error().text());
            return result->logProbs;
        };
        const auto memory = score(load(std::make_shared<MemoryWeights>(tiny)));
        const auto safetensors = score(test::loadFrom(folder / name, ComputeType::Float32));
        const auto gguf = score(test::loadFrom(folder / (name + ".gguf"), ComputeType::Float32));
        const auto unpermuted = score(test::loadFrom(folder / (name + "-unpermuted.gguf"), ComputeType::Float32));
        double wrongBy = 0.0;
        for (std::size_t i = 0; i < memory.size(); ++i) {
            ASSERT_NEAR(safetensors[i], memory[i], 1e-4) << name << " " << i;
            ASSERT_NEAR(gguf[i], memory[i], 1e-4) << name << " " << i;
            wrongBy = std::max(wrongBy, std::abs(unpermuted[i] - memory[i]));
        }
        if (architecture == Architecture::Llama) {
            EXPECT_GT(wrongBy, 0.1) << "the order of rows makes no difference here, so the test says nothing";
        }
    }
}

}  // namespace
}  // namespace lpes::model
