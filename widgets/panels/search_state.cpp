#include <algorithm>
#include <cmath>

#include "widgets/panels/search_panel.h"

namespace lpes::widgets {

bool isAllowed(SearchState state, SearchCommand command) {
    switch (command) {
        case SearchCommand::Start:
            return state == SearchState::Idle;
        case SearchCommand::Pause:
            return state == SearchState::Running;
        case SearchCommand::Resume:
            return state == SearchState::Paused;
        case SearchCommand::Stop:
            return state == SearchState::Starting || state == SearchState::Running || state == SearchState::Pausing ||
                   state == SearchState::Paused;
    }
    return false;
}

QString searchStateName(SearchState state) {
    switch (state) {
        case SearchState::Idle:
            return QStringLiteral("idle");
        case SearchState::Starting:
            return QStringLiteral("starting");
        case SearchState::Running:
            return QStringLiteral("running");
        case SearchState::Pausing:
            return QStringLiteral("pausing");
        case SearchState::Paused:
            return QStringLiteral("paused");
        case SearchState::Stopping:
            return QStringLiteral("stopping");
    }
    return {};
}

QString durationText(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0.0) return QStringLiteral("unknown");
    const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e12)));
    const auto two = [](std::int64_t number) {
        return QString(number < 10 ? QString(QLatin1Char('0') % QString::number(number)) : QString::number(number));
    };
    if (whole >= 3600) {
        return QString(QString::number(whole / 3600) % QStringLiteral(" h ") % two(whole % 3600 / 60) %
                       QStringLiteral(" min"));
    }
    if (whole >= 60) {
        return QString(QString::number(whole / 60) % QStringLiteral(" min ") % two(whole % 60) % QStringLiteral(" s"));
    }
    return QString(QString::number(whole) % QStringLiteral(" s"));
}

}  // namespace lpes::widgets
