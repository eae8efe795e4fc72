#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "core/store/store.h"
#include "core/studies/output_check.h"

namespace lpes::cli {

/// Before anything is computed: Usage for a name that does not end in .html, Unsupported for .pdf, and what
/// checkOutput says.
[[nodiscard]] Result<void> checkReportFile(const std::filesystem::path& out,
                                           const std::vector<studies::CommandInput>& inputs);

/// Has every plot of a run drawn by lpes-render and writes the page; how many plots it holds.
[[nodiscard]] Result<std::size_t> writeReport(store::StoreReader& store, const store::RunRow& run,
                                              const std::filesystem::path& out);

}  // namespace lpes::cli
