#include "widgets/panels/inspector_panel.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStackedLayout>
#include <QTableWidget>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <cmath>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"
#include "widgets/common/table_copy.h"

namespace lpes::widgets {
namespace {

enum LayerColumn { Number, Scale, Inverse, Context, Shortest, Longest, Origin, kLayerColumns };

QLabel* copyableLabel(QWidget* parent, const QString& name) {
    QLabel* label = wordyLabel(parent, name);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

QString number(double value, int significant) {
    if (!std::isfinite(value)) return QStringLiteral("–");
    // Counts of tokens are whole; an exponent would have to be read twice.
    if (std::abs(value) >= 1000.0) return QLocale::c().toString(std::round(value), 'f', 0).remove(QLatin1Char(','));
    return QLocale::c().toString(value, 'g', significant);
}

QString textOf(const ModelFacts::Layer& layer, int column) {
    switch (column) {
        case Number:
            return QString::number(layer.layer);
        case Scale:
            return QLocale::c().toString(layer.scale, 'f', 3);
        case Inverse:
            return layer.scale > 0.0 ? QLocale::c().toString(1.0 / layer.scale, 'f', 3) : QStringLiteral("–");
        case Context:
            return number(layer.effectiveContext, 4);
        case Shortest:
            return number(layer.shortestWavelength, 4);
        case Longest:
            return number(layer.longestWavelength, 4);
        case Origin:
            return layer.origin;
        default:
            return {};
    }
}

void setColor(QLabel* label, const QColor& color) {
    QPalette palette = label->parentWidget()->palette();
    palette.setColor(QPalette::WindowText, color);
    label->setPalette(palette);
}

}  // namespace

struct InspectorPanel::Impl {
    QStackedLayout* stack = nullptr;
    QWidget* page = nullptr;
    QLabel *message = nullptr, *name = nullptr, *warnings = nullptr, *applied = nullptr;
    QTreeWidget* tree = nullptr;
    QTableWidget* layers = nullptr;
    bool error = false;

    void setUpTree(QWidget* parent) {
        tree = new QTreeWidget(parent);
        tree->setAccessibleName(QStringLiteral("Facts about the model, with where they come from"));
        tree->setHeaderLabels({QStringLiteral("Name"), QStringLiteral("Value"), QStringLiteral("Origin")});
        tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
        tree->setAlternatingRowColors(true);
        tree->setRootIsDecorated(true);
        tree->setIndentation(14);
        tree->setUniformRowHeights(true);
        // The value takes what room there is; a long path must not push the origin out of sight.
        tree->header()->setStretchLastSection(false);
        tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
        tree->header()->setSectionResizeMode(1, QHeaderView::Stretch);
        tree->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
        addCopyActions(*tree);
    }

    void setUpLayers(QWidget* parent) {
        layers = new QTableWidget(0, kLayerColumns, parent);
        layers->setAccessibleName(QStringLiteral("Effective rotary embedding of each layer"));
        layers->setHorizontalHeaderLabels({QStringLiteral("Layer"), QStringLiteral("s"), QStringLiteral("1/s"),
                                           QStringLiteral("Context"), QStringLiteral("λ min"), QStringLiteral("λ max"),
                                           QStringLiteral("Origin")});
        const QStringList tips{QStringLiteral("Layer, counted from 0"),
                               QStringLiteral("Scale: positions are divided by it"),
                               QStringLiteral("Factor by which positions are multiplied"),
                               QStringLiteral("Effective context in tokens: scale × trained context"),
                               QStringLiteral("Shortest wavelength in tokens, after scaling"),
                               QStringLiteral("Longest wavelength in tokens, after scaling"),
                               QStringLiteral("Where the scale comes from")};
        for (int column = 0; column < kLayerColumns; ++column) {
            layers->horizontalHeaderItem(column)->setToolTip(tips[column]);
        }
        layers->setEditTriggers(QAbstractItemView::NoEditTriggers);
        layers->setSelectionMode(QAbstractItemView::ExtendedSelection);
        layers->setAlternatingRowColors(true);
        layers->setShowGrid(false);
        layers->setTabKeyNavigation(false);
        layers->setWordWrap(false);
        layers->verticalHeader()->hide();
        layers->verticalHeader()->setDefaultSectionSize(layers->fontMetrics().height() + 5);
        layers->horizontalHeader()->setStretchLastSection(true);
        layers->horizontalHeader()->setHighlightSections(false);
        layers->horizontalHeader()->setMinimumSectionSize(24);
        addCopyActions(*layers);
    }

    void colour(const QPalette& palette) {
        setColor(warnings, semanticColor(palette, Meaning::Warning));
        setColor(message, semanticColor(palette, error ? Meaning::Error : Meaning::Muted));
    }

    void showMessage(const QString& words, bool isError) {
        error = isError;
        message->setText(words);
        colour(message->parentWidget()->palette());
        stack->setCurrentWidget(message);
    }

    void setLayers(const std::vector<ModelFacts::Layer>& rows, const QString& words) {
        applied->setText(words);
        applied->setVisible(!words.isEmpty());
        const bool first = layers->rowCount() == 0;
        layers->setRowCount(static_cast<int>(rows.size()));
        for (int row = 0; row < layers->rowCount(); ++row) {
            for (int column = 0; column < kLayerColumns; ++column) {
                const QString cell = textOf(rows[static_cast<std::size_t>(row)], column);
                QTableWidgetItem* item = layers->item(row, column);
                if (!item) {
                    item = new QTableWidgetItem;
                    item->setTextAlignment(Qt::AlignVCenter | (column == Origin ? Qt::AlignLeft : Qt::AlignRight));
                    layers->setItem(row, column, item);
                }
                // Most cells stay as they are while a curve is dragged.
                if (item->text() != cell) item->setText(cell);
            }
        }
        if (first && !rows.empty()) layers->resizeColumnsToContents();
    }
};

InspectorPanel::InspectorPanel(QWidget* parent) : QWidget(parent), m(std::make_unique<Impl>()) {
    setAccessibleName(QStringLiteral("Inspector"));
    m->page = new QWidget(this);
    m->name = copyableLabel(m->page, QStringLiteral("Model"));
    QFont bold = font();
    bold.setBold(true);
    m->name->setFont(bold);
    m->warnings = copyableLabel(m->page, QStringLiteral("Warnings about the model"));
    m->applied = copyableLabel(m->page, QStringLiteral("Is the profile in force"));
    auto* splitter = new QSplitter(Qt::Vertical, m->page);
    splitter->setChildrenCollapsible(false);
    m->setUpTree(splitter);
    auto* lower = new QWidget(splitter);
    m->setUpLayers(lower);
    auto* below = new QVBoxLayout(lower);
    below->setContentsMargins(0, 0, 0, 0);
    below->setSpacing(2);
    m->applied->setParent(lower);
    below->addWidget(m->applied);
    below->addWidget(m->layers, 1);
    splitter->setStretchFactor(0, 1);
    splitter->setStretchFactor(1, 1);

    auto* column = new QVBoxLayout(m->page);
    column->setContentsMargins(4, 4, 4, 4);
    column->setSpacing(4);
    column->addWidget(m->name);
    column->addWidget(m->warnings);
    column->addWidget(splitter, 1);
    m->message = copyableLabel(this, QStringLiteral("Inspector: message"));
    m->message->setAlignment(Qt::AlignCenter);
    m->message->setMargin(16);
    m->stack = new QStackedLayout(this);
    m->stack->addWidget(m->page);
    m->stack->addWidget(m->message);
    setEmpty(QStringLiteral("No model is open. Open one to see what it says of itself."));
}

InspectorPanel::~InspectorPanel() = default;

void InspectorPanel::setFacts(const ModelFacts& facts) {
    m->name->setText(facts.name);
    m->name->setToolTip(facts.path);
    QStringList warnings;
    for (const QString& warning : facts.warnings) warnings << QString(QStringLiteral("Warning: ") % warning);
    m->warnings->setText(warnings.join(QLatin1Char('\n')));
    m->warnings->setVisible(!warnings.isEmpty());

    m->tree->clear();
    const auto add = [](QTreeWidgetItem* group, const QString& name, const QString& value, const QString& origin) {
        auto* item = new QTreeWidgetItem(group, {name, value, origin});
        // Cells are narrow in a dock: each says all of itself.
        for (int column = 0; column < 3; ++column) item->setToolTip(column, item->text(column));
    };
    QList<QTreeWidgetItem*> groups;
    for (const ModelFacts::Group& group : facts.groups) {
        auto* top = new QTreeWidgetItem({group.title});
        QFont bold = font();
        bold.setBold(true);
        top->setFont(0, bold);
        for (const ModelFacts::Fact& fact : group.facts) add(top, fact.name, fact.value, fact.origin);
        groups << top;
    }
    if (!facts.path.isEmpty() && !groups.isEmpty()) add(groups.first(), QStringLiteral("path"), facts.path, QString());
    m->tree->addTopLevelItems(groups);
    m->tree->expandAll();
    m->layers->setRowCount(0);
    m->setLayers(facts.layers, facts.applied);
    m->colour(palette());
    m->stack->setCurrentWidget(m->page);
}

void InspectorPanel::setLayers(const std::vector<ModelFacts::Layer>& layers, const QString& applied) {
    m->setLayers(layers, applied);
}

void InspectorPanel::setEmpty(const QString& why) {
    m->showMessage(why, false);
}

void InspectorPanel::setError(const QString& sentence) {
    m->showMessage(sentence, true);
}

void InspectorPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m->message) m->colour(palette());
}

}  // namespace lpes::widgets
