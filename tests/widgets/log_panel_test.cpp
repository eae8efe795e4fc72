#include "widgets/panels/log_panel.h"

#include <gmock/gmock.h>

#include <QScrollBar>
#include <QTextBlock>
#include <QTextLayout>

#include "tests/widgets/panel_helpers.h"
#include "widgets/common/semantic_colors.h"

using namespace lpes::widgets;
using Level = LogPanel::Level;

namespace {

QColor colourAt(const LogPanel& panel, int block, int position) {
    for (auto it = panel.document()->findBlockByNumber(block).begin(); !it.atEnd(); ++it) {
        const QTextFragment part = it.fragment();
        const int at = part.position() - panel.document()->findBlockByNumber(block).position();
        if (position >= at && position < at + part.length()) return part.charFormat().foreground().color();
    }
    return {};
}

}  // namespace

TEST(LogPanel, WritesTimeLevelAndSentence) {
    LogPanel panel;
    std::vector<std::pair<Level, QString>> heard;
    QObject::connect(&panel, &LogPanel::added,
                     [&heard](Level level, const QString& sentence) { heard.emplace_back(level, sentence); });
    panel.add(Level::Info, QStringLiteral("Opened the model."));
    panel.add(Level::Warning, QStringLiteral("Two\nlines become one."));
    panel.add(Level::Error, QStringLiteral("It failed."));
    const QStringList lines = panel.toPlainText().split(QLatin1Char('\n'));
    ASSERT_EQ(lines.size(), 3);
    EXPECT_THAT(lines[0].toStdString(), testing::MatchesRegex("[0-9:]{8}  info  Opened the model\\."));
    EXPECT_TRUE(lines[1].endsWith(QStringLiteral("  warning  Two lines become one.")));
    EXPECT_TRUE(lines[2].endsWith(QStringLiteral("  error  It failed.")));
    ASSERT_EQ(heard.size(), 3u);
    EXPECT_EQ(heard[2].first, Level::Error);
    EXPECT_TRUE(panel.isReadOnly());
    EXPECT_FALSE(panel.accessibleName().isEmpty());
}

TEST(LogPanel, FollowsTheEndUnlessTheReaderScrolledUp) {
    LogPanel panel;
    lpes::test::showActive(panel, {400, 120});
    for (int i = 0; i < 100; ++i) panel.add(Level::Info, QStringLiteral("line"));
    QScrollBar* bar = panel.verticalScrollBar();
    EXPECT_GT(bar->maximum(), 50);
    EXPECT_EQ(bar->value(), bar->maximum());
    bar->setValue(10);
    panel.add(Level::Info, QStringLiteral("line"));
    EXPECT_EQ(bar->value(), 10);
    bar->setValue(bar->maximum());
    panel.add(Level::Info, QStringLiteral("line"));
    EXPECT_EQ(bar->value(), bar->maximum());
}

TEST(LogPanel, KeepsFiveThousandLines) {
    LogPanel panel;
    lpes::test::showActive(panel, {400, 120});
    for (int i = 0; i < 5100; ++i) panel.add(Level::Info, QString::number(i));
    EXPECT_EQ(panel.blockCount(), 5000);
    EXPECT_TRUE(panel.document()->lastBlock().text().endsWith(QStringLiteral("  5099")));
    EXPECT_TRUE(panel.document()->firstBlock().text().endsWith(QStringLiteral("  100")));
    panel.verticalScrollBar()->setValue(2000);
    panel.add(Level::Info, QStringLiteral("one more"));
    EXPECT_EQ(panel.verticalScrollBar()->value(), 1999) << "the same lines stay in sight";
}

TEST(LogPanel, ColoursFollowThePalette) {
    LogPanel panel;
    panel.add(Level::Error, QStringLiteral("It failed."));
    panel.add(Level::Info, QStringLiteral("It goes on."));
    QPalette dark = panel.palette();
    dark.setColor(QPalette::Base, Qt::black);
    dark.setColor(QPalette::Text, Qt::white);
    EXPECT_EQ(colourAt(panel, 0, 11), semanticColor(panel.palette(), Meaning::Error));
    panel.setPalette(dark);
    EXPECT_EQ(colourAt(panel, 0, 11), semanticColor(dark, Meaning::Error));
    EXPECT_GE(contrastRatio(colourAt(panel, 0, 11), Qt::black), 4.5);
    EXPECT_EQ(colourAt(panel, 1, 20), QColor(Qt::white));
}
