#include "widgets/panels/run_list.h"

#include <QAction>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QToolButton>

#include "widgets/common/semantic_colors.h"

namespace lpes::widgets {
namespace {

void setMessage(QLabel* label, const QString& words, bool error) {
    label->setText(words);
    label->setVisible(!words.isEmpty());
    label->setProperty("error", error);
    QPalette palette = label->parentWidget()->palette();
    palette.setColor(QPalette::WindowText, semanticColor(palette, error ? Meaning::Error : Meaning::Muted));
    label->setPalette(palette);
}

}  // namespace

RunList::RunList(QWidget* parent)
    : QWidget(parent),
      m_model(new RunTableModel(this)),
      m_proxy(new QSortFilterProxyModel(this)),
      m_table(new QTableView(this)),
      m_filter(new QLineEdit(this)),
      m_message(new QLabel(this)),
      m_resume(new QAction(QStringLiteral("&Resume"), this)),
      m_export(new QAction(QStringLiteral("E&xport…"), this)),
      m_show(new QAction(QStringLiteral("&To editor"), this)) {
    setAccessibleName(QStringLiteral("Runs"));
    m_filter->setAccessibleName(QStringLiteral("Filter the runs"));
    m_filter->setPlaceholderText(QStringLiteral("Filter: a word in any column"));
    m_filter->setClearButtonEnabled(true);
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    m_message->setAlignment(Qt::AlignCenter);
    m_message->setMargin(12);
    m_message->setAccessibleName(QStringLiteral("Runs: message"));

    m_proxy->setSourceModel(m_model);
    m_proxy->setSortRole(RunTableModel::kSortRole);
    m_proxy->setFilterKeyColumn(-1);
    m_proxy->setFilterCaseSensitivity(Qt::CaseInsensitive);
    setUpTable();

    const auto setUp = [this](QAction* action, const QString& tip, void (RunList::*signal)(qint64)) {
        action->setToolTip(tip);
        connect(action, &QAction::triggered, this, [this, signal] {
            if (const std::int64_t id = selectedRun()) Q_EMIT(this->*signal)(id);
        });
    };
    setUp(m_resume, QStringLiteral("Go on with the selected run where it stopped"), &RunList::resumeRequested);
    setUp(m_show, QStringLiteral("Take the selected run's profile into the curve editor"),
          &RunList::showProfileRequested);
    setUp(m_export, QStringLiteral("Write the selected run's profile for another program"),
          &RunList::exportProfileRequested);
    m_table->addActions({m_resume, m_show, m_export});
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    auto* buttons = new QHBoxLayout;
    for (QAction* action : {m_resume, m_show, m_export}) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setFocusPolicy(Qt::StrongFocus);
        button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        button->setAccessibleName(action->toolTip());
        buttons->addWidget(button);
    }
    auto* find = new QAction(this);
    find->setShortcut(QKeySequence::Find);
    find->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(find, &QAction::triggered, m_filter, [this] { m_filter->setFocus(Qt::ShortcutFocusReason); });
    addAction(find);
    // Return in the filter goes on to what it found.
    connect(m_filter, &QLineEdit::returnPressed, m_table, [this] { m_table->setFocus(Qt::OtherFocusReason); });
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& words) {
        m_updating = true;
        m_proxy->setFilterFixedString(words);
        keepSelection();
    });

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(4, 4, 4, 4);
    layout->addWidget(m_filter);
    layout->addWidget(m_message, 1);
    layout->addWidget(m_table, 1000);
    layout->addLayout(buttons);
    setRuns({});
}

void RunList::setUpTable() {
    m_table->setModel(m_proxy);
    m_table->setAccessibleName(QStringLiteral("Runs, newest first"));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setAlternatingRowColors(true);
    m_table->setWordWrap(false);
    m_table->setTabKeyNavigation(false);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionsMovable(true);
    header->setHighlightSections(false);
    header->setStretchLastSection(true);
    header->setMinimumSectionSize(20);
    // No sorting at first: newest on top, as the model has it. A third click on a column comes back to that.
    header->setSortIndicator(-1, Qt::AscendingOrder);
    header->setSortIndicatorClearable(true);
    m_table->setSortingEnabled(true);
    using Column = RunTableModel::Column;
    const auto wide = [this](const QString& sample, int extra) {
        return fontMetrics().horizontalAdvance(sample) + extra;
    };
    const std::pair<Column, int> columns[] = {
        {Column::Id, wide(QStringLiteral("888"), 14)},
        {Column::State, wide(QStringLiteral("interrupted"), 30)},
        {Column::Outcome, wide(QStringLiteral("best −1.6560"), 14)},
        {Column::Kind, wide(QStringLiteral("deviation"), 14)},
        {Column::Started, wide(QStringLiteral("2026-08-28 08:58"), 14)},
        {Column::Elapsed, wide(QStringLiteral("88 h 58 min"), 14)},
        {Column::Label, wide(QStringLiteral("a label of 20 letters"), 14)},
    };
    int visual = 0;
    for (const auto& [column, width] : columns) {
        header->moveSection(header->visualIndex(column), visual++);
        m_table->setColumnWidth(column, width);
    }
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] { noteSelection(); });
}

void RunList::noteSelection() {
    if (m_updating) return;
    updateButtons();
    const std::int64_t id = selectedRun();
    if (id == m_told) return;
    m_told = id;
    Q_EMIT runSelected(id);
}

void RunList::setRuns(const std::vector<RunLine>& runs, const QString& why) {
    m_why = why.isEmpty() ? QStringLiteral("No run yet. Start a search to make the first one.") : why;
    m_error.clear();
    m_updating = true;
    m_model->setRuns(runs);
    keepSelection();
}

void RunList::keepSelection() {
    // A view whose selected row goes selects the neighbour, for which nobody asked. A run that the filter hides is
    // still the one that the window shows, and is selected again when it comes back.
    if (selectedRun() != m_told) {
        m_table->selectionModel()->clear();
        showSelected(m_told);
    }
    m_updating = false;
    updateButtons();
    if (m_told != 0 && !m_model->find(m_told)) {
        m_told = 0;
        Q_EMIT runSelected(0);
    }
}

void RunList::setError(const QString& sentence) {
    m_error = sentence;
    updateButtons();
}

std::int64_t RunList::selectedRun() const {
    const QModelIndexList rows = m_table->selectionModel()->selectedRows();
    return rows.isEmpty() ? 0 : rows.first().data(RunTableModel::kIdRole).toLongLong();
}

void RunList::showSelected(std::int64_t id) {
    for (int row = 0; row < m_proxy->rowCount(); ++row) {
        const QModelIndex index = m_proxy->index(row, 0);
        if (index.data(RunTableModel::kIdRole).toLongLong() != id) continue;
        m_table->setCurrentIndex(index);
        m_table->selectRow(row);
        m_table->scrollTo(index);
        return;
    }
}

void RunList::selectRun(std::int64_t id) {
    if (id == selectedRun()) return;
    const RunLine* run = m_model->find(id);
    if (!run) {
        m_table->clearSelection();
        return;
    }
    m_updating = true;
    showSelected(id);
    if (selectedRun() != id) {
        m_filter->clear();  // it was hidden
        showSelected(id);
    }
    m_updating = false;
    noteSelection();
}

void RunList::updateButtons() {
    const RunLine* run = m_model->find(selectedRun());
    m_resume->setEnabled(run && run->resumable);
    m_export->setEnabled(run && run->hasProfile);
    m_show->setEnabled(run && run->hasProfile);
    const bool none = m_model->rowCount() == 0;
    QString words = m_error;
    if (words.isEmpty() && none) words = m_why;
    if (words.isEmpty() && m_proxy->rowCount() == 0) {
        words = QString(QStringLiteral("No run has “") % m_filter->text() % QStringLiteral("” in it."));
    }
    setMessage(m_message, words, !m_error.isEmpty());
    m_table->setVisible(m_proxy->rowCount() > 0);
    // Alone it stands in the middle, above the table it is as high as its words.
    m_message->setSizePolicy(QSizePolicy::Preferred,
                             m_proxy->rowCount() > 0 ? QSizePolicy::Maximum : QSizePolicy::Expanding);
}

void RunList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) updateButtons();
}

}  // namespace lpes::widgets
