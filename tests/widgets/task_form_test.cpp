#include "widgets/panels/task_form.h"

#include <gmock/gmock.h>

#include <QComboBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSpinBox>
#include <QToolButton>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::HasSubstr;

namespace {

/// The fields in a form of their own.
struct Form : QWidget {
    Form() {
        fields = new TaskFields(this, *new QFormLayout(this), QStringLiteral("how it counts"), QStringLiteral("own"));
        fields->setChoices({QStringLiteral("kv"), QStringLiteral("mdqa"), QStringLiteral("leval:quality")},
                           {QString(), QStringLiteral("chatml")}, {QStringLiteral("strict")});
    }
    [[nodiscard]] QLineEdit* line(const char* name) { return named<QLineEdit>(*this, QString::fromLatin1(name)); }
    [[nodiscard]] QSpinBox* size() { return findChild<QSpinBox*>(); }
    void choose(const char* task) {
        named<QComboBox>(*this, QStringLiteral("Task"))->setCurrentText(QString::fromLatin1(task));
    }
    TaskFields* fields;
};

TaskForm sample() {
    TaskForm form;
    form.task = QStringLiteral("mdqa");
    form.data = QStringLiteral("nq.jsonl.gz");
    form.positions = QStringLiteral("0,50,100");
    form.documents = 10;
    form.chat = QStringLiteral("chatml");
    form.score = QStringLiteral("strict");
    return form;
}

}  // namespace

TEST(TaskForm, TheFieldsGiveBackWhatTheyWereGiven) {
    Form form;
    EXPECT_EQ(form.fields->form(), TaskForm{});
    form.fields->setForm(sample());
    EXPECT_EQ(form.fields->form(), sample());
    TaskForm unmoved = sample();
    unmoved.task = QStringLiteral("leval:quality");
    form.fields->setForm(unmoved);
    EXPECT_EQ(form.fields->form(), unmoved) << "what a task has no use for is kept";
    lpes::test::expectNames(form);
}

TEST(TaskForm, AFieldThatTheTaskDoesNotHaveIsDisabledAndSaysWhy) {
    Form form;
    form.fields->setForm(sample());
    EXPECT_EQ(form.size()->accessibleName(), QStringLiteral("Documents"));
    EXPECT_TRUE(form.line("Positions")->isEnabled());
    form.choose("leval:quality");
    EXPECT_FALSE(form.line("Positions")->isEnabled());
    EXPECT_TRUE(form.line("Positions")->text().isEmpty()) << "nothing that does not count";
    EXPECT_THAT(form.line("Positions")->toolTip().toStdString(), HasSubstr("cannot be moved"));
    EXPECT_FALSE(form.size()->isEnabled());
    EXPECT_THAT(form.size()->toolTip().toStdString(), HasSubstr("as long as the data has them"));
    form.choose("mdqa");
    EXPECT_EQ(form.fields->form(), sample()) << "and comes back";
    form.choose("mmlu");
    EXPECT_EQ(form.size()->accessibleName(), QStringLiteral("Examples"));
    form.choose("niah");
    EXPECT_EQ(form.size()->accessibleName(), QStringLiteral("Length"));
    EXPECT_EQ(form.size()->value(), 2000);
}

TEST(TaskForm, ATaskWithoutItsDataSaysSo) {
    Form form;
    form.choose("mdqa");
    EXPECT_THAT(form.fields->problem().toStdString(), HasSubstr("Name the data of mdqa"));
    QTest::keyClicks(form.line("Data"), QStringLiteral("nq.jsonl"));
    EXPECT_TRUE(form.fields->problem().isEmpty());
    form.line("Data")->clear();
    form.choose("kv");
    EXPECT_TRUE(form.fields->problem().isEmpty()) << "its items are generated";
}

TEST(TaskForm, AFileHasItsOwnNumberOfPairs) {
    Form form;
    QTest::keyClicks(form.line("Data"), QStringLiteral("kv.jsonl"));
    EXPECT_EQ(form.size()->text(), QStringLiteral("as the file has"));
    EXPECT_EQ(form.fields->form().pairs, 0);
    form.size()->setValue(10);
    EXPECT_EQ(form.fields->form().pairs, 10);
    form.line("Data")->clear();
    EXPECT_EQ(form.fields->form().pairs, 10);
    EXPECT_EQ(form.size()->minimum(), 2);
}

TEST(TaskForm, WhatTheCheckRefusesIsFramedWithTheReason) {
    Form form;
    form.fields->setCheck([](TaskFields::Field field, const QString& text) {
        return field == TaskFields::Positions && text == QStringLiteral("x") ? QStringLiteral("'x' is none")
                                                                             : QString();
    });
    int changes = 0;
    QObject::connect(form.fields, &TaskFields::changed, [&] { ++changes; });
    QTest::keyClicks(form.line("Positions"), QStringLiteral("x"));
    EXPECT_GT(changes, 0);
    EXPECT_EQ(form.fields->problem(), QStringLiteral("Correct the positions: 'x' is none."));
    EXPECT_EQ(form.line("Positions")->toolTip(), form.fields->problem());
    EXPECT_FALSE(form.line("Positions")->styleSheet().isEmpty());
    form.choose("leval:quality");
    form.line("Data")->setText(QStringLiteral("q.jsonl"));
    EXPECT_TRUE(form.fields->problem().isEmpty()) << "positions do not count there";
}

TEST(TaskForm, ARefusalFromElsewhereStandsUntilItsFieldIsEdited) {
    Form form;
    form.fields->setForm(sample());
    form.fields->refuse(TaskFields::Data, QStringLiteral("There is no file “nq.jsonl.gz”."));
    EXPECT_EQ(form.line("Data")->toolTip(), QStringLiteral("There is no file “nq.jsonl.gz”."));
    EXPECT_TRUE(form.fields->problem().isEmpty()) << "the file may come";
    QTest::keyClicks(form.line("Positions"), QStringLiteral(",25"));
    EXPECT_FALSE(form.fields->refusal(TaskFields::Data).isEmpty());
    QTest::keyClicks(form.line("Data"), QStringLiteral("x"));
    EXPECT_TRUE(form.fields->refusal(TaskFields::Data).isEmpty());
}

TEST(TaskForm, LockedItCanBeReadButNotEdited) {
    Form form;
    form.fields->setForm(sample());
    form.fields->setLocked(true);
    QTest::keyClicks(form.line("Data"), QStringLiteral("9"));
    QTest::keyClick(form.size(), Qt::Key_Up);
    EXPECT_EQ(form.fields->form(), sample());
    EXPECT_FALSE(named<QToolButton>(form, QStringLiteral("Look for the data"))->isEnabled());
    form.fields->setLocked(false);
    QTest::keyClick(form.size(), Qt::Key_Up);
    EXPECT_EQ(form.fields->form().documents, 11);
}
