#include "core/tasks/porter_stemmer.h"

#include <array>
#include <span>
#include <utility>

namespace lpes::tasks {

namespace {

bool isVowelLetter(char c) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

/// The paper's consonants: no vowel letter, and no y behind a consonant.
bool isConsonant(std::string_view word, std::size_t at) {
    bool negate = false;
    for (; at > 0 && word[at] == 'y'; --at) negate = !negate;
    return !isVowelLetter(word[at]) != negate;
}

/// The paper's m: how often a vowel is followed by a consonant.
int measure(std::string_view stem) {
    int count = 0;
    bool before = true;  // was the letter before a consonant
    for (std::size_t i = 0; i < stem.size(); ++i) {
        const bool consonant = stem[i] == 'y' ? i == 0 || !before : !isVowelLetter(stem[i]);
        if (consonant && !before) ++count;
        before = consonant;
    }
    return count;
}

bool containsVowel(std::string_view stem) {
    // The first y behind another letter is a vowel itself or stands behind one.
    for (std::size_t i = 0; i < stem.size(); ++i) {
        if (isVowelLetter(stem[i]) || (stem[i] == 'y' && i > 0)) return true;
    }
    return false;
}

bool endsInDoubleConsonant(std::string_view word) {
    const std::size_t n = word.size();
    return n >= 2 && word[n - 1] == word[n - 2] && isConsonant(word, n - 1);
}

/// The paper's *o: consonant, vowel, consonant other than w, x, y; NLTK adds vowel, consonant as the whole word.
bool endsInShortSyllable(std::string_view word) {
    const std::size_t n = word.size();
    if (n == 2) return !isConsonant(word, 0) && isConsonant(word, 1);
    return n >= 3 && isConsonant(word, n - 3) && !isConsonant(word, n - 2) && isConsonant(word, n - 1) &&
           word[n - 1] != 'w' && word[n - 1] != 'x' && word[n - 1] != 'y';
}

struct Rule {
    std::string_view suffix, replacement;
};

std::string joined(std::string_view stem, std::string_view ending) {
    std::string word(stem);
    word += ending;
    return word;
}

/// The first rule whose suffix the word has decides, whether or not its stem is long enough.
template <typename Condition>
std::string applyFirst(std::string word, std::span<const Rule> rules, Condition holds) {
    for (const auto& [suffix, replacement] : rules) {
        if (!word.ends_with(suffix)) continue;
        const std::string_view stem = std::string_view(word).substr(0, word.size() - suffix.size());
        return holds(stem, suffix) ? joined(stem, replacement) : word;
    }
    return word;
}

std::string plural(std::string word) {  // step 1a
    if (word.size() == 4 && word.ends_with("ies")) return joined(word.substr(0, 1), "ie");
    static constexpr std::array kRules{Rule{"sses", "ss"}, Rule{"ies", "i"}, Rule{"ss", "ss"}, Rule{"s", ""}};
    return applyFirst(std::move(word), kRules, [](std::string_view, std::string_view) { return true; });
}

/// What follows when -ed or -ing was taken away.
std::string restoredEnding(std::string stem) {
    if (stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz")) return stem + 'e';
    if (endsInDoubleConsonant(stem)) {
        const char last = stem.back();
        if (last != 'l' && last != 's' && last != 'z') stem.pop_back();
        return stem;
    }
    return measure(stem) == 1 && endsInShortSyllable(stem) ? stem + 'e' : stem;
}

std::string pastAndParticiple(std::string word) {  // step 1b
    if (word.ends_with("ied")) return joined(word.substr(0, word.size() - 3), word.size() == 4 ? "ie" : "i");
    if (word.ends_with("eed")) {
        if (measure(std::string_view(word).substr(0, word.size() - 3)) > 0) word.pop_back();
        return word;
    }
    for (const std::string_view suffix : {"ed", "ing"}) {
        if (!word.ends_with(suffix)) continue;
        const std::string stem = word.substr(0, word.size() - suffix.size());
        if (containsVowel(stem)) return restoredEnding(stem);
    }
    return word;
}

std::string finalY(std::string word) {  // step 1c
    if (word.ends_with('y') && word.size() > 2 && isConsonant(word, word.size() - 2)) word.back() = 'i';
    return word;
}

bool hasMeasure(std::string_view stem, std::string_view /*suffix*/) {
    return measure(stem) > 0;
}

std::string doubleSuffix(std::string word) {  // step 2
    constexpr std::string_view kAlli = "alli", kLogi = "logi";
    if (word.ends_with(kAlli) && measure(std::string_view(word).substr(0, word.size() - kAlli.size())) > 0) {
        return doubleSuffix(word.substr(0, word.size() - 2));
    }
    static constexpr std::array kRules{
        Rule{"ational", "ate"}, Rule{"tional", "tion"}, Rule{"enci", "ence"},   Rule{"anci", "ance"},
        Rule{"izer", "ize"},    Rule{"bli", "ble"},     Rule{"alli", "al"},     Rule{"entli", "ent"},
        Rule{"eli", "e"},       Rule{"ousli", "ous"},   Rule{"ization", "ize"}, Rule{"ation", "ate"},
        Rule{"ator", "ate"},    Rule{"alism", "al"},    Rule{"iveness", "ive"}, Rule{"fulness", "ful"},
        Rule{"ousness", "ous"}, Rule{"aliti", "al"},    Rule{"iviti", "ive"},   Rule{"biliti", "ble"},
        Rule{"fulli", "ful"},   Rule{"logi", "log"}};
    return applyFirst(word, kRules, [&](std::string_view stem, std::string_view suffix) {
        // The l of -logi counts for the stem, so that "geo" is long enough.
        if (suffix == kLogi) stem = std::string_view(word).substr(0, word.size() - 3);
        return measure(stem) > 0;
    });
}

std::string singleSuffix(std::string word) {  // step 3
    static constexpr std::array kRules{Rule{"icate", "ic"}, Rule{"ative", ""}, Rule{"alize", "al"}, Rule{"iciti", "ic"},
                                       Rule{"ical", "ic"},  Rule{"ful", ""},   Rule{"ness", ""}};
    return applyFirst(std::move(word), kRules, hasMeasure);
}

std::string remainingSuffix(std::string word) {  // step 4
    static constexpr std::array kRules{Rule{"al", ""},    Rule{"ance", ""}, Rule{"ence", ""}, Rule{"er", ""},
                                       Rule{"ic", ""},    Rule{"able", ""}, Rule{"ible", ""}, Rule{"ant", ""},
                                       Rule{"ement", ""}, Rule{"ment", ""}, Rule{"ent", ""},  Rule{"ion", ""},
                                       Rule{"ou", ""},    Rule{"ism", ""},  Rule{"ate", ""},  Rule{"iti", ""},
                                       Rule{"ous", ""},   Rule{"ive", ""},  Rule{"ize", ""}};
    return applyFirst(std::move(word), kRules, [](std::string_view stem, std::string_view suffix) {
        return measure(stem) > 1 && (suffix != "ion" || stem.ends_with('s') || stem.ends_with('t'));
    });
}

std::string tidied(std::string word) {  // steps 5a and 5b
    if (word.ends_with('e')) {
        const std::string_view stem = std::string_view(word).substr(0, word.size() - 1);
        const int m = measure(stem);
        if (m > 1 || (m == 1 && !endsInShortSyllable(stem))) word.pop_back();
    }
    if (word.ends_with("ll") && measure(std::string_view(word).substr(0, word.size() - 1)) > 1) word.pop_back();
    return word;
}

}  // namespace

std::string porterStem(std::string_view word) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kIrregular{{{"sky", "sky"},
                                                                                               {"skies", "sky"},
                                                                                               {"dying", "die"},
                                                                                               {"lying", "lie"},
                                                                                               {"tying", "tie"},
                                                                                               {"news", "news"},
                                                                                               {"innings", "inning"},
                                                                                               {"inning", "inning"},
                                                                                               {"outings", "outing"},
                                                                                               {"outing", "outing"},
                                                                                               {"cannings", "canning"},
                                                                                               {"canning", "canning"},
                                                                                               {"howe", "howe"},
                                                                                               {"proceed", "proceed"},
                                                                                               {"exceed", "exceed"},
                                                                                               {"succeed", "succeed"}}};
    if (word.size() <= 2) return std::string(word);
    for (const auto& [form, stem] : kIrregular) {
        if (word == form) return std::string(stem);
    }
    return tidied(remainingSuffix(singleSuffix(doubleSuffix(finalY(pastAndParticiple(plural(std::string(word))))))));
}

}  // namespace lpes::tasks
