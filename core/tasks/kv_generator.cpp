#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <new>
#include <numeric>
#include <unordered_set>

#include "core/base/random.h"
#include "core/tasks/kv_hash.h"
#include "core/tasks/kv_retrieval.h"

namespace lpes::resources {
extern const std::string_view commonWordsText;
}

namespace lpes::tasks {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr int kMaxHexDigits = 64;

std::string drawHex(RandomStream& random, int digits) {
    std::string text(static_cast<std::size_t>(digits), '0');
    for (std::size_t i = 0; i < text.size(); i += 8) {
        std::uint32_t bits = random.next();
        for (std::size_t k = i; k < text.size() && k < i + 8; ++k, bits >>= 4) text[k] = kHexDigits[bits & 15];
    }
    return text;
}

/// RFC 9562: version 4 (random), variant 10.
std::string drawUuid(RandomStream& random) {
    std::string digits = drawHex(random, 32);
    digits[12] = '4';
    const std::size_t variant = kHexDigits.find(digits[16]) & 3;
    digits[16] = kHexDigits[8 + variant];
    for (const std::size_t dash : {20, 16, 12, 8}) digits.insert(dash, 1, '-');
    return digits;
}

template <class Draw>
std::vector<std::string> drawDistinct(int count, Draw draw) {
    std::vector<std::string> texts;
    std::unordered_set<std::string> seen;
    while (texts.size() < static_cast<std::size_t>(count)) {
        std::string text = draw();
        if (seen.insert(text).second) texts.push_back(std::move(text));
    }
    return texts;
}

/// Without replacement: the first `count` places of a Fisher–Yates shuffle.
std::vector<std::string> drawWords(RandomStream& random, const std::vector<std::string>& words, int count) {
    std::vector<std::size_t> order(words.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        std::swap(order[i], order[i + random.below(order.size() - i)]);
        texts.push_back(words[order[i]]);
    }
    return texts;
}

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

Result<KvDataset> generateKv(const KeyKind& keys, int pairs, std::int64_t count, std::uint64_t seed,
                             std::span<const std::string> words) try {
    if (pairs < 2) {
        return fail(ErrorCode::Usage, fmt::format("a prompt needs at least 2 pairs, {} was asked for", pairs));
    }
    if (count < 1) return fail(ErrorCode::Usage, fmt::format("at least 1 item is needed, {} was asked for", count));

    std::vector<std::string> different;
    if (keys.kind == KeyKind::Kind::Words) {
        std::unordered_set<std::string_view> seen;
        for (const std::string& word : words) {
            if (seen.insert(word).second) different.push_back(word);
        }
    }
    if (const std::int64_t most = differentKeys(keys, different.size()); most < pairs) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} pairs need {} different keys, but '{}' has only {}; ask for fewer pairs", pairs,
                                pairs, keys.text, most));
    }

    KvDataset dataset;
    dataset.name = keys.text;
    dataset.pairs = pairs;
    for (std::int64_t i = 0; i < count; ++i) {
        RandomStream random(seed, kStreamItems, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32));
        const auto draw = [&] {
            switch (keys.kind) {
                case KeyKind::Kind::Uuid:
                    return drawDistinct(pairs, [&] { return drawUuid(random); });
                case KeyKind::Kind::Hex:
                    return drawDistinct(pairs, [&] { return drawHex(random, keys.digits); });
                case KeyKind::Kind::Words:
                    break;
            }
            return drawWords(random, different, pairs);
        };
        std::vector<std::string> itemKeys = draw();
        std::vector<std::string> values = draw();
        KvItem item;
        item.id = fmt::format("{}/{}", dataset.name, i);
        item.gold = {std::move(itemKeys[0]), std::move(values[0])};
        for (std::size_t k = 1; k < itemKeys.size(); ++k) {
            item.distractors.emplace_back(std::move(itemKeys[k]), std::move(values[k]));
        }
        dataset.items.push_back(std::move(item));
    }
    dataset.hash = hashOfItems(dataset.items);
    return dataset;
} catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("not enough memory for {} items of {} pairs; ask for fewer", count, pairs));
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
