#include "app/cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/files.h"
#include "core/base/json_text.h"
#include "core/store/store.h"
#include "core/studies/method_words.h"
#include "core/tasks/benchmark.h"
#include "core/text/chat_preset.h"

namespace lpes::cli {

namespace {

constexpr const char* kModelGroup = "Model";
constexpr const char* kTaskGroup = "Task";

/// A data file is stored with the run, which may be resumed from another folder.
SettingFlags::Setter toAbsolutePath(std::optional<std::string>& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        if (text.empty()) return fail(ErrorCode::Usage, fmt::format("{} is empty; name a file", name));
        std::error_code error;
        target = std::filesystem::absolute(text, error).lexically_normal().string();
        if (error) return fail(ErrorCode::Usage, fmt::format("{} '{}' is no path", name, text), error.message());
        return {};
    };
}

Result<std::string> readStandardInput() {
    std::string text;
    char buffer[1 << 16];
    for (;;) {
        const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(ErrorCode::BadInput, "standard input cannot be read", std::strerror(errno));
        if (got == 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > (256u << 20)) return fail(ErrorCode::BadInput, "standard input is larger than 256 MiB");
    }
}

}  // namespace

void addModelPositional(SettingFlags& flags, std::string& model) {
    flags.add("MODEL", "", "Folder in Hugging Face layout, .gguf file, or demo [$LPES_MODEL]", toText(model),
              "LPES_MODEL");
}

Result<void> requireModel(const std::string& model, const std::string& option) {
    if (!model.empty()) return {};
    return fail(
        ErrorCode::Usage,
        fmt::format("{} is missing; name a folder in Hugging Face layout, a .gguf file, or demo (or set LPES_MODEL)",
                    option));
}

void addDeviceOption(SettingFlags& flags, std::string& device) {
    flags
        .add("--device", "DEVICE",
             "Where to compute: cpu, cuda:N, cuda:0+cuda:1 (layers shared), cuda:0,cuda:1 (a replica each) [cpu]",
             toText(device), "LPES_DEVICE")
        ->group(kModelGroup);
}

Result<void> requireModelAndTask(const studies::ComputeSettings& compute, const studies::TaskSpec& task) {
    if (auto given = requireModel(compute.model, "--model"); !given) return given;
    if (!task.task.empty()) return {};
    return fail(ErrorCode::Usage, "--task is missing; --task kv asks for key-value retrieval");
}

void addRunningModelOptions(SettingFlags& flags, studies::ModelOptions& model, std::optional<int>& threads) {
    flags
        .add("--dtype", "TYPE",
             "What to compute in: float32, bfloat16, float16 (GPUs), or auto (bfloat16 where it is native) [auto]",
             toText(model.dtype), "LPES_DTYPE")
        ->group(kModelGroup);
    addDeviceOption(flags, model.device);
    flags.add("--threads", "N", "Cores to use; auto: all [auto]", toOptionalNumber<int>(threads, 1, 4096))
        ->group(kModelGroup);
}

void addTimedOptions(SettingFlags& flags, studies::ComputeSettings& compute) {
    flags
        .add("--model", "MODEL", "Folder in Hugging Face layout, .gguf file, or demo [$LPES_MODEL]",
             toText(compute.model), "LPES_MODEL")
        ->group(kModelGroup);
    flags
        .add("--dtype", "TYPE",
             "What to compute in: float32, bfloat16, float16 (GPUs), or auto (bfloat16 where it is native) [auto]",
             toText(compute.dtype), "LPES_DTYPE")
        ->group(kModelGroup);
    addDeviceOption(flags, compute.device);
    flags
        .add("--threads-per-worker", "N",
             "Cores for each matrix product, stored with the run because rounding depends on it; auto: all cores, "
             "which only a single worker may have [auto]",
             toOptionalNumber<int>(compute.threadsPerWorker, 1, 4096))
        ->group(kModelGroup);
}

void addComputeOptions(SettingFlags& flags, studies::ComputeSettings& compute) {
    addTimedOptions(flags, compute);
    flags
        .add("--batch-size", "N",
             "Prompts in one forward pass, stored with the run because rounding depends on it; auto: one item at all "
             "its "
             "positions, up to eight prompts where evidence cannot be moved or answers are generated [auto]",
             toOptionalNumber<int>(compute.batchSize, 1, 4096))
        ->group(kModelGroup);
    flags
        .add("--batch-tokens", "N",
             "Tokens in one forward pass at most, unless a single prompt has more; auto: 8192 where neither this nor "
             "--batch-size is given and evidence cannot be moved [auto]",
             toOptionalNumber<std::int64_t>(compute.batchTokens, 1))
        ->group(kModelGroup);
    flags
        .add("--share-prefixes", "on|off",
             "Compute once what prompts of a pass begin with alike; rounding depends on it [on]",
             toSwitch(compute.sharePrefixes))
        ->group(kModelGroup);
}

void addWorkersOption(SettingFlags& flags, studies::ComputeSettings& compute) {
    flags
        .add("--workers", "N",
             "Candidates evaluated at the same time; the result does not depend on it. More than 1 needs "
             "--threads-per-worker [1]",
             toNumber<int>(compute.workers, 1, 1024))
        ->group(kModelGroup);
}

void addTaskOptions(SettingFlags& flags, studies::TaskSpec& task) {
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group(kTaskGroup);
    };
    add("--task", "TASK",
        "What is asked: kv (key-value retrieval), mdqa, mdqa-random (from the oracle file), niah (needle in a "
        "haystack), "
        "zeroscrolls:NAME, leval:NAME, mmlu, ceval, or jsonl, your own (core/tasks/README.md has the format)",
        toText(task.task));
    add("--data", "PATH",
        "The benchmark's official file, folder or archive; kv and niah generate their items without one",
        toAbsolutePath(task.data));
    add("--positions", "LIST",
        "Where the evidence stands: begin,middle,end; percentages 0,25,50; every:10; gold indices #0,#4; each a "
        "place of its own; only where it can be moved [begin,middle,end]",
        toOptionalText(task.positions));
    add("--limit", "N",
        "Items at most (file) or items to generate; auto: all of the file, as many as are needed when generated [auto]",
        toOptionalNumber<std::int64_t>(task.limit, 1));
    add("--item-seed", "N", "Seed of items that are drawn (kv and niah without a file, mdqa-random); auto: 1 [auto]",
        toOptionalNumber<std::uint64_t>(task.itemSeed));
    flags
        .add("--chat", "PRESET", "Chat preset around the prompt: " + text::chatPresetNames() + " [none]",
             [&task](const std::string&, const std::string& text) -> Result<void> {
                 task.chat = studies::namedPreset(text == "auto" ? std::nullopt : std::optional(text));
                 return {};
             })
        ->group(kTaskGroup);
    add("--bos", "RULE",
        "Beginning-of-sequence token of a plain prompt: none, as the benchmarks' own scripts, or model, as the "
        "tokenizer's files say [none]",
        toText(task.bos));
    add("--truncation", "RULE",
        "An item that is longer than the context: none leaves it out and counts it; official cuts its document as "
        "ZeroSCROLLS and L-Eval do [none]",
        toText(task.truncation));
    add("--pairs", "N", "kv: pairs in a prompt; auto: as many as the file has, 20 when generated [auto]",
        toOptionalNumber<int>(task.pairs, 1));
    add("--keys", "KIND", "kv: generated keys and values: uuid, hex:N (N hexadecimal digits) or words [uuid]",
        toOptionalText(task.keys));
    add("--docs", "N", "mdqa: documents in a prompt; auto: as many as the file has, 20 for mdqa-random [auto]",
        toOptionalNumber<int>(task.docs, 1));
    add("--shots", "N", "mmlu, ceval: examples ahead of the question, fewer where they do not fit; auto: 5 [auto]",
        toOptionalNumber<int>(task.shots, 0));
    add("--subjects", "LIST", "mmlu, ceval: subjects, separated by commas; auto: all [auto]",
        toOptionalText(task.subjects));
    add("--length", "N", "niah: tokens of a prompt at most [2000]", toNumber<int>(task.niah.length, 64));
    add("--haystack", "KIND", "niah: noise, needle or essay (text files, with --data) [noise]",
        toText(task.niah.haystack));
    add("--needle-keys", "N", "niah: needles with different keys in the text [1]",
        toNumber<int>(task.niah.keys, 1, 100'000));
    add("--needle-values", "N", "niah: needles with the asked key [1]", toNumber<int>(task.niah.values, 1, 1000));
    add("--needle-queries", "N", "niah: keys that are asked for [1]", toNumber<int>(task.niah.queries, 1, 1000));
    add("--needle-key-kind", "KIND", "niah: words, numbers or uuids [words]", toText(task.niah.keyKind));
    add("--needle-value-kind", "KIND", "niah: words, numbers or uuids [numbers]", toText(task.niah.valueKind));
}

void addScoreOption(SettingFlags& flags, std::optional<std::string>& score) {
    flags.add("--score", "SCORE",
              "What counts: strict (every answer token is the likeliest), generate (the benchmark's rule on generated "
              "text), choice (the likeliest of the choices), nll or blend:W; auto: the benchmark's own, "
              "of kv strict in place of its generated answer [auto]",
              toOptionalText(score));
}

void addGuardrailOptions(SettingFlags& flags, studies::GuardrailSettings& guardrail) {
    const auto add = [&](const char* name, const char* placeholder, const char* help, SettingFlags::Setter setter) {
        flags.add(name, placeholder, help, std::move(setter))->group("Guardrail");
    };
    add("--guardrail", "N",
        "Short questions that show what a method costs where nothing is far away, and questions of each exam below; "
        "with fewer than 26 the light cannot be green; 0: none [100]",
        toNumber<int>(guardrail.items, 0));
    add("--guardrail-mmlu", "PATH", "Ask official MMLU questions too (folder or archive)",
        toAbsolutePath(guardrail.mmlu));
    add("--guardrail-ceval", "PATH", "Ask official C-Eval questions too (folder or archive)",
        toAbsolutePath(guardrail.ceval));
}

void addMethodOptions(SettingFlags& flags, std::string& method) {
    flags.add(
        "--method", "METHOD",
        "Position method: baseline, pi:S, ntk:S, dynamic-ntk:S, yarn:S, longrope:CSV, uniform:S, lpes:FILE (a "
        "profile), "
        "some of them joined with +, as in yarn:4+lpes:FILE; "
        "ms-poe[:min=1.2,max=1.8,variant=paper|code,heads=scored|normal], "
        "attention-buckets[:bases=B/B/…|search[/N],combine=logits|probs], moice:ROUTERS[,top_k=K]; inspect shows what "
        "each does to a model [baseline]",
        toText(method));
    flags.add("--profile", "FILE", "The same as --method lpes:FILE",
              [&method](const std::string& name, const std::string& text) -> Result<void> {
                  if (text.empty()) return fail(ErrorCode::Usage, fmt::format("{} is empty; name a profile", name));
                  method = "lpes:" + text;
                  return {};
              });
}

Result<void> checkMethodOptions(const SettingFlags& flags) {
    if (!flags.text("--method") || !flags.text("--profile")) return {};
    return fail(ErrorCode::Usage, "--method and --profile both name a position method; give one of the two");
}

void addTextOptions(SettingFlags& flags, std::optional<std::string>& text, std::optional<std::string>& file,
                    const std::string& option) {
    flags.add(option, "TEXT", "The text itself", toOptionalText(text));
    flags.add("--file", "FILE", "File that holds the text, UTF-8, taken as it is; - is standard input",
              toOptionalText(file));
}

Result<std::string> readText(const std::optional<std::string>& text, const std::optional<std::string>& file,
                             const std::string& option) {
    if (text.has_value() == file.has_value()) {
        return fail(ErrorCode::Usage, fmt::format("give exactly one of {} and --file", option));
    }
    if (text) return *text;
    return *file == "-" ? readStandardInput() : readTextFile(*file);
}

SettingFlags::Setter toGridStep(std::optional<double>& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        if (text == "auto") {
            target = curve::Constraints{}.gridStep;
            return {};
        }
        if (text == "none") {
            target.reset();
            return {};
        }
        auto step = parseNumber<double>(name, text);
        if (!step) return fail(ErrorCode::Usage, step.error().message + "; auto and none are understood too");
        if (*step <= 0.0) {
            return fail(ErrorCode::Usage,
                        fmt::format("{} {} is not above 0; none switches the rounding off", name, text));
        }
        target = *step;
        return {};
    };
}

SettingFlags::Setter toPath(std::filesystem::path& target) {
    return [&target](const std::string& name, const std::string& text) -> Result<void> {
        if (text.empty()) return fail(ErrorCode::Usage, fmt::format("{} is empty; name a file", name));
        target = text;
        return {};
    };
}

void addDatabaseOption(SettingFlags& flags, std::filesystem::path& database) {
    database = store::defaultDatabasePath();
    flags.add("--db", "FILE", "Data base [$LPES_DB, else lpes/lpes.db in the user's data folder]", toPath(database));
}

Result<void> checkOutput(const std::filesystem::path& file, const std::vector<studies::CommandInput>& inputs) {
    if (file.empty()) return fail(ErrorCode::Usage, "--out is empty; name a file");
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) {
        return fail(ErrorCode::Failed, fmt::format("'{}' is a folder; name a file", file.string()));
    }
    if (!std::filesystem::is_directory(folder, error) || ::access(folder.c_str(), W_OK) != 0) {
        return fail(ErrorCode::Failed,
                    fmt::format("cannot write '{}'; check that the folder '{}' exists and is writable", file.string(),
                                folder.string()));
    }
    return studies::requireNoInput(file, inputs);
}

namespace {

using nlohmann::json;

/// A setting as its option would be written.
std::string settingText(const std::string& key, const json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
    if (value.is_string()) return value.get<std::string>().empty() ? "none" : value.get<std::string>();
    if (value.is_array()) {
        std::string list;
        for (const json& one : value)
            list += (list.empty()       ? ""
                     : key == "methods" ? ";"
                                        : ",") +
                    (one.is_string() ? one.get<std::string>() : one.dump());
        return list.empty() ? "auto" : list;
    }
    if (!value.is_null()) return value.dump();
    if (key == "share_prefixes") return "on";
    // Of these nothing is chosen where nothing is given.
    for (const char* none : {"chat", "data", "guardrail_mmlu", "guardrail_ceval", "grid_step"}) {
        if (key == none) return "none";
    }
    return "auto";
}

/// What the run is asked, as far as the settings say it; nothing of a verb without a task.
std::optional<tasks::BenchmarkSpec> benchmarkOf(const json& settings) {
    if (!settings.contains("task")) return std::nullopt;
    tasks::BenchmarkSpec spec;
    spec.task = settings.at("task").at("value").get<std::string>();
    if (settings.contains("data") && settings.at("data").at("value").is_string())
        spec.data = settings.at("data").at("value").get<std::string>();
    return spec;
}

/// Has every item of the task evidence that can be moved? The files of own tasks decide by themselves.
bool movesEvidence(const tasks::BenchmarkSpec& asked) {
    return tasks::hasTaskOption(asked, "pairs") || tasks::hasTaskOption(asked, "docs") ||
           tasks::hasTaskOption(asked, "niah");
}

/// Says the setting nothing about a run with this task: an option that the task does not have, or the place in a suite
/// of a run that is in none?
bool isIdle(const std::string& key, const json& value, const std::optional<tasks::BenchmarkSpec>& asked) {
    if (key == "part_of") return value.is_null();
    if (!asked) return false;
    if (key == "item_seed") return !tasks::drawsItems(*asked);
    if (key == "positions") return value.is_null() && !movesEvidence(*asked) && asked->task != "jsonl";
    for (const char* option : {"pairs", "keys", "docs", "shots", "subjects"}) {
        if (key == option) return !tasks::hasTaskOption(*asked, key);
    }
    const bool niah = key == "haystack" || key == "length" || key.starts_with("needle_");
    return niah && !tasks::hasTaskOption(*asked, "niah");
}

}  // namespace

void printSettings(const json& settings, const OutputOptions& output) {
    if (output.progress == "json") {
        printMessage(jsonLine({{"type", "settings"}, {"settings", settings}}));
        return;
    }
    std::map<std::string, std::string> byOrigin;
    const std::optional<tasks::BenchmarkSpec> asked = benchmarkOf(settings);
    bool searchesBases = false;
    for (const auto& [key, setting] : settings.items()) {
        const json& value = setting.at("value");
        if (isIdle(key, value, asked)) continue;
        const bool usualPlaces = key == "positions" && value.is_null() && asked && movesEvidence(*asked);
        const std::string text = usualPlaces ? studies::kDefaultPositions : settingText(key, value);
        byOrigin[setting.value("origin", "default")] += fmt::format(" {}={}", key, text);
        searchesBases = searchesBases || text.find("bases=search") != std::string::npos;
    }
    for (const auto& [origin, text] : byOrigin) printMessage(fmt::format("settings ({}):{}", origin, text));
    if (searchesBases) printMessage("settings: " + studies::bucketSearchRule());
}

}  // namespace lpes::cli
