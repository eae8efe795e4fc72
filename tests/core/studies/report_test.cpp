#include "core/studies/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>

#include "core/studies/guardrail_rules.h"
#include "core/studies/plot_queries.h"
#include "core/studies/studies.h"
#include "core/studies/suite_study.h"
#include "tests/core/studies/studies_testing.h"
#include "tests/core/studies/task_files.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ReportTest : public testing::Test {
  protected:
    [[nodiscard]] std::string page(std::int64_t runId) {
        return take(studies::reportHtml(store->reader(), take(store->reader().run(runId)), {}));
    }
    [[nodiscard]] studies::EvalSettings eval(const studies::TaskSpec& task) const {
        studies::EvalSettings settings;
        settings.compute = smallSearch(folder).compute;
        settings.task = task;
        return settings;
    }
    [[nodiscard]] std::string evaluated(const studies::EvalSettings& settings) {
        return page(take(studies::runEvaluation(settings, *store, observer, {})).runId);
    }
    [[nodiscard]] studies::CompareSettings comparison(const studies::TaskSpec& task, int guardrail = 0) const {
        studies::CompareSettings settings;
        settings.compute = smallSearch(folder).compute;
        settings.task = task;
        settings.methods = {"baseline", "uniform:2"};
        settings.guardrail.items = guardrail;
        return settings;
    }
    /// A run of a kind whose result is `result`: what a report makes of figures that a tiny model would not give.
    [[nodiscard]] std::string pageOf(const std::string& kind, const json& result,
                                     const json& settings = json::object()) {
        const auto made = take(studies::runEvaluation(eval(shortKv()), *store, observer, {}));
        store::RunRow run = take(store->reader().run(made.runId));
        run.kind = kind;
        run.resultJson = result.dump();
        run.settingsJson = settings.dump();
        run.state = store::RunState::Finished;
        return take(studies::reportHtml(store->reader(), run, {}));
    }
    [[nodiscard]] studies::TaskSpec shortKv() const {
        studies::TaskSpec task = smallSearch(folder).task;
        task.limit = 2;
        return task;
    }

    const StudyFolder folder{withContext(4096)};
    std::unique_ptr<store::StoreWriter> store = openStore(folder / "lpes.db");
    NullObserver observer;
};

/// Every opened table, row, paragraph, section and heading is closed.
void expectBalanced(const std::string& html) {
    for (const std::string tag :
         {"table", "thead", "tbody", "tr", "td", "th", "section", "div", "p", "h2", "main", "b"}) {
        std::size_t opened = 0, closed = 0;
        for (std::size_t at = html.find("<" + tag); at != std::string::npos; at = html.find("<" + tag, at + 1)) {
            const char next = html[at + tag.size() + 1];
            opened += next == '>' || next == ' ' ? 1 : 0;
        }
        for (std::size_t at = html.find("</" + tag + ">"); at != std::string::npos;
             at = html.find("</" + tag + ">", at + 1))
            ++closed;
        EXPECT_EQ(opened, closed) << tag;
    }
}

TEST_F(ReportTest, AnEvaluationSaysWhetherThePositionMatters) {
    const std::string html = evaluated(eval(smallSearch(folder).task));
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("<h2>Accuracy by position</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Position bias</h2>"));
    EXPECT_THAT(html, HasSubstr("PSI"));
    EXPECT_THAT(html, HasSubstr("U-shape"));
    EXPECT_THAT(html, HasSubstr("osition bias"));
    EXPECT_THAT(html, Not(HasSubstr("NOT HELD OUT")));
    EXPECT_THAT(html, Not(HasSubstr("were left out; none was cut")));
}

TEST_F(ReportTest, AnExaminationHasGroupsLengthsAndNoPositionBias) {
    const auto outcome = take(studies::runEvaluation(eval(mmluTask(1)), *store, observer, {}));
    const std::string html = page(outcome.runId);
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("as given"));
    EXPECT_THAT(html, HasSubstr("<h2>Groups of items</h2>"));
    EXPECT_THAT(html, HasSubstr("formal_logic"));
    EXPECT_THAT(html, HasSubstr("<h2>Length of the prompt</h2>"));
    EXPECT_THAT(html, Not(HasSubstr("<h2>Position bias</h2>")));
    const auto run = take(store->reader().run(outcome.runId));
    const auto plot = std::get<analysis::AccuracyPlot>(take(studies::plotData(store->reader(), run, "accuracy")));
    ASSERT_EQ(plot.series.size(), 1u);
    ASSERT_EQ(plot.series[0].points.size(), 1u);
    EXPECT_EQ(plot.series[0].points[0].label, "as given");
}

TEST_F(ReportTest, GradedScoresAgreementNoiseNotesAndLeftOutItemsAreShown) {
    std::vector<json> records(4, bakery());
    records[0]["documents"][2] = std::string(5000, 'x');
    auto settings = eval(ownTask(folder / "own.jsonl", records));
    settings.repeats = 2;
    const std::string html = evaluated(settings);
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("1 items are longer than the context and were left out; none was cut."));
    EXPECT_THAT(html, HasSubstr("<h2>Teacher forcing beside generated answers</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Noise of rounding</h2>"));
    const StudyFolder narrow(withContext(700));
    auto exam = eval(mmluTask(5));
    exam.compute.model = narrow.model();
    EXPECT_THAT(evaluated(exam), HasSubstr("<h2>Notes</h2>"));
}

TEST_F(ReportTest, AComparisonShowsEveryMethodsFindings) {
    const auto outcome = take(studies::runComparison(comparison(shortKv(), 5), *store, observer, {}));
    const std::string html = page(outcome.runId);
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("<h2>Methods</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Differences to the first method</h2>"));
    EXPECT_THAT(html, HasSubstr("no p values below 10 items")) << "two were asked";
    EXPECT_THAT(html, HasSubstr("<h2>Position bias</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Guardrail: short contexts</h2>"));
    const auto exam = take(studies::runComparison(comparison(mmluTask(0)), *store, observer, {}));
    const std::string examined = page(exam.runId);
    expectBalanced(examined);
    EXPECT_THAT(examined, HasSubstr("uniform:2: accuracy (95 %)"));
    EXPECT_THAT(examined, HasSubstr("anatomy"));
}

TEST_F(ReportTest, AComparisonOfUnmovedItemsThatIsUnderWayIsShownSoFar) {
    StopAfter stopping(6);
    auto settings = comparison(mmluTask(0));
    settings.compute.batchSize = 2;
    const auto stopped = take(studies::runComparison(settings, *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    store::RunRow run = take(store->reader().run(stopped.runId));
    run.resultJson.clear();  // as a killed one leaves it
    run.state = store::RunState::Interrupted;
    const auto methods = std::get<analysis::MethodsPlot>(take(studies::plotData(store->reader(), run, "methods")));
    EXPECT_EQ(methods.methods.size(), 2u);
    const auto accuracy = std::get<analysis::AccuracyPlot>(take(studies::plotData(store->reader(), run, "accuracy")));
    EXPECT_EQ(accuracy.series.size(), 2u);
    const std::string html = take(studies::reportHtml(store->reader(), run, {}));
    EXPECT_THAT(html, HasSubstr("interrupted"));
    EXPECT_THAT(html, HasSubstr("<h2>Methods</h2>"));
}

TEST_F(ReportTest, ASearchOnAnyKindOfTaskIsReported) {
    auto search = smallSearch(folder);
    search.task = ownTask(folder / "own.jsonl", std::vector<json>(12, bakery()));
    search.guardrail.items = 3;
    const auto outcome = take(studies::runSearch(search, *store, observer, {}));
    const std::string html = page(outcome.runId);
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("best profile"));
    EXPECT_THAT(html, HasSubstr("<h2>Position bias</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Guardrail: short contexts</h2>"));
    EXPECT_THAT(html, HasSubstr("<h2>Generations</h2>"));
    auto exam = smallSearch(folder);
    exam.task = mmluTask(0);
    exam.score = "nll";
    exam.searchItems = exam.selectItems = 2;
    exam.reportItems = 3;
    const std::string examined = page(take(studies::runSearch(exam, *store, observer, {})).runId);
    expectBalanced(examined);
    EXPECT_THAT(examined, HasSubstr("as given"));
}

TEST_F(ReportTest, AComparisonShowsItsTestsWithTheAdjustedValues) {
    const json other{
        {"method", "pi:2"},
        {"positions", json::array()},
        {"nll_difference", {{"mean", -0.25}, {"low", -0.5}, {"high", -0.125}}},
        {"p_value_vs_first", 0.01},
        {"p_holm", 0.03},
        {"score_difference", {{"mean", 0.1}, {"low", -0.05}, {"high", 0.2}, {"p_value", 0.2}, {"p_holm", 0.4}}},
        {"mcnemar_vs_first", {0.5, 0.125}},
        {"mcnemar_holm", {1.0, 0.25}}};
    json old = other;
    old.erase("p_holm");
    old["method"] = "ntk:2";
    const json methods = {{{"method", "baseline"}, {"positions", json::array()}}, other, old};
    const std::string html = pageOf("compare", {{"methods", methods}, {"items", 40}});
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("<td>pi:2</td><td>-0.250 (-0.500 to -0.125)</td><td>0.03</td><td>0.100 (-0.050 to "
                                "0.200)</td><td>0.4</td><td>1, 0.25</td>"));
    EXPECT_THAT(html, HasSubstr("adjusted by Holm's method over the methods"));
    EXPECT_THAT(html, HasSubstr("<td>ntk:2</td><td>-0.250 (-0.500 to -0.125)</td><td>–</td>"))
        << "what an earlier version stored was not adjusted";
}

TEST_F(ReportTest, TheGuardrailsLightIsAColourWithItsWordAndReason) {
    for (const std::string light : {"green", "amber", "red"}) {
        const json guardrail{
            {"light", light},
            {"reason", "because <" + light + ">"},
            {"perplexity",
             {{"baseline", 10.0}, {"method", 10.3}, {"ratio", 1.03}, {"ci_low", 1.02}, {"ci_high", 1.04}}},
            {"exams",
             {{{"name", "mmlu"},
               {"n", 100},
               {"baseline", 0.5},
               {"method", 0.4},
               {"difference", -0.1},
               {"ci_low", -0.17},
               {"ci_high", -0.03},
               {"p_value", 0.01},
               {"choice_nll_difference", 0.2}}}}};
        const json methods = {{{"method", "baseline"}, {"positions", json::array()}, {"guardrail", nullptr}},
                              {{"method", "pi:2"}, {"positions", json::array()}, {"guardrail", guardrail}}};
        const std::string html = pageOf("compare", {{"methods", methods}, {"items", 2}});
        EXPECT_THAT(html, HasSubstr("<span class=\"light " + light + "\">" + light + "</span>"));
        EXPECT_THAT(html, HasSubstr("because &lt;" + light + "&gt;"));
        EXPECT_THAT(html, HasSubstr("10.000 → 10.300, × 1.030 (1.020 – 1.040)"));
        EXPECT_THAT(html, HasSubstr("mmlu: 0.500 → 0.400, change -0.100 (-0.170 – -0.030), n = 100, p = 0.01"));
        EXPECT_THAT(html, HasSubstr("mmlu: 0.200 (– – –)")) << "an earlier version's interval";
        EXPECT_THAT(html, HasSubstr(studies::guardrailRules()));
    }
}

TEST_F(ReportTest, AProfileThatWasSearchedOnTheItemsIsMarkedAtTheTop) {
    const json result{{"method", "lpes:p.json"},
                      {"positions", {{{"position", "begin"}, {"n", 5}, {"accuracy", 1.0}}}},
                      {"searched_on", {{"profile", "<p>.json"}, {"searched_items", 6}, {"items", 12}}}};
    const std::string html = pageOf("eval", result);
    EXPECT_THAT(
        html, HasSubstr("<p class=\"warning\">NOT HELD OUT: profile &lt;p&gt;.json was searched on 6 of the 12 items"));
    EXPECT_LT(html.find("NOT HELD OUT"), html.find("Accuracy by position"));
}

TEST_F(ReportTest, AFileThatDoesNotSayWhatItWasSearchedOnHasAQuietLine) {
    const json result{{"method", "lpes:<p>.csv"},
                      {"positions", {{{"position", "begin"}, {"n", 5}, {"accuracy", 1.0}}}},
                      {"searched_on", nullptr},
                      {"provenance", "unknown"}};
    EXPECT_THAT(pageOf("eval", result),
                HasSubstr("<p class=\"soft\">The file of lpes:&lt;p&gt;.csv does not say what it was searched on"));
}

TEST_F(ReportTest, ASearchWhoseDataHoldItsItemsTwiceSaysSoInsteadOfHeldOut) {
    json heldout{{"baseline", json::object()}, {"best", {{"searched_on", nullptr}}}};
    EXPECT_THAT(pageOf("search", {{"heldout", heldout}}), HasSubstr("no candidate saw them"));
    heldout["best"]["searched_on"] = {
        {"profile", nullptr}, {"searched_items", 2}, {"items", 6}, {"matched_by", "content"}};
    const std::string html = pageOf("search", {{"heldout", heldout}});
    EXPECT_THAT(html,
                HasSubstr("<p class=\"warning\">NOT HELD OUT: the data hold items more than once, and 2 of the 6"));
    EXPECT_THAT(html, Not(HasSubstr("no candidate saw them")));
}

TEST_F(ReportTest, TheMeanOverPositionsHasItsInterval) {
    json result{{"method", "baseline"},
                {"items", 12},
                {"mean_accuracy", 0.5},
                {"mean_accuracy_interval", {{"low", 0.25}, {"high", 0.75}}},
                {"positions", {{{"position", "begin"}, {"accuracy", 0.5}}, {{"position", "end"}, {"accuracy", 0.5}}}}};
    const std::string mean = "<td>mean</td><td>–</td><td>12</td><td>0.500</td><td>0.250 – 0.750</td>";
    EXPECT_THAT(pageOf("eval", result), HasSubstr(mean));
    EXPECT_THAT(pageOf("search", {{"heldout", {{"baseline", result}, {"best", result}}}}), HasSubstr(mean));
    result["positions"].erase(1);
    EXPECT_THAT(pageOf("eval", result), Not(HasSubstr("<td>mean</td>"))) << "of one position it is the same";
}

TEST_F(ReportTest, ADamagedResultStillGivesAPage) {
    for (const char* text : {"[]", "3", "{\"methods\": 5}", "{\"methods\": [1, null]}", "{\"positions\": [7]}",
                             "{\"heldout\": {\"baseline\": 1}}", "{\"bias\": [], \"notes\": {}, \"groups\": 3}",
                             "{\"guardrail\": {\"exams\": 5}}", "{\"best\": {\"scales\": []}}", "{\"history\": [4]}"}) {
        for (const char* kind : {"eval", "compare", "search", "suite"}) {
            const std::string html = pageOf(kind, json::parse(text));
            EXPECT_THAT(html, HasSubstr("</html>")) << kind << " " << text;
        }
    }
}

class SuiteReport : public ReportTest {
  protected:
    [[nodiscard]] studies::SuiteSettings suite() const {
        const json file{{"format", "lpes-suite"},
                        {"version", 1},
                        {"name", "paper <1>"},
                        {"model", folder.model()},
                        {"dtype", "float32"},
                        {"threads_per_worker", 1},
                        {"methods", {"baseline", "uniform:2"}},
                        {"limit", 3},
                        {"guardrail", 2},
                        {"benchmarks",
                         {{{"label", "KV"}, {"task", "kv"}, {"keys", "hex:4"}, {"pairs", 4}},
                          {{"label", "too long"}, {"task", "kv"}, {"pairs", 90}},
                          {{"label", "MMLU"}, {"task", "mmlu"}, {"data", LPES_TEST_DATA "/data/mmlu"}, {"shots", 0}}}}};
        writeBytes(folder / "suite.json", file.dump());
        return take(studies::readSuite(folder / "suite.json"));
    }
};

TEST_F(SuiteReport, BeginsWithThePapersTableAndGoesOnWithEachBenchmark) {
    const auto outcome = take(studies::runSuite(suite(), *store, observer, {}));
    const std::string html = page(outcome.runId);
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("<h2>Methods by benchmark</h2>"));
    EXPECT_THAT(html, HasSubstr("paper &lt;1&gt;"));
    for (const char* label : {"KV", "too long", "MMLU"})
        EXPECT_THAT(html, HasSubstr(std::string("<section><h2>") + label));
    EXPECT_THAT(html, HasSubstr("This benchmark is failed: "));
    EXPECT_THAT(html, HasSubstr("as given"));
    EXPECT_THAT(html, HasSubstr("<h2>Guardrail: short contexts</h2>"));
    EXPECT_LT(html.find("Methods by benchmark"), html.find("<section>"));
    const json& row = outcome.result["table"]["rows"][1];
    std::ostringstream percent;
    percent << std::fixed << std::setprecision(1) << 100 * row["average"].get<double>();
    EXPECT_THAT(html, HasSubstr(percent.str()));
}

TEST_F(SuiteReport, MarksTheBestOfEveryColumnUnlessAllAreAlike) {
    const auto outcome = take(studies::runSuite(suite(), *store, observer, {}));
    // The figures of a stored comparison, moved.
    auto runs = take(store->reader().runs());
    for (const store::RunRow& run : runs) {
        if (run.kind != "compare" || run.resultJson.empty()) continue;
        json result = json::parse(run.resultJson);
        const bool kv = result["task"] == "kv";
        result["methods"][0]["mean_accuracy"] = kv ? 0.25 : 0.5;
        result["methods"][1]["mean_accuracy"] = kv ? 0.875 : 0.5;
        result["methods"][0]["mean_accuracy_interval"] = {{"low", kv ? 0.125 : 0.25}, {"high", kv ? 0.375 : 0.75}};
        result["methods"][1]["mean_accuracy_interval"] = {{"low", kv ? 0.75 : 0.25}, {"high", kv ? 0.9375 : 0.75}};
        ASSERT_TRUE(store->endRun(run.id, store::RunState::Finished, 1.0, "complete", "", result.dump()));
    }
    const std::string html = page(outcome.runId);
    // The averages' intervals: 0.375 ± √(0.125² + 0.25²)/2, and 0.6875 with √(0.0625² + 0.25²)/2 above it.
    EXPECT_THAT(html, HasSubstr("<td>baseline</td><td>25.0 [12.5–37.5]</td><td>–</td><td>50.0 [25.0–75.0]</td>"
                                "<td>37.5 [23.5–51.5]</td>"));
    EXPECT_THAT(html, HasSubstr("<td>uniform:2</td><td><b>87.5</b> [75.0–93.8]</td><td>–</td><td>50.0 [25.0–75.0]</td>"
                                "<td><b>68.8</b> [54.8–81.6]</td>"));
}

TEST_F(SuiteReport, OneThatWasKilledShowsWhatThereIs) {
    StopAfter stopping(4);
    const auto stopped = take(studies::runSuite(suite(), *store, stopping, stopping.token()));
    ASSERT_TRUE(stopped.stoppedEarly);
    store::RunRow run = take(store->reader().run(stopped.runId));
    run.resultJson.clear();
    run.state = store::RunState::Interrupted;
    const std::string html = take(studies::reportHtml(store->reader(), run, {}));
    expectBalanced(html);
    EXPECT_THAT(html, HasSubstr("This benchmark is stopped"));
    EXPECT_THAT(html, HasSubstr("This benchmark is not begun"));
    EXPECT_THAT(html, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace lpes::test
