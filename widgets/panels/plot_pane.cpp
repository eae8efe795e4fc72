#include "widgets/panels/plot_pane.h"

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QStackedLayout>
#include <algorithm>
#include <cmath>

#include "core/analysis/plot_csv.h"
#include "widgets/common/semantic_colors.h"
#include "widgets/plots/plot_view.h"

namespace lpes::widgets {
namespace {

constexpr int kMargin = 8;  // the plot's own, so that texts stand in line
constexpr double kImageScale = 2.0;

QString captionOf(const analysis::PlotData& data) {
    return std::visit(
        [](const auto& plot) {
            QStringList words{text(plot.title), text(plot.subtitle)};
            words.removeAll(QString());
            return words.join(QStringLiteral(" · "));
        },
        data);
}

analysis::PlotData untitled(analysis::PlotData data) {
    std::visit(
        [](auto& plot) {
            plot.title.clear();
            plot.subtitle.clear();
        },
        data);
    return data;
}

QLabel* plainLabel(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    return label;
}

QPalette paletteOf(const Theme& theme, QPalette palette) {
    palette.setColor(QPalette::Window, theme.background);
    palette.setColor(QPalette::Base, theme.background);
    palette.setColor(QPalette::WindowText, theme.text);
    palette.setColor(QPalette::Text, theme.text);
    return palette;
}

void setTextColor(QLabel* label, const QColor& color) {
    QPalette palette = label->palette();
    palette.setColor(QPalette::WindowText, color);
    label->setPalette(palette);
}

}  // namespace

PlotPane::PlotPane(const QString& name, const Theme& theme, QWidget* parent)
    : QWidget(parent), m_name(name), m_theme(theme) {
    setAccessibleName(name);
    setAutoFillBackground(true);
    m_plotPage = new QWidget(this);
    m_caption = plainLabel(m_plotPage);
    m_caption->setAccessibleName(QString(name % QStringLiteral(": what is shown")));
    // Any width will do: the text is elided to what there is.
    m_caption->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_freshness = plainLabel(m_plotPage);
    m_freshness->setAccessibleName(QString(name % QStringLiteral(": how fresh it is")));
    m_freshness->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    m_view = new PlotView(analysis::CurvePlot{}, theme, m_plotPage);
    m_view->setAccessibleName(name);
    connect(m_view, &PlotView::memberPicked, this, &PlotPane::memberPicked);
    m_message = plainLabel(this);
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setMargin(2 * kMargin);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_message->setContextMenuPolicy(Qt::NoContextMenu);

    auto* line = new QHBoxLayout;
    line->setContentsMargins(kMargin, 4, kMargin, 0);
    line->addWidget(m_caption, 1);
    line->addWidget(m_freshness);
    auto* page = new QVBoxLayout(m_plotPage);
    page->setContentsMargins(0, 0, 0, 0);
    page->setSpacing(0);
    page->addLayout(line);
    page->addWidget(m_view, 1);
    m_stack = new QStackedLayout(this);
    m_stack->addWidget(m_plotPage);
    m_stack->addWidget(m_message);

    const auto add = [this](const QString& words, auto act) {
        auto* action = new QAction(words, this);
        connect(action, &QAction::triggered, this, act);
        addAction(action);
        return action;
    };
    QAction* image = add(QStringLiteral("Copy image"), [this] { copyImage(); });
    image->setShortcut(QKeySequence::Copy);
    image->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    add(QStringLiteral("Copy data as CSV"), [this] { copyData(); });
    add(QStringLiteral("Export…"), [this] { Q_EMIT exportRequested(); });
    add(QStringLiteral("Copy the command that makes this figure"),
        [this] { QGuiApplication::clipboard()->setText(m_command); });
    setTheme(theme);
    setEmpty(QStringLiteral("Nothing has been measured yet."));
}

PlotPane::~PlotPane() = default;

void PlotPane::setData(const analysis::PlotData& data, const QString& freshness) {
    // A picture after a message starts at its own scale: what the user zoomed before is forgotten by then.
    const bool keepZoom = m_data.has_value();
    m_data = data;
    m_captionText = captionOf(data);
    m_caption->setToolTip(m_captionText);
    m_view->setFaded(false);
    m_view->setData(untitled(data), keepZoom);
    m_view->setAccessibleDescription(m_captionText);
    m_stack->setCurrentWidget(m_plotPage);
    setFreshness(freshness);
}

void PlotPane::setFreshness(const QString& freshness) {
    m_freshness->setToolTip(freshness);
    elide();
}

void PlotPane::setStale(const QString& words) {
    m_view->setFaded(true);
    setFreshness(words);
}

void PlotPane::setEmpty(const QString& why) {
    showMessage(why, false);
}

void PlotPane::setError(const QString& sentence) {
    showMessage(sentence, true);
}

void PlotPane::showMessage(const QString& words, bool error) {
    m_data.reset();
    m_captionText.clear();
    m_message->setText(words);
    m_message->setAccessibleName(QString(m_name % (error ? QStringLiteral(": error") : QStringLiteral(": empty"))));
    m_message->setProperty("error", error);
    setTextColor(m_message, error ? semanticColor(palette(), Meaning::Error) : m_theme.mutedText);
    m_stack->setCurrentWidget(m_message);
}

void PlotPane::setTheme(const Theme& theme) {
    m_theme = theme;
    setPalette(paletteOf(theme, palette()));
    m_view->setTheme(theme);
    setTextColor(m_caption, theme.text);
    setTextColor(m_freshness, theme.mutedText);
    const bool error = m_message->property("error").toBool();
    setTextColor(m_message, error ? semanticColor(palette(), Meaning::Error) : theme.mutedText);
}

std::optional<analysis::PlotData> PlotPane::data() const {
    return m_data;
}

QString PlotPane::stateText() const {
    if (!m_data) return m_message->text();
    QStringList words{m_captionText, m_freshness->toolTip()};
    words.removeAll(QString());
    return words.join(QStringLiteral(" · "));
}

void PlotPane::copyImage() const {
    if (!m_data) return;
    // What is seen, zoom included, with the whole caption above it: a picture travels without its pane.
    const QFont font = m_theme.font();
    const int width = m_view->width(), height = m_view->height();
    const QStringList lines = wrapText(m_captionText, font, std::max(40, width - 2 * kMargin));
    const double line = QFontMetricsF(font).height();
    const int top = static_cast<int>(std::ceil(line * static_cast<double>(lines.size()))) + kMargin;
    QImage image(QSizeF(width * kImageScale, (top + height) * kImageScale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kImageScale);
    image.fill(m_theme.background);
    QPainter painter(&image);
    painter.setFont(font);
    painter.setPen(m_theme.text);
    for (qsizetype i = 0; i < lines.size(); ++i) {
        painter.drawText(QPointF(kMargin, kMargin + QFontMetricsF(font).ascent() + line * static_cast<double>(i)),
                         lines[i]);
    }
    painter.drawPixmap(QRectF(0, top, width, height), m_view->toPixmap(width, height, kImageScale),
                       QRectF(0, 0, width * kImageScale, height * kImageScale));
    painter.end();
    QGuiApplication::clipboard()->setImage(image);
}

void PlotPane::copyData() const {
    if (m_data) QGuiApplication::clipboard()->setText(text(analysis::plotCsv(*m_data)));
}

void PlotPane::contextMenuEvent(QContextMenuEvent* event) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const QList<QAction*> entries = actions();
    for (QAction* action : entries) action->setEnabled(m_data.has_value());
    entries.last()->setEnabled(!m_command.isEmpty());
    menu->addActions(entries);
    // The shortcut has to work again after the menu showed its entry as impossible.
    connect(menu, &QMenu::aboutToHide, entries.first(), [first = entries.first()] { first->setEnabled(true); });
    menu->popup(event->globalPos());
    event->accept();
}

void PlotPane::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    elide();
}

void PlotPane::elide() {
    const QString fresh = m_freshness->toolTip();
    const int whole = std::max(0, width() - 2 * kMargin);
    const int gap = fresh.isEmpty() ? 0 : 2 * kMargin;
    // How fresh it is comes first: half of the line is its own.
    const QFontMetrics metrics(m_freshness->font());
    const int right = std::min(metrics.horizontalAdvance(fresh) + 2, std::max(whole / 2, whole - gap - 40));
    m_freshness->setText(metrics.elidedText(fresh, Qt::ElideRight, right));
    m_freshness->setFixedWidth(std::max(0, right));
    m_caption->setText(m_caption->fontMetrics().elidedText(m_captionText, Qt::ElideRight, whole - right - gap));
}

}  // namespace lpes::widgets
