#include "app/cli/progress_printer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/output.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"

namespace lpes::cli {

namespace {

constexpr double kTerminalSeconds = 0.1;
constexpr double kPlainSeconds = 5.0;
constexpr double kJsonSeconds = 0.25;
constexpr double kLogSeconds = 2.0;

double interval(ProgressPrinter::Mode mode) {
    switch (mode) {
        case ProgressPrinter::Mode::Terminal:
            return kTerminalSeconds;
        case ProgressPrinter::Mode::Json:
            return kJsonSeconds;
        case ProgressPrinter::Mode::Log:
            return kLogSeconds;
        default:
            return kPlainSeconds;
    }
}

std::string duration(double seconds) {
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string inWords(const Progress& progress) {
    std::string text = progress.stage;
    if (progress.total > 0) {
        text += fmt::format(": {} of {} ({:.0f} %)", progress.done, progress.total,
                            100.0 * static_cast<double>(progress.done) / static_cast<double>(progress.total));
    } else if (progress.done > 0) {
        text += fmt::format(": {}", progress.done);
    }
    if (progress.ratePerSecond > 0.0) text += fmt::format(", {:.1f}/s", progress.ratePerSecond);
    if (progress.etaSeconds >= 0.0) text += ", " + duration(progress.etaSeconds) + " left";
    return text;
}

std::size_t terminalWidth() {
    struct winsize size {};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10) return size.ws_col;
    return 80;
}

void writeRaw(const std::string& text) {
    (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

ProgressPrinter::ProgressPrinter(const std::string& choice)
    : m_mode(choice == "json"               ? Mode::Json
             : choice == "log"              ? Mode::Log
             : choice == "none"             ? Mode::None
             : ::isatty(STDERR_FILENO) != 0 ? Mode::Terminal
                                            : Mode::Plain) {}

ProgressPrinter::~ProgressPrinter() {
    finishLine();
}

void ProgressPrinter::progressed(const Progress& progress) {
    const std::lock_guard lock(m_mutex);
    if (m_mode == Mode::None) return;
    const double now = steadySeconds();
    const bool due = progress.stage != m_stage || now - m_lastShown >= interval(m_mode) ||
                     (progress.total > 0 && progress.done == progress.total);
    if (!due) return;
    m_stage = progress.stage;
    m_lastShown = now;
    switch (m_mode) {
        case Mode::Terminal: {
            std::string line = inWords(progress);
            if (line.size() >= terminalWidth()) line.resize(terminalWidth() - 1);
            writeRaw("\r\033[K" + line);
            m_lineOpen = true;
            break;
        }
        case Mode::Plain:
            printMessage(inWords(progress));
            break;
        case Mode::Json:
        case Mode::Log: {
            nlohmann::json line{
                {"type", "progress"},
                {"stage", progress.stage},
                {"done", progress.done},
                {"total", progress.total > 0 ? nlohmann::json(progress.total) : nlohmann::json(nullptr)}};
            line["rate_per_second"] =
                progress.ratePerSecond > 0.0 ? nlohmann::json(progress.ratePerSecond) : nlohmann::json(nullptr);
            line["eta_seconds"] =
                progress.etaSeconds >= 0.0 ? nlohmann::json(progress.etaSeconds) : nlohmann::json(nullptr);
            printMessage(jsonLine(line));
            break;
        }
        case Mode::None:
            break;
    }
}

void ProgressPrinter::warned(const std::string& message) {
    const std::lock_guard lock(m_mutex);
    clearLine();
    if (m_mode == Mode::Json || m_mode == Mode::Log) {
        printMessage(jsonLine({{"type", "warning"}, {"message", message}}));
    } else {
        printMessage("lpes: warning: " + message);
    }
}

void ProgressPrinter::finishLine() {
    const std::lock_guard lock(m_mutex);
    clearLine();
}

void ProgressPrinter::clearLine() {
    if (m_lineOpen) writeRaw("\r\033[K");
    m_lineOpen = false;
}

}  // namespace lpes::cli
