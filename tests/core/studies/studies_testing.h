#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/run_settings.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {

/// The value itself: looping over the value() of a temporary result would leave the loop without its container.
template <class T>
[[nodiscard]] T take(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().text());
    return std::move(*result);
}

/// A folder with a tiny model in it.
class StudyFolder {
  public:
    explicit StudyFolder(const TinyModelSpec& spec = {});
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return m_folder / name; }
    [[nodiscard]] std::string model() const { return (m_folder / "model").string(); }

  private:
    TemporaryFolder m_folder;
};

/// Requests a stop when so many prompts are done.
class StopAfter final : public ProgressObserver {
  public:
    explicit StopAfter(std::int64_t prompts) : m_prompts(prompts) {}
    void progressed(const Progress& progress) override {
        const bool loading = progress.stage.starts_with("loading");
        if (!loading && progress.done >= m_prompts) m_source.request_stop();
    }
    void warned(const std::string&) override {}
    [[nodiscard]] std::stop_token token() const { return m_source.get_token(); }

  private:
    const std::int64_t m_prompts;
    std::stop_source m_source;
};

/// Requests a stop when a stage begins.
class StopAtStage final : public ProgressObserver {
  public:
    explicit StopAtStage(std::string stage) : m_stage(std::move(stage)) {}
    void progressed(const Progress& progress) override {
        if (progress.stage.starts_with(m_stage)) m_source.request_stop();
    }
    void warned(const std::string&) override {}
    [[nodiscard]] std::stop_token token() const { return m_source.get_token(); }

  private:
    const std::string m_stage;
    std::stop_source m_source;
};

/// A search that takes a second: short prompts, few items, population 6, three generations.
[[nodiscard]] studies::SearchRunSettings smallSearch(const StudyFolder& folder);

/// The same by descent: two starts, two steps in each generation, two items a step.
[[nodiscard]] studies::SearchRunSettings descendingSearch(const StudyFolder& folder);

[[nodiscard]] std::unique_ptr<store::StoreWriter> openStore(const std::filesystem::path& path);

/// Everything of a run that must not depend on interruptions or workers: generations, candidates, outcomes, positions,
/// attention, deviation, splits, and the result without times.
[[nodiscard]] nlohmann::json historyOf(store::StoreReader& reader, std::int64_t runId);
/// Beside that: every slope that was measured.
[[nodiscard]] nlohmann::json historyWithSlopesOf(store::StoreReader& reader, std::int64_t runId);

}  // namespace lpes::test
