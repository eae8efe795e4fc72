#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "app/cli/options.h"
#include "app/cli/output.h"
#include "app/cli/render_process.h"
#include "app/cli/report_file.h"
#include "app/cli/verb.h"
#include "core/analysis/plot_csv.h"
#include "core/analysis/plot_json.h"
#include "core/base/files.h"
#include "core/studies/plot_queries.h"

namespace lpes::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 4> kPlotEndings{".pdf", ".svg", ".png", ".csv"};

struct OpenRun {
    std::unique_ptr<store::StoreReader> reader;
    store::RunRow run;
};

Result<OpenRun> openRun(const fs::path& database, const std::string& name) {
    auto reader = store::StoreReader::open(database);
    if (!reader) return fail(reader.error());
    auto run = studies::findRun(**reader, name);
    if (!run) return fail(run.error());
    return OpenRun{std::move(*reader), std::move(*run)};
}

/// What is drawn, before what it is drawn from is read: a typing error costs nothing.
Result<void> checkPlotFiles(const std::vector<std::string>& outputs, const fs::path& database) {
    if (outputs.empty())
        return fail(ErrorCode::Usage, "--out is missing; name a file that ends in .pdf, .svg, .png or .csv");
    for (const std::string& out : outputs) {
        const std::string ending = fs::path(out).extension().string();
        if (std::find(kPlotEndings.begin(), kPlotEndings.end(), ending) == kPlotEndings.end()) {
            return fail(ErrorCode::Usage, fmt::format("--out '{}' does not end in .pdf, .svg, .png or .csv", out));
        }
        if (std::count(outputs.begin(), outputs.end(), out) > 1) {
            return fail(ErrorCode::Usage, fmt::format("--out '{}' is given twice", out));
        }
        if (auto fine = checkOutput(out, {{"--db", database}}); !fine) return fine;
    }
    return {};
}

struct Plot {
    explicit Plot(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    fs::path database;
    std::string runName, kind, theme = "light";
    std::vector<std::string> outputs;
    std::optional<double> widthMm, dpi;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto valid = checkPlotFiles(outputs, database); !valid) return fail(valid.error());
        if (theme != "light" && theme != "dark") {
            return fail(ErrorCode::Usage, fmt::format("--theme '{}' is neither light nor dark", theme));
        }
        auto opened = openRun(database, runName);
        if (!opened) return fail(opened.error());
        auto data = studies::plotData(*opened->reader, opened->run, kind);
        if (!data) return fail(data.error());

        nlohmann::json drawn = nlohmann::json::array();
        for (const std::string& out : outputs) {
            if (fs::path(out).extension() != ".csv") drawn.push_back(fs::absolute(out).string());
        }
        if (!drawn.empty()) {
            nlohmann::json plot{{"data", analysis::toJson(*data)}, {"out", std::move(drawn)}, {"theme", theme}};
            if (widthMm) plot["width_mm"] = *widthMm;
            if (dpi) plot["dpi"] = *dpi;
            nlohmann::json plots = nlohmann::json::array();
            plots.push_back(std::move(plot));
            if (auto done = render({{"plots", std::move(plots)}}); !done) return fail(done.error());
        }
        for (const std::string& out : outputs) {
            if (fs::path(out).extension() != ".csv") continue;
            if (auto written = writeFileAtomically(out, analysis::plotCsv(*data)); !written)
                return fail(written.error());
        }
        std::string text;
        for (const std::string& out : outputs) text += "Written to " + out + "\n";
        auto printed = printAnswer(output, {{"run_id", opened->run.id}, {"kind", kind}, {"files", outputs}}, text);
        if (!printed) return fail(printed.error());
        return 0;
    }
};

struct Report {
    explicit Report(CLI::App& app) : flags(app) {}
    SettingFlags flags;
    OutputOptions output;
    fs::path database;
    std::string runName, out;

    Result<int> run() {
        if (auto set = flags.apply(); !set) return fail(set.error());
        if (auto named = checkReportFile(out, {{"--db", database}}); !named) return fail(named.error());
        auto opened = openRun(database, runName);
        if (!opened) return fail(opened.error());
        auto plots = writeReport(*opened->reader, opened->run, out);
        if (!plots) return fail(plots.error());
        auto printed = printAnswer(output, {{"run_id", opened->run.id}, {"file", out}, {"plots", *plots}},
                                   fmt::format("Written to {} ({} plots)\n", out, *plots));
        if (!printed) return fail(printed.error());
        return 0;
    }
};

}  // namespace

void addPlotVerbs(CLI::App& app, Action& action) {
    CLI::App* plotVerb = app.add_subcommand("plot", "Draw a run: PDF, SVG, PNG and the drawn data as CSV, in one call");
    auto plot = std::make_shared<Plot>(*plotVerb);
    plot->flags.add("RUN", "", "Number of the run, or last", toText(plot->runName))->required();
    plot->flags
        .add("--kind", "KIND",
             "curve, accuracy, convergence, attention, deviation, sensitivity, pareto, loss or methods",
             toText(plot->kind))
        ->required();
    plotVerb
        ->add_option("--out", plot->outputs,
                     "File to write, by its ending .pdf, .svg, .png or .csv; may be given several times")
        ->type_name("FILE")
        ->expected(1, 1 << 10)
        ->allow_extra_args(false);
    plot->flags.add("--width-mm", "MM", "Width of the figure; auto: what the drawing program takes by itself [auto]",
                    toOptionalNumber<double>(plot->widthMm, 10.0, 2000.0));
    plot->flags.add("--dpi", "N", "Dots per inch of a PNG; auto: what the drawing program takes by itself [auto]",
                    toOptionalNumber<double>(plot->dpi, 10.0, 2400.0));
    plot->flags.add("--theme", "NAME", "light or dark [light]", toText(plot->theme));
    addDatabaseOption(plot->flags, plot->database);
    addJsonOption(*plotVerb, plot->output);
    plotVerb->callback([plot, &action] { action = [plot] { return plot->run(); }; });

    CLI::App* reportVerb =
        app.add_subcommand("report", "One self-contained HTML file with every table and plot of a run");
    auto report = std::make_shared<Report>(*reportVerb);
    report->flags.add("RUN", "", "Number of the run, or last", toText(report->runName))->required();
    report->flags.add("--out", "FILE", "File to write, .html", toText(report->out))->required();
    addDatabaseOption(report->flags, report->database);
    addJsonOption(*reportVerb, report->output);
    reportVerb->callback([report, &action] { action = [report] { return report->run(); }; });
}

}  // namespace lpes::cli
