#include "core/tasks/rouge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/tasks/porter_stemmer.h"
#include "core/tasks/python_text.h"
#include "core/tasks/token_overlap.h"

namespace lpes::tasks {

namespace {

using WordIds = std::vector<std::uint32_t>;

/// The words of texts as numbers, equal words the same number.
class Vocabulary {
  public:
    explicit Vocabulary(bool stem) : m_stem(stem) {}

    WordIds read(std::string_view text) {
        WordIds ids;
        std::string word;
        for (const char c : lowerCase(text) + ' ') {
            if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
                word += c;
            } else if (!word.empty()) {
                ids.push_back(number(word));
                word.clear();
            }
        }
        return ids;
    }

  private:
    std::uint32_t number(const std::string& word) {
        constexpr std::size_t kLongestUnstemmed = 3;
        const auto known = m_numberOf.find(word);
        if (known != m_numberOf.end()) return known->second;
        const std::string key = m_stem && word.size() > kLongestUnstemmed ? porterStem(word) : word;
        // Words of one stem share its number. The table by words only saves stemming a word twice.
        const auto id = m_numberOfKey.try_emplace(key, static_cast<std::uint32_t>(m_numberOfKey.size())).first->second;
        m_numberOf.emplace(word, id);
        return id;
    }

    bool m_stem;
    std::unordered_map<std::string, std::uint32_t> m_numberOf, m_numberOfKey;
};

std::vector<std::uint64_t> neighbours(const WordIds& words) {
    std::vector<std::uint64_t> pairs;
    for (std::size_t i = 1; i < words.size(); ++i) {
        pairs.push_back(static_cast<std::uint64_t>(words[i - 1]) << 32 | words[i]);
    }
    return pairs;
}

double pairF(const WordIds& wanted, const WordIds& predicted) {
    const auto a = neighbours(wanted), b = neighbours(predicted);
    return fMeasure(sharedCount(a, b), b.size(), a.size());
}

std::size_t longestCommonSubsequence(const WordIds& a, const WordIds& b) {
    std::vector<std::uint32_t> above(b.size() + 1), row(b.size() + 1);
    for (const std::uint32_t word : a) {
        for (std::size_t j = 0; j < b.size(); ++j) {
            row[j + 1] = word == b[j] ? above[j] + 1 : std::max(above[j + 1], row[j]);
        }
        std::swap(above, row);
    }
    return above.back();
}

}  // namespace

double Rouge::geometricMean() const {
    return std::cbrt(rouge1 * rouge2 * rougeL);
}

Rouge rouge(std::string_view reference, std::string_view generated, bool stem) {
    Vocabulary vocabulary(stem);
    const WordIds wanted = vocabulary.read(reference), predicted = vocabulary.read(generated);
    Rouge scores;
    scores.rouge1 = fMeasure(sharedCount(wanted, predicted), predicted.size(), wanted.size());
    scores.rouge2 = pairF(wanted, predicted);
    scores.rougeL = fMeasure(longestCommonSubsequence(wanted, predicted), predicted.size(), wanted.size());
    return scores;
}

std::size_t rougeWords(std::string_view text) {
    return Vocabulary(false).read(text).size();
}

Rouge bestRouge(std::span<const std::string> references, std::string_view generated, bool stem) {
    Rouge best;
    for (const std::string& reference : references) {
        const Rouge one = rouge(reference, generated, stem);
        best = {std::max(best.rouge1, one.rouge1), std::max(best.rouge2, one.rouge2),
                std::max(best.rougeL, one.rougeL)};
    }
    return best;
}

}  // namespace lpes::tasks
