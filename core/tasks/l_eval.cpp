#include "core/tasks/l_eval.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "core/base/checksum.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/json_record.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

/// Where an item's texts stand in the spool.
struct Item {
    std::int64_t line = 0;         ///< of the file, from 0
    std::int32_t instruction = 0;  ///< of the line, from 0
    Metric metric = Metric::ExamLEval;
    bool fact = false;
    std::int8_t topic = 0;  ///< which of three questions in turn
    std::int64_t document = 0, text = 0, reference = 0;
};

class LEval : public Benchmark {
  public:
    LEval(const LEvalTask& task, BenchmarkInfo info, RecordSpool spool)
        : m_task(task), m_info(std::move(info)), m_spool(std::move(spool)) {}

    [[nodiscard]] const BenchmarkInfo& info() const override { return m_info; }
    [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(m_items.size()); }
    [[nodiscard]] std::string id(std::int64_t item) const override {
        const Item& one = at(item);
        return fmt::format("{}/{}/{}{}", m_task.name, one.line, one.instruction, one.fact ? "/fact" : "");
    }
    [[nodiscard]] std::string group(std::int64_t item) const override {
        constexpr const char* kTopics[] = {"first", "second", "third"};
        const Item& one = at(item);
        if (m_task.layout == LEvalTask::Layout::Topics) return kTopics[one.topic];
        if (m_task.reference == LEvalTask::Reference::LoyaltyAndFact) return one.fact ? "fact" : "loyalty";
        return {};
    }
    [[nodiscard]] int places(std::int64_t) const override { return 1; }

    [[nodiscard]] Result<TaskPrompt> prompt(std::int64_t item, int goldIndex,
                                            const PromptOptions& options) const override {
        const Item& one = at(item);
        auto question = read(one);
        if (!question) return fail(question.error());
        TaskPrompt prompt = lEvalPrompt(*question, m_task, options);
        prompt.goldIndex = goldIndex;
        prompt.references = {std::move(question->reference)};
        prompt.rule = {one.metric, kLEvalNewTokens, false};
        return prompt;
    }

    [[nodiscard]] Result<std::string> contentHash(std::int64_t item) const override {
        const auto question = read(at(item));
        if (!question) return fail(question.error());
        ItemHash hash;
        hash.addText(m_info.task);
        hash.addText(question->document);
        hash.addText(question->instruction);
        hash.addText(question->reference);
        hash.addNumber(question->fact ? 1 : 0);
        return hash.shortHex();
    }

    Result<void> readFile(const std::filesystem::path& path, std::optional<std::int64_t> limit, std::stop_token stop);

  private:
    [[nodiscard]] const Item& at(std::int64_t item) const { return m_items[static_cast<std::size_t>(item)]; }

    Result<LEvalQuestion> read(const Item& item) const {
        LEvalQuestion question;
        question.fact = item.fact;
        for (const auto& [index, text] :
             {std::pair{item.document, &question.document}, std::pair{item.text, &question.instruction},
              std::pair{item.reference, &question.reference}}) {
            auto words = m_spool.read(index);
            if (!words) return fail(words.error());
            *text = std::move(*words);
        }
        return question;
    }

    Result<std::int64_t> keep(std::string_view text) {
        if (auto kept = m_spool.append(text); !kept) return fail(kept.error());
        return m_spool.size() - 1;
    }
    Result<void> addRecord(const JsonRecord& record, std::int64_t line);
    Result<void> addInstruction(const JsonRecord& record, Item item, const std::string& instruction,
                                const std::string& output, std::vector<Item>& items);
    Result<void> hashItems();

    const LEvalTask& m_task;
    BenchmarkInfo m_info;
    RecordSpool m_spool;
    std::vector<Item> m_items;
    std::vector<Item> m_judged;                ///< while the file is read: items that only a judge scores
    std::int64_t m_instructions = 0;           ///< read so far
    std::optional<bool> m_referencesHaveFact;  ///< sci_fi, from the first reference
};

/// A record of another task is asked with the wrong words and scored by the wrong rule. What does not tell is taken.
Result<void> checkTask(const JsonRecord& record, const LEvalTask& task) {
    const auto source = record.textOrNull("source");
    const LEvalTask* other = source && *source ? lEvalTaskOfSource(**source) : nullptr;
    if (other == nullptr || other == &task) return {};
    return record.refuse(
        fmt::format("'source' is '{}', which is a record of leval:{} and not of leval:{}; name that task, or this "
                    "one's file",
                    **source, other->name, task.name));
}

/// What a record's `evaluation` says: a metric, or nothing where only a judge scores it.
Result<std::optional<Metric>> metricOf(const JsonRecord& record, const LEvalTask& task) {
    const auto evaluation = record.text("evaluation");
    if (!evaluation) return fail(evaluation.error());
    if (task.metric != Metric::F1LEval && task.metric != Metric::RougeGeometricRaw) {
        if (*evaluation == "exam") return task.metric;
        return record.refuse(fmt::format("'evaluation' is '{}'; '{}' takes exam", *evaluation, task.name));
    }
    if (*evaluation == "f1") return Metric::F1LEval;
    if (*evaluation == "rouge") return Metric::RougeGeometricRaw;
    if (*evaluation == "LLM" || *evaluation == "human") return std::nullopt;
    return record.refuse(
        fmt::format("'evaluation' is '{}'; '{}' takes f1, rouge, LLM or human", *evaluation, task.name));
}

Result<void> LEval::addInstruction(const JsonRecord& record, Item item, const std::string& instruction,
                                   const std::string& output, std::vector<Item>& items) {
    const std::string field = fmt::format("outputs[{}]", item.instruction);
    std::string what;
    const auto references = lEvalReferences(m_task, output, what);
    if (!references) return record.refuse(fmt::format("'{}' {}", field, what));
    if (m_task.reference == LEvalTask::Reference::LoyaltyAndFact) {
        const bool hasFact = references->size() == 2;
        if (m_referencesHaveFact.value_or(hasFact) != hasFact) {
            return record.refuse(
                fmt::format("'{}' {} a fact, unlike the references before it", field, hasFact ? "has" : "lacks"));
        }
        m_referencesHaveFact = hasFact;
    }
    auto text = keep(instruction);
    if (!text) return fail(text.error());
    item.text = *text;
    for (const std::string& reference : *references) {
        auto kept = keep(reference);
        if (!kept) return fail(kept.error());
        item.reference = *kept;
        items.push_back(item);
        item.fact = true;
    }
    return {};
}

Result<void> LEval::addRecord(const JsonRecord& record, std::int64_t line) {
    if (auto own = checkTask(record, m_task); !own) return own;
    const auto metric = metricOf(record, m_task);
    if (!metric) return fail(metric.error());
    const auto document = record.text("input");
    if (!document) return fail(document.error());
    const auto instructions = record.texts("instructions");
    if (!instructions) return fail(instructions.error());
    const auto outputs = record.texts("outputs");
    if (!outputs) return fail(outputs.error());
    if (instructions->size() != outputs->size()) {
        return record.refuse(fmt::format("'outputs' has {} entries, 'instructions' has {}; each needs its reference",
                                         outputs->size(), instructions->size()));
    }
    if (instructions->empty()) return record.refuse("'instructions' is empty");

    Item item;
    item.line = line;
    item.metric = metric->value_or(m_task.metric);
    auto kept = keep(*document);
    if (!kept) return fail(kept.error());
    item.document = *kept;
    for (std::size_t i = 0; i < instructions->size(); ++i) {
        item.instruction = static_cast<std::int32_t>(i);
        item.topic = static_cast<std::int8_t>(m_instructions++ % 3);
        const auto added =
            addInstruction(record, item, (*instructions)[i], (*outputs)[i], *metric ? m_items : m_judged);
        if (!added) return added;
    }
    return {};
}

Result<void> LEval::readFile(const std::filesystem::path& path, std::optional<std::int64_t> limit,
                             std::stop_token stop) {
    std::int64_t line = 0;
    const auto take = [&](const std::string& text, const std::string& where) -> Result<bool> {
        const auto record = JsonRecord::parse(where, text);
        if (!record) return fail(record.error());
        if (auto added = addRecord(*record, line++); !added) return fail(added.error());
        return !limit || size() < *limit;
    };
    if (const auto read = readLines(path, take, std::move(stop)); !read) return read;
    if (m_items.empty()) m_items = std::move(m_judged);
    m_judged = {};
    if (m_items.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' is empty; an L-Eval file has one JSON object a line", path.string()));
    }
    if (limit && size() > *limit) m_items.resize(static_cast<std::size_t>(*limit));
    return hashItems();
}

/// By name: a number of an enumeration may change.
std::string_view evaluationName(Metric metric) {
    if (metric == Metric::F1LEval) return "f1";
    return metric == Metric::RougeGeometricRaw ? "rouge" : "exam";
}

Result<void> LEval::hashItems() {
    ItemHash hash;
    std::int64_t document = -1;
    for (std::int64_t i = 0; i < size(); ++i) {
        const Item& item = at(i);
        const auto question = read(item);
        if (!question) return fail(question.error());
        hash.addText(id(i));
        // The questions of a document follow one another.
        if (item.document != document) hash.addText(question->document);
        document = item.document;
        hash.addText(question->instruction);
        hash.addText(question->reference);
        hash.addText(evaluationName(item.metric));
    }
    m_info.hash = hash.hex();
    return {};
}

/// The prompts of a task with placeholders: what templateHash is made of.
std::string templateOf(const LEvalTask& task) {
    LEvalQuestion question{"{document}", "{instruction}", "{reference}"};
    PromptOptions chat;
    chat.chat = true;
    std::string text = fmt::format("(N: words of the reference)\n{}\n{}\n\nchat: {}", lEvalSystemPrompt(task),
                                   lEvalPrompt(question, task, {}).text, lEvalPrompt(question, task, chat).text);
    const std::string one = "around 1 words";
    for (std::size_t at = 0; (at = text.find(one, at)) != std::string::npos;) {
        text.replace(at, one.size(), "around N words");
    }
    if (task.reference == LEvalTask::Reference::LoyaltyAndFact) {
        question.instruction = "{instruction} based on the world described in the document.";
        question.fact = true;
        text += fmt::format("\n\nfact: {}", lEvalPrompt(question, task, {}).text);
    }
    return text;
}

}  // namespace

Result<std::shared_ptr<const Benchmark>> openLEval(const BenchmarkSpec& spec) try {
    const auto name = memberOfFamily(spec.task, "leval", lEvalNames());
    if (!name) return fail(name.error());
    if (auto checked = checkTaskOptions(spec); !checked) return fail(checked.error());
    const std::string file = *name + ".jsonl";
    const auto path = findDataFile(spec, {file, "Closed-ended-tasks/" + file, "Open-ended-tasks/" + file});
    if (!path) return fail(path.error());
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());

    const LEvalTask& task = *lEvalTask(*name);
    BenchmarkInfo info;
    info.task = spec.task;
    info.name = dataSetName(*path);
    info.templateText = templateOf(task);
    info.templateHash = sha256Hex(info.templateText);
    info.defaultScore = {ScoreKind::Kind::Generate, 0.0, "generate"};
    const auto benchmark = std::make_shared<LEval>(task, std::move(info), std::move(*spool));
    if (auto read = benchmark->readFile(*path, spec.limit, spec.stop); !read) return fail(read.error());
    return benchmark;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "not enough memory for the index of the items; set a limit");
}

}  // namespace lpes::tasks
