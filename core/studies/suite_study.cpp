#include "core/studies/suite_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "core/base/checksum.h"
#include "core/studies/json_rows.h"
#include "core/studies/resuming.h"
#include "core/studies/run_parts.h"
#include "core/studies/run_session.h"
#include "core/studies/suite_parts.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

/// `guarded`: a benchmark before it has measured what methods do to short contexts, which does not depend on it.
CompareSettings partSettings(const SuiteSettings& suite, const SuiteBenchmark& benchmark, std::int64_t runId,
                             bool guarded) {
    CompareSettings settings;
    settings.compute = suite.compute;
    settings.task = benchmark.task;
    settings.methods = suite.methods;
    settings.methodHashes = suite.methodHashes;
    settings.score = benchmark.score;
    settings.seed = suite.seed;
    settings.guardrail = suite.guardrail;
    if (guarded) settings.guardrail.items = 0;
    settings.partOf = partName(runId, benchmark.label);
    settings.origins = suite.origins;
    return settings;
}

/// {"label", "task", "run_id", "state", …what the comparison printed}.
json partJson(const SuiteBenchmark& benchmark, json result) {
    result["label"] = benchmark.label;
    result.erase("settings");
    return result;
}

bool hasGuardrail(const json& part) {
    const json methods = part.value("methods", json::array());
    return std::ranges::any_of(methods, [](const json& one) { return one.value("guardrail", json()).is_object(); });
}

json failedPart(const SuiteBenchmark& benchmark, const Error& error) {
    return {{"label", benchmark.label}, {"task", benchmark.task.task}, {"state", "failed"}, {"error", error.text()}};
}

/// A suite on its way through its benchmarks.
class Suite {
  public:
    Suite(const SuiteSettings& settings, const LoadedModel& model, std::int64_t runId, store::StoreWriter& store,
          PartObserver& observer)
        : m_settings(settings), m_model(model), m_runId(runId), m_store(store), m_observer(observer) {}

    Result<StudyOutcome> run(const std::stop_token& stop) {
        std::vector<std::string> labels;
        for (const SuiteBenchmark& benchmark : m_settings.benchmarks) labels.push_back(benchmark.label);
        auto run = runParts(labels, m_observer, [&](std::size_t i) { return runPart(m_settings.benchmarks[i], stop); });
        if (!run) return fail(run.error());
        json parts = json::array();
        for (std::size_t i = 0; i < run->parts.size(); ++i) {
            auto& [label, part] = run->parts[i];
            const SuiteBenchmark& benchmark = m_settings.benchmarks[i];
            parts.push_back(part ? partJson(benchmark, std::move(part->result)) : failedPart(benchmark, part.error()));
        }
        StudyOutcome outcome = run->outcome(m_runId);
        outcome.result = {{"run_id", m_runId},
                          {"state", run->state()},
                          {"end_reason", run->endReason("failed benchmarks")},
                          {"suite", m_settings.name},
                          {"model", m_settings.compute.model},
                          {"failed", run->failed},
                          {"table", suiteTableJson(m_settings.methods, parts, m_settings.sharedItems)},
                          {"benchmarks", std::move(parts)},
                          {"seconds", m_observer.elapsed()},
                          {"settings", toJson(m_settings)}};
        return outcome;
    }

  private:
    Result<StudyOutcome> runPart(const SuiteBenchmark& benchmark, const std::stop_token& stop) {
        auto outcome = takeUpPart(
            m_store.reader(), m_runId, benchmark.label, "compare",
            [&](std::int64_t id) { return resumeComparison(id, m_store, m_observer, stop, &m_model); },
            [&] {
                return runComparison(partSettings(m_settings, benchmark, m_runId, m_guarded), m_store, m_observer, stop,
                                     &m_model);
            });
        m_guarded = m_guarded || (outcome && hasGuardrail(outcome->result));
        return outcome;
    }

    const SuiteSettings& m_settings;
    const LoadedModel& m_model;
    std::int64_t m_runId;
    store::StoreWriter& m_store;
    PartObserver& m_observer;
    bool m_guarded = false;
};

/// A refusal of what stands in the suite's file, which is a bad file and no bad command.
Error inFile(const SuiteSettings& settings, const std::string& where, Error error) {
    if (error.code == ErrorCode::Usage) error.code = ErrorCode::BadInput;
    const std::string file = settings.file.empty() ? settings.name : settings.file;
    error.context = fmt::format("{}: {}{}", file, where, error.context.empty() ? "" : ", " + error.context);
    return error;
}

/// The same of a setting that the command line may have given.
Error ofSetting(const SuiteSettings& settings, const std::string& key, const Error& error) {
    const auto origin = settings.origins.find(key);
    const bool file = origin != settings.origins.end() && origin->second == "file";
    return file ? inFile(settings, fmt::format("\"{}\"", key), error) : error;
}

/// What a benchmark asks.
struct Asked {
    std::set<std::string> items;  ///< their contents
    std::string hash;             ///< hashOfPrompts
};

/// Opens the items, and settles where the evidence stands.
Result<Asked> checkBenchmark(SuiteBenchmark& benchmark, const text::Tokenizer& tokenizer, const std::stop_token& stop) {
    constexpr std::int64_t kGenerated = 100;
    if (!benchmark.task.positions && benchmark.sharedPositions) {
        // Only opened items tell whether their evidence can be moved. They are looked at and not scored: the default
        // positions may be one place in them, which the file's are not.
        const auto seen = prepareTask(benchmark.task, kGenerated, &tokenizer, Purpose::Shown, stop);
        if (!seen) return fail(seen.error());
        if (seen->info().movable) benchmark.task.positions = benchmark.sharedPositions;
    }
    const auto task = prepareTask(benchmark.task, kGenerated, &tokenizer, Purpose::Scored, stop);
    if (!task) return fail(task.error());
    const auto score = scoreFor(*task, benchmark.score);
    if (!score) return fail(score.error());
    const auto hashes = task->contentHashes(task->ids());
    if (!hashes) return fail(hashes.error());
    return Asked{{hashes->begin(), hashes->end()}, hashOfPrompts(task->info())};
}

bool haveCommon(const std::set<std::string>& one, const std::set<std::string>& other) {
    return std::ranges::any_of(one, [&](const std::string& hash) { return other.contains(hash); });
}

/// Every benchmark is opened and every method resolved before weights are read: a typing error at the end of a long
/// file should not show hours later.
Result<void> checkSuite(SuiteSettings& settings, const OpenedModel& model, ProgressObserver& observer,
                        const std::stop_token& stop) {
    std::string list;
    for (const std::string& method : settings.methods) list += (list.empty() ? "" : ";") + method;
    const auto specs = rope::parseMethods(list);
    if (!specs) return fail(inFile(settings, "\"methods\"", specs.error()));
    for (const rope::MethodSpec& spec : *specs) {
        const auto method = methodFor(spec, *model.weights, observer);
        if (!method) return fail(inFile(settings, "\"methods\"", method.error()));
        noteMethodHash(settings.methodHashes, spec, *method);
    }
    const auto guardrail = Guardrail::make(settings.guardrail, *model.tokenizer, model.config().contextLength);
    if (!guardrail) {
        const auto own = Guardrail::make({settings.guardrail.items, settings.guardrail.mmlu, std::nullopt},
                                         *model.tokenizer, model.config().contextLength);
        return fail(ofSetting(settings, own ? "guardrail_ceval" : "guardrail_mmlu", guardrail.error()));
    }
    settings.guardrailHashes = guardrail->dataHashes();
    settings.sharedItems.clear();
    settings.dataHashes.clear();
    std::vector<std::set<std::string>> items;
    for (SuiteBenchmark& benchmark : settings.benchmarks) {
        auto own = checkBenchmark(benchmark, *model.tokenizer, stop);
        if (!own) {
            const std::string where = fmt::format("benchmark {} ('{}')", items.size() + 1, benchmark.label);
            return fail(inFile(settings, where, own.error()));
        }
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (haveCommon(items[i], own->items))
                settings.sharedItems.emplace_back(settings.benchmarks[i].label, benchmark.label);
        }
        items.push_back(std::move(own->items));
        settings.dataHashes.push_back(std::move(own->hash));
    }
    return {};
}

/// Benchmarks that have not begun would ask other methods than those that have.
Result<void> requireSameMethods(const SuiteSettings& settings, const OpenedModel& model) {
    NullObserver quiet;  // every comparison says what there is to warn of
    for (const auto& [text, hash] : settings.methodHashes) {
        const auto spec = rope::parseMethod(text);
        if (!spec) return fail(spec.error());
        const auto method = methodFor(*spec, *model.weights, quiet);
        if (!method) return fail(method.error());
        if (auto same = requireSameMethod(settings.methodHashes, *spec, methodHash(*spec, *method)); !same) return same;
    }
    return {};
}

/// Benchmarks that have not begun would ask other items than the table's others, which were told apart from these.
Result<void> requireSameData(const SuiteSettings& settings, const OpenedModel& model, const std::stop_token& stop) {
    if (settings.dataHashes.size() != settings.benchmarks.size()) return {};  // begun by an earlier version
    for (std::size_t i = 0; i < settings.benchmarks.size(); ++i) {
        SuiteBenchmark benchmark = settings.benchmarks[i];
        const auto own = checkBenchmark(benchmark, *model.tokenizer, stop);
        if (!own) return fail(own.error());
        if (own->hash == settings.dataHashes[i]) continue;
        return fail(ErrorCode::BadInput,
                    fmt::format("benchmark {} ('{}'): its data or prompts have changed since the suite began; put them "
                                "back, or start the suite anew",
                                i + 1, benchmark.label));
    }
    return {};
}

/// A guardrail that has not been measured would ask other questions than the suite's settings were checked with.
Result<void> requireSameGuardrail(const SuiteSettings& settings, const OpenedModel& model,
                                  const std::stop_token& stop) {
    if (settings.guardrailHashes.empty()) return {};  // no exams, or begun by an earlier version
    const auto guardrail = Guardrail::make(settings.guardrail, *model.tokenizer, model.config().contextLength, stop);
    if (!guardrail) return fail(guardrail.error());
    for (const auto& [exam, hash] : settings.guardrailHashes) {
        const auto now = guardrail->dataHashes().find(exam);
        if (now != guardrail->dataHashes().end() && now->second == hash) continue;
        return fail(
            ErrorCode::BadInput,
            fmt::format("the guardrail's exam {0} ('guardrail_{0}'): its data or prompts have changed since the "
                        "suite began; put them back, or start the suite anew",
                        exam));
    }
    return {};
}

/// The model that a suite asks; its weights are read when `check` is content.
Result<LoadedModel> modelOf(const SuiteSettings& settings, ProgressObserver& observer, std::stop_token stop,
                            const LoadedModel* loaded,
                            const std::function<Result<void>(const OpenedModel&)>& check = {}) {
    for (const auto& [key, valid] : checkComputeKeys(settings.compute)) {
        if (!valid) return fail(ofSetting(settings, key, valid.error()));
    }
    auto opened = loaded ? Result<OpenedModel>(loaded->opened) : openModel(settings.compute.model, true);
    if (!opened) return fail(ofSetting(settings, "model", opened.error()));
    if (check) {
        if (auto valid = check(*opened); !valid) return fail(valid.error());
    }
    if (loaded) return *loaded;
    const auto type = resolveComputeType(settings.compute.dtype, settings.compute.device);
    if (!type) return fail(type.error());
    return loadWeights(std::move(*opened), *type, settings.compute.device, observer, stop);
}

Result<StudyOutcome> conduct(const SuiteSettings& settings, const LoadedModel& model, std::int64_t runId,
                             store::StoreWriter& store, ProgressObserver& observer, std::stop_token stop,
                             double elapsedBefore) {
    PartObserver parts(observer, store, runId, settings.benchmarks.size(), elapsedBefore);
    RunProgress progress(store, runId, parts, elapsedBefore);
    return conductRun(store, runId, progress, [&] { return Suite(settings, model, runId, store, parts).run(stop); });
}

}  // namespace

Result<StudyOutcome> runSuite(const SuiteSettings& given, store::StoreWriter& store, ProgressObserver& observer,
                              std::stop_token stop, const LoadedModel* loaded) {
    SuiteSettings settings = given;
    auto model = modelOf(given, observer, stop, loaded,
                         [&](const OpenedModel& opened) { return checkSuite(settings, opened, observer, stop); });
    if (!model) return fail(model.error());
    const auto threads = resolveThreads(1, settings.compute.threadsPerWorker);
    if (!threads) return fail(threads.error());
    settings.compute.threadsPerWorker = *threads;
    settings.compute.dtype = model::computeTypeName(model->lm->computeType());
    if (std::filesystem::exists(settings.compute.model)) settings.compute.model = model->opened.path.string();
    const json stored = toJson(settings);
    Sha256 hash;
    const std::string benchmarks = stored["benchmarks"]["value"].dump();
    hash.add(benchmarks);
    store::DatasetRow dataset;
    dataset.task = "suite";
    dataset.name = settings.name;
    dataset.hash = hash.hex();
    dataset.items = static_cast<std::int64_t>(settings.benchmarks.size());
    dataset.specJson = benchmarks;
    auto runId = beginModelRun(store, *model, dataset, settings.compute, *threads, "suite",
                               fmt::format("{}: {} benchmarks, {} methods", settings.name, settings.benchmarks.size(),
                                           settings.methods.size()),
                               stored, settings.seed);
    if (!runId) return fail(runId.error());
    return conduct(settings, *model, *runId, store, observer, stop, 0.0);
}

Result<StudyOutcome> resumeSuite(std::int64_t runId, store::StoreWriter& store, ProgressObserver& observer,
                                 std::stop_token stop, const LoadedModel* loaded) {
    const auto run = resumableRun(store.reader(), runId, "suite");
    if (!run) return fail(run.error());
    const auto stored = storedSettings(*run);
    if (!stored) return fail(stored.error());
    const auto settings = suiteFromJson(*stored);
    if (!settings) return fail(settings.error());
    auto model = modelOf(*settings, observer, stop, loaded, [&](const OpenedModel& opened) -> Result<void> {
        if (auto same = requireSameMethods(*settings, opened); !same) return same;
        if (auto same = requireSameData(*settings, opened, stop); !same) return same;
        return requireSameGuardrail(*settings, opened, stop);
    });
    if (!model) return fail(model.error());
    if (auto same = requireSameModel(store.reader(), *run, *model, settings->compute.model, observer); !same)
        return fail(same.error());
    if (auto opened = store.reopenRun(runId, 1); !opened) return fail(opened.error());
    return conduct(*settings, *model, runId, store, observer, stop, run->elapsedSeconds);
}

}  // namespace lpes::studies
