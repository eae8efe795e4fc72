#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/tasks/item_hash.h"
#include "core/tasks/jsonl_record.h"
#include "core/tasks/jsonl_template.h"
#include "core/tasks/packed_fields.h"

namespace lpes::tasks {

namespace {

std::string letter(std::size_t choice) {
    return std::string(1, static_cast<char>('A' + choice));
}

/// Indices of the documents in prompt order: the gold ones together, the first of them at `place`.
std::vector<std::size_t> documentOrder(const JsonlItem& item, std::size_t place) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < item.documents.size(); ++i) {
        if (!std::binary_search(item.gold.begin(), item.gold.end(), i)) order.push_back(i);
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), item.gold.begin(), item.gold.end());
    return order;
}

void appendDocuments(const JsonlItem& item, TaskPrompt& prompt) {
    const std::vector<std::size_t> order = documentOrder(item, static_cast<std::size_t>(prompt.goldIndex));
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0) prompt.text += '\n';
        const std::size_t begin = prompt.text.size();
        for (const char c : item.documents[order[i]]) {
            if (c == kNumberMark) {
                prompt.text += std::to_string(i + 1);
            } else {
                prompt.text += c;
            }
        }
        prompt.records.push_back({begin, prompt.text.size()});
        if (std::binary_search(item.gold.begin(), item.gold.end(), order[i])) {
            prompt.evidence.push_back(prompt.records.back());
        }
    }
}

std::string choiceLines(const JsonlItem& item) {
    std::string lines;
    for (std::size_t i = 0; i < item.choices.size(); ++i) {
        lines += fmt::format("{}{}. {}", i > 0 ? "\n" : "", letter(i), item.choices[i]);
    }
    return lines;
}

}  // namespace

int JsonlItem::places() const {
    return gold.empty() ? 1 : static_cast<int>(documents.size() - gold.size() + 1);
}

std::string packItem(const JsonlItem& item) {
    FieldWriter fields;
    fields.text(item.id.value_or(""));
    fields.text(item.group);
    fields.text(item.form.layout);
    fields.text(item.form.scoring);
    fields.number(static_cast<std::uint64_t>(item.form.maxNewTokens));
    fields.text(item.form.system);
    fields.texts(item.documents);
    fields.number(item.gold.size());
    for (const std::size_t index : item.gold) fields.number(index);
    fields.text(item.question);
    fields.texts(item.answers);
    fields.texts(item.choices);
    fields.number(item.right);
    return fields.bytes();
}

std::string spoolRecord(const JsonlItem& item) {
    FieldWriter fields;
    fields.text(item.evidenceHash);
    return packItem(item) + fields.bytes();
}

JsonlItem unpackJsonlItem(std::string_view bytes) {
    FieldReader fields(bytes);
    JsonlItem item;
    if (std::string id = fields.text(); !id.empty()) item.id = std::move(id);
    item.group = fields.text();
    item.form.layout = fields.text();
    item.form.scoring = fields.text();
    item.form.maxNewTokens = static_cast<int>(fields.number());
    item.form.system = fields.text();
    item.documents = fields.texts();
    item.gold.resize(fields.number());
    for (std::size_t& index : item.gold) index = fields.number();
    item.question = fields.text();
    item.answers = fields.texts();
    item.choices = fields.texts();
    item.right = fields.number();
    item.evidenceHash = fields.text();
    return item;
}

std::string contentHash(const JsonlItem& item) {
    ItemHash hash;
    hash.addText("jsonl");
    hash.addText(item.question);
    hash.addTexts(item.answers);
    hash.addTexts(item.choices);
    hash.addNumber(item.right);
    hash.addText(item.evidenceHash);
    return hash.shortHex();
}

TaskPrompt renderJsonlPrompt(const JsonlItem& item, int goldIndex) {
    assert(goldIndex >= 0 && goldIndex < item.places());
    const auto layout = PromptTemplate::parse(item.form.layout, kLayoutNames);
    assert(layout);
    TaskPrompt prompt;
    prompt.goldIndex = goldIndex;
    prompt.system = item.form.system;
    std::size_t behindDocuments = 0;
    layout->visit([&](const std::string& literal) { prompt.text += literal; },
                  [&](const std::string& name) {
                      if (name == "question") {
                          // Without documents, the question begins where it stands.
                          if (item.documents.empty()) behindDocuments = prompt.text.size();
                          prompt.text += item.question;
                      } else if (name == "choices") {
                          prompt.text += choiceLines(item);
                      } else {
                          appendDocuments(item, prompt);
                          behindDocuments = prompt.text.size();
                      }
                  });
    prompt.instruction = {0, prompt.records.empty() ? behindDocuments : prompt.records.front().begin};
    const std::size_t begin = prompt.text.find_first_not_of(" \t\r\n", behindDocuments);
    prompt.question = {std::min(begin, prompt.text.size()), prompt.text.size()};

    if (item.choices.empty()) {
        const Metric metric = parseMetric(item.form.scoring).value();
        prompt.answer = " " + item.answers.front();
        prompt.references = item.answers;
        prompt.rule = {metric, item.form.maxNewTokens, isBinary(metric)};
        return prompt;
    }
    // What the prompt shows with letters is answered with a letter.
    const bool letters = layout->count("choices") > 0;
    for (std::size_t i = 0; i < item.choices.size(); ++i) {
        prompt.choices.push_back(" " + (letters ? letter(i) : item.choices[i]));
    }
    prompt.answer = prompt.choices[item.right];
    prompt.references = {prompt.answer.substr(1)};
    prompt.rule = {Metric::Likeliest, item.form.maxNewTokens, true};
    return prompt;
}

}  // namespace lpes::tasks
