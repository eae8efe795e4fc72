#include "widgets/panels/method_table.h"

#include <QAction>
#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "widgets/common/form_fields.h"
#include "widgets/common/semantic_colors.h"
#include "widgets/common/table_copy.h"
#include "widgets/models/method_table_model.h"

namespace lpes::widgets {

MethodTable::MethodTable(QWidget* parent)
    : QWidget(parent),
      m_model(new MethodTableModel(this)),
      m_proxy(new QSortFilterProxyModel(this)),
      m_table(new QTableView(this)),
      m_message(new QLabel(this)),
      m_notHeldOut(wordyLabel(this, QStringLiteral("Not held out"))),
      m_detail(wordyLabel(this, QStringLiteral("About the selected method"))),
      m_below(new QScrollArea(this)) {
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
    column->setSpacing(2);
    for (QLabel* words : {m_notHeldOut, m_detail}) {
        words->setContentsMargins(8, 2, 8, 2);
        words->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    column->addWidget(m_notHeldOut);
    column->addWidget(m_table, 1);
    m_below->setWidget(m_detail);
    m_below->setWidgetResizable(true);
    m_below->setFrameShape(QFrame::NoFrame);
    m_below->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_below->setAccessibleName(QStringLiteral("About the selected method: view"));
    m_below->hide();
    column->addWidget(m_below);
    column->addWidget(m_message, 1);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &MethodTable::showDetail);
    colourMessage();
    setEmpty(QStringLiteral("Nothing has been compared yet."));
}

void MethodTable::setMethods(const analysis::MethodsPlot& plot) {
    m_model->setMethods(plot);
    m_message->hide();
    m_table->show();
    showDetail();
    showNotHeldOut();
    // The sentences below it take no row away: up to five are always in sight.
    const int rows = std::min(static_cast<int>(plot.methods.size()), 5);
    m_table->setMinimumHeight(m_table->horizontalHeader()->sizeHint().height() +
                              rows * m_table->verticalHeader()->defaultSectionSize() +
                              m_table->horizontalScrollBar()->sizeHint().height() + 2 * m_table->frameWidth());
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
    m_below->hide();
    m_notHeldOut->hide();
}

void MethodTable::showDetail() {
    const auto& methods = m_model->methods();
    const QModelIndex current = m_proxy->mapToSource(m_table->currentIndex());
    // Before anything is chosen, the first one that is compared with the first.
    const auto row = current.isValid() ? static_cast<std::size_t>(current.row()) : std::size_t{1};
    QStringList lines;
    if (row < methods.size()) {
        const analysis::MethodsPlot::Method& method = methods[row];
        const auto add = [&lines](const QString& name, const std::string& words) {
            if (!words.empty()) lines << QString(name % QStringLiteral(": ") % QString::fromStdString(words));
        };
        add(QString::fromStdString(method.name), method.verdict);
        add(QStringLiteral("Position bias"), method.bias);
        add(QString(QStringLiteral("Guardrail ") % QString::fromStdString(method.guardrail)), method.guardrailReason);
        // The first one has no verdict; its bias is still its own.
        if (!lines.isEmpty() && method.verdict.empty()) lines.prepend(QString::fromStdString(method.name));
    }
    m_detail->setText(lines.join(QLatin1Char('\n')));
    m_below->setVisible(!lines.isEmpty());
    fitSentences();
}

void MethodTable::showNotHeldOut() {
    QStringList lines;
    for (const analysis::MethodsPlot::Method& method : m_model->methods()) {
        if (method.searchedItems == 0) continue;
        lines << QString(QStringLiteral("Not held out: searched on ") % QString::number(method.searchedItems) %
                         QStringLiteral(" of ") % QString::number(method.allItems) % QStringLiteral(" items (") %
                         QString::fromStdString(method.name) %
                         QStringLiteral("); its result here is too good. Take another item seed or other data."));
    }
    m_notHeldOut->setText(lines.join(QLatin1Char('\n')));
    m_notHeldOut->setVisible(!lines.isEmpty());
    fitSentences();
}

void MethodTable::fitSentences() {
    // A splitter does not ask what lines need that break: without their room they would lie over the table. No more
    // than some lines, because a view that is still narrow would ask for the whole window.
    constexpr int kMostLines = 6;
    const auto room = [this](const QLabel* words) {
        return std::clamp(words->heightForWidth(width()), 0, kMostLines * fontMetrics().lineSpacing());
    };
    m_notHeldOut->setMinimumHeight(room(m_notHeldOut));
    m_below->setFixedHeight(room(m_detail));
}

void MethodTable::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitSentences();
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
    colors.setColor(QPalette::WindowText, semanticColor(colors, Meaning::Error));
    m_notHeldOut->setPalette(colors);
}

void MethodTable::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_message) colourMessage();
}

}  // namespace lpes::widgets
