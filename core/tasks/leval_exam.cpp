#include "core/tasks/leval_exam.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/tasks/answer_normalising.h"
#include "core/tasks/python_number.h"
#include "core/tasks/python_text.h"

namespace lpes::tasks {

namespace {

bool isChoice(char c) {
    return c >= 'A' && c <= 'D';
}

bool onlyChoices(std::string_view text) {
    return std::all_of(text.begin(), text.end(), isChoice);
}

std::string withoutSpaces(std::string_view text) {
    return replaceAll(lowerCase(text), " ", "");
}

/// The first line of more than one character; the whole text where there is none.
std::string_view firstLongLine(std::string_view text) {
    for (std::string_view rest = text;;) {
        const std::string_view line = before(rest, "\n");
        if (countCharacters(line) > 1) return line;
        if (line.size() == rest.size()) return text;
        rest.remove_prefix(line.size() + 1);
    }
}

std::string sortedOnce(std::string letters) {
    std::sort(letters.begin(), letters.end());
    letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
    return letters;
}

/// process_gt_mc
std::string referenceLetters(std::string_view reference) {
    const auto words = splitWords(reference);
    std::string letters;
    if (!words.empty()) std::copy_if(words[0].begin(), words[0].end(), std::back_inserter(letters), isChoice);
    return letters.empty() ? "A" : letters;
}

/// `response in "ABCD"` of the official script: a piece of it, so also the empty text, "BC" and "BCD".
bool isPieceOfChoices(std::string_view text) {
    return std::string_view("ABCD").find(text) != std::string_view::npos;
}

/// process_output_mc where several answers may be right
std::string answerLetters(std::string_view generated) {
    if (isPieceOfChoices(generated)) return std::string(generated);
    const auto end = std::find_if_not(generated.begin(), generated.end(), isChoice);
    std::string letters(generated.begin(), end);
    if (letters.size() > 1) return sortedOnce(letters);
    const std::string_view rest = before(generated.substr(letters.size()), "Question");
    for (std::size_t i = 0; i + 1 < rest.size(); ++i) {
        const std::string_view next = rest.substr(i + 1);
        const bool ends = next.front() == '.' || next.front() == ')' || isSpace(firstCharacter(next).value);
        if (isChoice(rest[i]) && ends) letters += rest[i];
    }
    return letters.empty() ? "A" : sortedOnce(letters);
}

std::string_view lastWordWithDigit(std::string_view text) {
    std::string_view found;
    for (std::string_view rest = text;;) {
        const std::string_view word = before(rest, " ");
        for (std::string_view left = word; !left.empty(); left.remove_prefix(firstCharacter(left).size)) {
            if (isDecimalDigit(firstCharacter(left).value)) {
                found = word;
                break;
            }
        }
        if (word.size() == rest.size()) return found;
        rest.remove_prefix(word.size() + 1);
    }
}

/// process_math; digits other than decimal ones ("²") are not taken for digits here.
std::string wholeNumber(std::string_view text) {
    constexpr std::string_view kPhrase = "The answer is ";
    std::string_view word;
    for (auto hit = text.find(kPhrase); hit != std::string_view::npos && word.empty();
         hit = text.find(kPhrase, hit + 1)) {
        const std::string_view behind = text.substr(hit + kPhrase.size());
        if (!behind.empty() && !isSpace(firstCharacter(behind).value)) word = splitWords(behind)[0];
    }
    if (word.empty()) word = lastWordWithDigit(before(text, "\n\n"));
    std::string digits;
    for (std::string_view rest = before(word, "."); !rest.empty(); rest.remove_prefix(firstCharacter(rest).size)) {
        const char32_t code = firstCharacter(rest).value;
        if (isDecimalDigit(code)) digits += asciiDigit(code);
    }
    return digits;
}

using Replacement = std::pair<std::string_view, std::string_view>;

std::string replacedInTurn(std::string text, std::span<const Replacement> replacements) {
    for (const auto& [what, with] : replacements) text = replaceAll(text, what, with);
    return text;
}

/// re.split(r"\s+", text): an empty piece where the text begins or ends with white space.
std::vector<std::string_view> splitAtSpaces(std::string_view text) {
    auto pieces = splitWords(text);
    const std::string_view inner = strip(text);
    if (inner.empty()) return text.empty() ? std::vector<std::string_view>{""} : std::vector<std::string_view>{"", ""};
    if (inner.data() != text.data()) pieces.insert(pieces.begin(), "");
    if (inner.data() + inner.size() != text.data() + text.size()) pieces.push_back("");
    return pieces;
}

/// process_gt_code
std::string plainCode(std::string_view text) {
    static constexpr std::array<Replacement, 7> kReplacements{
        {{",", ""}, {"'", ""}, {"\\", ""}, {".0", ""}, {"] [", "]["}, {"[ [", "[["}, {"] ]", "]]"}}};
    std::string joined;
    const auto pieces = splitAtSpaces(text);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (i > 0) joined += ' ';
        joined += pieces[i];
    }
    return replacedInTurn(std::move(joined), kReplacements);
}

/// process_output_code
std::string codeOutput(std::string_view reference, std::string_view generated) {
    static constexpr std::array<Replacement, 7> kReplacements{{{"will be", ""},
                                                               {"of the code", ""},
                                                               {"is", ""},
                                                               {"would be", ""},
                                                               {"the value of", ""},
                                                               {"the result of", ""},
                                                               {"printed", ""}}};
    constexpr std::string_view kFinal = "the final output";
    constexpr std::size_t kMoreWords = 3;
    const std::string text = replacedInTurn(plainCode(generated), kReplacements);
    const std::size_t wanted = splitWords(reference).size() + kMoreWords, final = text.rfind(kFinal);
    const bool hasFinal = final != std::string::npos;
    const auto pieces = splitAtSpaces(hasFinal ? std::string_view(text).substr(final + kFinal.size()) : text);
    const std::size_t count = std::min(wanted, pieces.size()), first = hasFinal ? 0 : pieces.size() - count;
    std::string out;
    for (std::size_t i = first; i < first + count; ++i) {
        if (i > first) out += ' ';
        out += pieces[i];
    }
    return out;
}

struct Judgement {
    std::string loyalty, fact;
    bool hasFact = false;
};

/// process_gt_judge, except that an answer without "[fact:" is taken instead of refused.
Judgement judgement(std::string_view text) {
    constexpr std::string_view kFact = "[fact:";
    const std::string lower = lowerCase(text);
    const std::size_t at = lower.find(kFact);
    if (at == std::string::npos) return {std::string(strip(lower)), "", false};
    std::string_view fact = before(std::string_view(lower).substr(at + kFact.size()), kFact);
    if (!fact.empty()) fact.remove_suffix(1);  // the bracket
    return {std::string(strip(std::string_view(lower).substr(0, at))), std::string(strip(fact)), true};
}

std::string verdictIn(std::string_view part) {
    for (const std::string_view word : splitWords(part)) {
        if (word.find("true") != std::string_view::npos) return "true";
        if (word.find("false") != std::string_view::npos) return "false";
    }
    return "<error>";
}

}  // namespace

double levalExactMatch(std::string_view reference, std::string_view generated) {
    constexpr double kSubset = 0.25;
    const std::string wanted = normaliseAnswer(reference, WordRule::Re, false);
    if (onlyChoices(wanted)) {
        const std::string given = normaliseAnswer(generated, WordRule::Re, false);
        if (given == wanted) return 1.0;
        return given.find_first_not_of(wanted) == std::string::npos ? kSubset : 0.0;
    }
    const auto wantedNumber = pythonFloat(reference), givenNumber = pythonFloat(generated);
    if (wantedNumber && givenNumber) return *wantedNumber == *givenNumber ? 1.0 : 0.0;
    return withoutSpaces(firstLongLine(generated)).find(withoutSpaces(reference)) != std::string::npos ? 1.0 : 0.0;
}

double levalOneLetter(std::string_view reference, std::string_view generated) {
    if (isPieceOfChoices(generated)) return levalExactMatch(referenceLetters(reference), generated);
    const auto letter = std::find_if(generated.begin(), generated.end(), isChoice);
    return levalExactMatch(referenceLetters(reference), std::string(1, letter == generated.end() ? 'A' : *letter));
}

double levalSomeLetters(std::string_view reference, std::string_view generated) {
    return levalExactMatch(referenceLetters(reference), answerLetters(generated));
}

double levalMath(std::string_view reference, std::string_view generated) {
    return levalExactMatch(wholeNumber(reference), wholeNumber(generated));
}

double levalCode(std::string_view reference, std::string_view generated) {
    return levalExactMatch(plainCode(reference), codeOutput(reference, generated));
}

double levalJudgement(std::string_view reference, std::string_view generated) {
    const Judgement wanted = judgement(reference), given = judgement(generated);
    const double loyalty = levalExactMatch(wanted.loyalty, verdictIn(given.loyalty));
    if (!wanted.hasFact) return loyalty;
    return (loyalty + levalExactMatch(wanted.fact, verdictIn(given.fact))) / 2.0;
}

}  // namespace lpes::tasks
