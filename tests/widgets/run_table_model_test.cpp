#include "widgets/models/run_table_model.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QIcon>
#include <QPalette>
#include <QPersistentModelIndex>
#include <set>

#include "tests/widgets/panel_helpers.h"
#include "tests/widgets/sample_plots.h"
#include "widgets/common/semantic_colors.h"

using namespace lpes::widgets;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

RunLine line(std::int64_t id, const char* state = "finished") {
    RunLine run = lpes::test::runLine(id, state);
    run.elapsedSeconds = 61.0;
    return run;
}

std::vector<std::int64_t> ids(const RunTableModel& model) {
    std::vector<std::int64_t> out;
    for (int row = 0; row < model.rowCount(); ++row) {
        out.push_back(model.index(row, 0).data(RunTableModel::kIdRole).toLongLong());
    }
    return out;
}

}  // namespace

// A warning of the tester's is a failure: sample_plots.cpp installs the message handler for all tests.
class RunTable : public testing::Test {
  protected:
    RunTableModel model;
    QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::Warning};
};

TEST_F(RunTable, ListsTheNewestFirst) {
    model.setRuns({line(1), line(3), line(2), line(3)});
    EXPECT_THAT(ids(model), ElementsAre(3, 2, 1)) << "and each once";
    ASSERT_NE(model.find(2), nullptr);
    EXPECT_EQ(model.find(2)->id, 2);
    EXPECT_EQ(model.find(7), nullptr);
    EXPECT_EQ(model.runs().size(), 3u);
    model.setRuns({});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(RunTable, ChangesRowsInPlace) {
    int resets = 0, inserted = 0, removed = 0, moved = 0, changed = 0;
    QObject::connect(&model, &QAbstractItemModel::modelReset, [&] { ++resets; });
    QObject::connect(&model, &QAbstractItemModel::rowsInserted, [&] { ++inserted; });
    QObject::connect(&model, &QAbstractItemModel::rowsRemoved, [&] { ++removed; });
    QObject::connect(&model, &QAbstractItemModel::rowsMoved, [&] { ++moved; });
    QObject::connect(&model, &QAbstractItemModel::dataChanged, [&] { ++changed; });
    model.setRuns({line(1), line(2), line(3)});
    EXPECT_EQ(inserted, 3);
    const QPersistentModelIndex second(model.index(1, 0));
    model.setRuns({line(1), line(2), line(3)});
    EXPECT_EQ(removed + moved + changed, 0) << "nothing new, nothing said";
    model.setRuns({line(1), line(2, "running"), line(3), line(4)});
    EXPECT_EQ(inserted, 4);
    EXPECT_EQ(changed, 1);
    EXPECT_EQ(second.row(), 2) << "a new run pushed it down";
    EXPECT_EQ(second.data(RunTableModel::kIdRole).toLongLong(), 2);
    model.setRuns({line(2, "running"), line(4)});
    EXPECT_EQ(removed, 2);
    EXPECT_EQ(second.row(), 1);
    RunLine late = line(2, "running");
    late.createdMs = 9'000'000;
    model.setRuns({late, line(4)});
    EXPECT_EQ(moved, 1);
    EXPECT_EQ(second.row(), 0);
    EXPECT_EQ(resets, 0);
}

TEST_F(RunTable, EndsUpRightFromAnywhere) {
    // Every change between subsets of five runs, in orders that differ.
    for (int from = 0; from < 32; ++from) {
        for (int to = 0; to < 32; to += 3) {
            std::vector<RunLine> before, after;
            std::vector<std::int64_t> expected;
            for (int bit = 0; bit < 5; ++bit) {
                if (from & 1 << bit) before.push_back(line(bit + 1));
                RunLine other = line(bit + 1);
                other.createdMs = (bit * 3 + 1) % 5;
                if (to & 1 << bit) after.push_back(other);
            }
            model.setRuns(before);
            model.setRuns(after);
            RunTableModel fresh;
            fresh.setRuns(after);
            EXPECT_EQ(model.runs(), fresh.runs());
        }
    }
}

TEST_F(RunTable, TellsStatesApartByWordAndShape) {
    std::set<QString> tips;
    std::vector<QImage> markers;
    for (const char* state : {"running", "paused", "stopped", "interrupted", "failed", "finished"}) {
        model.setRuns({line(1, state)});
        const QModelIndex cell = model.index(0, RunTableModel::State);
        EXPECT_EQ(cell.data().toString(), QString::fromLatin1(state));
        tips.insert(cell.data(Qt::ToolTipRole).toString());
        QImage marker = cell.data(Qt::DecorationRole).value<QIcon>().pixmap(12).toImage();
        ASSERT_FALSE(marker.isNull());
        marker = marker.convertToFormat(QImage::Format_Alpha8);
        for (const QImage& other : markers) EXPECT_NE(marker, other) << state << ": the shape alone tells it apart";
        markers.push_back(marker);
    }
    EXPECT_EQ(tips.size(), 6u);
    RunLine interrupted = line(1, "interrupted");
    interrupted.resumable = true;
    model.setRuns({interrupted});
    EXPECT_THAT(model.index(0, RunTableModel::State).data(Qt::ToolTipRole).toString().toStdString(),
                HasSubstr("can be resumed"));
}

TEST_F(RunTable, SortsNumbersAsNumbers) {
    RunLine run = line(10);
    run.elapsedSeconds = 3725.0;
    model.setRuns({run});
    EXPECT_EQ(model.index(0, RunTableModel::Elapsed).data().toString(), QStringLiteral("1 h 02 min"));
    EXPECT_EQ(model.index(0, RunTableModel::Elapsed).data(RunTableModel::kSortRole).toDouble(), 3725.0);
    EXPECT_EQ(model.index(0, RunTableModel::Id).data(RunTableModel::kSortRole).toLongLong(), 10);
    EXPECT_EQ(model.index(0, RunTableModel::Started).data(RunTableModel::kSortRole).toLongLong(), run.createdMs);
    for (int column = 0; column < RunTableModel::kColumns; ++column) {
        EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    }
}

TEST(SemanticColors, CanBeReadOnLightAndDarkGrounds) {
    for (const auto& [window, base] : {std::pair{QColor(0xef, 0xef, 0xef), QColor(Qt::white)},
                                       {QColor(0x35, 0x37, 0x3c), QColor(0x1d, 0x1f, 0x23)}}) {
        QPalette palette;
        palette.setColor(QPalette::Window, window);
        palette.setColor(QPalette::Base, base);
        for (const Meaning meaning :
             {Meaning::Good, Meaning::Active, Meaning::Waiting, Meaning::Warning, Meaning::Error, Meaning::Muted}) {
            const QColor color = semanticColor(palette, meaning);
            EXPECT_GE(contrastRatio(color, window), 4.5) << static_cast<int>(meaning);
            EXPECT_GE(contrastRatio(color, base), 4.5) << static_cast<int>(meaning);
        }
    }
    EXPECT_NEAR(contrastRatio(Qt::black, Qt::white), 21.0, 1e-9);
}
