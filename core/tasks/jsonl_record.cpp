#include "core/tasks/jsonl_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/tasks/item_hash.h"
#include "core/tasks/jsonl_template.h"

namespace lpes::tasks {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kDocumentNames{"index", "title", "text"};
constexpr std::array<std::string_view, 5> kFormKeys{"template", "document", "scoring", "max_new_tokens", "system"};
constexpr std::array<std::string_view, 13> kItemKeys{"id",      "group",          "documents", "gold",     "question",
                                                     "answers", "choices",        "answer",    "template", "document",
                                                     "scoring", "max_new_tokens", "system"};
constexpr std::string_view kUntitledDocument = "Document [{index}] {text}";
constexpr std::size_t kMostChoices = 26;
constexpr std::int64_t kMostNewTokens = 65'536;

/// The text at `key` of the object; a fault where it is no text or, unless allowed, empty.
std::optional<std::string> textAt(const json& object, std::string_view key, const FaultSink& fault,
                                  bool mayBeEmpty = false) {
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    if (!found->is_string()) {
        fault(std::string(key), "is not a text");
        return std::nullopt;
    }
    auto text = found->get<std::string>();
    if (text.empty() && !mayBeEmpty) {
        fault(std::string(key), "is empty");
        return std::nullopt;
    }
    return text;
}

/// The texts of the list at `key`, `least` of them or more, none empty.
std::vector<std::string> textsAt(const json& object, std::string_view key, std::size_t least, const FaultSink& fault) {
    std::vector<std::string> texts;
    const auto found = object.find(key);
    if (found == object.end()) return texts;
    if (!found->is_array()) {
        fault(std::string(key), "is not a list");
        return texts;
    }
    if (found->size() < least)
        fault(std::string(key), fmt::format("has {} entries, at least {} are needed", found->size(), least));
    for (std::size_t i = 0; i < found->size(); ++i) {
        const json& text = (*found)[i];
        if (!text.is_string() || text.get_ref<const std::string&>().empty()) {
            fault(fmt::format("{}[{}]", key, i), text.is_string() ? "is empty" : "is not a text");
            continue;
        }
        texts.push_back(text.get<std::string>());
    }
    return texts;
}

template <std::size_t N>
void checkKeys(const json& object, const std::array<std::string_view, N>& known, const FaultSink& fault) {
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        fault(key, "is not known; remove it or mend its spelling");
    }
}

/// The whole number at `key`, between the bounds.
std::optional<std::int64_t> numberOf(const json& value, std::int64_t low, std::int64_t high) {
    // A number beyond 63 bits is unsigned in nlohmann's types, and above any bound here.
    if (!value.is_number_integer()) return std::nullopt;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high))
        return std::nullopt;
    const auto number = value.get<std::int64_t>();
    if (number < low || number > high) return std::nullopt;
    return number;
}

struct Document {
    std::optional<std::string> title;
    std::string text;
};

std::vector<Document> documentsOf(const json& object, const FaultSink& fault) {
    std::vector<Document> documents;
    const auto found = object.find("documents");
    if (found == object.end()) return documents;
    if (!found->is_array()) {
        fault("documents", "is not a list");
        return documents;
    }
    static constexpr std::array<std::string_view, 2> kKeys{"title", "text"};
    for (std::size_t i = 0; i < found->size(); ++i) {
        const json& entry = (*found)[i];
        const std::string here = fmt::format("documents[{}]", i);
        Document& document = documents.emplace_back();
        if (entry.is_string()) {
            document.text = entry.get<std::string>();
        } else if (entry.is_object()) {
            const FaultSink inside = [&](std::string field, std::string what) {
                fault(here + "." + field, std::move(what));
            };
            checkKeys(entry, kKeys, inside);
            document.title = textAt(entry, "title", inside, true);
            if (!entry.contains("text")) inside("text", "is missing");
            document.text = textAt(entry, "text", inside, true).value_or("");
        } else {
            fault(here, "is neither a text nor an object with 'text' and 'title'");
        }
    }
    return documents;
}

/// The documents as they stand in the prompt, all but their numbers.
std::vector<std::string> formatted(const std::vector<Document>& documents, const std::string& format,
                                   const FaultSink& fault) {
    static const PromptTemplate titled = PromptTemplate::parse(kTitledDocument, kDocumentNames).value();
    static const PromptTemplate untitled = PromptTemplate::parse(kUntitledDocument, kDocumentNames).value();
    const auto own = PromptTemplate::parse(format, kDocumentNames);
    if (!own) return {};  // said where the form was read
    const bool needsTitle = own->count("title") > 0;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const Document& document = documents[i];
        if (needsTitle && !document.title) {
            fault(fmt::format("documents[{}]", i), "has no title, which the document format asks for");
        }
        const PromptTemplate& used = !format.empty() ? *own : document.title ? titled : untitled;
        std::string& text = texts.emplace_back();
        used.visit([&](const std::string& literal) { text += literal; },
                   [&](const std::string& name) {
                       if (name == "index") {
                           text += kNumberMark;
                       } else {
                           text += name == "title" ? document.title.value_or("") : document.text;
                       }
                   });
    }
    return texts;
}

std::vector<std::size_t> goldOf(const json& object, std::size_t documents, const FaultSink& fault) {
    const auto found = object.find("gold");
    if (found == object.end()) return {};
    const json list = found->is_array() ? *found : json::array({*found});
    if (list.empty()) fault("gold", "is an empty list; leave it out where no document holds the evidence");
    std::set<std::size_t> gold;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string here = found->is_array() ? fmt::format("gold[{}]", i) : "gold";
        const auto index = numberOf(list[i], 0, static_cast<std::int64_t>(documents) - 1);
        if (!index) {
            fault(here,
                  fmt::format("is {}, not the index of one of the {} documents (from 0)", list[i].dump(), documents));
        } else if (!gold.insert(static_cast<std::size_t>(*index)).second) {
            fault(here, fmt::format("names document {} again", *index));
        }
    }
    return {gold.begin(), gold.end()};
}

/// Of the documents that hold the evidence, or of all where the file does not say which do. Their order in the file
/// does not count, nor how they are written into the prompt.
std::string evidenceHashOf(const std::vector<Document>& documents, const std::vector<std::size_t>& gold) {
    std::vector<std::pair<std::string_view, std::string_view>> evidence;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        if (!gold.empty() && !std::ranges::binary_search(gold, i)) continue;
        evidence.emplace_back(documents[i].title ? std::string_view(*documents[i].title) : std::string_view(),
                              documents[i].text);
    }
    std::ranges::sort(evidence);
    ItemHash hash;
    for (const auto& [title, text] : evidence) {
        hash.addText(title);
        hash.addText(text);
    }
    return hash.shortHex();
}

/// Does every answer tell right from wrong under the item's rule?
void checkReferences(const json& object, const JsonlItem& item, const FaultSink& fault) {
    const auto metric = parseMetric(item.form.scoring);
    const auto given = object.find("answers");
    // What is wrong with the rule or the list was said where they were read.
    if (!metric || given == object.end() || given->size() != item.answers.size()) return;
    for (std::size_t i = 0; i < item.answers.size(); ++i) {
        if (std::string what = referenceFault(*metric, item.answers, i); !what.empty())
            fault(fmt::format("answers[{}]", i), std::move(what));
    }
}

void readAnswers(const json& object, JsonlItem& item, const FaultSink& fault) {
    if (!object.contains("choices")) {
        item.answers = textsAt(object, "answers", 1, fault);
        if (!object.contains("answers")) fault("answers", "is missing");
        if (object.contains("answer")) fault("answer", "is for 'choices'; without them, give 'answers'");
        checkReferences(object, item, fault);
        return;
    }
    item.choices = textsAt(object, "choices", 2, fault);
    if (item.choices.size() > kMostChoices) {
        fault("choices", fmt::format("has {} entries, at most {} are accepted", item.choices.size(), kMostChoices));
    }
    if (object.contains("answers"))
        fault("answers", "does not go with 'choices'; give 'answer', the right one's index");
    if (object.contains("scoring")) fault("scoring", "does not go with 'choices', of which the likeliest counts");
    const auto right = object.find("answer");
    if (right == object.end()) {
        fault("answer", "is missing: the index of the right choice (from 0)");
    } else if (const auto index = numberOf(*right, 0, static_cast<std::int64_t>(item.choices.size()) - 1)) {
        item.right = static_cast<std::size_t>(*index);
    } else {
        fault("answer", fmt::format("is {}, not the index of one of the {} choices (from 0)", right->dump(),
                                    item.choices.size()));
    }
}

/// What of `form` the object sets.
void readForm(const json& object, JsonlForm& form, const FaultSink& fault) {
    const auto readTemplate = [&](std::string_view key, std::string& into, const auto& names) {
        const auto text = textAt(object, key, fault);
        if (!text) return;
        const auto parsed = PromptTemplate::parse(*text, names);
        if (!parsed) fault(std::string(key), parsed.error());
        into = *text;
    };
    readTemplate("template", form.layout, kLayoutNames);
    readTemplate("document", form.document, kDocumentNames);
    const auto document = PromptTemplate::parse(form.document, kDocumentNames);
    if (object.contains("document") && document && document->count("text") != 1) {
        fault("document", fmt::format("has {{text}} {} times; one is needed, or the evidence is not in the prompt",
                                      document->count("text")));
    }
    if (const auto scoring = textAt(object, "scoring", fault)) {
        const auto metric = parseMetric(*scoring);
        if (!metric) {
            fault("scoring", fmt::format("is not understood: {}", metric.error().message));
        } else if (*metric == Metric::Likeliest) {
            fault("scoring", "is for 'choices'; give those, and leave 'scoring' out");
        }
        form.scoring = *scoring;
    }
    if (const auto tokens = object.find("max_new_tokens"); tokens != object.end()) {
        const auto number = numberOf(*tokens, 1, kMostNewTokens);
        if (!number)
            fault("max_new_tokens", fmt::format("is {}, not a number from 1 to {}", tokens->dump(), kMostNewTokens));
        form.maxNewTokens = static_cast<int>(number.value_or(form.maxNewTokens));
    }
    form.system = textAt(object, "system", fault, true).value_or(form.system);
}

/// Has the template what the item has?
void checkLayout(const JsonlItem& item, bool documents, const FaultSink& fault) {
    const auto layout = PromptTemplate::parse(item.form.layout, kLayoutNames);
    if (!layout) return;  // said where the form was read
    const auto check = [&](std::string_view name, int least, int most) {
        const int count = layout->count(name);
        if (count >= least && count <= most) return;
        fault("template", fmt::format("has {{{}}} {} times; {} needed", name, count,
                                      most == 0    ? "none is"
                                      : least == 1 ? "one is"
                                                   : "at most one is"));
    };
    check("question", 1, 1);
    check("documents", documents ? 1 : 0, documents ? 1 : 0);
    check("choices", 0, item.choices.empty() ? 0 : 1);
}

}  // namespace

void readDefaults(const json& object, JsonlForm& form, const FaultSink& fault) {
    checkKeys(object, kFormKeys, fault);
    readForm(object, form, fault);
}

std::string defaultLayout(bool documents, bool choices) {
    return fmt::format("{}Question: {{question}}\n{}Answer:", documents ? "{documents}\n\n" : "",
                       choices ? "{choices}\n" : "");
}

JsonlItem readJsonlItem(const json& object, const JsonlForm& defaults, const FaultSink& fault) {
    JsonlItem item;
    item.form = defaults;
    checkKeys(object, kItemKeys, fault);
    readForm(object, item.form, fault);
    item.id = textAt(object, "id", fault);
    item.group = textAt(object, "group", fault, true).value_or("");
    const std::vector<Document> documents = documentsOf(object, fault);
    item.documents = formatted(documents, item.form.document, fault);
    item.gold = goldOf(object, documents.size(), fault);
    item.evidenceHash = evidenceHashOf(documents, item.gold);
    item.question = textAt(object, "question", fault).value_or("");
    if (!object.contains("question")) fault("question", "is missing");
    readAnswers(object, item, fault);
    if (item.form.layout.empty()) {
        item.form.layout = defaultLayout(!documents.empty(), !item.choices.empty());
    } else {
        checkLayout(item, !documents.empty(), fault);
    }
    return item;
}

}  // namespace lpes::tasks
