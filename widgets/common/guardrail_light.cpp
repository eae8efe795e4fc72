#include "widgets/common/guardrail_light.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

constexpr int kDotSize = 14;

}  // namespace

QIcon guardrailDot(const QPalette& palette, const QString& light, int logicalSize) {
    if (light.isEmpty()) return {};
    // A dot needs less contrast than a text (3 : 1), and so can be the colour that its word names.
    const bool dark = isDark(palette);
    QColor color = dark ? QColor(0xff, 0x7a, 0x6e) : QColor(0xc6, 0x28, 0x28);
    if (light == QStringLiteral("green")) color = dark ? QColor(0x4f, 0xd1, 0xa5) : QColor(0x00, 0x80, 0x5c);
    if (light == QStringLiteral("amber")) color = dark ? QColor(0xf2, 0xb2, 0x3a) : QColor(0xb8, 0x73, 0x00);
    QIcon dot(shapePixmap(Shape::Disc, color, logicalSize));
    dot.addPixmap(shapePixmap(Shape::Disc, palette.color(QPalette::HighlightedText), logicalSize), QIcon::Selected);
    return dot;
}

GuardrailLight::GuardrailLight(QWidget* parent)
    : QWidget(parent), m_dot(new QLabel(this)), m_words(wordyLabel(this, QStringLiteral("Guardrail: short contexts"))) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 0, 8, 2);
    row->setSpacing(6);
    row->addWidget(m_dot, 0, Qt::AlignTop);
    row->addWidget(m_words, 1);
    m_words->setTextInteractionFlags(Qt::TextSelectableByMouse);
    hide();
}

void GuardrailLight::setFacts(const GuardrailFacts& facts) {
    m_facts = facts;
    setVisible(!facts.light.isEmpty());
    m_words->setText(QString(QStringLiteral("Guardrail ") % facts.light % QStringLiteral(": ") % facts.reason));
    m_words->setToolTip(facts.detail);
    m_dot->setToolTip(facts.detail);
    paintDot();
}

void GuardrailLight::paintDot() {
    m_dot->setPixmap(guardrailDot(palette(), m_facts.light, kDotSize).pixmap(kDotSize, kDotSize));
}

void GuardrailLight::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_dot) paintDot();
}

}  // namespace lpes::widgets
