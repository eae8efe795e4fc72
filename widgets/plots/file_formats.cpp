#include "widgets/plots/file_formats.h"

#include <QBuffer>
#include <QHashFunctions>
#include <QImageWriter>
#include <QPageLayout>
#include <QPageSize>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>
#include <vector>

namespace lpes::widgets {
namespace {

constexpr double kMmPerInch = 25.4;
constexpr double kLogicalDpi = 96.0;
constexpr double kPdfDpi = 1200.0;

// Qt writes a PDF's fonts in the order of a hash table, which is another one in every process. Tables keep the seed
// that they were made with, so those that exist already are not disturbed.
class FixedHashOrder {
  public:
    FixedHashOrder() { QHashSeed::setDeterministicGlobalSeed(); }
    ~FixedHashOrder() { QHashSeed::resetRandomGlobalSeed(); }
    FixedHashOrder(const FixedHashOrder&) = delete;
    FixedHashOrder& operator=(const FixedHashOrder&) = delete;
};

struct Edit {
    qsizetype at, length;
    QByteArray replacement;
};

tl::unexpected<Error> unexpectedPdf(const char* what) {
    return fail(ErrorCode::Failed, "The PDF cannot be made reproducible; write SVG instead, and report the Qt version.",
                std::string("not found in the PDF: ") + what);
}

// Changes bytes of a PDF outside its streams and puts the offsets of its cross-reference table right again. The edits
// are in ascending order.
Result<QByteArray> editPdf(const QByteArray& pdf, const std::vector<Edit>& edits) {
    QByteArray out;
    qsizetype from = 0;
    for (const Edit& edit : edits) {
        out += pdf.mid(from, edit.at - from) + edit.replacement;
        from = edit.at + edit.length;
    }
    out += pdf.mid(from);
    const auto moved = [&edits](qsizetype offset) {
        qsizetype by = 0;
        for (const Edit& edit : edits) {
            if (edit.at < offset) by += edit.replacement.size() - edit.length;
        }
        return offset + by;
    };

    const qsizetype start = out.lastIndexOf("startxref\n");
    if (start < 0) return unexpectedPdf("startxref");
    const qsizetype digits = start + 10;
    const qsizetype lineEnd = out.indexOf('\n', digits);
    const qsizetype table = moved(out.mid(digits, lineEnd - digits).toLongLong());
    if (table <= 0 || out.mid(table, 5) != "xref\n") return unexpectedPdf("xref");
    out.replace(digits, lineEnd - digits, QByteArray::number(table));
    // Entries are 20 bytes: ten digits, a space, five digits, a space, n or f, two more.
    for (qsizetype entry = out.indexOf('\n', table + 5) + 1; entry + 20 <= start; entry += 20) {
        if (out[entry + 17] == 'n') {
            out.replace(entry, 10, QByteArray::number(moved(out.mid(entry, 10).toLongLong())).rightJustified(10, '0'));
        } else if (out[entry + 17] != 'f') {
            break;
        }
    }
    return out;
}

// Qt writes the time of writing (and newer versions an identifier), and rounds the page to whole points.
Result<QByteArray> normalisePdf(const QByteArray& pdf, const PageSize& page, int pointsHigh) {
    std::vector<Edit> edits;
    const auto add = [&](QByteArrayView from, QByteArrayView to, const QByteArray& replacement) {
        const qsizetype at = pdf.indexOf(from);
        const qsizetype end = at < 0 ? -1 : pdf.indexOf(to, at);
        if (end < 0) return false;
        edits.push_back({at, end + to.size() - at, replacement});
        return true;
    };
    if (!add("/CreationDate (", ")\n", {})) return unexpectedPdf("CreationDate");
    add("/ModDate (", ")\n", {});
    const double bottom = pointsHigh - page.heightMm / kMmPerInch * 72.0;
    if (!add("/MediaBox [", "]",
             "/MediaBox [0 " + QByteArray::number(bottom, 'f', 4) + ' ' +
                 QByteArray::number(page.widthMm / kMmPerInch * 72.0, 'f', 4) + ' ' + QByteArray::number(pointsHigh) +
                 ']')) {
        return unexpectedPdf("MediaBox");
    }
    const qsizetype trailer = pdf.lastIndexOf("\ntrailer");
    const qsizetype id = trailer < 0 ? -1 : pdf.indexOf("/ID [", trailer);
    if (id >= 0) edits.push_back({id, pdf.indexOf(']', id) + 1 - id, {}});
    std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.at < b.at; });
    return editPdf(pdf, edits);
}

// Qt's size is in whole pixels, and it names no font to fall back to.
Result<QByteArray> normaliseSvg(QByteArray svg, const PageSize& page) {
    const qsizetype at = svg.indexOf("<svg width=\"");
    const qsizetype end = svg.indexOf("viewBox", at);
    if (at < 0 || end < 0) {
        return fail(ErrorCode::Failed,
                    "The SVG cannot be given its size; write PDF instead, and report the Qt version.");
    }
    const QByteArray size = "<svg width=\"" + QByteArray::number(page.widthMm, 'f', 4) + "mm\" height=\"" +
                            QByteArray::number(page.heightMm, 'f', 4) + "mm\"\n ";
    svg.replace(at, end - at, size);
    svg.replace("font-family=\"DejaVu Sans\"", "font-family=\"DejaVu Sans, Verdana, sans-serif\"");
    // Cells of a map are not to be blurred into each other.
    svg.replace("image-rendering=\"optimizeSpeed\"",
                "image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\"");
    return svg;
}

}  // namespace

Result<QByteArray> encodePdf(PlotView& view, const PageSize& page, const QString& title) {
    const FixedHashOrder order;
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    // Qt knows pages of whole points only: the next larger one is painted from its top left, then cut to size.
    const int pointsWide = static_cast<int>(std::ceil(page.widthMm / kMmPerInch * 72.0 - 1e-6));
    const int pointsHigh = static_cast<int>(std::ceil(page.heightMm / kMmPerInch * 72.0 - 1e-6));
    {
        QPdfWriter writer(&buffer);
        writer.setPdfVersion(QPagedPaintDevice::PdfVersion_1_4);
        writer.setCreator(QStringLiteral("LPES Studio"));
        writer.setTitle(title);
        writer.setResolution(static_cast<int>(kPdfDpi));
        // The orientation turns a page that is wider than high, so the page is given as it lies.
        writer.setPageLayout(
            QPageLayout(QPageSize(QSizeF(pointsWide, pointsHigh), QPageSize::Point, QString(), QPageSize::ExactMatch),
                        QPageLayout::Portrait, QMarginsF()));
        QCPPainter painter;
        if (!painter.begin(&writer)) return fail(ErrorCode::Failed, "The PDF cannot be painted; try another size.");
        painter.setMode(QCPPainter::pmVectorized);
        painter.scale(page.widthMm / kMmPerInch * kPdfDpi / page.width,
                      page.heightMm / kMmPerInch * kPdfDpi / page.height);
        view.paint(painter, page.width, page.height);
        painter.end();
    }
    return normalisePdf(buffer.data(), page, pointsHigh);
}

Result<QByteArray> encodeSvg(PlotView& view, const PageSize& page, const QString& title) {
    const FixedHashOrder order;
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setTitle(title);
        generator.setDescription(QStringLiteral("Drawn by LPES Studio"));
        generator.setResolution(static_cast<int>(kLogicalDpi));
        generator.setSize(QSize(page.width, page.height));
        generator.setViewBox(QRect(0, 0, page.width, page.height));
        QCPPainter painter;
        if (!painter.begin(&generator)) return fail(ErrorCode::Failed, "The SVG cannot be painted; try another size.");
        painter.setMode(QCPPainter::pmVectorized);
        view.paint(painter, page.width, page.height);
        painter.end();
    }
    return normaliseSvg(buffer.data(), page);
}

Result<QByteArray> encodePng(PlotView& view, const PageSize& page, double dpi) {
    const QSize pixels(static_cast<int>(std::lround(page.widthMm * dpi / kMmPerInch)),
                       static_cast<int>(std::lround(page.heightMm * dpi / kMmPerInch)));
    QImage image(pixels, QImage::Format_RGB32);
    if (image.isNull()) {
        return fail(ErrorCode::OutOfMemory, "A picture of " + std::to_string(pixels.width()) + " x " +
                                                std::to_string(pixels.height()) +
                                                " pixels does not fit into memory; lower --dpi or the size.");
    }
    image.fill(Qt::white);
    const int dotsPerMeter = static_cast<int>(std::lround(dpi / kMmPerInch * 1000.0));
    {
        QCPPainter painter;
        painter.begin(&image);
        painter.scale(pixels.width() / static_cast<double>(page.width),
                      pixels.height() / static_cast<double>(page.height));
        view.paint(painter, page.width, page.height);
        painter.end();
    }
    image.setDotsPerMeterX(dotsPerMeter);
    image.setDotsPerMeterY(dotsPerMeter);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, "png");
    if (!writer.write(image)) {
        return fail(ErrorCode::Failed, "The PNG cannot be encoded; try another format.",
                    writer.errorString().toStdString());
    }
    return buffer.data();
}

}  // namespace lpes::widgets
