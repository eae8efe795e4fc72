#include "core/studies/show_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/studies/model_setup.h"
#include "core/studies/run_session.h"

namespace lpes::studies {

namespace {

using nlohmann::json;

Result<std::int64_t> itemNumber(const PreparedTask& task, const std::string& item) {
    if (const auto byId = task.find(item)) return *byId;
    std::int64_t number = -1;
    const char* last = item.data() + item.size();
    const auto [end, error] = std::from_chars(item.data(), last, number);
    if (error == std::errc() && end == last && number >= 0 && number < task.benchmark->size()) return number;
    return fail(ErrorCode::Usage,
                fmt::format("--item {}: {} has no such item; give an id, such as {}, or a number below {}", item,
                            task.info().name, task.benchmark->id(0), task.benchmark->size()));
}

Result<int> positionNumber(const PreparedTask& task, const std::optional<std::string>& position) {
    if (!position) return 0;
    const auto it = std::ranges::find(task.labels, *position);
    if (it != task.labels.end()) return static_cast<int>(it - task.labels.begin());
    std::string known;
    for (const std::string& label : task.labels) known += (known.empty() ? "" : ", ") + label;
    return fail(ErrorCode::Usage, fmt::format("--position {} is not one of --positions: {}", *position, known));
}

json spansJson(const std::vector<std::pair<int, int>>& spans) {
    json out = json::array();
    for (const auto& [begin, end] : spans) out.push_back({begin, end});
    return out;
}

}  // namespace

Result<PromptMaker> promptMakerFor(PreparedTask task, const text::Tokenizer& tokenizer, int contextLength,
                                   const std::optional<std::string>& score) {
    const auto kind = scoreFor(task, score);
    if (!kind) return fail(kind.error());
    return PromptMaker(std::move(task), tokenizer, contextLength, kind->kind == tasks::ScoreKind::Kind::Generate);
}

Result<ShownPrompt> showPrompt(const PromptMaker& maker, const std::string& item,
                               const std::optional<std::string>& position) {
    const PreparedTask& task = maker.task();
    if (task.benchmark->size() == 0) return fail(ErrorCode::BadInput, task.info().name + " has no items");
    const auto number = itemNumber(task, item);
    if (!number) return fail(number.error());
    const auto ordinal = positionNumber(task, position);
    if (!ordinal) return fail(ordinal.error());
    auto text = maker.text(*number, *ordinal);
    if (!text) return fail(text.error());
    auto tokens = maker.tokens(*text);
    if (!tokens) return fail(tokens.error());
    ShownPrompt shown;
    shown.item = task.benchmark->id(*number);
    shown.position = task.labels[static_cast<std::size_t>(*ordinal)];
    shown.text = std::move(*text);
    shown.tokens = std::move(*tokens);
    shown.benchmark = task.info();
    shown.contextLength = maker.contextLength();
    shown.fits = shown.tokens.tokens() <= static_cast<std::size_t>(maker.contextLength());
    return shown;
}

Result<ShownPrompt> showPrompt(const std::string& model, const TaskSpec& task, const std::string& item,
                               const std::optional<std::string>& position, const std::optional<std::string>& score) {
    const auto opened = openModel(model, true);
    if (!opened) return fail(opened.error());
    // An item that is asked for by its number needs so many to be generated.
    constexpr std::int64_t kGenerated = 100;
    TaskSpec wanted = task;
    if (position && !wanted.positions) wanted.positions = position;
    auto prepared = prepareTask(wanted, kGenerated, opened->tokenizer.get(), Purpose::Shown);
    if (!prepared) return fail(prepared.error());
    const auto maker =
        promptMakerFor(std::move(*prepared), *opened->tokenizer, opened->weights->config().contextLength, score);
    if (!maker) return fail(maker.error());
    return showPrompt(*maker, item, position);
}

json toJson(const ShownPrompt& shown) {
    json evidence = json::array();
    for (const tasks::ByteSpan& span : shown.text.prompt.evidence) evidence.push_back({span.begin, span.end});
    return {{"task", shown.benchmark.task},
            {"data", shown.benchmark.name},
            {"item", shown.item},
            {"position", shown.position},
            {"gold_index", shown.tokens.goldIndex},
            {"text", shown.text.text},
            {"answer", shown.text.answer},
            {"choices", shown.text.choices},
            {"references", shown.tokens.references},
            {"rule", tasks::metricName(shown.tokens.rule.metric)},
            {"max_new_tokens", shown.tokens.rule.maxNewTokens},
            {"evidence", std::move(evidence)},
            {"evidence_tokens", spansJson(shown.tokens.evidence)},
            {"prompt_tokens", shown.tokens.prompt.size()},
            {"answer_tokens", shown.tokens.answer.size()},
            {"room", shown.tokens.room},
            {"fits", shown.fits},
            {"context", shown.contextLength},
            {"note", shown.tokens.note},
            {"template", shown.benchmark.templateText},
            {"template_hash", shown.benchmark.templateHash}};
}

}  // namespace lpes::studies
