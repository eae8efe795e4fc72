#include "app/cli/report_file.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "app/cli/options.h"
#include "app/cli/render_process.h"
#include "core/analysis/plot_json.h"
#include "core/base/files.h"
#include "core/base/temporary_folder.h"
#include "core/studies/plot_queries.h"
#include "core/studies/report.h"

namespace lpes::cli {

namespace {

namespace fs = std::filesystem;

Result<std::map<std::string, std::string>> draw(store::StoreReader& store, const store::RunRow& run) {
    std::map<std::string, std::string> pictures;
    auto kinds = studies::availablePlots(store, run);
    if (!kinds) return fail(kinds.error());
    if (kinds->empty()) return pictures;
    auto folder = TemporaryFolder::make("lpes-report-");
    if (!folder) return fail(folder.error());
    nlohmann::json plots = nlohmann::json::array();
    for (const std::string& kind : *kinds) {
        auto data = studies::plotData(store, run, kind);
        if (!data) return fail(data.error());
        nlohmann::json files = nlohmann::json::array();
        files.push_back((folder->path() / (kind + ".svg")).string());
        plots.push_back({{"data", analysis::toJson(*data)}, {"out", std::move(files)}, {"theme", "light"}});
    }
    if (auto done = render({{"plots", std::move(plots)}}); !done) return fail(done.error());
    for (const std::string& kind : *kinds) {
        auto svg = readTextFile(folder->path() / (kind + ".svg"));
        if (!svg) return fail(svg.error());
        pictures[kind] = std::move(*svg);
    }
    return pictures;
}

}  // namespace

Result<void> checkReportFile(const fs::path& out, const std::vector<studies::CommandInput>& inputs) {
    const std::string ending = out.extension().string();
    if (ending == ".pdf") {
        return fail(ErrorCode::Unsupported,
                    "a report as .pdf is not available in this version; name a .html file, which a browser can print");
    }
    if (ending != ".html") return fail(ErrorCode::Usage, fmt::format("--out '{}' does not end in .html", out.string()));
    return checkOutput(out, inputs);
}

Result<std::size_t> writeReport(store::StoreReader& store, const store::RunRow& run, const fs::path& out) {
    auto pictures = draw(store, run);
    if (!pictures) return fail(pictures.error());
    auto page = studies::reportHtml(store, run, *pictures);
    if (!page) return fail(page.error());
    if (auto written = writeFileAtomically(out, *page); !written) return fail(written.error());
    return pictures->size();
}

}  // namespace lpes::cli
