#include "core/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace lpes {

namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) {
    switch (level) {
        case LogLevel::Debug:
            return spdlog::level::debug;
        case LogLevel::Info:
            return spdlog::level::info;
        case LogLevel::Warning:
            return spdlog::level::warn;
        case LogLevel::Error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

}  // namespace

void startLog(LogLevel level) {
    // The "color" sink writes escape sequences to terminals only.
    auto logger = std::make_shared<spdlog::logger>("lpes", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%^[%l]%$ %v");
    logger->set_level(toSpdlog(level));
    spdlog::set_default_logger(std::move(logger));
}

void log(LogLevel level, const std::string& message) {
    spdlog::log(toSpdlog(level), "{}", message);
}

}  // namespace lpes
