#include "widgets/common/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPaintEvent>
#include <QPainter>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>

namespace lpes::widgets {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), m_icon(new QLabel(this)), m_text(new QLabel(this)), m_actions(new QHBoxLayout) {
    setObjectName(QStringLiteral("messageBar"));
    setAccessibleName(tr("Message"));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_text->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    auto* close = new QToolButton(this);
    close->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
    close->setAutoRaise(true);
    close->setAccessibleName(tr("Close the message"));
    close->setToolTip(tr("Close"));
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(10, 4, 6, 4);
    row->addWidget(m_icon);
    row->addWidget(m_text, 1);
    row->addLayout(m_actions);
    row->addWidget(close);
    hide();
}

void MessageBar::show(Kind kind, const QString& sentence, std::vector<Action> actions) {
    m_kind = kind;
    m_text->setText(sentence);
    m_text->setAccessibleName(sentence);
    while (QLayoutItem* item = m_actions->takeAt(0)) {
        if (item->widget()) item->widget()->deleteLater();
        delete item;
    }
    for (Action& action : actions) {
        auto* button = new QPushButton(action.text, this);
        connect(button, &QPushButton::clicked, this, [this, run = std::move(action.run)] {
            hide();
            run();
        });
        m_actions->addWidget(button);
    }
    showIcon();
    QFrame::show();
    update();
}

QString MessageBar::sentence() const {
    return m_text->text();
}

void MessageBar::showIcon() {
    QStyle::StandardPixmap icon = QStyle::SP_MessageBoxInformation;
    if (m_kind == Kind::Success) icon = QStyle::SP_DialogApplyButton;
    if (m_kind == Kind::Warning) icon = QStyle::SP_MessageBoxWarning;
    if (m_kind == Kind::Error) icon = QStyle::SP_MessageBoxCritical;
    const int side = style()->pixelMetric(QStyle::PM_SmallIconSize);
    m_icon->setPixmap(style()->standardIcon(icon).pixmap(side, side));
}

QColor MessageBar::ground() const {
    const bool dark = palette().color(QPalette::Window).lightness() < 128;
    switch (m_kind) {
        case Kind::Success:
            return dark ? QColor(0x1f, 0x41, 0x33) : QColor(0xdb, 0xf1, 0xe4);
        case Kind::Warning:
            return dark ? QColor(0x4d, 0x3f, 0x1a) : QColor(0xfd, 0xf0, 0xcd);
        case Kind::Error:
            return dark ? QColor(0x55, 0x26, 0x24) : QColor(0xfb, 0xdf, 0xdc);
        case Kind::Info:
            break;
    }
    return dark ? QColor(0x24, 0x3a, 0x4d) : QColor(0xdd, 0xec, 0xf8);
}

void MessageBar::paintEvent(QPaintEvent* event) {
    // Painted, not set as a palette or style sheet: either would raise the very change that the theme's own raises.
    QPainter(this).fillRect(event->rect(), ground());
    QFrame::paintEvent(event);
}

}  // namespace lpes::widgets
