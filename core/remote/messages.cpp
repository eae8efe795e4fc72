#include "core/remote/messages.h"

namespace lpes::remote {

using nlohmann::json;

Error errorFromJson(const json& message) {
    Error error;
    error.code = errorCodeNamed(textIn(message, "code"));
    error.message = textIn(message, "message", "it failed without saying why");
    error.detail = textIn(message, "detail");
    error.context = textIn(message, "context");
    return error;
}

std::string textIn(const json& message, const char* key, const std::string& otherwise) {
    if (!message.is_object()) return otherwise;
    const auto found = message.find(key);
    return found != message.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

std::int64_t numberIn(const json& message, const char* key, std::int64_t otherwise) {
    if (!message.is_object()) return otherwise;
    const auto found = message.find(key);
    return found != message.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

namespace {

double realIn(const json& message, const char* key, double otherwise) {
    const auto found = message.find(key);
    return found != message.end() && found->is_number() ? found->get<double>() : otherwise;
}

}  // namespace

ProgressLine parseProgressLine(const std::string& line) {
    ProgressLine parsed;
    const json message = json::parse(line, nullptr, false);
    const std::string type = textIn(message, "type");
    if (type == "warning") parsed.warning = textIn(message, "message");
    if (type != "progress") return parsed;
    parsed.progress = Progress{textIn(message, "stage"), numberIn(message, "done"), numberIn(message, "total"),
                               realIn(message, "rate_per_second", 0.0), realIn(message, "eta_seconds", -1.0)};
    return parsed;
}

}  // namespace lpes::remote
