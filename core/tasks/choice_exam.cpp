#include "core/tasks/choice_exam.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "core/base/checksum.h"
#include "core/tasks/exam_files.h"
#include "core/tasks/item_hash.h"
#include "core/tasks/record_spool.h"

namespace lpes::tasks {

namespace {

constexpr int kOfficialShots = 5;
constexpr std::size_t kMostColumns = 16;

/// Where a subject's rows stand in the spool.
struct Subject {
    std::string name;
    std::vector<std::int64_t> shots, questions;
};
struct Item {
    std::uint32_t subject = 0, row = 0;
};

class ChoiceExam : public Benchmark {
  public:
    ChoiceExam(std::shared_ptr<const ExamFormat> format, RecordSpool spool, int shots)
        : m_format(std::move(format)), m_spool(std::move(spool)), m_shots(shots) {}

    [[nodiscard]] const BenchmarkInfo& info() const override { return m_info; }
    [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(m_items.size()); }
    [[nodiscard]] std::string id(std::int64_t item) const override {
        return fmt::format("{}/{}", subjectOf(item).name, at(item).row);
    }
    [[nodiscard]] std::string group(std::int64_t item) const override { return subjectOf(item).name; }
    [[nodiscard]] int places(std::int64_t) const override { return 1; }
    [[nodiscard]] Result<std::string> contentHash(std::int64_t item) const override;
    [[nodiscard]] Result<TaskPrompt> prompt(std::int64_t item, int goldIndex,
                                            const PromptOptions& options) const override;

    Result<void> read(const ExamFiles& files, const std::vector<std::string>& subjects, const std::string& split,
                      std::optional<std::int64_t> limit);

  private:
    /// Asked text and letter of a row.
    struct Row {
        std::string text;
        char answer = 'A';
    };

    [[nodiscard]] const Item& at(std::int64_t item) const { return m_items[static_cast<std::size_t>(item)]; }
    [[nodiscard]] const Subject& subjectOf(std::int64_t item) const { return m_subjects[at(item).subject]; }

    [[nodiscard]] Result<Row> row(std::int64_t record) const {
        auto text = m_spool.read(record);
        if (!text) return fail(text.error());
        const char answer = text->back();
        text->pop_back();
        return Row{std::move(*text), answer};
    }
    [[nodiscard]] std::string solved(const Row& row) const {
        return fmt::format("{}{}{}\n\n", row.text, m_format->answerPrefix(), row.answer);
    }
    [[nodiscard]] TaskPrompt assemble(const Subject& subject, const std::vector<std::string>& examples,
                                      std::size_t count, const Row& asked) const;
    Result<void> readFile(const ExamFiles::File& file, std::string_view text, const std::string& where,
                          Subject& subject);
    Result<void> describe(const std::string& split);
    Result<void> hashItems();

    std::shared_ptr<const ExamFormat> m_format;
    RecordSpool m_spool;
    int m_shots;
    BenchmarkInfo m_info;
    std::vector<Subject> m_subjects;
    std::vector<Item> m_items;
};

TaskPrompt ChoiceExam::assemble(const Subject& subject, const std::vector<std::string>& examples, std::size_t count,
                                const Row& asked) const {
    TaskPrompt prompt;
    prompt.text = m_format->header(subject.name);
    prompt.instruction = {0, prompt.text.size()};
    for (std::size_t i = 0; i < count; ++i) {
        prompt.records.push_back({prompt.text.size(), prompt.text.size() + examples[i].size()});
        prompt.text += examples[i];
    }
    prompt.question = {prompt.text.size(), prompt.text.size() + asked.text.size()};
    prompt.text += asked.text;
    for (const char letter : {'A', 'B', 'C', 'D'}) {
        prompt.choices.push_back(fmt::format("{}{}", m_format->answerPrefix(), letter));
    }
    prompt.answer = fmt::format("{}{}", m_format->answerPrefix(), asked.answer);
    prompt.references = {std::string(1, asked.answer)};
    prompt.rule = {Metric::Likeliest, 1, true};
    if (count < examples.size()) prompt.note = fmt::format("{} of {} shots", count, examples.size());
    return prompt;
}

Result<std::string> ChoiceExam::contentHash(std::int64_t item) const {
    // Question, choices and letter.
    const auto asked = m_spool.read(subjectOf(item).questions[at(item).row]);
    if (!asked) return fail(asked.error());
    ItemHash hash;
    hash.addText(m_format->task());
    hash.addText(*asked);
    return hash.shortHex();
}

Result<TaskPrompt> ChoiceExam::prompt(std::int64_t item, int goldIndex, const PromptOptions& options) const {
    const Subject& subject = subjectOf(item);
    const auto asked = row(subject.questions[at(item).row]);
    if (!asked) return fail(asked.error());
    std::vector<std::string> examples;
    for (const std::int64_t shot : subject.shots) {
        const auto example = row(shot);
        if (!example) return fail(example.error());
        examples.push_back(solved(*example));
    }
    TaskPrompt prompt = assemble(subject, examples, examples.size(), *asked);
    for (std::size_t count = examples.size(); count > 0 && options.fits && !options.fits(prompt);) {
        prompt = assemble(subject, examples, --count, *asked);
    }
    prompt.goldIndex = goldIndex;
    return prompt;
}

Result<void> ChoiceExam::readFile(const ExamFiles::File& file, std::string_view text, const std::string& where,
                                  Subject& subject) {
    const bool dev = file.split == "dev";
    std::vector<std::int64_t>& records = dev ? subject.shots : subject.questions;
    const auto rows = m_format->rows();
    const auto addRow = [&](CsvRow& csv) -> Result<void> {
        const auto question = rows->read(csv);
        if (!question) {
            return fail(question.error().code,
                        fmt::format("{}, line {}: {}", where, csv.line, question.error().message));
        }
        if (!*question) return {};
        if (dev && std::cmp_greater_equal(records.size(), m_shots)) return {};
        records.push_back(m_spool.size());
        return m_spool.append(m_format->ask(**question) + (**question).answer);
    };
    if (auto read = forEachCsvRow(text, where, kMostColumns, addRow); !read) return read;
    if (!dev && records.empty()) return fail(ErrorCode::BadInput, fmt::format("{} has no questions", where));
    if (dev && std::cmp_less(records.size(), m_shots)) {
        return fail(ErrorCode::Usage, fmt::format("{} shots are asked for, but {} has {}; ask for fewer", m_shots,
                                                  where, records.size()));
    }
    return {};
}

Result<void> ChoiceExam::read(const ExamFiles& files, const std::vector<std::string>& subjects,
                              const std::string& split, std::optional<std::int64_t> limit) {
    std::map<std::string, std::size_t> indices;
    for (const std::string& name : subjects) {
        indices.emplace(name, m_subjects.size());
        m_subjects.push_back({name, {}, {}});
    }
    const auto wanted = [&](const ExamFiles::File& file) {
        return indices.contains(file.subject) && (file.split == split || (file.split == "dev" && m_shots > 0));
    };
    const auto read = files.read(
        wanted, [&](const ExamFiles::File& file, std::string_view text, const std::string& where) -> Result<void> {
            return readFile(file, text, where, m_subjects[indices[file.subject]]);
        });
    if (!read) return read;
    // A limit takes the subjects in turn, so that a few questions are questions of all of them.
    std::size_t rows = 0;
    for (const auto& subject : m_subjects) rows = std::max(rows, subject.questions.size());
    for (std::uint32_t row = 0; row < rows; ++row) {
        for (std::uint32_t subject = 0; subject < m_subjects.size(); ++subject) {
            if (row >= m_subjects[subject].questions.size() || (limit && size() >= *limit)) continue;
            m_items.push_back({subject, row});
        }
    }
    std::ranges::sort(m_items, [](const Item& a, const Item& b) {
        return std::pair(a.subject, a.row) < std::pair(b.subject, b.row);
    });
    return describe(split);
}

Result<void> ChoiceExam::describe(const std::string& split) {
    const ExamQuestion placeholders{"{question}", {"{A}", "{B}", "{C}", "{D}"}, 'X'};
    const Row row{m_format->ask(placeholders), placeholders.answer};
    m_info.task = m_format->task();
    m_info.name = fmt::format("{}-{}", m_format->task(), split);
    m_info.templateText = m_format->header("{subject}");
    if (m_shots > 0) m_info.templateText += solved(row);
    m_info.templateText += row.text;
    m_info.templateHash = sha256Hex(m_info.templateText);
    m_info.defaultScore = {ScoreKind::Kind::Choice, 0.0, "choice"};
    return hashItems();
}

Result<void> ChoiceExam::hashItems() {
    ItemHash hash;
    const auto addRow = [&](std::int64_t record) -> Result<void> {
        const auto text = m_spool.read(record);
        if (!text) return fail(text.error());
        hash.addText(*text);
        return {};
    };
    for (std::int64_t item = 0; item < size(); ++item) {
        hash.addText(id(item));
        if (auto added = addRow(subjectOf(item).questions[at(item).row]); !added) return added;
        // The examples of a subject enter once, with its first question.
        if (at(item).row != 0) continue;
        hash.addNumber(subjectOf(item).shots.size());
        for (const std::int64_t shot : subjectOf(item).shots) {
            if (auto added = addRow(shot); !added) return added;
        }
    }
    m_info.hash = hash.hex();
    return {};
}

/// The subjects of a comma-separated list, which must be among those that there are, sorted.
Result<std::vector<std::string>> chosenSubjects(const std::string& list, const std::vector<std::string>& all) {
    std::set<std::string> chosen;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        const std::string name = list.substr(begin, end - begin);
        begin = end + 1;
        if (!std::binary_search(all.begin(), all.end(), name)) {
            return fail(ErrorCode::Usage, fmt::format("subject '{}' is not there; use {}", name, fmt::join(all, ", ")));
        }
        if (!chosen.insert(name).second) {
            return fail(ErrorCode::Usage, fmt::format("subject '{}' is named twice; name it once", name));
        }
    }
    return std::vector<std::string>(chosen.begin(), chosen.end());
}

/// Subjects with questions in `split`, sorted; each checked, and with its dev file where examples are wanted.
Result<std::vector<std::string>> subjectsOf(const ExamFiles& files, const ExamFormat& format, const std::string& split,
                                            const BenchmarkSpec& spec, int shots) {
    const std::string where = fmt::format("'{}'", spec.data->string());
    std::vector<std::string> all;
    for (const ExamFiles::File& file : files.files()) {
        if (file.split == split) all.push_back(file.subject);
    }
    for (const std::string& subject : all) {
        if (auto known = format.checkSubject(subject, where); !known) return fail(known.error());
    }
    auto chosen = spec.subjects ? chosenSubjects(*spec.subjects, all) : Result<std::vector<std::string>>(all);
    if (!chosen) return chosen;
    for (const std::string& subject : *chosen) {
        if (shots > 0 && !files.has(subject, "dev")) {
            return fail(ErrorCode::BadInput, fmt::format("{} lacks 'dev/{}_dev.csv', where the examples stand; add it "
                                                         "or ask for 0 shots",
                                                         where, subject));
        }
    }
    return chosen;
}

}  // namespace

std::string ExamFormat::ask(const ExamQuestion& question) const {
    std::string text = question.question;
    char letter = 'A';
    for (const std::string& choice : question.choices) text += fmt::format("\n{}. {}", letter++, choice);
    return text.append(answerCue());
}

Result<std::shared_ptr<const Benchmark>> openChoiceExam(const BenchmarkSpec& spec,
                                                        std::shared_ptr<const ExamFormat> format) try {
    if (auto checked = checkTaskOptions(spec); !checked) return fail(checked.error());
    const int shots = spec.shots.value_or(kOfficialShots);
    if (shots < 0) return fail(ErrorCode::Usage, fmt::format("the number of shots is {}; use 0 or more", shots));
    if (!spec.data) {
        return fail(ErrorCode::Usage,
                    fmt::format("task '{}' needs its data; name the folder or archive with --data", format->task()));
    }
    const auto files = ExamFiles::open(*spec.data);
    if (!files) return fail(files.error());
    const auto splits = format->questionSplits();
    const auto split = std::find_if(splits.begin(), splits.end(), [&](const std::string& name) {
        return std::any_of(files->files().begin(), files->files().end(),
                           [&](const ExamFiles::File& file) { return file.split == name; });
    });
    if (split == splits.end()) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' holds no questions with answers of '{}'; looked for {}",
                                                     spec.data->string(), format->task(), fmt::join(splits, ", ")));
    }
    const auto subjects = subjectsOf(*files, *format, *split, spec, shots);
    if (!subjects) return fail(subjects.error());
    auto spool = RecordSpool::create();
    if (!spool) return fail(spool.error());
    const auto exam = std::make_shared<ChoiceExam>(std::move(format), std::move(*spool), shots);
    if (auto read = exam->read(*files, *subjects, *split, spec.limit); !read) return fail(read.error());
    return exam;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "not enough memory for the index of the items; set a limit");
}

}  // namespace lpes::tasks
