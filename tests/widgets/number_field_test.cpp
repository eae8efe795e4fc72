#include "widgets/common/number_field.h"

#include <gmock/gmock.h>

#include <QLocale>
#include <QSignalSpy>
#include <QTest>

using namespace lpes::widgets;

namespace {

struct LocaleGuard {
    explicit LocaleGuard(const QLocale& locale) { QLocale::setDefault(locale); }
    ~LocaleGuard() { QLocale::setDefault(before); }
    LocaleGuard(const LocaleGuard&) = delete;
    LocaleGuard& operator=(const LocaleGuard&) = delete;
    QLocale before = QLocale();
};

void enter(NumberField& field, const char* words) {
    field.selectAll();
    QTest::keyClicks(&field, QString::fromUtf8(words));
    QTest::keyClick(&field, Qt::Key_Return);
}

struct NumberFieldTest : testing::Test {
    NumberFieldTest() {
        field.setRange(0.5, 2.5);
        field.setStep(0.01);
        field.setValue(1.0);
    }
    NumberField field;
    QSignalSpy edited{&field, &NumberField::valueEdited};
    QSignalSpy noticed{&field, &NumberField::noticeChanged};
};

}  // namespace

TEST(NumberParser, UnderstandsBothDecimalStyles) {
    EXPECT_EQ(parseNumber(QStringLiteral("1.5")), 1.5);
    EXPECT_EQ(parseNumber(QStringLiteral("1,5")), 1.5);
    EXPECT_EQ(parseNumber(QStringLiteral(" -0,25 ")), -0.25);
    EXPECT_EQ(parseNumber(QStringLiteral(".5")), 0.5);
    EXPECT_EQ(parseNumber(QStringLiteral("2.")), 2.0);
    EXPECT_EQ(parseNumber(QStringLiteral("1e-3")), 0.001);
}

TEST(NumberParser, TakesNothingElse) {
    for (const char* words :
         {"", " ", "abc", "1,5.2", "1.234,5", "1 000", "1,000,000", "nan", "inf", "1e999", "0x10", "1.5x", ".", "-"}) {
        EXPECT_EQ(parseNumber(QString::fromUtf8(words)), std::nullopt) << words;
    }
}

TEST_F(NumberFieldTest, EnterCommitsOnceAndOnlyAChange) {
    enter(field, "1.25");
    EXPECT_EQ(field.value(), 1.25);
    ASSERT_EQ(edited.count(), 1);
    EXPECT_EQ(edited.front().front().toDouble(), 1.25);
    enter(field, "1.250");
    QTest::keyClick(&field, Qt::Key_Return);
    EXPECT_EQ(edited.count(), 1);
    EXPECT_EQ(field.text(), QStringLiteral("1.25"));
}

TEST_F(NumberFieldTest, LeavingCommits) {
    field.selectAll();
    QTest::keyClicks(&field, QStringLiteral("2"));
    QFocusEvent leave(QEvent::FocusOut, Qt::TabFocusReason);
    QCoreApplication::sendEvent(&field, &leave);
    EXPECT_EQ(field.value(), 2.0);
    EXPECT_EQ(edited.count(), 1);
}

TEST_F(NumberFieldTest, LeavingWithNonsenseShowsTheValueInForceAndKeepsTheNotice) {
    field.selectAll();
    QTest::keyClicks(&field, QStringLiteral("abc"));
    QFocusEvent leave(QEvent::FocusOut, Qt::TabFocusReason);
    QCoreApplication::sendEvent(&field, &leave);
    EXPECT_EQ(field.text(), QStringLiteral("1"));
    EXPECT_FALSE(field.notice().isEmpty());
    EXPECT_EQ(edited.count(), 0);
}

TEST_F(NumberFieldTest, AValueKeepsTheDigitsThatAreNotShown) {
    field.setDecimals(2);
    field.setValue(1.23456);
    EXPECT_EQ(field.text(), QStringLiteral("1.23"));
    QTest::keyClick(&field, Qt::Key_Return);
    EXPECT_EQ(field.value(), 1.23456);
    EXPECT_EQ(edited.count(), 0);
}

TEST_F(NumberFieldTest, SettingAValueSaysNothingAndTakesTheNoticeAway) {
    enter(field, "abc");
    EXPECT_EQ(noticed.count(), 1);
    field.setValue(1.5);
    EXPECT_EQ(edited.count(), 0);
    EXPECT_TRUE(field.notice().isEmpty());
    EXPECT_EQ(field.text(), QStringLiteral("1.5"));
}

TEST_F(NumberFieldTest, ARefreshWithTheSameValueLeavesTheTypingAlone) {
    field.selectAll();
    QTest::keyClicks(&field, QStringLiteral("1.7"));
    field.setValue(1.0);
    EXPECT_EQ(field.text(), QStringLiteral("1.7"));
}

TEST_F(NumberFieldTest, EscapePutsTheValueBack) {
    enter(field, "abc");
    QTest::keyClick(&field, Qt::Key_Escape);
    EXPECT_EQ(field.text(), QStringLiteral("1"));
    EXPECT_TRUE(field.notice().isEmpty());
}

TEST_F(NumberFieldTest, ARefusedEntryIsFramedInRed) {
    field.resize(100, 28);
    const auto reds = [this] {
        const QImage image = field.grab().toImage();
        int count = 0;
        for (int x = 0; x < image.width(); ++x) {
            const QColor color = image.pixelColor(x, 1);
            if (color.red() > color.green() + 60 && color.red() > color.blue() + 60) ++count;
        }
        return count;
    };
    EXPECT_EQ(reds(), 0);
    enter(field, "abc");
    EXPECT_GT(reds(), 60);
}

TEST(FieldReports, T30_BothDecimalsAreUnderstoodUnderACommaLocale) {
    const LocaleGuard german(QLocale(QStringLiteral("de_DE")));
    NumberField field;
    field.setRange(0.5, 2.5);
    field.setValue(1.0);
    for (const char* words : {"1,5", "1.5"}) {
        field.setValue(1.0);
        enter(field, words);
        EXPECT_EQ(field.value(), 1.5) << words;
        EXPECT_EQ(field.text(), QStringLiteral("1.5")) << "always with the point";
        EXPECT_TRUE(field.notice().isEmpty());
    }
}

TEST(FieldReports, T30_NonsenseAndValuesOutOfRangeAreRejectedVisibly) {
    NumberField field;
    field.setRange(0.5, 2.5);
    field.setValue(1.0);
    QSignalSpy edited(&field, &NumberField::valueEdited);
    enter(field, "abc");
    EXPECT_EQ(field.value(), 1.0);
    EXPECT_EQ(edited.count(), 0);
    EXPECT_THAT(field.notice().toStdString(), testing::HasSubstr("“abc” is not a number"));
    EXPECT_EQ(field.toolTip(), field.notice());
    EXPECT_EQ(field.text(), QStringLiteral("abc")) << "left to be corrected";
    enter(field, "7,5");
    EXPECT_EQ(field.value(), 2.5);
    EXPECT_EQ(edited.count(), 1);
    EXPECT_THAT(field.notice().toStdString(), testing::HasSubstr("7.5 is above the highest allowed value; 2.5"));
    field.setValue(2.5);
    EXPECT_FALSE(field.notice().isEmpty()) << "the answer to the entry does not hide what is said about it";
    enter(field, "0.1");
    EXPECT_EQ(field.value(), 0.5);
    EXPECT_THAT(field.notice().toStdString(), testing::HasSubstr("below"));
    enter(field, "0.75");
    EXPECT_TRUE(field.notice().isEmpty());
}

TEST(FieldReports, T30_ArrowsNudgeAFieldByItsStep) {
    NumberField field;
    field.setRange(0.5, 2.5);
    field.setStep(0.01);
    field.setValue(1.34);
    QTest::keyClick(&field, Qt::Key_Up);
    EXPECT_EQ(field.value(), 1.35);
    QTest::keyClick(&field, Qt::Key_Down, Qt::ShiftModifier);
    EXPECT_EQ(field.value(), 1.25);
    field.setValue(2.45);
    QTest::keyClick(&field, Qt::Key_Up, Qt::ShiftModifier);
    EXPECT_EQ(field.value(), 2.5);
    EXPECT_FALSE(field.notice().isEmpty());
}
