#include "widgets/panels/prompt_view.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QComboBox>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>

#include "tests/support/qt_environment.h"
#include "tests/widgets/panel_helpers.h"

using namespace lpes::widgets;
using lpes::test::named;
using testing::HasSubstr;

namespace {

PromptFacts sample() {
    PromptFacts facts;
    facts.data = QStringLiteral("kv");
    facts.item = QStringLiteral("kv/3");
    facts.number = 3;
    facts.items = 40;
    facts.position = QStringLiteral("middle");
    facts.positions = {QStringLiteral("begin"), QStringLiteral("middle")};
    facts.text = QStringLiteral("Éa\r\n\"key\": \"value\"\nend");
    facts.spans = {{4, 18}};
    facts.evidenceTokens = QStringLiteral("2–7");
    facts.answer = QStringLiteral(" value");
    facts.references = {QStringLiteral("value")};
    facts.rule = QStringLiteral("contains");
    facts.promptTokens = 811;
    facts.answerTokens = 2;
    facts.context = 2048;
    facts.templateHash = QStringLiteral("abc");
    return facts;
}

std::string label(PromptView& view, const char* name) {
    return named<QLabel>(view, QString::fromLatin1(name))->text().toStdString();
}

}  // namespace

TEST(PromptView, MarksTheEvidenceAndCountsTokens) {
    PromptView view;
    view.setFacts(sample());
    auto* text = view.findChild<QPlainTextEdit*>();
    const auto marks = text->extraSelections();
    ASSERT_EQ(marks.size(), 1);
    EXPECT_EQ(marks[0].cursor.selectedText(), QStringLiteral("\"key\": \"value\"")) << "line ends shift nothing";
    EXPECT_TRUE(marks[0].format.fontUnderline()) << "not by colour alone";
    EXPECT_THAT(label(view, "Tokens of the prompt"), HasSubstr("item 4 of 40"));
    EXPECT_THAT(label(view, "Tokens of the prompt"), HasSubstr("811 tokens of prompt and 2 of the answer"));
    EXPECT_EQ(label(view, "Scored answer"), "“ value”");
    EXPECT_THAT(label(view, "Template"), HasSubstr("abc"));
    EXPECT_TRUE(view.message().isEmpty());
    view.setSources({QStringLiteral("Search settings"), QStringLiteral("Comparison")});
    lpes::test::expectNames(view);
}

TEST(PromptView, CopiesTheExactText) {
    PromptView view;
    view.setFacts(sample());
    named<QPushButton>(view, QStringLiteral("Copy prompt"))->click();
    EXPECT_EQ(QGuiApplication::clipboard()->text(), sample().text);
}

TEST(PromptView, SaysWhenItDoesNotFit) {
    PromptView view;
    PromptFacts facts = sample();
    facts.fits = false;
    view.setFacts(facts);
    EXPECT_THAT(view.message().toStdString(), HasSubstr("Does not fit into the context of 2048 tokens"));
}

TEST(PromptView, AsksForAnotherOneByNumberIdAndPosition) {
    PromptView view;
    lpes::test::showActive(view, {900, 600});
    qint64 number = -1;
    QString id, position;
    QObject::connect(&view, &PromptView::numberChosen, [&](qint64 asked) { number = asked; });
    QObject::connect(&view, &PromptView::idChosen, [&](const QString& asked) { id = asked; });
    QObject::connect(&view, &PromptView::positionChosen, [&](const QString& asked) { position = asked; });
    view.setFacts(sample());
    EXPECT_EQ(number, -1) << "showing is no asking";
    QTest::keyClick(named<QSpinBox>(view, QStringLiteral("Item")), Qt::Key_Up);
    EXPECT_EQ(number, 4);
    auto* field = named<QLineEdit>(view, QStringLiteral("Id of the item"));
    field->clear();
    QTest::keyClicks(field, QStringLiteral("kv/7"));
    QTest::keyClick(field, Qt::Key_Return);
    EXPECT_EQ(id, QStringLiteral("kv/7"));
    QTest::keyClick(named<QComboBox>(view, QStringLiteral("Position")), Qt::Key_Up);
    EXPECT_EQ(position, QStringLiteral("begin"));
}

TEST(PromptView, AnErrorLeavesTheChoice) {
    PromptView view;
    EXPECT_FALSE(named<QSpinBox>(view, QStringLiteral("Item"))->isEnabled());
    view.setFacts(sample());
    view.setError(QStringLiteral("There is no such item."));
    EXPECT_EQ(view.message(), QStringLiteral("There is no such item."));
    EXPECT_TRUE(named<QSpinBox>(view, QStringLiteral("Item"))->isEnabled());
    EXPECT_FALSE(named<QPushButton>(view, QStringLiteral("Copy prompt"))->isEnabled());
    EXPECT_TRUE(view.findChild<QPlainTextEdit*>()->toPlainText().isEmpty());
    view.setEmpty(QStringLiteral("Open a model first."));
    EXPECT_FALSE(named<QSpinBox>(view, QStringLiteral("Item"))->isEnabled());
}

TEST(PromptView, ALongPromptIsShownWhole) {
    PromptView view;
    lpes::test::showActive(view, {900, 600});
    PromptFacts facts = sample();
    facts.text = QString(40'000, QLatin1Char('a')) + QStringLiteral(" needle ") + QString(1000, QLatin1Char('b'));
    facts.spans = {{40'001, 40'007}};
    QElapsedTimer time;
    time.start();
    view.setFacts(facts);
    view.grab();
    RecordProperty("milliseconds_of_one_line", static_cast<int>(time.elapsed()));
    auto* text = view.findChild<QPlainTextEdit*>();
    EXPECT_EQ(text->toPlainText().size(), facts.text.size());
    named<QPushButton>(view, QStringLiteral("Go to evidence"))->click();
    EXPECT_TRUE(text->rect().contains(text->cursorRect().center()));
    EXPECT_EQ(text->textCursor().position(), 40'001);
}
