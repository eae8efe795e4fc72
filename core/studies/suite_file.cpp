#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "core/base/files.h"
#include "core/studies/json_rows.h"
#include "core/studies/run_view.h"
#include "core/studies/suite_study.h"
#include "core/tasks/json_keys.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "lpes-suite";
constexpr int kVersion = 1;

std::string besideFile(const std::string& path, const std::filesystem::path& file) {
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    return (folder / path).lexically_normal().string();
}

/// Methods name files too: lpes:FILE, longrope:FILE, moice:FILE.
std::string methodBesideFile(const std::string& method, const std::filesystem::path& file) {
    std::string out;
    for (std::size_t begin = 0; begin <= method.size();) {
        const std::size_t end = std::min(method.find('+', begin), method.size());
        std::string part = method.substr(begin, end - begin);
        for (const std::string_view name : {"lpes:", "longrope:", "moice:"}) {
            if (part.starts_with(name)) part = std::string(name) + besideFile(part.substr(name.size()), file);
        }
        out += (begin == 0 ? "" : "+") + part;
        begin = end + 1;
    }
    return out;
}

/// A check's refusal as one of the file: whoever reads it needs the key, and the exit code of a bad file.
Error atKey(const std::string& where, const std::string& key, const Error& error) {
    return {ErrorCode::BadInput, fmt::format("{}: \"{}\": {}", where, key, error.message), error.detail, ""};
}

Result<void> checkKeys(const std::string& where, std::vector<std::pair<const char*, Result<void>>> keys) {
    for (const auto& [key, valid] : keys) {
        if (!valid) return fail(atKey(where, key, valid.error()));
    }
    return {};
}

/// What benchmarks have that do not say otherwise.
struct Shared {
    std::optional<std::string> positions, chat, bos, truncation;
    std::optional<std::int64_t> limit;
};

Result<SuiteBenchmark> readBenchmark(const json& object, const Shared& shared, const std::string& where) {
    SuiteBenchmark benchmark;
    JsonFields fields(object, where);
    benchmark.task.limit = shared.limit;
    benchmark.task.chat = shared.chat;
    benchmark.task.bos = shared.bos.value_or(benchmark.task.bos);
    benchmark.task.truncation = shared.truncation.value_or(benchmark.task.truncation);
    readTask(fields, benchmark.task);
    fields.read("label", benchmark.label);
    fields.read("score", benchmark.score);
    if (auto done = fields.finish(); !done) return fail(done.error());
    if (benchmark.task.task.empty())
        return fail(ErrorCode::BadInput, where + ": 'task' is missing; name one, such as kv or leval:quality");
    if (benchmark.label.empty()) benchmark.label = benchmark.task.task;
    if (auto valid = checkKeys(where, checkTaskKeys(benchmark.task)); !valid) return fail(valid.error());
    if (auto known = checkScoreName(benchmark.score); !known) return fail(atKey(where, "score", known.error()));
    return benchmark;
}

Result<void> readHead(const json& suite, const std::string& origin, SuiteSettings& settings, Shared& shared,
                      json& benchmarks) {
    JsonFields fields(suite, origin);
    std::string format;
    int version = 0;
    fields.read("format", format);
    fields.read("version", version);
    fields.read("name", settings.name);
    readCompute(fields, settings.compute);
    fields.read("seed", settings.seed);
    readGuardrail(fields, settings.guardrail);
    fields.read("methods", settings.methods);
    fields.read("positions", shared.positions);
    fields.read("limit", shared.limit);
    fields.read("chat", shared.chat);
    shared.chat = namedPreset(shared.chat);
    fields.read("bos", shared.bos);
    fields.read("truncation", shared.truncation);
    fields.read("benchmarks", benchmarks);
    if (auto done = fields.finish(); !done) return done;
    if (format != kFormat) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{}: \"format\" is '{}' and has to be \"{}\"", origin, format, kFormat));
    }
    if (version != kVersion) {
        return fail(ErrorCode::BadInput,
                    fmt::format("{}: \"version\" is {} and this program reads version {}", origin, version, kVersion));
    }
    if (settings.methods.empty())
        return fail(ErrorCode::BadInput, origin + ": \"methods\" is missing or empty; name at least one");
    if (!benchmarks.is_array() || benchmarks.empty())
        return fail(ErrorCode::BadInput, origin + ": \"benchmarks\" is missing or empty; list at least one");
    TaskSpec any;
    any.positions = shared.positions;
    any.limit = shared.limit;
    any.chat = shared.chat;
    any.bos = shared.bos.value_or(any.bos);
    any.truncation = shared.truncation.value_or(any.truncation);
    if (auto valid = checkKeys(origin, checkTaskKeys(any)); !valid) return valid;
    if (settings.guardrail.items < 0) {
        return fail(ErrorCode::BadInput, fmt::format("{}: \"guardrail\": {} questions cannot be asked; give 0 or more",
                                                     origin, settings.guardrail.items));
    }
    return {};
}

}  // namespace

Result<SuiteSettings> readSuite(const std::filesystem::path& file) {
    const auto text = readTextFile(file, std::size_t{16} << 20);
    if (!text) return fail(text.error());
    json suite;
    try {
        tasks::KeyedJson parsed = tasks::parseKeyedJson(*text);
        if (!parsed.repeated.empty()) {
            return fail(ErrorCode::BadInput, fmt::format("{}: '{}' is given twice; remove the one that is not meant",
                                                         file.string(), parsed.repeated.front()));
        }
        suite = std::move(parsed.value);
    } catch (const json::exception& error) {
        return fail(ErrorCode::BadInput, file.string() + " is not valid JSON", error.what());
    }
    SuiteSettings settings;
    settings.name = file.stem().string();
    settings.file = file.string();
    Shared shared;
    json benchmarks;
    if (auto read = readHead(suite, file.string(), settings, shared, benchmarks); !read) return fail(read.error());
    for (const auto& [key, value] : suite.items()) settings.origins[key] = "file";
    for (std::string& method : settings.methods) method = methodBesideFile(method, file);
    const std::string& model = settings.compute.model;
    if (model.find('/') != std::string::npos) settings.compute.model = besideFile(model, file);
    for (auto* data : {&settings.guardrail.mmlu, &settings.guardrail.ceval}) {
        if (*data) *data = besideFile(**data, file);
    }
    int number = 0;
    for (const json& object : benchmarks) {
        const std::string where = fmt::format("{}: benchmark {}", file.string(), ++number);
        auto benchmark = readBenchmark(object, shared, where);
        if (!benchmark) return fail(benchmark.error());
        if (benchmark->task.data) benchmark->task.data = besideFile(*benchmark->task.data, file);
        for (const SuiteBenchmark& other : settings.benchmarks) {
            if (other.label == benchmark->label) {
                return fail(ErrorCode::BadInput, fmt::format("{}: the label '{}' is another benchmark's already; give "
                                                             "each its own \"label\"",
                                                             where, other.label));
            }
        }
        // Kept apart from what a benchmark says itself: it holds only where evidence can be moved.
        if (!benchmark->task.positions) benchmark->sharedPositions = shared.positions;
        settings.benchmarks.push_back(std::move(*benchmark));
    }
    return settings;
}

json toJson(const SuiteSettings& settings) {
    json benchmarks = json::array();
    for (const SuiteBenchmark& benchmark : settings.benchmarks) {
        json object = toJson(benchmark.task);
        object["label"] = benchmark.label;
        object["score"] = optionalJson(benchmark.score);
        benchmarks.push_back(std::move(object));
    }
    json plain = toJson(settings.compute);
    plain.update(toJson(settings.guardrail));
    plain.update({{"format", kFormat},
                  {"version", kVersion},
                  {"name", settings.name},
                  {"methods", settings.methods},
                  {"seed", settings.seed},
                  {"benchmarks", std::move(benchmarks)}});
    json stored = withOrigins(plain, settings.origins);
    addMethodHashes(stored, settings.methodHashes);
    if (!settings.dataHashes.empty()) stored["data_hashes"] = {{"value", settings.dataHashes}, {"origin", "file"}};
    if (!settings.guardrailHashes.empty())
        stored["guardrail_hashes"] = {{"value", settings.guardrailHashes}, {"origin", "file"}};
    if (!settings.sharedItems.empty()) stored["shared_items"] = {{"value", settings.sharedItems}, {"origin", "file"}};
    return stored;
}

Result<SuiteSettings> suiteFromJson(const json& stored) {
    SuiteSettings settings;
    Shared shared;
    json head = stored;
    head.erase("workers");
    settings.methodHashes = settingOr<MethodHashes>(stored, "method_hashes", {});
    settings.sharedItems = settingOr<decltype(settings.sharedItems)>(stored, "shared_items", {});
    settings.dataHashes = settingOr<std::vector<std::string>>(stored, "data_hashes", {});
    settings.guardrailHashes = settingOr<decltype(settings.guardrailHashes)>(stored, "guardrail_hashes", {});
    for (const char* key : {"method_hashes", "data_hashes", "guardrail_hashes", "shared_items"})
        head.erase(key);  // which a file cannot say
    json benchmarks;
    if (auto read = readHead(head, "suite settings", settings, shared, benchmarks); !read) return fail(read.error());
    settings.origins = readOrigins(stored);
    for (const json& object : benchmarks) {
        auto benchmark = readBenchmark(object, shared, "suite settings");
        if (!benchmark) return fail(benchmark.error());
        forgetDefaultSeed(benchmark->task);
        settings.benchmarks.push_back(std::move(*benchmark));
    }
    return settings;
}

}  // namespace lpes::studies
