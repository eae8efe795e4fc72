#include <fmt/format.h>

#include <cassert>

#include "core/base/checksum.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/mdqa.h"
#include "core/tasks/packed_fields.h"

namespace lpes::tasks {

namespace {

constexpr std::string_view kInstruction =
    "Write a high-quality answer for the given question using only the provided search results (some of which might be "
    "irrelevant).\n\n";
constexpr int kMaxNewTokens = 100;

void pack(FieldWriter& fields, const MdqaDocument& document) {
    fields.text(document.title);
    fields.text(document.text);
}

MdqaDocument unpackDocument(FieldReader& fields) {
    MdqaDocument document;
    document.title = fields.text();
    document.text = fields.text();
    return document;
}

}  // namespace

std::string packItem(const MdqaItem& item) {
    FieldWriter fields;
    fields.text(item.id);
    fields.text(item.question);
    fields.texts(item.answers);
    pack(fields, item.gold);
    fields.number(item.distractors.size());
    for (const MdqaDocument& document : item.distractors) pack(fields, document);
    return fields.bytes();
}

MdqaItem unpackMdqaItem(std::string_view bytes) {
    FieldReader fields(bytes);
    MdqaItem item;
    item.id = fields.text();
    item.question = fields.text();
    item.answers = fields.texts();
    item.gold = unpackDocument(fields);
    item.distractors.resize(fields.number());
    for (MdqaDocument& document : item.distractors) document = unpackDocument(fields);
    return item;
}

std::string contentHash(const MdqaItem& item) {
    ItemHash hash;
    hash.addText("mdqa");
    hash.addText(item.question);
    hash.addTexts(item.answers);
    hash.addText(item.gold.title);
    hash.addText(item.gold.text);
    return hash.shortHex();
}

TaskPrompt renderMdqaPrompt(const MdqaItem& item, int goldIndex) {
    const auto gold = static_cast<std::size_t>(goldIndex);
    assert(goldIndex >= 0 && gold <= item.distractors.size());
    TaskPrompt prompt;
    prompt.goldIndex = goldIndex;
    prompt.instruction = {0, kInstruction.size()};
    prompt.text = kInstruction;
    for (std::size_t i = 0; i <= item.distractors.size(); ++i) {
        const MdqaDocument& document = i == gold ? item.gold : item.distractors[i < gold ? i : i - 1];
        const std::size_t begin = prompt.text.size();
        prompt.text += fmt::format("Document [{}](Title: {}) {}", i + 1, document.title, document.text);
        prompt.records.push_back({begin, prompt.text.size()});
        prompt.text += '\n';
    }
    prompt.text += '\n';
    prompt.question.begin = prompt.text.size();
    prompt.text += fmt::format("Question: {}\nAnswer:", item.question);
    prompt.question.end = prompt.text.size();
    prompt.evidence = {prompt.records[gold]};
    prompt.answer = " " + item.answers.front();
    prompt.references = item.answers;
    prompt.rule = {Metric::BestSubspan, kMaxNewTokens, true};
    return prompt;
}

BenchmarkInfo mdqaInfo(const std::string& task, int docs) {
    const TaskPrompt sample =
        renderMdqaPrompt({"", "{question}", {"{answer}"}, {"{title_1}", "{text_1}"}, {{"{title_2}", "{text_2}"}}}, 0);
    BenchmarkInfo info;
    info.task = task;
    info.templateText = sample.text + sample.answer;
    info.templateHash = sha256Hex(info.templateText);
    info.movable = docs > 1;
    info.defaultScore = ScoreKind{ScoreKind::Kind::Generate, 0.0, "generate"};
    return info;
}

}  // namespace lpes::tasks
