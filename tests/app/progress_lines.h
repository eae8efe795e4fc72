#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

namespace lpes::test {

/// Is there a line of `--progress json` that `wanted` accepts? For Program::waitForError.
inline std::function<bool(const std::string&)> progressed(
    std::function<bool(const std::string& stage, int done)> wanted) {
    return [wanted = std::move(wanted)](const std::string& text) {
        std::istringstream lines(text);
        std::string line;
        while (std::getline(lines, line)) {
            const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
            if (!object.is_object() || object.value("type", "") != "progress") continue;
            if (wanted(object.value("stage", ""), object.value("done", 0))) return true;
        }
        return false;
    };
}

/// Has a prompt been evaluated?
inline bool underWay(const std::string& text) {
    return progressed([](const std::string& stage, int done) { return stage.starts_with("generation") && done > 0; })(
        text);
}

}  // namespace lpes::test
