#include "app/render/render_job.h"

#include <nlohmann/json.hpp>
#include <string>

#include "core/analysis/plot_json.h"

namespace lpes::render {
namespace {

using Json = nlohmann::json;

Result<Json> parse(std::string_view text) {
    try {
        return Json::parse(text);
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The input is not JSON; hand over what `lpes` writes.", error.what());
    }
}

tl::unexpected<Error> wrong(const std::string& where, const std::string& why) {
    return fail(ErrorCode::BadInput, where + " " + why + ".");
}

Result<void> checkAll(const Picture& picture) {
    if (auto ok = widgets::checkRenderOptions(picture.options); !ok) return ok;
    for (const auto& path : picture.out) {
        if (auto ok = widgets::checkRenderPath(path); !ok) return ok;
    }
    return {};
}

Result<double> number(const Json& value, const std::string& where) {
    if (!value.is_number()) return wrong(where, "is " + value.dump() + "; a number is expected");
    return value.get<double>();
}

Result<void> readOption(const std::string& key, const Json& value, const std::string& where,
                        widgets::RenderOptions& options) {
    if (key == "theme") {
        if (value != "light" && value != "dark") return wrong(where, "is " + value.dump() + "; use light or dark");
        options.dark = value == "dark";
        return {};
    }
    const auto parsed = number(value, where);
    if (!parsed) return fail(parsed.error());
    if (key == "width_mm") options.widthMm = *parsed;
    if (key == "height_mm") options.heightMm = *parsed;
    if (key == "dpi") options.dpi = *parsed;
    return {};
}

Result<Picture> readPicture(const Json& json, const std::string& where, const widgets::RenderOptions& defaults) {
    if (!json.is_object()) return wrong(where, "is not an object with \"data\" and \"out\"");
    if (!json.contains("data")) return wrong(where, "lacks the key \"data\"");
    if (!json.contains("out")) return wrong(where, "lacks the key \"out\"");
    Picture picture;
    picture.options = defaults;
    for (const auto& [key, value] : json.items()) {
        const std::string place = where + "." + key;
        if (key == "data") {
            auto data = analysis::fromJson(value);
            if (!data) {
                data.error().context = place;
                return fail(std::move(data.error()));
            }
            picture.data = std::move(*data);
        } else if (key == "out") {
            if (!value.is_array() || value.empty()) return wrong(place, "names no file; give an array of file names");
            for (const Json& path : value) {
                if (!path.is_string()) return wrong(place, "holds " + path.dump() + "; file names are expected");
                picture.out.emplace_back(path.get<std::string>());
            }
        } else if (key == "width_mm" || key == "height_mm" || key == "dpi" || key == "theme") {
            if (auto ok = readOption(key, value, place, picture.options); !ok) return fail(ok.error());
        } else {
            return wrong(where, "has the unknown key \"" + key + "\"; remove it or correct its spelling");
        }
    }
    if (auto ok = checkAll(picture); !ok) return fail(ok.error());
    return picture;
}

}  // namespace

Result<std::vector<Picture>> parseJob(std::string_view text, const widgets::RenderOptions& defaults) {
    try {
        const auto json = parse(text);
        if (!json) return fail(json.error());
        if (!json->is_object() || !json->contains("plots") || !(*json)["plots"].is_array()) {
            return wrong("The job", "lacks the array \"plots\"");
        }
        for (const auto& [key, value] : json->items()) {
            if (key != "plots") return wrong("The job", "has the unknown key \"" + key + "\"; only \"plots\" is known");
        }
        std::vector<Picture> pictures;
        for (const Json& one : (*json)["plots"]) {
            auto picture = readPicture(one, "plots[" + std::to_string(pictures.size()) + "]", defaults);
            if (!picture) return fail(std::move(picture.error()));
            pictures.push_back(std::move(*picture));
        }
        return pictures;
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The job cannot be read; hand over what `lpes` writes.", error.what());
    }
}

Result<std::vector<Picture>> parsePlot(std::string_view text, std::vector<std::filesystem::path> out,
                                       const widgets::RenderOptions& options) {
    const auto json = parse(text);
    if (!json) return fail(json.error());
    auto data = analysis::fromJson(*json);
    if (!data) return fail(std::move(data.error()));
    Picture picture{std::move(*data), std::move(out), options};
    if (auto ok = checkAll(picture); !ok) return fail(ok.error());
    std::vector<Picture> pictures;
    pictures.push_back(std::move(picture));
    return pictures;
}

Result<void> draw(const std::vector<Picture>& pictures) {
    for (const Picture& picture : pictures) {
        for (const auto& path : picture.out) {
            if (auto ok = widgets::renderPlot(picture.data, picture.options, path); !ok) return ok;
        }
    }
    return {};
}

}  // namespace lpes::render
