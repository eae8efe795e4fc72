#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/tasks/l_eval.h"
#include "core/tasks/text_units.h"

namespace lpes::tasks {

namespace {

using Layout = LEvalTask::Layout;
using Reference = LEvalTask::Reference;

// datasets_closed_ended and datasets_open_ended of Baselines/LEval_config.py.
constexpr std::array<LEvalTask, 20> kTasks{{
    {"coursera", Layout::Question, Metric::ExamSomeLetters, Reference::Letters, false, "coursera*"},
    {"gsm100", Layout::Examples, Metric::ExamMath},
    {"quality", Layout::Question, Metric::ExamOneLetter, Reference::Letters, false, "quality_raw"},
    {"topic_retrieval_longchat", Layout::Topics, Metric::ExamLEval, Reference::AsIs, false, "topic_retrieval"},
    {"tpo", Layout::Question, Metric::ExamOneLetter, Reference::Letters, false, "toefl_tpo"},
    {"codeU", Layout::Examples, Metric::ExamCode, Reference::AsIs, true},
    {"sci_fi", Layout::Question, Metric::ExamJudgement, Reference::LoyaltyAndFact, false, "SFGram-dataset"},
    {"financial_qa", Layout::Instruction, Metric::F1LEval, Reference::AsIs, false, "financial"},
    {"gov_report_summ", Layout::Instruction, Metric::RougeGeometricRaw},
    {"legal_contract_qa", Layout::Instruction, Metric::F1LEval},
    {"meeting_summ", Layout::Instruction, Metric::RougeGeometricRaw},
    {"multidoc_qa", Layout::Instruction, Metric::F1LEval},
    {"narrative_qa", Layout::Instruction, Metric::F1LEval},
    {"natural_question", Layout::Instruction, Metric::F1LEval, Reference::AsIs, false, "wiki"},
    {"news_summ", Layout::Instruction, Metric::RougeGeometricRaw},
    {"paper_assistant", Layout::Instruction, Metric::RougeGeometricRaw, Reference::AsIs, false, "paper_review"},
    {"patent_summ", Layout::Instruction, Metric::RougeGeometricRaw},
    {"review_summ", Layout::Instruction, Metric::RougeGeometricRaw},
    {"scientific_qa", Layout::Instruction, Metric::F1LEval},
    {"tv_show_summ", Layout::Instruction, Metric::RougeGeometricRaw},
}};

// get_sys_prompt of Baselines/LEval_config.py, spelling included.
constexpr std::string_view kGsm =
    "Given several question answer pairs, you need to follow a similar format to answer the last question. Make sure "
    "the response is end with The answer is _ . ";
constexpr std::string_view kTopics =
    "Below is a record of our previous conversation on many different topics. You are the ASSISTANT, and I am the "
    "USER. "
    "At the beginning of each topic, the USER will say 'I would like to discuss the topic of <TOPIC>'. Memorize each "
    "<TOPIC>. At the end of the record, I will ask you to retrieve the first/second/third topic names. Now the record "
    "start. ";
constexpr std::string_view kCoursera =
    "Now you are given a very long document. Please follow the instruction based on this document. For multi-choice "
    "questions, there could be a sinlge correct option or multiple correct options. Please only provide the letter "
    "corresponding to the answer (like A or AB) when answering. ";
constexpr std::string_view kCode =
    "Now you are given a code base consisting of a large amount of functions and the corresponding comments. In the "
    "end, I will call some functions defined in the code base. Please carefully read these codes and comments and "
    "answer the question.";
constexpr std::string_view kSciFi =
    "Now you are given a scientific fiction. I will ask you some questions and the answer should be \"True\" or "
    "\"False\". Notice that you should answer the question based on the evidence in the document instead of your "
    "background knowledge.";
constexpr std::string_view kExam =
    "Now you are given a very long document. Please follow the instruction based on this document. For multi-choice "
    "questions, there is only a sinlge correct option. Please only provide the letter corresponding to the answer "
    "(like A or B) when answering. For other questions, please directly give the concise and accurate answer. ";
constexpr std::string_view kOpen =
    "Now you are given a very long document. Please follow the instruction after this document. These instructions may "
    "include summarizing a document, answering questions based on the document, or writing a required paragraph. ";

std::optional<std::vector<std::string>> letters(std::string_view output, std::string& what) {
    std::string found;
    // process_gt_mc: the letters A to D of the first word.
    for (const char character : firstWordAsPython(output)) {
        if (character >= 'A' && character <= 'D') found += character;
    }
    if (found.empty()) {
        what = fmt::format("is '{}', which names none of the choices A to D", output.substr(0, 40));
        return std::nullopt;
    }
    return std::vector{found};
}

std::optional<std::vector<std::string>> loyaltyAndFact(std::string_view output, std::string& what) {
    // process_gt_judge lowers the text first; these references are ASCII.
    std::string lower(output);
    for (char& character : lower) {
        if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
    }
    constexpr std::string_view kFact = "[fact:";
    const std::size_t at = lower.find(kFact);
    std::vector<std::string> references{std::string(strippedAsPython(lower.substr(0, at)))};
    if (at != std::string::npos) {
        const std::size_t close = lower.find(']', at);
        if (close == std::string::npos) {
            what = fmt::format("is '{}', where a bracket is open; 'True [fact: False]' is expected", output);
            return std::nullopt;
        }
        const std::size_t begin = at + kFact.size();
        references.emplace_back(strippedAsPython(std::string_view(lower).substr(begin, close - begin)));
    }
    for (const std::string& reference : references) {
        if (reference != "true" && reference != "false") {
            what = fmt::format("is '{}'; 'True [fact: False]' is expected", output.substr(0, 80));
            return std::nullopt;
        }
    }
    return references;
}

}  // namespace

const LEvalTask* lEvalTask(std::string_view name) {
    const auto* found = std::find_if(kTasks.begin(), kTasks.end(), [&](const auto& task) { return task.name == name; });
    return found == kTasks.end() ? nullptr : found;
}

const LEvalTask* lEvalTaskOfSource(std::string_view source) {
    for (const LEvalTask& task : kTasks) {
        const std::string_view own = task.source.empty() ? task.name : task.source;
        const bool alike = own.ends_with('*') ? source.starts_with(own.substr(0, own.size() - 1)) : source == own;
        if (alike || source == task.name) return &task;
    }
    return nullptr;
}

std::vector<std::string> lEvalNames() {
    std::vector<std::string> names;
    for (const LEvalTask& task : kTasks) names.emplace_back(task.name);
    return names;
}

std::string_view lEvalSystemPrompt(const LEvalTask& task) {
    if (task.name == "gsm100") return kGsm;
    if (task.name == "coursera") return kCoursera;
    if (task.name == "codeU") return kCode;
    if (task.name == "sci_fi") return kSciFi;
    if (task.layout == Layout::Topics) return kTopics;
    return task.layout == Layout::Instruction ? kOpen : kExam;
}

std::optional<std::vector<std::string>> lEvalReferences(const LEvalTask& task, std::string_view output,
                                                        std::string& what) {
    if (strippedAsPython(output).empty()) {
        what = "is empty";
        return std::nullopt;
    }
    switch (task.reference) {
        case Reference::Letters:
            return letters(output, what);
        case Reference::LoyaltyAndFact:
            return loyaltyAndFact(output, what);
        case Reference::AsIs:
            break;
    }
    return std::vector{std::string(output)};
}

}  // namespace lpes::tasks
