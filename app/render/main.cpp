#include <unistd.h>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <iostream>
#include <string>
#include <vector>

#include "app/render/render_job.h"
#include "core/base/files.h"
#include "core/base/version.h"

namespace {

using lpes::ErrorCode;
using lpes::Result;

struct Options {
    std::string job, data, theme = "light";
    std::vector<std::string> out;
    lpes::widgets::RenderOptions render;
    double heightMm = 0.0;
};

int report(const lpes::Error& error) {
    std::cerr << "lpes-render: " << error.text() << '\n';
    return lpes::exitCode(error.code);
}

Result<std::string> readInput(const std::string& name) {
    if (name != "-") return lpes::readTextFile(name);
    // Waiting for a person to type JSON would look like a hang.
    if (isatty(STDIN_FILENO) != 0) {
        return lpes::fail(ErrorCode::Usage, "Standard input is a terminal; pipe the data in or give a file.");
    }
    constexpr std::size_t kMaxBytes = 256u << 20;
    std::string text;
    std::vector<char> chunk(1u << 16);
    for (;;) {
        const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lpes::fail(ErrorCode::BadInput, "Standard input cannot be read; give a file instead.");
        if (got == 0) return text;
        text.append(chunk.data(), static_cast<std::size_t>(got));
        if (text.size() > kMaxBytes) {
            return lpes::fail(ErrorCode::BadInput,
                              "Standard input holds more than 256 MiB; draw fewer plots per call.");
        }
    }
}

Result<std::vector<lpes::render::Picture>> pictures(const Options& options) {
    const bool job = !options.job.empty();
    if (job == !options.data.empty()) {
        return lpes::fail(ErrorCode::Usage, "Give either --job FILE or --data FILE with --out FILE.");
    }
    if (job && !options.out.empty()) {
        return lpes::fail(ErrorCode::Usage, "--out goes with --data; a job names its files itself.");
    }
    if (!job && options.out.empty()) {
        return lpes::fail(ErrorCode::Usage, "--data needs at least one --out FILE (.pdf, .svg, .png or .csv).");
    }
    auto text = readInput(job ? options.job : options.data);
    if (!text) return lpes::fail(std::move(text.error()));
    if (job) return lpes::render::parseJob(*text, options.render);
    return lpes::render::parsePlot(*text, {options.out.begin(), options.out.end()}, options.render);
}

// Qt's remark about a missing session folder would be the only line on standard error of a drawing that went well.
void qtMessage(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    Q_UNUSED(context)
    if (type == QtDebugMsg || type == QtInfoMsg || message.contains(QStringLiteral("XDG_RUNTIME_DIR"))) return;
    std::cerr << "lpes-render: " << message.toStdString() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"Draws plots that `lpes` computed, without a display.", "lpes-render"};
    app.set_version_flag("--version", std::string("lpes-render ") + lpes::kVersion);
    app.add_option("--job", options.job,
                   "Several plots: {\"plots\":[{\"data\":{...},\"out\":[\"a.pdf\",...]}]}; - reads standard input");
    app.add_option("--data", options.data, "One plot as JSON; - reads standard input");
    app.add_option("--out", options.out, "File to write (.pdf, .svg, .png, .csv); may be repeated")
        ->expected(1)
        ->take_all();
    app.add_option("--width-mm", options.render.widthMm, "Width in millimetres (20 to 1000)")->capture_default_str();
    auto* height =
        app.add_option("--height-mm", options.heightMm, "Height in millimetres; left out: what suits the plot");
    app.add_option("--dpi", options.render.dpi, "Resolution of PNG files (50 to 1200)")->capture_default_str();
    app.add_option("--theme", options.theme, "light or dark")
        ->check(CLI::IsMember({"light", "dark"}))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // --help and --version end here as well, before anything of Qt's is touched.
        if (error.get_exit_code() == 0) return app.exit(error);
        return report({ErrorCode::Usage, std::string(error.what()) + ". See --help.", {}, {}});
    }
    options.render.dark = options.theme == "dark";
    if (height->count() > 0) options.render.heightMm = options.heightMm;

    const auto wanted = pictures(options);
    if (!wanted) return report(wanted.error());

    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    qInstallMessageHandler(qtMessage);
    QApplication qt(argc, argv);
    if (const auto drawn = lpes::render::draw(*wanted); !drawn) return report(drawn.error());
    return 0;
}
