#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/program.h"
#include "tests/app/progress_lines.h"
#include "tests/support/tiny_model.h"

namespace lpes::test {

/// A tiny model, and a data base of its own for every test.
class RunVerbs : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        s_models = new TemporaryFolder;
        TinyModelSpec spec;
        spec.numLayers = 3;
        writeHuggingFaceFolder(makeTinyModel(spec), *s_models / "hf");
    }
    static void TearDownTestSuite() {
        delete s_models;
        s_models = nullptr;
    }

    [[nodiscard]] static std::string model() { return (*s_models / "hf").string(); }
    [[nodiscard]] std::string file(const std::string& name) const { return (m_folder / name).string(); }
    [[nodiscard]] std::string database() const { return file("runs.db"); }

    /// The same with other values of options that it has.
    [[nodiscard]] static std::vector<std::string> withOptions(
        std::vector<std::string> arguments, const std::vector<std::pair<std::string, std::string>>& values) {
        for (const auto& [option, value] : values) *(std::find(arguments.begin(), arguments.end(), option) + 1) = value;
        return arguments;
    }

    /// Items that fit the tiny model's context, and one thread so that runs can be compared.
    [[nodiscard]] std::vector<std::string> task(const std::string& verb, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments{verb,    "--model", model(),    "--task",  "kv",      "--keys",
                                           "hex:4", "--pairs", "4",        "--dtype", "float32", "--threads-per-worker",
                                           "1",     "--db",    database(), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    [[nodiscard]] std::vector<std::string> search(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"--population",   "6", "--max-generations", "2", "--search-items",   "2",
                                     "--select-items", "2", "--report-items",    "4", "--analysis-items", "1",
                                     "--seed",         "7"};
        all.insert(all.end(), more.begin(), more.end());
        return task("search", all);
    }

    /// Long enough to be stopped on its way.
    [[nodiscard]] std::vector<std::string> longSearch(const std::string& db) const {
        return withOptions(search({"--progress", "json"}),
                           {{"--db", db}, {"--population", "12"}, {"--max-generations", "4"}, {"--search-items", "8"}});
    }

    TemporaryFolder m_folder;
    static inline TemporaryFolder* s_models = nullptr;
};

}  // namespace lpes::test
