#include "widgets/panels/method_table.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "widgets/common/semantic_colors.h"
#include "widgets/common/table_copy.h"
#include "widgets/models/method_table_model.h"

namespace lpes::widgets {

MethodTable::MethodTable(QWidget* parent)
    : QWidget(parent),
      m_model(new MethodTableModel(this)),
      m_proxy(new QSortFilterProxyModel(this)),
      m_table(new QTableView(this)),
      m_message(new QLabel(this)) {
    setAccessibleName(QStringLiteral("Methods compared"));
    m_proxy->setSourceModel(m_model);
    m_proxy->setSortRole(MethodTableModel::kSortRole);
    m_table->setModel(m_proxy);
    m_table->setAccessibleName(QStringLiteral("Methods compared, in their order"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setAlternatingRowColors(true);
    m_table->setWordWrap(false);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setTabKeyNavigation(false);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    QHeaderView* header = m_table->horizontalHeader();
    header->setHighlightSections(false);
    header->setMinimumSectionSize(30);
    header->setDefaultSectionSize(30);
    // A third click on a column comes back to the order in which the methods were given.
    header->setSortIndicator(-1, Qt::AscendingOrder);
    header->setSortIndicatorClearable(true);
    m_table->setSortingEnabled(true);
    addCopyActions(*m_table);
    auto* whole = new QAction(QStringLiteral("Copy the whole table"), m_table);
    connect(whole, &QAction::triggered, this, [this] { QGuiApplication::clipboard()->setText(asText()); });
    m_table->addAction(whole);

    m_message->setTextFormat(Qt::PlainText);
    m_message->setWordWrap(true);
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setMargin(12);
    m_message->setAccessibleName(QStringLiteral("Methods compared: message"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_table, 1);
    column->addWidget(m_message, 1);
    colourMessage();
    setEmpty(QStringLiteral("Nothing has been compared yet."));
}

void MethodTable::setMethods(const analysis::MethodsPlot& plot) {
    m_model->setMethods(plot);
    m_message->hide();
    m_table->show();
    // Columns grow to what they hold, intervals that come at the end included, and otherwise stay as the user made
    // them; but no spelling takes the room of all figures.
    const int widest = fontMetrics().horizontalAdvance(QStringLiteral("lpes:profile-of-the-model.json"));
    QHeaderView* header = m_table->horizontalHeader();
    std::vector<int> before;
    for (int column = 0; column < MethodTableModel::kColumns; ++column) before.push_back(header->sectionSize(column));
    m_table->resizeColumnsToContents();
    for (int column = 0; column < MethodTableModel::kColumns; ++column) {
        int wanted = header->sectionSize(column);
        if (column == MethodTableModel::Name) wanted = std::min(wanted, widest);
        header->resizeSection(column, std::max(wanted, before[static_cast<std::size_t>(column)]));
    }
}

void MethodTable::setEmpty(const QString& why) {
    m_model->setMethods({});
    m_message->setText(why);
    m_message->show();
    m_table->hide();
}

QString MethodTable::asText() const {
    QStringList lines;
    for (int row = -1; row < m_proxy->rowCount(); ++row) {
        QStringList cells;
        for (int visual = 0; visual < m_proxy->columnCount(); ++visual) {
            const int column = m_table->horizontalHeader()->logicalIndex(visual);
            const QVariant cell = row < 0 ? m_proxy->headerData(column, Qt::Horizontal)
                                          : m_proxy->index(row, column).data(Qt::DisplayRole);
            cells << cell.toString().replace(QLatin1Char('\t'), QLatin1Char(' ')).simplified();
        }
        lines << cells.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n'));
}

void MethodTable::colourMessage() {
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText, semanticColor(colors, Meaning::Muted));
    m_message->setPalette(colors);
}

void MethodTable::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_message) colourMessage();
}

}  // namespace lpes::widgets
