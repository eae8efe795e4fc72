#include "core/tasks/zero_scrolls.h"

#include <fmt/format.h>

#include <new>
#include <unordered_map>
#include <utility>

#include "core/base/checksum.h"
#include "core/tasks/answer_text.h"
#include "core/tasks/benchmark.h"
#include "core/tasks/data_file.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

/// Where an item's texts stand in the spool, and where its prompt's parts begin.
struct Item {
    std::string id;
    std::string inputHash;                 ///< to hold lines of the same id against each other
    std::int64_t input = 0;                ///< the separator is the next record
    std::vector<std::int64_t> references;  ///< one record each
    std::size_t documentBegin = 0, documentEnd = 0, queryBegin = 0, queryEnd = 0;
};

constexpr std::string_view kTemplate =
    "{instruction}\n\n{document}{query}{response header}\n"
    "chat, not summarization: the instruction ends in ' Do not provide any explanation.'\n"
    "chat: without the response header\n"
    "cut: {instruction}\n\n{beginning of the document}{truncation_seperator}{query}{response header}";

class ZeroScrolls : public Benchmark {
  public:
    ZeroScrolls(const ZeroScrollsTask& task, BenchmarkInfo info, RecordSpool spool)
        : m_task(task), m_info(std::move(info)), m_spool(std::move(spool)) {}

    [[nodiscard]] const BenchmarkInfo& info() const override { return m_info; }
    [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(m_items.size()); }
    [[nodiscard]] std::string id(std::int64_t item) const override { return at(item).id; }
    [[nodiscard]] int places(std::int64_t) const override { return 1; }

    [[nodiscard]] Result<TaskPrompt> prompt(std::int64_t item, int goldIndex,
                                            const PromptOptions& options) const override {
        auto text = read(at(item));
        if (!text) return fail(text.error());
        TaskPrompt prompt = zeroScrollsPrompt(std::move(*text), m_task, options);
        prompt.goldIndex = goldIndex;
        prompt.rule = {m_task.metric, m_task.maxNewTokens, m_task.metric == Metric::ChoiceLetter};
        for (const std::int64_t reference : at(item).references) {
            auto words = m_spool.read(reference);
            if (!words) return fail(words.error());
            prompt.references.push_back(std::move(*words));
        }
        if (!prompt.references.empty()) prompt.answer = continuation(prompt.text, prompt.references.front());
        return prompt;
    }

    [[nodiscard]] Result<std::string> contentHash(std::int64_t item) const override {
        // Instruction, document and query. References are spread over the lines of a file, which a copy may cut short.
        const auto input = m_spool.read(at(item).input);
        if (!input) return fail(input.error());
        ItemHash hash;
        hash.addText(m_info.task);
        hash.addText(*input);
        return hash.shortHex();
    }

    Result<void> readFile(const std::filesystem::path& path, const BenchmarkSpec& spec);

  private:
    [[nodiscard]] const Item& at(std::int64_t item) const { return m_items[static_cast<std::size_t>(item)]; }

    Result<ZeroScrollsText> read(const Item& item) const {
        ZeroScrollsText text;
        auto input = m_spool.read(item.input);
        if (!input) return fail(input.error());
        auto separator = m_spool.read(item.input + 1);
        if (!separator) return fail(separator.error());
        return ZeroScrollsText{std::move(*input), std::move(*separator), item.documentBegin,
                               item.documentEnd,  item.queryBegin,       item.queryEnd};
    }

    Result<void> addRecord(const JsonRecord& record, const BenchmarkSpec& spec);
    Result<Item> newItem(const JsonRecord& record, std::string id);
    Result<void> addReference(const JsonRecord& record, Item& item, const BenchmarkSpec& spec);
    Result<void> hashItems();

    const ZeroScrollsTask& m_task;
    BenchmarkInfo m_info;
    RecordSpool m_spool;
    std::vector<Item> m_items;
    std::unordered_map<std::string, std::size_t> m_itemOfId;  ///< while the file is read
};

Result<Item> ZeroScrolls::newItem(const JsonRecord& record, std::string id) {
    const auto text = readZeroScrollsText(record, m_task);
    if (!text) return fail(text.error());
    Item item;
    item.id = std::move(id);
    item.inputHash = sha256Hex(text->input);
    item.input = m_spool.size();
    item.documentBegin = text->documentBegin;
    item.documentEnd = text->documentEnd;
    item.queryBegin = text->queryBegin;
    item.queryEnd = text->queryEnd;
    for (const std::string& part : {text->input, text->separator}) {
        if (auto kept = m_spool.append(part); !kept) return fail(kept.error());
    }
    return item;
}

Result<void> ZeroScrolls::addReference(const JsonRecord& record, Item& item, const BenchmarkSpec& spec) {
    const auto reference = record.textOrNull("output");
    if (!reference) return fail(reference.error());
    if (!*reference || strippedAsPython(**reference).empty()) {
        if (spec.promptsOnly) return {};
        return record.refuse(fmt::format(
            "item '{}' has no reference in 'output' (those of ZeroSCROLLS's test files are private), so that "
            "it cannot be scored; use the validation file",
            item.id));
    }
    item.references.push_back(m_spool.size());
    return m_spool.append(**reference);
}

Result<void> ZeroScrolls::addRecord(const JsonRecord& record, const BenchmarkSpec& spec) {
    const auto name = record.text("id");
    if (!name) return fail(name.error());
    if (name->empty()) return record.refuse("'id' is empty");
    std::string id = fmt::format("{}/{}", m_task.name, *name);
    const auto [known, isNew] = m_itemOfId.emplace(id, m_items.size());
    if (!isNew) {
        const auto input = record.text("input");
        if (!input) return fail(input.error());
        if (sha256Hex(*input) != m_items[known->second].inputHash) {
            return record.refuse(fmt::format("'id' is '{}', which an earlier line has with another 'input'", *name));
        }
        return addReference(record, m_items[known->second], spec);
    }
    auto item = newItem(record, std::move(id));
    if (!item) return fail(item.error());
    m_items.push_back(std::move(*item));
    return addReference(record, m_items.back(), spec);
}

Result<void> ZeroScrolls::readFile(const std::filesystem::path& path, const BenchmarkSpec& spec) {
    // The whole file, whatever the limit: a later line may hold another reference of an item that is in.
    const auto take = [&](const std::string& text, const std::string& where) -> Result<bool> {
        const auto record = JsonRecord::parse(where, text);
        if (!record) return fail(record.error());
        if (auto added = addRecord(*record, spec); !added) return fail(added.error());
        return true;
    };
    if (const auto read = readLines(path, take, spec.stop); !read) return read;
    if (m_items.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' is empty; a ZeroSCROLLS file has one JSON object a line", path.string()));
    }
    if (spec.limit && size() > *spec.limit) m_items.resize(static_cast<std::size_t>(*spec.limit));
    m_itemOfId.clear();
    return hashItems();
}

Result<void> ZeroScrolls::hashItems() {
    ItemHash hash;
    for (const Item& item : m_items) {
        const auto text = read(item);
        if (!text) return fail(text.error());
        hash.addText(item.id);
        hash.addText(text->input);
        hash.addText(text->separator);
        for (const std::size_t index : {item.documentBegin, item.documentEnd, item.queryBegin, item.queryEnd}) {
            hash.addNumber(index);
        }
        hash.addNumber(item.references.size());
        for (const std::int64_t reference : item.references) {
            const auto words = m_spool.read(reference);
            if (!words) return fail(words.error());
            hash.addText(*words);
        }
    }
    m_info.hash = hash.hex();
    return {};
}

}  // namespace

Result<std::shared_ptr<const Benchmark>> openZeroScrolls(const BenchmarkSpec& spec) try {
    const auto name = memberOfFamily(spec.task, "zeroscrolls", zeroScrollsNames());
    if (!name) return fail(name.error());
    if (auto checked = checkTaskOptions(spec); !checked) return fail(checked.error());
    const auto path = findDataFile(spec, {*name + ".jsonl", *name + "/validation.jsonl", *name + "/test.jsonl"});
    if (!path) return fail(path.error());
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());

    const std::string file = dataSetName(*path);
    BenchmarkInfo info;
    info.task = spec.task;
    info.name = file.starts_with(*name) ? file : fmt::format("{}-{}", *name, file);
    info.templateText = kTemplate;
    info.templateHash = sha256Hex(kTemplate);
    info.defaultScore = {ScoreKind::Kind::Generate, 0.0, "generate"};
    const auto benchmark = std::make_shared<ZeroScrolls>(*zeroScrollsTask(*name), std::move(info), std::move(*spool));
    if (auto read = benchmark->readFile(*path, spec); !read) return fail(read.error());
    return benchmark;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "not enough memory for the index of the items; set a limit");
}

}  // namespace lpes::tasks
