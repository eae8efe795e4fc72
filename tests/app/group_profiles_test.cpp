#include "tests/app/run_fixture.h"

namespace lpes::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Three layers, four heads in two groups, eight frequencies.
class GroupVerbs : public RunVerbs {
  protected:
    [[nodiscard]] Finished make(const std::string& out, std::vector<std::string> more) const {
        std::vector<std::string> arguments{"profile", "new", "--out", file(out)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    }
    [[nodiscard]] json made(const std::string& name) const { return json::parse(readBytes(file(name))); }
};

TEST_F(GroupVerbs, NewMakesACurveForEachHead) {
    ASSERT_EQ(make("h.json", {"--layers", "3", "--kv-heads", "2", "--per", "kv-head", "--curve", "linear", "--points",
                              "0:1,1:2", "--points", "0:2,1:1"})
                  .code,
              0);
    EXPECT_EQ(made("h.json")["per"], "kv_head");
    EXPECT_EQ(made("h.json")["scales"], json({{1.0, 2.0}, {1.5, 1.5}, {2.0, 1.0}}));
    ASSERT_EQ(
        make("m.json", {"--model", model(), "--per", "kv-head", "--points", "0:1,1:2", "--json"}).json()["layers"], 3);
    EXPECT_EQ(made("m.json")["curves"].size(), 2u) << "one list for all";
    EXPECT_EQ(made("m.json")["scales"][2], json({2.0, 2.0}));
    EXPECT_EQ(run({"profile", "check", file("m.json"), "--model", model()}).code, 0);
    EXPECT_EQ(run({"profile", "check", file("h.json"), "--model", model()}).code, 0);
    const Finished shown = run({"profile", "show", file("h.json")});
    EXPECT_THAT(shown.out, AllOf(HasSubstr("2 key/value heads"), HasSubstr("head 1: linear through 0:2 1:1"),
                                 HasSubstr("head 0"), HasSubstr("query heads are divided by s")));
    EXPECT_EQ(run({"profile", "show", file("h.json"), "--json"}).json(), made("h.json"));
}

TEST_F(GroupVerbs, NewMakesACurveForEachBand) {
    ASSERT_EQ(make("b.json", {"--model", model(), "--per", "band:2,5,8", "--points", "0:1,1:1", "--points", "0:1,1:2",
                              "--points", "0:0.5,1:1"})
                  .code,
              0);
    EXPECT_EQ(made("b.json")["band_ends"], json({2, 5, 8}));
    EXPECT_EQ(made("b.json")["scales"][0], json({1.0, 1.0, 0.5}));
    EXPECT_THAT(run({"profile", "show", file("b.json")}).out,
                AllOf(HasSubstr("3 bands of 8 frequencies"), HasSubstr("band 2–4")));
    const json shown = run({"inspect", model(), "--profile", file("b.json"), "--json"}).json();
    EXPECT_EQ(shown["divisors"][0], json({1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5}));

    ASSERT_EQ(run({"export", file("b.json"), "--to", "longrope", "--out", file("factors.csv")}).code, 0);
    const json factors = run({"inspect", model(), "--method", "longrope:" + file("factors.csv"), "--json"}).json();
    EXPECT_EQ(factors["inv_freq"], shown["inv_freq"]);
}

TEST_F(GroupVerbs, InspectShowsTheScalesOfHeads) {
    ASSERT_EQ(
        make("h.json", {"--model", model(), "--per", "kv-head", "--points", "0:1,1:1", "--points", "0:1.25,1:1.25"})
            .code,
        0);
    EXPECT_THAT(run({"inspect", model(), "--profile", file("h.json")}).out,
                AllOf(HasSubstr("Scales by key/value head"), HasSubstr("head 1"), HasSubstr("1.25")));
}

TEST_F(GroupVerbs, WhatDoesNotFitIsRefusedByName) {
    const auto refusal = [&](int code, std::vector<std::string> arguments) {
        const Finished done = make("w.json", std::move(arguments));
        EXPECT_EQ(done.code, code) << done.err;
        EXPECT_FALSE(std::filesystem::exists(file("w.json")));
        return done.err;
    };
    EXPECT_THAT(refusal(2, {"--layers", "3", "--per", "kv-head", "--points", "0:1,1:1"}), HasSubstr("--kv-heads"));
    EXPECT_THAT(refusal(2, {"--layers", "3", "--kv-heads", "2", "--points", "0:1,1:1"}), HasSubstr("--per kv-head"));
    EXPECT_THAT(refusal(2, {"--model", model(), "--kv-heads", "2", "--per", "kv-head", "--points", "0:1,1:1"}),
                HasSubstr("--layers"));
    EXPECT_THAT(refusal(2, {"--model", model(), "--per", "band:2,5", "--points", "0:1,1:1"}),
                HasSubstr("8 frequencies"));
    EXPECT_THAT(refusal(2, {"--model", model(), "--per", "heads", "--points", "0:1,1:1"}), HasSubstr("'heads'"));
    EXPECT_THAT(refusal(2, {"--model", model(), "--per", "band:5,2", "--points", "0:1,1:1"}), HasSubstr("band 1"));
    EXPECT_THAT(refusal(2, {"--model", model(), "--per", "band:2,5,8", "--points", "0:1,1:1", "--points", "0:1,1:1"}),
                HasSubstr("2 times for 3 groups"));
    EXPECT_THAT(refusal(2, {"--layers", "3", "--points", "0:1,1:1", "--points", "0:1,1:2"}),
                HasSubstr("2 times for 1"));
    EXPECT_THAT(refusal(2, {"--layers", "3", "--per", "band:4", "--points", "0:1,1:9"}), HasSubstr("scale 9"));
}

TEST_F(GroupVerbs, OtherModelsAndFormatsAreRefusedByName) {
    ASSERT_EQ(make("h.json", {"--layers", "3", "--kv-heads", "3", "--per", "kv-head", "--points", "0:1,1:2"}).code, 0);
    ASSERT_EQ(make("b.json", {"--layers", "3", "--per", "band:4,16", "--points", "0:1,1:2"}).code, 0);
    for (const char* name : {"h.json", "b.json"}) {
        EXPECT_EQ(run({"profile", "check", file(name), "--model", model()}).code, 3);
        EXPECT_EQ(run({"inspect", model(), "--profile", file(name)}).code, 3);
        EXPECT_EQ(run({"profile", "transfer", file(name), "--to", model(), "--out", file("t.json")}).code, 4);
        EXPECT_FALSE(std::filesystem::exists(file("t.json")));
    }
    const Finished longrope = run({"export", file("h.json"), "--to", "longrope"});
    EXPECT_EQ(longrope.code, 4);
    EXPECT_THAT(longrope.err, HasSubstr("key/value heads"));
    ASSERT_EQ(make("l.json", {"--layers", "3", "--points", "0:1,1:2"}).code, 0);
    EXPECT_THAT(run({"export", file("l.json"), "--to", "longrope"}).err, HasSubstr("name the model"));
    EXPECT_THAT(run({"export", file("l.json"), "--to", "longrope", "--model", model()}).out, HasSubstr("1.5,1.5"));
}

TEST_F(GroupVerbs, TransferAndCsvKeepTheGroups) {
    for (const char* per : {"kv-head", "band:2,8"}) {
        const std::vector<std::string> points{"--points", "0:1,1:2", "--points", "0:2,1:1"};
        std::vector<std::string> arguments{"--layers", "5", "--per", per};
        if (std::string(per) == "kv-head") arguments.insert(arguments.end(), {"--kv-heads", "2"});
        arguments.insert(arguments.end(), points.begin(), points.end());
        ASSERT_EQ(make("p.json", arguments).code, 0);
        ASSERT_EQ(run({"profile", "transfer", file("p.json"), "--to", model(), "--out", file("t.json")}).code, 0);
        EXPECT_EQ(made("t.json")["scales"], json({{1.0, 2.0}, {1.5, 1.5}, {2.0, 1.0}}));
        ASSERT_EQ(run({"export", file("t.json"), "--to", "csv", "--out", file("t.csv")}).code, 0);
        ASSERT_EQ(run({"import", file("t.csv"), "--model", model(), "--out", file("back.json")}).code, 0);
        EXPECT_EQ(made("back.json")["scales"], made("t.json")["scales"]);
        EXPECT_EQ(made("back.json")["per"], made("t.json")["per"]);
    }
}

TEST_F(GroupVerbs, ASearchWritesItsGroupsAndSaysWhatItFound) {
    std::vector<std::string> arguments = search({"--per", "kv-head", "--out", file("best.json")});
    const Finished done = run(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    const json result = done.json();
    EXPECT_EQ(result["settings"]["per"]["value"], "kv-head");
    EXPECT_EQ(result["settings"]["per"]["origin"], "flag");
    EXPECT_EQ(made("best.json")["per"], "kv_head");
    EXPECT_EQ(made("best.json")["scales"], result["best"]["scales"]);
    EXPECT_EQ(run({"profile", "check", file("best.json"), "--model", model()}).code, 0);
    std::erase(arguments, "--json");
    EXPECT_THAT(run(arguments).out, AllOf(HasSubstr("  head 0\n  scales "), HasSubstr("  head 1\n  scales ")));
#ifdef LPES_RENDER_PROGRAM
    EXPECT_EQ(run({"report", "last", "--db", database(), "--out", file("r.html")}).code, 0);
    EXPECT_THAT(readBytes(file("r.html")), HasSubstr("<th>head 1</th>"));
#endif
    EXPECT_EQ(run(search({"--per", "band:2,5"})).code, 2);
    EXPECT_EQ(run(search({"--per", "heads"})).code, 2);
}

}  // namespace
}  // namespace lpes::test
