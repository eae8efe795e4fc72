// Rows per second into a fresh data base on this disk, written as a search writes them: one transaction for each item
// at its three positions, from one worker and from two.
//   bench_store [SECONDS_PER_ROW]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/store/store.h"

namespace {

using namespace lpes;

std::vector<store::OutcomeRow> itemRows(std::int64_t item) {
    std::vector<store::OutcomeRow> rows(3);
    for (int position = 0; position < 3; ++position) {
        store::OutcomeRow& row = rows[static_cast<std::size_t>(position)];
        row.itemId = "words-20/" + std::to_string(item);
        row.position = position;
        row.promptTokens = 190;
        row.nll = 1.0 / static_cast<double>(item + 1);
    }
    return rows;
}

/// Transactions per second with so many threads.
double measure(store::StoreWriter& writer, std::int64_t variant, int threads, double budget,
               std::atomic<std::int64_t>& item) {
    const std::int64_t first = item;
    const double start = steadySeconds();
    {
        std::vector<std::jthread> workers;
        for (int i = 0; i < threads; ++i) {
            workers.emplace_back([&] {
                while (steadySeconds() - start < budget) {
                    if (auto done = writer.recordOutcomes(variant, "search", itemRows(item++)); !done) {
                        std::fprintf(stderr, "%s\n", done.error().text().c_str());
                        return;
                    }
                }
            });
        }
    }
    return static_cast<double>(item - first) / (steadySeconds() - start);
}

}  // namespace

int main(int argc, char** argv) {
    const double budget = argc > 1 ? std::atof(argv[1]) : 3.0;
    std::string folder = (std::filesystem::temp_directory_path() / "lpes-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return std::fprintf(stderr, "cannot make a temporary folder\n"), 1;
    {
        auto writer = store::StoreWriter::open(std::filesystem::path(folder) / "bench.db", {"bench_store"});
        if (!writer) return std::fprintf(stderr, "%s\n", writer.error().text().c_str()), 1;
        store::ModelRow model;
        model.fingerprint = "bench";
        store::DatasetRow data;
        data.hash = "bench";
        store::RunRow run;
        run.kind = "search";
        auto modelId = (*writer)->ensureModel(model);
        auto dataId = (*writer)->ensureDataset(data);
        if (!modelId || !dataId) return std::fprintf(stderr, "cannot write the model's row\n"), 1;
        run.modelId = *modelId;
        run.datasetId = *dataId;
        auto runId = (*writer)->addRun(run);
        if (!runId) return std::fprintf(stderr, "%s\n", runId.error().text().c_str()), 1;
        auto variant = (*writer)->ensureVariant(*runId, "candidate", std::vector<double>(30, 1.25));
        if (!variant) return std::fprintf(stderr, "%s\n", variant.error().text().c_str()), 1;
        std::atomic<std::int64_t> item{0};
        for (const int threads : {1, 2}) {
            const double rate = measure(**writer, *variant, threads, budget, item);
            std::printf("store, %d worker%s: %8.0f transactions/s %8.0f rows/s\n", threads, threads > 1 ? "s" : "",
                        rate, 3 * rate);
        }
    }
    std::filesystem::remove_all(folder);
    return 0;
}
