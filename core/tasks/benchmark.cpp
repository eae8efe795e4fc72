#include "core/tasks/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/tasks/data_file.h"

namespace lpes::tasks {

namespace {

constexpr std::string_view kTasks =
    "kv, mdqa, mdqa-random, zeroscrolls:NAME, leval:NAME, mmlu, ceval, niah, jsonl (your own file)";

/// The options that a task may have beside --limit.
struct TaskOptions {
    std::string_view task;
    std::string_view options;
};
constexpr std::array kOptions{
    TaskOptions{"kv", " data pairs keys "},
    TaskOptions{"mdqa", " data docs "},
    TaskOptions{"mdqa-random", " data docs "},
    TaskOptions{"niah", " data niah "},
    TaskOptions{"jsonl", " data "},
    TaskOptions{"mmlu", " data shots subjects "},
    TaskOptions{"ceval", " data shots subjects "},
    TaskOptions{"zeroscrolls", " data "},
    TaskOptions{"leval", " data "},
};

std::string_view familyOf(const BenchmarkSpec& spec) {
    return std::string_view(spec.task).substr(0, spec.task.find(':'));
}

const TaskOptions* optionsOf(const BenchmarkSpec& spec) {
    const auto found = std::ranges::find(kOptions, familyOf(spec), &TaskOptions::task);
    return found == kOptions.end() ? nullptr : &*found;
}

}  // namespace

bool drawsItems(const BenchmarkSpec& spec) {
    return (spec.task == "kv" && !spec.data) || spec.task == "mdqa-random" || spec.task == "niah";
}

bool hasTaskOption(const BenchmarkSpec& spec, std::string_view option) {
    const TaskOptions* options = optionsOf(spec);
    return options != nullptr && options->options.find(fmt::format(" {} ", option)) != std::string_view::npos;
}

Result<void> checkTaskOptions(const BenchmarkSpec& spec) {
    const auto check = [&](bool given, std::string_view option) -> Result<void> {
        if (!given || hasTaskOption(spec, option)) return {};
        return fail(ErrorCode::Usage,
                    fmt::format("task '{}' has no option '{}'; leave --{} out", spec.task,
                                option == "niah" ? "haystack" : option,
                                option == "niah" ? "haystack, --length, --needle-keys and the like" : option));
    };
    for (const auto& [given, option] :
         std::initializer_list<std::pair<bool, std::string_view>>{{spec.data.has_value(), "data"},
                                                                  {spec.pairs.has_value(), "pairs"},
                                                                  {spec.keys.has_value(), "keys"},
                                                                  {spec.docs.has_value(), "docs"},
                                                                  {spec.shots.has_value(), "shots"},
                                                                  {spec.subjects.has_value(), "subjects"},
                                                                  {spec.niah != NiahSpec{}, "niah"}}) {
        if (auto checked = check(given, option); !checked) return checked;
    }
    if (spec.seed && !drawsItems(spec)) {
        return fail(ErrorCode::Usage, fmt::format("--item-seed {}: the items of {} are those of its file, none is "
                                                  "drawn; leave --item-seed out",
                                                  *spec.seed, spec.task));
    }
    return checkLimit(spec.limit);
}

Result<std::shared_ptr<const Benchmark>> openBenchmark(const BenchmarkSpec& spec, const text::Tokenizer* tokenizer) {
    const std::string_view family = familyOf(spec);
    const bool named = family == "zeroscrolls" || family == "leval";
    if (optionsOf(spec) == nullptr || named != (family.size() < spec.task.size())) {
        return fail(ErrorCode::Usage, fmt::format("unknown task '{}'; the tasks are {}", spec.task, kTasks));
    }
    if (auto checked = checkTaskOptions(spec); !checked) return fail(checked.error());

    if (family == "kv") return openKv(spec);
    if (family == "mdqa") return openMdqa(spec);
    if (family == "mdqa-random") return openMdqaRandom(spec);
    if (family == "jsonl") return openJsonl(spec);
    if (family == "niah") {
        if (tokenizer != nullptr) return openNiah(spec, *tokenizer);
        return fail(ErrorCode::Usage, "task 'niah' counts its text in a model's tokens; name a model");
    }
    if (family == "zeroscrolls") return openZeroScrolls(spec);
    if (family == "leval") return openLEval(spec);
    return family == "mmlu" ? openMmlu(spec) : openCEval(spec);
}

}  // namespace lpes::tasks
