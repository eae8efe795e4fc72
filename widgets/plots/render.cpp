#include "widgets/plots/render.h"

#include <QFontDatabase>
#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/analysis/plot_csv.h"
#include "core/base/files.h"
#include "widgets/plots/file_formats.h"

namespace lpes::widgets {
namespace {

std::string extensionOf(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

Result<void> within(double value, double low, double high, const char* what, const char* unit) {
    if (std::isfinite(value) && value >= low && value <= high) return {};
    const auto shown = [](double number) { return shortNumber(number, 6).toStdString(); };
    return fail(ErrorCode::Usage, std::string("The ") + what + " of " + shown(value) + unit + " is out of range; use " +
                                      shown(low) + " to " + shown(high) + unit + ".");
}

int logicalPixels(double mm) {
    return static_cast<int>(std::lround(mm / 25.4 * 96.0));
}

}  // namespace

Result<void> checkRenderOptions(const RenderOptions& options) {
    if (auto ok = within(options.widthMm, 20, 1000, "width", " mm"); !ok) return ok;
    if (options.heightMm) {
        if (auto ok = within(*options.heightMm, 20, 1000, "height", " mm"); !ok) return ok;
    }
    return within(options.dpi, 50, 1200, "resolution", " dpi");
}

Result<void> checkRenderPath(const std::filesystem::path& path) {
    const std::string extension = extensionOf(path);
    if (extension == ".pdf" || extension == ".svg" || extension == ".png" || extension == ".csv") return {};
    const std::string named = extension.empty() ? "without an extension" : "as \"" + extension + "\"";
    return fail(ErrorCode::Unsupported,
                "\"" + path.string() + "\" cannot be written " + named + "; use .pdf, .svg, .png or .csv.");
}

Result<void> renderPlot(const analysis::PlotData& data, const RenderOptions& options,
                        const std::filesystem::path& path) {
    if (auto ok = checkRenderOptions(options); !ok) return ok;
    if (auto ok = checkRenderPath(path); !ok) return ok;
    const std::string extension = extensionOf(path);
    if (extension == ".csv") return writeFileAtomically(path, analysis::plotCsv(data));

    if (QFontDatabase::families().isEmpty()) {
        return fail(ErrorCode::Failed, "No font is installed; install fonts-dejavu-core (packaging/setup.sh does).");
    }
    PlotView view(data, (options.dark ? Theme::night() : Theme::light()).forExport());
    PageSize page{};
    page.widthMm = options.widthMm;
    page.width = logicalPixels(page.widthMm);
    page.height = options.heightMm ? logicalPixels(*options.heightMm) : view.preferredHeight(page.width);
    page.heightMm = options.heightMm.value_or(page.height / 96.0 * 25.4);

    const QString title = std::visit([](const auto& plot) { return text(plot.title); }, data);
    auto bytes = extension == ".pdf"   ? encodePdf(view, page, title)
                 : extension == ".svg" ? encodeSvg(view, page, title)
                                       : encodePng(view, page, options.dpi);
    if (!bytes) return fail(std::move(bytes.error()));
    return writeFileAtomically(path, std::string_view(bytes->constData(), static_cast<std::size_t>(bytes->size())));
}

}  // namespace lpes::widgets
