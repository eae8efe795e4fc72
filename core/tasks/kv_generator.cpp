#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <unordered_set>

#include "core/tasks/kv_items.h"
#include "core/tasks/random_texts.h"

namespace lpes::resources {
extern const std::string_view commonWordsText;
}

namespace lpes::tasks {

namespace {

constexpr int kMaxHexDigits = 64;

/// How many different keys there are, or the largest number when there are more than that.
std::int64_t differentKeys(const KeyKind& keys, std::size_t words) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    switch (keys.kind) {
        case KeyKind::Kind::Uuid:
            return kMost;
        case KeyKind::Kind::Hex:
            return keys.digits < 15 ? std::int64_t{1} << (4 * keys.digits) : kMost;
        case KeyKind::Kind::Words:
            return static_cast<std::int64_t>(words);
    }
    return 0;
}

}  // namespace

Result<KeyKind> parseKeyKind(const std::string& text) {
    if (text == "uuid") return KeyKind{KeyKind::Kind::Uuid, 0, text};
    if (text == "words") return KeyKind{KeyKind::Kind::Words, 0, text};
    constexpr std::string_view kHex = "hex:";
    if (text.starts_with(kHex)) {
        const char* first = text.data() + kHex.size();
        const char* last = text.data() + text.size();
        int digits = 0;
        const auto [end, error] = std::from_chars(first, last, digits);
        // A leading zero would give one data set two names.
        if (error == std::errc() && end == last && digits >= 1 && digits <= kMaxHexDigits && *first != '0') {
            return KeyKind{KeyKind::Kind::Hex, digits, text};
        }
        return fail(ErrorCode::Usage,
                    fmt::format("keys '{}' are not understood; hex:N takes 1 to {} digits, such as hex:8", text,
                                kMaxHexDigits));
    }
    return fail(ErrorCode::Usage, fmt::format("keys '{}' are not understood; use uuid, hex:N or words", text));
}

Result<KvGenerator> KvGenerator::create(const KeyKind& keys, int pairs, std::uint64_t seed,
                                        std::span<const std::string> words) {
    if (pairs < 2) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 2 pairs, {} was asked for", pairs));
    }
    KvGenerator generator(keys, pairs, seed);
    if (keys.kind == KeyKind::Kind::Words) {
        std::unordered_set<std::string_view> seen;
        for (const std::string& word : words) {
            if (seen.insert(word).second) generator.m_words.push_back(word);
        }
    }
    if (const std::int64_t most = differentKeys(keys, generator.m_words.size()); most < pairs) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} pairs need {} different keys, but '{}' has only {}; ask for fewer pairs", pairs,
                                pairs, keys.text, most));
    }
    return generator;
}

KvItem KvGenerator::item(std::int64_t index) const {
    RandomStream random = itemStream(m_seed, kStreamItems, index);
    const auto draw = [&] {
        switch (m_keys.kind) {
            case KeyKind::Kind::Uuid:
                return drawDistinct(m_pairs, [&] { return drawUuid(random); });
            case KeyKind::Kind::Hex:
                return drawDistinct(m_pairs, [&] { return drawHex(random, m_keys.digits); });
            case KeyKind::Kind::Words:
                break;
        }
        std::vector<std::string> texts;
        for (const std::size_t place : drawPlaces(random, m_words.size(), static_cast<std::size_t>(m_pairs))) {
            texts.push_back(m_words[place]);
        }
        return texts;
    };
    std::vector<std::string> itemKeys = draw();
    std::vector<std::string> values = draw();
    KvItem item;
    item.id = fmt::format("{}/{}", name(), index);
    item.gold = {std::move(itemKeys[0]), std::move(values[0])};
    for (std::size_t k = 1; k < itemKeys.size(); ++k) {
        item.distractors.emplace_back(std::move(itemKeys[k]), std::move(values[k]));
    }
    return item;
}

const std::vector<std::string>& commonWords() {
    static const std::vector<std::string> words = [] {
        std::vector<std::string> list;
        std::string_view rest = resources::commonWordsText;
        while (!rest.empty()) {
            const std::size_t newline = rest.find('\n');
            const std::string_view word = rest.substr(0, newline);
            if (!word.empty()) list.emplace_back(word);
            rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
        }
        return list;
    }();
    return words;
}

}  // namespace lpes::tasks
