#pragma once

#include <mutex>
#include <string>

#include "core/base/progress.h"

namespace lpes::cli {

/// Progress on standard error: one line that is updated on a terminal, plain lines every few seconds elsewhere, or JSON
/// lines. thread-safe.
class ProgressPrinter final : public ProgressObserver {
  public:
    enum class Mode { Terminal, Plain, Json, Log, None };

    /// `choice`: "auto", "json", "none", or "log": JSON lines seldom enough to be kept for days. Warnings are printed
    /// in every mode.
    explicit ProgressPrinter(const std::string& choice);
    ~ProgressPrinter() override;
    ProgressPrinter(const ProgressPrinter&) = delete;
    ProgressPrinter& operator=(const ProgressPrinter&) = delete;

    void progressed(const Progress& progress) override;
    void warned(const std::string& message) override;
    /// Ends the line on a terminal, so that what follows starts on a fresh one.
    void finishLine();

  private:
    void clearLine();

    std::mutex m_mutex;
    Mode m_mode;
    std::string m_stage;
    double m_lastShown = -1.0;
    bool m_lineOpen = false;
};

}  // namespace lpes::cli
