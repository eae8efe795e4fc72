#include "app/pages/edit_page.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include "widgets/curve_editor/curve_editor.h"
#include "widgets/panels/plot_pane.h"

namespace lpes::app {

using widgets::PlotPane;

EditPage::EditPage(const widgets::Theme& theme, QWidget* parent)
    : QWidget(parent),
      m_editor(new widgets::CurveEditor(theme)),
      m_attention(new PlotPane(tr("Attention by position"), theme)),
      m_deviation(new PlotPane(tr("Representation deviation"), theme)),
      m_caption(new QLabel(this)),
      m_readout(new QLabel(this)) {
    m_editor->setAccessibleName(tr("Curve of scales over layers"));
    m_editor->setMinimumHeight(200);
    m_caption->setTextFormat(Qt::PlainText);
    m_caption->installEventFilter(this);
    m_caption->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_readout->setTextFormat(Qt::PlainText);
    m_readout->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_readout->setMinimumWidth(
        fontMetrics().horizontalAdvance(QStringLiteral("layer 12 · s = 1.35 · positions ÷ 1.35")));
    connect(m_editor, &widgets::CurveEditor::readoutChanged, m_readout, &QLabel::setText);

    auto* header = new QHBoxLayout;
    header->setContentsMargins(8, 2, 8, 0);
    header->addWidget(m_caption, 1);
    header->addWidget(m_readout);
    auto* top = new QWidget(this);
    auto* column = new QVBoxLayout(top);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(header);
    column->addWidget(m_editor, 1);

    auto* pictures = new QSplitter(Qt::Horizontal, this);
    pictures->setObjectName(QStringLiteral("livePictures"));
    pictures->addWidget(m_attention);
    pictures->addWidget(m_deviation);
    pictures->setStretchFactor(0, 3);
    pictures->setStretchFactor(1, 2);
    pictures->setChildrenCollapsible(false);
    auto* all = new QSplitter(Qt::Vertical, this);
    all->setObjectName(QStringLiteral("editPage"));
    all->addWidget(top);
    all->addWidget(pictures);
    all->setStretchFactor(0, 3);
    all->setStretchFactor(1, 2);
    all->setSizes({450, 270});
    all->setChildrenCollapsible(false);
    auto* page = new QVBoxLayout(this);
    page->setContentsMargins(0, 0, 0, 0);
    page->addWidget(all);
    setFocusProxy(m_editor);
}

void EditPage::setTheme(const widgets::Theme& theme) {
    m_editor->setTheme(theme);
    m_attention->setTheme(theme);
    m_deviation->setTheme(theme);
}

void EditPage::setCaption(const QString& words) {
    m_words = words;
    m_caption->setToolTip(words);
    elideCaption();
}

void EditPage::elideCaption() {
    m_caption->setText(m_caption->fontMetrics().elidedText(m_words, Qt::ElideRight, m_caption->width()));
}

bool EditPage::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_caption && event->type() == QEvent::Resize) elideCaption();
    return QWidget::eventFilter(watched, event);
}

}  // namespace lpes::app
