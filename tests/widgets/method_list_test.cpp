#include "widgets/panels/method_list.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QToolButton>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using lpes::test::settle;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<std::string> spellings(const MethodListEdit& list) {
    std::vector<std::string> out;
    for (const QString& method : list.methods()) out.push_back(method.toStdString());
    return out;
}

QLineEdit* field(MethodListEdit& list, int place) {
    return named<QLineEdit>(list, QStringLiteral("Method %1").arg(place));
}

/// What stands below a field.
std::string reason(MethodListEdit& list, int place) {
    for (QLabel* label : field(list, place)->parentWidget()->findChildren<QLabel*>()) {
        if (label->wordWrap()) return label->isHidden() ? std::string() : label->text().toStdString();
    }
    return "no label";
}

QAction* entry(MethodListEdit& list, const QString& words) {
    for (QAction* action : list.findChild<QMenu*>()->actions()) {
        if (action->text().remove(QLatin1Char('&')).contains(words)) return action;
    }
    ADD_FAILURE() << words.toStdString();
    return nullptr;
}

}  // namespace

TEST(MethodList, GivesBackWhatItWasGiven) {
    MethodListEdit list;
    EXPECT_THAT(list.problem().toStdString(), HasSubstr("second method"));
    list.setMethods({QStringLiteral("baseline"), QStringLiteral("pi:1.5"), QStringLiteral("ntk:2+uniform:1.1")});
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "pi:1.5", "ntk:2+uniform:1.1"));
    EXPECT_TRUE(list.problem().isEmpty()) << list.problem().toStdString();
    list.setMethods({QStringLiteral("yarn:2")});
    settle();
    EXPECT_THAT(spellings(list), ElementsAre("yarn:2"));
    EXPECT_EQ(list.findChildren<QLineEdit*>().size(), 1);
}

TEST(MethodList, AWrongSpellingIsRefusedAtItsField) {
    MethodListEdit list;
    lpes::test::showActive(list, {300, 400});
    list.setMethods({QStringLiteral("baseline"), QStringLiteral("pi:1.5"), QStringLiteral("yarn:2")});
    QLineEdit* second = field(list, 2);
    second->selectAll();
    QTest::keyClicks(second, QStringLiteral("pi:fast"));
    EXPECT_THAT(reason(list, 2), HasSubstr("fast")) << "in the words of whoever reads it";
    EXPECT_THAT(reason(list, 2), HasSubstr("pi:1.5")) << "with an example";
    EXPECT_EQ(reason(list, 1), "");
    EXPECT_EQ(reason(list, 3), "");
    EXPECT_THAT(list.problem().toStdString(), testing::StartsWith("Correct method 2"));
    EXPECT_EQ(second->toolTip().toStdString(), reason(list, 2));
    second->clear();
    EXPECT_THAT(reason(list, 2), HasSubstr("remove the row"));
    second->setText(QStringLiteral("pi:2"));
    EXPECT_EQ(reason(list, 2), "");
    EXPECT_TRUE(list.problem().isEmpty());
}

TEST(MethodList, TheSameMethodTwiceIsRefusedInWhateverSpelling) {
    MethodListEdit list;
    list.setMethods({QStringLiteral("baseline"), QStringLiteral("pi:1.5"), QStringLiteral("pi:1.50")});
    EXPECT_EQ(reason(list, 2), "");
    EXPECT_NE(reason(list, 3), "");
    EXPECT_FALSE(list.problem().isEmpty());
}

TEST(MethodList, RowsMoveByButtonAndByKey) {
    MethodListEdit list;
    lpes::test::showActive(list, {300, 400});
    list.setMethods({QStringLiteral("baseline"), QStringLiteral("pi:1.5"), QStringLiteral("yarn:2")});
    EXPECT_FALSE(named<QToolButton>(list, QStringLiteral("Move method 1 up"))->isEnabled());
    EXPECT_FALSE(named<QToolButton>(list, QStringLiteral("Move method 3 down"))->isEnabled());
    QTest::mouseClick(named<QToolButton>(list, QStringLiteral("Move method 3 up")), Qt::LeftButton);
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "yarn:2", "pi:1.5"));
    QLineEdit* moved = field(list, 2);
    moved->setFocus();
    QTest::keyClick(moved, Qt::Key_Up, Qt::AltModifier);
    EXPECT_THAT(spellings(list), ElementsAre("yarn:2", "baseline", "pi:1.5"));
    EXPECT_EQ(field(list, 1), moved) << "the row that is edited is the one that moved";
    EXPECT_TRUE(moved->hasFocus());
    QTest::keyClick(moved, Qt::Key_Down, Qt::AltModifier);
    QTest::keyClick(moved, Qt::Key_Down, Qt::AltModifier);
    QTest::keyClick(moved, Qt::Key_Down, Qt::AltModifier);
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "pi:1.5", "yarn:2")) << "no further than the end";
    QTest::mouseClick(named<QToolButton>(list, QStringLiteral("Remove method 2")), Qt::LeftButton);
    settle();
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "yarn:2"));
    lpes::test::expectNames(list);
}

TEST(MethodList, TheMenuAddsRivalsWithSensibleValuesAndWishesForFiles) {
    MethodListEdit list;
    int curve = 0, profile = 0, router = 0;
    QObject::connect(&list, &MethodListEdit::currentCurveRequested, [&] { ++curve; });
    QObject::connect(&list, &MethodListEdit::profileFileRequested, [&] { ++profile; });
    QObject::connect(&list, &MethodListEdit::routerFileRequested, [&] { ++router; });
    for (const char* words : {"Baseline", "pi:1.5", "ntk:2", "yarn:2", "Ms-PoE", "Attention Buckets"})
        entry(list, QString::fromLatin1(words))->trigger();
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "pi:1.5", "ntk:2", "yarn:2", "ms-poe", "attention-buckets"));
    EXPECT_TRUE(list.problem().isEmpty()) << list.problem().toStdString();
    entry(list, QStringLiteral("Current curve"))->trigger();
    entry(list, QStringLiteral("Profile file"))->trigger();
    entry(list, QStringLiteral("router file"))->trigger();
    EXPECT_EQ(curve + 10 * profile + 100 * router, 111);
    entry(list, QStringLiteral("empty row"))->trigger();
    EXPECT_EQ(list.methods().size(), 7);
    list.addMethod(QStringLiteral("lpes:a.json"));
    EXPECT_EQ(list.methods().size(), 7) << "it takes the place of the empty row";
    EXPECT_EQ(list.methods().last(), QStringLiteral("lpes:a.json"));
}

TEST(MethodList, AListThatIsPastedBecomesRows) {
    MethodListEdit list;
    lpes::test::showActive(list, {300, 400});
    list.setMethods({QStringLiteral("baseline"), QString()});
    QLineEdit* second = field(list, 2);
    second->setFocus();
    second->setText(QStringLiteral("pi:1.5; ntk:2 ;yarn:2"));
    QTest::keyClick(second, Qt::Key_Return);
    QCoreApplication::processEvents();
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "pi:1.5", "ntk:2", "yarn:2"));
    EXPECT_TRUE(list.problem().isEmpty());
}

TEST(MethodList, LockedItCanBeReadButNotChanged) {
    MethodListEdit list;
    lpes::test::showActive(list, {300, 400});
    list.setMethods({QStringLiteral("baseline"), QStringLiteral("pi:1.5")});
    list.setLocked(true);
    QTest::keyClicks(field(list, 2), QStringLiteral("9"));
    QTest::keyClick(field(list, 2), Qt::Key_Up, Qt::AltModifier);
    EXPECT_THAT(spellings(list), ElementsAre("baseline", "pi:1.5"));
    EXPECT_FALSE(named<QPushButton>(list, QStringLiteral("Add a method"))->isEnabled());
    EXPECT_FALSE(named<QToolButton>(list, QStringLiteral("Remove method 1"))->isEnabled());
    list.setLocked(false);
    EXPECT_TRUE(named<QToolButton>(list, QStringLiteral("Remove method 1"))->isEnabled());
}
