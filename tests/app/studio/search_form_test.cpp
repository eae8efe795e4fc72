// The search form on the core's rules: what it refuses, in whose words, and what a search is given.
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <span>

#include "app/controllers/search_rules.h"
#include "core/studies/search_setup.h"
#include "tests/app/studio/studio_fixture.h"
#include "tests/widgets/panel_helpers.h"

namespace lpes::test {
namespace {

using app::whyRefused;
using testing::HasSubstr;
using testing::IsEmpty;
using widgets::SearchForm;
using widgets::SearchNumber;
using widgets::SearchText;

/// A form in which one text stands.
SearchForm formWith(SearchText text, const char* words) {
    SearchForm form;
    const QString typed = QString::fromLatin1(words);
    switch (text) {
        case SearchText::GuardrailLimit:
            form.guardrailLimit = typed;
            break;
        case SearchText::Objectives:
            form.objectives = typed;
            break;
        case SearchText::Racing:
            form.racing = typed;
            break;
        case SearchText::Target:
            form.target = typed;
            break;
    }
    return form;
}

std::string why(SearchText text, const SearchForm& form, const studies::SearchRunSettings& study = {}) {
    return whyRefused(text, form, study).toStdString();
}

std::string whyNot(SearchText text, const char* words) {
    return why(text, formWith(text, words));
}

TEST(SearchRules, RefuseANumberInTheWordsOfTheCommandLine) {
    EXPECT_EQ(whyNot(SearchText::GuardrailLimit, "some"), "--guardrail-limit 'some' is not a number from 0");
    EXPECT_EQ(whyNot(SearchText::GuardrailLimit, "-3"), "--guardrail-limit '-3' is not a number from 0");
    EXPECT_THAT(whyNot(SearchText::GuardrailLimit, "2000"),
                HasSubstr("--guardrail-limit 2000 is out of range; give a percentage from 0 to"));
    EXPECT_EQ(whyNot(SearchText::Racing, "nan"), "--racing 'nan' is not a number from 0");
    EXPECT_EQ(whyNot(SearchText::Racing, "0"), "--racing is 0; it must be above 0");
    EXPECT_EQ(whyNot(SearchText::Racing, "0.7"), "--racing is 0.7; it must be from 0 to 0.5");
    EXPECT_EQ(whyNot(SearchText::Target, "best"), "--target 'best' is not a number");
}

TEST(SearchRules, TakeANumberWithPointOrCommaAndNone) {
    for (const char* words : {"", "auto", "0", "5", "2.5", "2,5"}) {
        EXPECT_THAT(whyNot(SearchText::GuardrailLimit, words), IsEmpty()) << words;
    }
    for (const char* words : {"", "auto", "0.05", "0,5"}) {
        EXPECT_THAT(whyNot(SearchText::Racing, words), IsEmpty()) << words;
    }
    for (const char* words : {"", "auto", "0.9", "-1,25"}) {
        EXPECT_THAT(whyNot(SearchText::Target, words), IsEmpty()) << words;
    }
    EXPECT_EQ(take(app::optionalNumber("--racing", QStringLiteral(" 0,05 "))), 0.05);
    EXPECT_EQ(take(app::optionalNumber("--racing", QStringLiteral("auto"))), std::nullopt);
    for (const std::optional<double> value : {std::optional<double>(), std::optional(0.1), std::optional(1.0 / 3.0)}) {
        EXPECT_EQ(take(app::optionalNumber("--racing", app::numberText(value))), value) << "and back";
    }
}

TEST(SearchRules, TakeTwoOrThreeObjectivesAndRefuseOthersInTheWordsOfTheCommandLine) {
    EXPECT_EQ(app::objectiveLists().size(), 5) << "one fitness, three pairs, all three";
    for (const QString& list : app::objectiveLists()) {
        EXPECT_THAT(whyNot(SearchText::Objectives, list.toLatin1().constData()), IsEmpty()) << list.toStdString();
    }
    EXPECT_THAT(whyNot(SearchText::Objectives, "none"), IsEmpty());
    for (const char* words : {"middle", "middle,begin", "ends,ends"}) {
        const auto refused = search::parseObjectives(words);
        ASSERT_FALSE(refused) << words;
        EXPECT_EQ(whyNot(SearchText::Objectives, words), refused.error().message);
    }
}

TEST(SearchRules, RefuseWhatDoesNotGoWithObjectivesAtTheObjectives) {
    const SearchForm several = formWith(SearchText::Objectives, "ends,short");
    SearchForm form = several;
    form.racing = QStringLiteral("0.05");
    EXPECT_THAT(why(SearchText::Objectives, form), HasSubstr("--racing does not go with --objectives"));
    EXPECT_THAT(why(SearchText::Racing, form), IsEmpty()) << "said once";
    form.racing = QStringLiteral("0.7");
    EXPECT_THAT(why(SearchText::Objectives, form), IsEmpty()) << "that is the other field's own matter";
    form = several;
    form.target = QStringLiteral("-1");
    EXPECT_THAT(why(SearchText::Objectives, form), HasSubstr("--target does not go with --objectives"));
    form = several;
    form.refined = 2;
    EXPECT_THAT(why(SearchText::Objectives, form), HasSubstr("--refine does not go with --objectives"));
    form = several;
    form.optimizer = QStringLiteral("cma-es");
    EXPECT_THAT(why(SearchText::Objectives, form), HasSubstr("--optimizer cma-es does not go with --objectives"));
    studies::SearchRunSettings study;
    study.search.aboveNoise = true;
    EXPECT_THAT(why(SearchText::Objectives, several, study), HasSubstr("--min-delta noise does not go with"));
    study = {};
    study.guardrail.items = 0;
    EXPECT_THAT(why(SearchText::Objectives, several, study), HasSubstr("--guardrail 0 leaves no short text"));
    EXPECT_THAT(why(SearchText::GuardrailLimit, formWith(SearchText::GuardrailLimit, "5"), study),
                HasSubstr("--guardrail 0 leaves no short text"));
}

TEST(SearchRules, SayWhichNumbersHaveNoEffectWithTheOptimizer) {
    SearchForm form;
    form.refined = 0;
    const auto unused = [&form](widgets::SearchNumber number) {
        return app::whyUnused(number, form, studies::SearchRunSettings{}).toStdString();
    };
    EXPECT_EQ(unused(SearchNumber::Population), "");
    EXPECT_EQ(unused(SearchNumber::Refined), "");
    form.optimizer = QStringLiteral("cma-es");
    EXPECT_EQ(unused(SearchNumber::Population), "");
    EXPECT_EQ(unused(SearchNumber::Refined), "No effect with --optimizer cma-es") << "also while it is 0";
    form.optimizer = QStringLiteral("gradient");
    EXPECT_EQ(unused(SearchNumber::Population), "No effect with --optimizer gradient");
    EXPECT_EQ(unused(SearchNumber::Refined), "No effect with --optimizer gradient");
    form.racing = QStringLiteral("0.05");
    EXPECT_EQ(unused(SearchNumber::Population), "") << "a race asks how many are kept";
}

TEST(SearchRules, RefuseARaceWhereTheStudyPenalisesTheGap) {
    studies::SearchRunSettings study;
    study.gapPenalty = 0.5;
    const SearchForm form = formWith(SearchText::Racing, "0.05");
    EXPECT_THAT(why(SearchText::Racing, form, study), HasSubstr("--racing does not go with --gap-penalty"));
    EXPECT_THAT(why(SearchText::Racing, formWith(SearchText::Racing, ""), study), IsEmpty());
}

class SearchFormWindow : public StudioTest {
  protected:
    [[nodiscard]] widgets::SearchPanel& panel() { return window->searchPanel(); }
    [[nodiscard]] studies::SearchRunSettings settings() { return window->search().settingsOf(panel().form()); }
};

TEST_F(SearchFormWindow, BeginsWithTheStudysRulesAndMarksWhatTheUserChanged) {
    app::StudioOptions with = options();
    with.study->guardrailLimit = 5.0;
    with.study->search.racing = 0.05;
    with.study->search.target = -1.25;
    open(with);
    ASSERT_TRUE(waitFor([this] { return window->models().model() != nullptr; }));
    EXPECT_EQ(panel().form().guardrailLimit, QStringLiteral("5"));
    EXPECT_EQ(panel().form().racing, QStringLiteral("0.05"));
    EXPECT_EQ(panel().form().target, QStringLiteral("-1.25"));
    EXPECT_EQ(settings().search.target, -1.25);
    EXPECT_TRUE(named<QLineEdit>(panel(), QStringLiteral("Racing"))->isVisibleTo(&panel())) << "what is in use is seen";
    for (const char* key : {"guardrail_limit", "objectives", "racing", "target"}) {
        EXPECT_FALSE(settings().origins.contains(key)) << key;
    }
    SearchForm form = panel().form();
    form.guardrailLimit = QStringLiteral("2,5");
    form.racing.clear();
    form.target.clear();
    form.objectives = QStringLiteral("ends,middle");
    panel().setForm(form);
    EXPECT_EQ(settings().guardrailLimit, 2.5);
    EXPECT_EQ(settings().search.racing, std::nullopt);
    EXPECT_EQ(settings().search.target, std::nullopt);
    EXPECT_EQ(search::objectivesText(settings().search.objectives), "middle,ends");
    for (const char* key : {"guardrail_limit", "objectives", "racing", "target"}) {
        EXPECT_EQ(settings().origins.at(key), "window") << key;
    }
}

TEST_F(SearchFormWindow, WhatDoesNotGoTogetherStartsNoSearch) {
    openReady();
    SearchForm form = panel().form();
    form.objectives = QStringLiteral("middle,ends");
    form.refined = 2;
    panel().setForm(form);
    window->search().startAction()->trigger();
    EXPECT_FALSE(window->search().isBusy());
    EXPECT_THAT(panel().problem().toStdString(), HasSubstr("Correct the objectives: --refine does not go with"));
    const auto* field = named<QComboBox>(panel(), QStringLiteral("Objectives"));
    EXPECT_EQ(field->toolTip(), panel().problem());
    EXPECT_TRUE(field->isVisibleTo(&panel()));
    form.refined = 0;
    panel().setForm(form);
    EXPECT_EQ(panel().problem(), QString());
}

TEST_F(SearchFormWindow, WhatADisabledFieldHoldsIsNoSettingOfTheSearch) {
    openReady();
    SearchForm form = panel().form();
    form.optimizer = QStringLiteral("gradient");
    const int before = settings().search.population;
    form.population = before + 6;
    form.refined = 2;
    panel().setForm(form);
    for (const char* name : {"Population", "Refine best"}) {
        const auto* field = named<QSpinBox>(panel(), QString::fromLatin1(name));
        EXPECT_FALSE(field->isEnabled()) << name;
        EXPECT_EQ(field->toolTip(), QStringLiteral("No effect with --optimizer gradient")) << name;
    }
    EXPECT_EQ(settings().search.population, before);
    EXPECT_EQ(settings().search.gradient.refined, 0);
    const studies::SearchRunSettings asked = settings();
    EXPECT_TRUE(studies::checkUsed(std::span(&asked, 1)));
    form.optimizer = QStringLiteral("genetic");
    panel().setForm(form);
    EXPECT_EQ(settings().search.population, before + 6);
    EXPECT_EQ(settings().origins.at("population"), "window");
    EXPECT_THAT(named<QSpinBox>(panel(), QStringLiteral("Population"))->toolTip().toStdString(),
                HasSubstr("Candidates in each generation"))
        << "its own words again";
}

TEST_F(SearchFormWindow, ASearchWithSeveralObjectivesEndsInAFront) {
    openReady();
    SearchForm form = panel().form();
    form.generations = 3;
    form.objectives = QStringLiteral("middle,ends");
    panel().setForm(form);
    window->search().startAction()->trigger();
    waitForEnd();
    const auto run = take(reader()->lastRun());
    ASSERT_EQ(run.state, store::RunState::Finished) << window->messages().sentence().toStdString();
    const auto stored = nlohmann::json::parse(run.settingsJson);
    EXPECT_EQ(stored["objectives"]["value"], "middle,ends");
    EXPECT_EQ(stored["objectives"]["origin"], "window");
    EXPECT_TRUE(waitFor([this] { return window->searchPage().pane(app::kParetoPlot).data().has_value(); }));
}

TEST_F(SearchFormWindow, SearchesOverEveryKindOfCurveThatIsDrawn) {
    openReady();
    for (const curve::CurveKind kind : curve::kCurveKinds) {
        SCOPED_TRACE(curve::curveKindName(kind));
        const widgets::CurveDraft drawn = widgets::withKind(app::Document::freshDraft(), kind, 4);
        window->document().commit(drawn, QStringLiteral("kind"));
        EXPECT_EQ(settings().search.curve, kind);
        EXPECT_TRUE(search::checkSettings(settings().search, 4));
    }
}

TEST_F(SearchFormWindow, FitsTheWindowAtEverySizeThatLayoutsMustHoldIn) {
    openReady();
    const auto seen = [](const QWidget& widget) { return widget.visibleRegion().boundingRect() == widget.rect(); };
    auto* more = named<QToolButton>(panel(), QStringLiteral("More settings"));
    auto* last = named<QLineEdit>(panel(), QStringLiteral("Target fitness"));
    for (const QSize& size : {QSize(1440, 900), QSize(1280, 720)}) {
        SCOPED_TRACE(size.height());
        if (more->isChecked()) more->click();
        window->resize(size);
        window->resetLayout();
        QSize before;
        int looks = 0;
        ASSERT_TRUE(waitFor([&] {
            looks = panel().size() == before ? looks + 1 : 0;
            before = panel().size();
            return looks > 20;
        })) << "the docks have found their sizes";
        EXPECT_LE(window->minimumSizeHint().height(), size.height());
        more->click();
        EXPECT_TRUE(waitFor([&] { return seen(*last); })) << "the form scrolls down to what was asked for";
        EXPECT_TRUE(seen(*named<QPushButton>(panel(), QStringLiteral("Start the search"))));
        EXPECT_TRUE(seen(*named<QPushButton>(panel(), QStringLiteral("Stop the search"))));
    }
}

}  // namespace
}  // namespace lpes::test
