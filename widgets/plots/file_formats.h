#pragma once

#include <QByteArray>
#include <QString>

#include "core/base/result.h"
#include "widgets/plots/plot_view.h"

/// Encoders of one picture each. The same picture gives the same bytes on every call: no dates, no random identifiers.
/// GUI thread only.
namespace lpes::widgets {

struct PageSize {
    double widthMm, heightMm;
    int width, height;  ///< logical pixels of 1/96 inch the picture is laid out in
};

/// Vector PDF with embedded fonts and a page of exactly that size. Failed when Qt wrote a file whose dates cannot be
/// found.
[[nodiscard]] Result<QByteArray> encodePdf(PlotView& view, const PageSize& page, const QString& title);
/// SVG with texts as texts (DejaVu Sans, then any sans serif).
[[nodiscard]] Result<QByteArray> encodeSvg(PlotView& view, const PageSize& page, const QString& title);
/// PNG of round(mm · dpi / 25.4) pixels that states its resolution. OutOfMemory when the picture does not fit.
[[nodiscard]] Result<QByteArray> encodePng(PlotView& view, const PageSize& page, double dpi);

}  // namespace lpes::widgets
