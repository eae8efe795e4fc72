#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "core/base/progress.h"
#include "core/store/store.h"
#include "core/studies/run_settings.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {

/// A folder with a tiny model in it.
class StudyFolder {
  public:
    explicit StudyFolder(const TinyModelSpec& spec = {});
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return m_folder / name; }
    [[nodiscard]] std::string model() const { return (m_folder / "model").string(); }

  private:
    TemporaryFolder m_folder;
};

/// Requests a stop after so many progress reports of prompts.
class StopAfter final : public ProgressObserver {
  public:
    explicit StopAfter(std::int64_t prompts) : m_prompts(prompts) {}
    void progressed(const Progress& progress) override {
        if (progress.done >= m_prompts && progress.total > 0) m_source.request_stop();
    }
    void warned(const std::string&) override {}
    [[nodiscard]] std::stop_token token() const { return m_source.get_token(); }

  private:
    const std::int64_t m_prompts;
    std::stop_source m_source;
};

/// A search that takes a second: short prompts, few items, population 6, three generations.
[[nodiscard]] studies::SearchRunSettings smallSearch(const StudyFolder& folder);

[[nodiscard]] std::unique_ptr<store::StoreWriter> openStore(const std::filesystem::path& path);

/// Everything of a run that must not depend on interruptions or workers: generations, candidates, outcomes, positions,
/// attention, deviation, splits, and the result without times.
[[nodiscard]] nlohmann::json historyOf(store::StoreReader& reader, std::int64_t runId);

}  // namespace lpes::test
