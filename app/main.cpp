#include <CLI/CLI.hpp>
#include <QApplication>
#include <QTimer>
#include <cstdio>
#include <string>

#include "app/main_window.h"
#include "app/smoke.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "core/store/store.h"

namespace {

struct Arguments {
    std::string model = "demo", database, profile, theme, out;
    bool smoke = false;
    double smokeSearch = 0.0;
};

/// Parsed before Qt starts: --help and --version need no display.
int parse(int argc, char** argv, Arguments& arguments, bool& go) {
    CLI::App parser(
        "LPES Studio: drag the curve of scales over a model's layers, see what it does, search for a better "
        "one");
    parser.set_version_flag("--version", std::string("lpes-studio ") + lpes::kVersion);
    parser.add_option("--model", arguments.model, "Model to open: demo, a GGUF file or a model folder; none: no model")
        ->capture_default_str();
    parser.add_option("--db", arguments.database, "Data base to show and to write searches to [the user's own]");
    parser.add_option("--profile", arguments.profile, "Profile to open in the editor");
    parser.add_option("--theme", arguments.theme, "light or dark for this session [as it was last time]")
        ->check(CLI::IsMember({"light", "dark"}));
    parser.add_flag("--smoke", arguments.smoke, "Open, draw every view and exit with code 0");
    parser.add_option("--out", arguments.out, "With --smoke: folder for a PNG of every view");
    parser
        .add_option("--smoke-search", arguments.smokeSearch,
                    "With --smoke: also start a search, draw it after so many seconds, stop it")
        ->check(CLI::NonNegativeNumber);
    try {
        parser.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = parser.exit(error);
        return code == 0 ? 0 : lpes::exitCode(lpes::ErrorCode::Usage);
    }
    go = true;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    bool go = false;
    if (const int code = parse(argc, argv, arguments, go); !go) return code;
    lpes::startLog(lpes::LogLevel::Warning);
    const bool display = qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY");
    if (!display && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
        if (!arguments.smoke) {
            std::fputs(
                "lpes-studio: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); use the command "
                "line, lpes, or packaging/run.sh --headless\n",
                stderr);
            return lpes::exitCode(lpes::ErrorCode::Unsupported);
        }
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    // 125 % and 150 % are asked for as they are, not rounded to whole factors.
    QGuiApplication::setHighDpiScaleFactorRoundingPolicy(Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("LPES Studio"));
    QApplication::setApplicationVersion(QLatin1String(lpes::kVersion));
    QApplication::setDesktopFileName(QStringLiteral("lpes-studio"));

    lpes::app::StudioOptions options;
    options.model = arguments.model == "none" ? std::string() : arguments.model;
    options.database =
        arguments.database.empty() ? lpes::store::defaultDatabasePath() : std::filesystem::path(arguments.database);
    options.profile = arguments.profile;
    if (!arguments.smoke) options.draftFolder = lpes::userDataFolder() / "curves";
    options.systemDark = lpes::app::systemIsDark();
    options.restoreLayout = !arguments.smoke;
    if (arguments.theme == "dark") options.theme = lpes::app::ThemeChoice::Dark;
    if (arguments.theme == "light") options.theme = lpes::app::ThemeChoice::Light;
    lpes::app::MainWindow window(options);
    window.show();
    lpes::app::Smoke smoke(window, QString::fromStdString(arguments.out), arguments.smokeSearch, nullptr);
    if (arguments.smoke) smoke.start(!options.model.empty());
    // From the event loop, so that the window is shown before anything is opened.
    QTimer::singleShot(0, &window, &lpes::app::MainWindow::start);
    return QApplication::exec();
}
