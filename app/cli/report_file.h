#pragma once

#include <cstddef>
#include <filesystem>

#include "core/base/result.h"
#include "core/store/store.h"

namespace lpes::cli {

/// Before anything is computed: Usage for a name that does not end in .html, Unsupported for .pdf, and what
/// checkWritable says.
[[nodiscard]] Result<void> checkReportFile(const std::filesystem::path& out);

/// Has every plot of a run drawn by lpes-render and writes the page; how many plots it holds.
[[nodiscard]] Result<std::size_t> writeReport(store::StoreReader& store, const store::RunRow& run,
                                              const std::filesystem::path& out);

}  // namespace lpes::cli
