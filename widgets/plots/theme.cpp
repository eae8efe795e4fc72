#include "widgets/plots/theme.h"

#include <QFontDatabase>
#include <QFontInfo>
#include <array>

namespace lpes::widgets {
namespace {

using analysis::SeriesRole;

// M. Okabe and K. Ito, "Color universal design" (2008).
constexpr QRgb kBlack = 0xff000000, kOrange = 0xffe69f00, kSkyBlue = 0xff56b4e9, kGreen = 0xff009e73,
               kYellow = 0xfff0e442, kBlue = 0xff0072b2, kVermillion = 0xffd55e00, kPurple = 0xffcc79a7;

struct Look {
    QRgb color;
    QList<qreal> dash;  // in pen widths; empty: solid
    QCPScatterStyle::ScatterShape shape;
    bool hollow = false;
};

// Five colours; the second time round each has an open marker of another shape and another dash, the third time again.
Look otherLook(std::size_t index, bool dark) {
    using Shape = QCPScatterStyle::ScatterShape;
    const std::array<QRgb, 5> colors{kGreen, dark ? kYellow : kOrange, kPurple, dark ? kOrange : kSkyBlue,
                                     dark ? 0xffffffff : kBlack};
    const std::array<QList<qreal>, 5> dashes{{{5, 2, 1, 2}, {1, 2}, {7, 2}, {3, 2}, {7, 2, 1, 2, 1, 2}}};
    constexpr std::array<Shape, 5> kFilled{QCPScatterStyle::ssTriangle, QCPScatterStyle::ssTriangleInverted,
                                           QCPScatterStyle::ssSquare, QCPScatterStyle::ssDisc,
                                           QCPScatterStyle::ssDiamond};
    constexpr std::array<Shape, 5> kOpen{QCPScatterStyle::ssCircle, QCPScatterStyle::ssDiamond,
                                         QCPScatterStyle::ssTriangle, QCPScatterStyle::ssSquare,
                                         QCPScatterStyle::ssTriangleInverted};
    constexpr std::array<Shape, 5> kStrokes{QCPScatterStyle::ssCross, QCPScatterStyle::ssPlus, QCPScatterStyle::ssStar,
                                            QCPScatterStyle::ssPlusCircle, QCPScatterStyle::ssCrossSquare};
    const std::size_t place = index % colors.size(), round = index / colors.size() % 3;
    const auto& shapes = round == 0 ? kFilled : round == 1 ? kOpen : kStrokes;
    return {colors[place], dashes[(place + round) % dashes.size()], shapes[place], round > 0};
}

Look roleLook(SeriesRole role, bool dark) {
    switch (role) {
        case SeriesRole::Baseline:
            return {dark ? 0xffa8a8a8 : 0xff6b6b6b, {4, 2.5}, QCPScatterStyle::ssSquare};
        // Okabe–Ito's blue is too dark on a dark ground; its sky blue stands in.
        case SeriesRole::Current:
            return {dark ? kSkyBlue : kBlue, {}, QCPScatterStyle::ssDisc};
        case SeriesRole::Best:
            return {dark ? 0xfff2813a : kVermillion, {}, QCPScatterStyle::ssDiamond};
        case SeriesRole::Other:
            break;
    }
    return otherLook(0, dark);
}

Theme onScreen() {
    Theme theme;
    const QFontInfo font{QFont()};
    theme.family = font.family();
    if (font.pixelSize() > 0) theme.textPx = font.pixelSize();
    return theme;
}

}  // namespace

Theme Theme::light() {
    Theme theme = onScreen();
    theme.background = QColor(0xff, 0xff, 0xff);
    theme.text = QColor(0x20, 0x20, 0x20);
    theme.mutedText = QColor(0x5a, 0x5a, 0x5a);
    theme.axis = QColor(0x60, 0x60, 0x60);
    theme.grid = QColor(0xdc, 0xdc, 0xdc);
    theme.fineGrid = QColor(0xf1, 0xf1, 0xf1);
    theme.forbidden = QColor(0, 0, 0, 26);
    return theme;
}

Theme Theme::night() {
    Theme theme = onScreen();
    theme.dark = true;
    theme.background = QColor(0x1d, 0x1f, 0x23);
    theme.text = QColor(0xec, 0xec, 0xec);
    theme.mutedText = QColor(0xb0, 0xb4, 0xba);
    theme.axis = QColor(0x8c, 0x90, 0x96);
    theme.grid = QColor(0x3c, 0x40, 0x46);
    theme.fineGrid = QColor(0x29, 0x2c, 0x31);
    theme.forbidden = QColor(255, 255, 255, 26);
    return theme;
}

Theme Theme::forExport() const {
    Theme theme = *this;
    const QString wanted = QStringLiteral("DejaVu Sans");
    theme.family = QFontDatabase::families().contains(wanted) ? wanted : QFontInfo(QFont()).family();
    theme.textPx = 11;
    theme.dataWidth = 1.5;
    theme.axisWidth = 0.8;
    theme.markerSize = 5.5;
    return theme;
}

QFont Theme::font(int extraPx, bool bold) const {
    QFont font(family);
    font.setPixelSize(textPx + extraPx);
    font.setBold(bold);
    // Hinted widths depend on the resolution: the layout would not fit a file of another dpi.
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

std::vector<SeriesStyle> seriesStyles(const Theme& theme, std::span<const SeriesRole> roles) {
    std::array<bool, 4> taken{};
    std::size_t others = 0;
    std::vector<SeriesStyle> styles;
    for (const SeriesRole role : roles) {
        bool& used = taken[static_cast<std::size_t>(role)];
        const Look look =
            used || role == SeriesRole::Other ? otherLook(others++, theme.dark) : roleLook(role, theme.dark);
        used = true;
        SeriesStyle style;
        style.color = QColor::fromRgba(look.color);
        style.pen = QPen(style.color, theme.dataWidth);
        style.pen.setCapStyle(Qt::FlatCap);
        style.pen.setJoinStyle(Qt::RoundJoin);
        if (!look.dash.isEmpty()) style.pen.setDashPattern(look.dash);
        style.marker = QCPScatterStyle(look.shape, QPen(style.color, theme.axisWidth),
                                       look.hollow ? QBrush(Qt::NoBrush) : QBrush(style.color), theme.markerSize);
        styles.push_back(style);
    }
    return styles;
}

QCPColorGradient viridis(const QColor& missing) {
    constexpr std::array<QRgb, 9> kStops{0xff440154, 0xff472d7b, 0xff3b528b, 0xff2c728e, 0xff21918c,
                                         0xff28ae80, 0xff5ec962, 0xffaddc30, 0xfffde725};
    QCPColorGradient gradient;
    gradient.clearColorStops();
    for (std::size_t i = 0; i < kStops.size(); ++i) {
        gradient.setColorStopAt(static_cast<double>(i) / (kStops.size() - 1), QColor::fromRgb(kStops[i]));
    }
    gradient.setNanHandling(QCPColorGradient::nhNanColor);
    gradient.setNanColor(missing);
    return gradient;
}

}  // namespace lpes::widgets
