#include "widgets/models/run_table_model.h"

#include <QDateTime>
#include <QGuiApplication>
#include <QSet>
#include <algorithm>

#include "widgets/common/semantic_colors.h"
#include "widgets/panels/search_panel.h"

namespace lpes::widgets {
namespace {

constexpr int kMarkerSize = 12;

// Each state has a shape of its own beside its word: colour is the third hint, never the only one.
QIcon marker(const QString& state) {
    const auto drawn = [](Shape shape, Meaning meaning) {
        const QPalette palette = QGuiApplication::palette();
        QIcon icon(shapePixmap(shape, semanticColor(palette, meaning), kMarkerSize));
        icon.addPixmap(shapePixmap(shape, palette.color(QPalette::HighlightedText), kMarkerSize), QIcon::Selected);
        return icon;
    };
    if (state == QLatin1String("running")) return drawn(Shape::Play, Meaning::Active);
    if (state == QLatin1String("paused")) return drawn(Shape::Pause, Meaning::Waiting);
    if (state == QLatin1String("stopped")) return drawn(Shape::Stop, Meaning::Muted);
    if (state == QLatin1String("interrupted")) return drawn(Shape::Half, Meaning::Warning);
    if (state == QLatin1String("failed")) return drawn(Shape::Cross, Meaning::Error);
    if (state == QLatin1String("finished")) return drawn(Shape::Disc, Meaning::Good);
    return drawn(Shape::Ring, Meaning::Muted);
}

QString meaningOf(const QString& state) {
    if (state == QLatin1String("running")) return QStringLiteral("running: a program is working on it");
    if (state == QLatin1String("paused")) return QStringLiteral("paused: everything done so far is stored");
    if (state == QLatin1String("stopped"))
        return QStringLiteral("stopped on request: everything done so far is stored");
    if (state == QLatin1String("interrupted")) {
        return QStringLiteral("interrupted: its program ended before the run did; what was done is stored");
    }
    if (state == QLatin1String("failed")) return QStringLiteral("failed: an error ended it");
    if (state == QLatin1String("finished")) return QStringLiteral("finished: all of it is done");
    return state;
}

QString textOf(const RunLine& run, int column) {
    switch (column) {
        case RunTableModel::Id:
            return QString::number(run.id);
        case RunTableModel::Kind:
            return run.kind;
        case RunTableModel::State:
            return run.state;
        case RunTableModel::Label:
            return run.label;
        case RunTableModel::Started:
            return QDateTime::fromMSecsSinceEpoch(run.createdMs).toString(QStringLiteral("yyyy-MM-dd HH:mm"));
        case RunTableModel::Elapsed:
            return durationText(run.elapsedSeconds);
        case RunTableModel::Outcome:
            return run.outcome;
        default:
            return {};
    }
}

QString toolTipOf(const RunLine& run, int column) {
    QStringList lines;
    if (column == RunTableModel::State) {
        lines << meaningOf(run.state);
        if (run.resumable) lines << QStringLiteral("It can be resumed.");
    }
    // Cells are narrow in a dock: what may be cut off is said in full.
    if (column == RunTableModel::Outcome || column == RunTableModel::Label) lines << textOf(run, column);
    QStringList where{run.kind, run.label, run.model, run.device};
    where.removeAll(QString());
    lines << where.join(QStringLiteral(" · ")) << run.details;
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

QVariant alignmentOf(int column) {
    const bool number = column == RunTableModel::Id || column == RunTableModel::Elapsed;
    return QVariant((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

std::vector<RunLine> newestFirst(const std::vector<RunLine>& runs) {
    std::vector<RunLine> sorted;
    QSet<std::int64_t> seen;
    for (const RunLine& run : runs) {
        if (seen.contains(run.id)) continue;
        seen.insert(run.id);
        sorted.push_back(run);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const RunLine& a, const RunLine& b) {
        return a.createdMs != b.createdMs ? a.createdMs > b.createdMs : a.id > b.id;
    });
    return sorted;
}

}  // namespace

void RunTableModel::setRuns(const std::vector<RunLine>& runs) {
    const std::vector<RunLine> wanted = newestFirst(runs);
    QSet<std::int64_t> staying;
    for (const RunLine& run : wanted) staying.insert(run.id);
    for (int row = rowCount() - 1; row >= 0; --row) {
        if (staying.contains(m_runs[static_cast<std::size_t>(row)].id)) continue;
        beginRemoveRows({}, row, row);
        m_runs.erase(m_runs.begin() + row);
        endRemoveRows();
    }
    for (int row = 0; row < static_cast<int>(wanted.size()); ++row) {
        const RunLine& run = wanted[static_cast<std::size_t>(row)];
        const auto from = std::find_if(m_runs.begin() + row, m_runs.end(),
                                       [&run](const RunLine& known) { return known.id == run.id; });
        if (from == m_runs.end()) {
            beginInsertRows({}, row, row);
            m_runs.insert(m_runs.begin() + row, run);
            endInsertRows();
            continue;
        }
        if (const auto old = static_cast<int>(from - m_runs.begin()); old != row) {
            beginMoveRows({}, old, old, {}, row);
            std::rotate(m_runs.begin() + row, from, from + 1);
            endMoveRows();
        }
        RunLine& known = m_runs[static_cast<std::size_t>(row)];
        if (known == run) continue;
        known = run;
        Q_EMIT dataChanged(index(row, 0), index(row, kColumns - 1));
    }
}

const RunLine* RunTableModel::find(std::int64_t id) const {
    const auto found = std::find_if(m_runs.begin(), m_runs.end(), [id](const RunLine& run) { return run.id == id; });
    return found == m_runs.end() ? nullptr : &*found;
}

int RunTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_runs.size());
}

int RunTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QVariant RunTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= kColumns) return {};
    const RunLine& run = m_runs[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole:
            return textOf(run, index.column());
        case Qt::DecorationRole:
            return index.column() == State ? QVariant(marker(run.state)) : QVariant();
        case Qt::ToolTipRole:
            return toolTipOf(run, index.column());
        case Qt::TextAlignmentRole:
            return alignmentOf(index.column());
        case kIdRole:
            return QVariant::fromValue<qint64>(run.id);
        case kSortRole:
            if (index.column() == Id) return QVariant::fromValue<qint64>(run.id);
            if (index.column() == Started) return QVariant::fromValue<qint64>(run.createdMs);
            if (index.column() == Elapsed) return run.elapsedSeconds;
            return textOf(run, index.column());
        default:
            return {};
    }
}

QVariant RunTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
    if (role == Qt::TextAlignmentRole) return alignmentOf(section);
    if (role != Qt::DisplayRole) return {};
    constexpr const char16_t* kNames[] = {u"Id", u"Kind", u"State", u"Label", u"Started", u"Time", u"Outcome"};
    return QString::fromUtf16(kNames[section]);
}

}  // namespace lpes::widgets
