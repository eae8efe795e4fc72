#include "widgets/common/table_copy.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMap>
#include <QSet>
#include <QTableView>
#include <QTreeView>
#include <algorithm>
#include <map>
#include <vector>

namespace lpes::widgets {
namespace {

// Rows in the order seen: a tree's groups may be nested, so each row is known by the path to it.
std::vector<int> pathOf(const QModelIndex& index) {
    std::vector<int> path;
    for (QModelIndex at = index; at.isValid(); at = at.parent()) path.push_back(at.row());
    std::reverse(path.begin(), path.end());
    return path;
}

int visualColumn(const QAbstractItemView& view, int column) {
    if (const auto* table = qobject_cast<const QTableView*>(&view)) {
        return table->horizontalHeader()->visualIndex(column);
    }
    if (const auto* tree = qobject_cast<const QTreeView*>(&view)) return tree->header()->visualIndex(column);
    return column;
}

}  // namespace

QString selectionAsText(const QAbstractItemView& view) {
    if (!view.selectionModel()) return {};
    std::map<std::vector<int>, QMap<int, QString>> rows;
    QSet<int> columns;
    for (const QModelIndex& index : view.selectionModel()->selectedIndexes()) {
        const int column = visualColumn(view, index.column());
        rows[pathOf(index)][column] = index.data(Qt::DisplayRole).toString();
        columns << column;
    }
    QList<int> order(columns.begin(), columns.end());
    std::sort(order.begin(), order.end());
    QStringList lines;
    for (const auto& [path, cells] : rows) {
        QStringList line;
        for (const int column : order) {
            // A tab or a line break inside a cell would make another cell of what follows.
            line << QString(cells.value(column)).replace(QLatin1Char('\t'), QLatin1Char(' ')).simplified();
        }
        lines << line.join(QLatin1Char('\t'));
    }
    return lines.join(QLatin1Char('\n'));
}

void addCopyActions(QAbstractItemView& view) {
    auto* copy = new QAction(QStringLiteral("Copy"), &view);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QAction::triggered, &view, [&view] {
        const QString text = selectionAsText(view);
        if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
    });
    auto* all = new QAction(QStringLiteral("Select all"), &view);
    all->setShortcut(QKeySequence::SelectAll);
    all->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(all, &QAction::triggered, &view, &QAbstractItemView::selectAll);
    view.addActions({copy, all});
    view.setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace lpes::widgets
