#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>

#include "core/tasks/line_reader.h"
#include "core/tasks/niah.h"
#include "core/text/unicode.h"

namespace lpes::tasks {

namespace {

constexpr std::string_view kSpaces = " \t\r\n\f\v";

/// Does a sentence end behind this word?
bool endsSentence(std::string_view word) {
    constexpr std::string_view kClosing = "\"')]";
    constexpr std::string_view kCurly[] = {"”", "’"};
    for (bool more = true; more && !word.empty();) {
        more = kClosing.find(word.back()) != std::string_view::npos;
        if (more) word.remove_suffix(1);
        for (const std::string_view mark : kCurly) {
            if (!word.ends_with(mark)) continue;
            word.remove_suffix(mark.size());
            more = true;
        }
    }
    return !word.empty() && std::string_view(".!?").find(word.back()) != std::string_view::npos;
}

/// Puts words together into sentences.
class SentenceMaker {
  public:
    void addLine(std::string_view line) {
        for (;;) {
            const std::size_t begin = line.find_first_not_of(kSpaces);
            if (begin == std::string_view::npos) return;
            line.remove_prefix(begin);
            const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
            line.remove_prefix(word.size());
            if (!m_sentence.empty()) m_sentence += ' ';
            m_sentence += word;
            bytes += word.size() + 1;
            if (endsSentence(word)) end();
        }
    }
    /// A file's last words are a sentence whatever they end with.
    void end() {
        if (!m_sentence.empty()) sentences.push_back(std::move(m_sentence));
        m_sentence.clear();
    }

    std::vector<std::string> sentences;
    std::size_t bytes = 0;

  private:
    std::string m_sentence;
};

Result<std::vector<std::filesystem::path>> textFiles(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return std::vector{path};
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
        if (entry->path().extension() == ".txt") files.push_back(entry->path());
    }
    if (error) {
        return fail(ErrorCode::BadInput,
                    fmt::format("cannot read the folder '{}'; check its permissions", path.string()), error.message());
    }
    if (files.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("the folder '{}' has no .txt file for the haystack", path.string()));
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// "a", "a, and b", "a, b, and c": as RULER joins its keys.
std::string joinedQueries(const std::vector<std::string>& queries) {
    if (queries.size() == 1) return queries.front();
    return fmt::format("{}, and {}", fmt::join(queries.begin(), queries.end() - 1, ", "), queries.back());
}

}  // namespace

std::string needleSentence(const NiahSpec& spec, const Needle& needle) {
    return fmt::format("One of the special magic {} for {} is: {}.", spec.valueKind, needle.key, needle.value);
}

Result<std::vector<std::string>> readEssay(const std::filesystem::path& path, std::size_t enoughBytes,
                                           std::stop_token stop) {
    const auto files = textFiles(path);
    if (!files) return fail(files.error());
    SentenceMaker maker;
    for (const std::filesystem::path& file : *files) {
        auto reader = LineReader::open(file, stop);
        if (!reader) return fail(reader.error());
        std::string line;
        while (maker.bytes < enoughBytes) {
            const auto more = reader->next(line);
            if (!more) return fail(more.error());
            if (!*more) break;
            if (text::firstInvalidUtf8(line)) {
                return fail(ErrorCode::BadInput, fmt::format("'{}', line {}: the text is not UTF-8; convert the file",
                                                             file.string(), reader->lineNumber()));
            }
            maker.addLine(line);
        }
        maker.end();
    }
    if (maker.sentences.empty()) {
        return fail(ErrorCode::BadInput, fmt::format("'{}' has no text for the haystack", path.string()));
    }
    return std::move(maker.sentences);
}

TaskPrompt renderNiahPrompt(const NiahSpec& spec, const NiahNeedles& needles, const std::vector<std::string>& haystack,
                            const std::vector<std::size_t>& gaps, int place) {
    assert(place >= 0 && static_cast<std::size_t>(place) <= haystack.size());
    const bool single = needles.answers.size() == 1;
    const std::string kind = single ? spec.valueKind.substr(0, spec.valueKind.size() - 1) : spec.valueKind;
    const std::string query = joinedQueries(needles.queries);

    // Needles by gap; a stable sort leaves the moving one in front of another in its gap.
    std::vector<std::size_t> gapOf{static_cast<std::size_t>(place)};
    gapOf.insert(gapOf.end(), gaps.begin(), gaps.end());
    std::vector<std::size_t> order(gapOf.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gapOf[a] < gapOf[b]; });

    TaskPrompt prompt;
    prompt.goldIndex = place;
    prompt.text = fmt::format(
        "{} special magic {} {} hidden within the following text. Make sure to memorize it. I will quiz you about the "
        "{} "
        "afterwards.\n",
        single ? "A" : "Some", kind, single ? "is" : "are", kind);
    prompt.instruction = {0, prompt.text.size()};
    const std::string_view between = spec.haystack == "essay" ? " " : "\n";
    const auto add = [&](const std::string& sentence) {
        if (!prompt.records.empty()) prompt.text += between;
        const std::size_t begin = prompt.text.size();
        prompt.text += sentence;
        prompt.records.push_back({begin, prompt.text.size()});
    };
    auto next = order.begin();
    for (std::size_t gap = 0; gap <= haystack.size(); ++gap) {
        for (; next != order.end() && gapOf[*next] == gap; ++next) {
            add(needleSentence(spec, needles.needles[*next]));
            if (needles.asked[*next]) prompt.evidence.push_back(prompt.records.back());
        }
        if (gap < haystack.size()) add(haystack[gap]);
    }
    prompt.text += '\n';
    prompt.question.begin = prompt.text.size();
    prompt.text += fmt::format("What {} the special magic {} for {} mentioned in the provided text?",
                               single ? "is" : "are all", kind, query);
    prompt.text += fmt::format(" The special magic {} for {} mentioned in the provided text {}", kind, query,
                               single ? "is" : "are");
    prompt.question.end = prompt.text.size();
    prompt.answer = fmt::format(" {}", fmt::join(needles.answers, ", "));
    prompt.references = needles.answers;
    prompt.rule = {Metric::ContainsAll, kNiahAnswerTokens, single};
    return prompt;
}

}  // namespace lpes::tasks
