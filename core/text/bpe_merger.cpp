#include "core/text/bpe_merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <unordered_set>

#include "core/text/byte_alphabet.h"
#include "core/text/unicode.h"

namespace lpes::text {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

std::uint64_t pairKey(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

std::size_t slotOf(std::uint64_t key, std::size_t size) {
    const std::uint64_t mixed = (key ^ (key >> 29)) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed >> 20) & (size - 1);
}

}  // namespace

Result<BpeMerger> BpeMerger::make(const TokenizerSpec& spec, bool byteLevel) {
    std::unordered_map<std::string_view, TokenId> ids;
    ids.reserve(spec.pieces.size());
    for (std::size_t id = 0; id < spec.pieces.size(); ++id) {
        if (spec.pieces[id].empty()) continue;
        const auto [at, isNew] = ids.emplace(spec.pieces[id], static_cast<TokenId>(id));
        if (!isNew) {
            return fail(ErrorCode::BadInput, fmt::format("The vocabulary spells {:?} twice (ids {} and {}); fetch the "
                                                         "model's files again.",
                                                         spec.pieces[id], at->second, id));
        }
    }
    BpeMerger made;
    made.m_byteLevel = byteLevel;
    if (const auto read = made.readSymbols(ids, spec); !read) return fail(read.error());
    if (const auto read = made.readMerges(ids, spec); !read) return fail(read.error());
    made.m_unknownId = spec.unknownId;
    made.m_fuseUnknown = spec.fuseUnknown;
    made.m_ignoreMerges = spec.ignoreMerges;
    if (spec.ignoreMerges) {
        // Text that happens to spell an added token is not that token here: AddedTokens decides about those.
        std::unordered_set<TokenId> added;
        for (const auto& token : spec.added) added.insert(token.id);
        for (const auto& [piece, id] : ids) {
            if (added.contains(id)) continue;
            auto text = byteLevel ? alphabetToBytes(piece) : std::optional(std::string(piece));
            if (text) made.m_wholeWords.emplace(std::move(*text), id);
        }
    }
    return made;
}

Result<void> BpeMerger::readSymbols(const std::unordered_map<std::string_view, TokenId>& ids,
                                    const TokenizerSpec& spec) {
    if (!m_byteLevel) {
        m_byteToken.fill(-1);
        if (spec.byteFallback) m_byteToken = byteTokens(spec);
        for (const auto& [piece, id] : ids) {
            if (firstInvalidUtf8(piece)) continue;
            const CodePoint c = codePointAt(piece, 0);
            if (c.size == piece.size()) m_characterToken.emplace(c.value, id);
        }
        const bool anyByte = std::any_of(m_byteToken.begin(), m_byteToken.end(), [](TokenId id) { return id >= 0; });
        if (!m_characterToken.empty() || anyByte) return {};
        return fail(ErrorCode::BadInput,
                    fmt::format("None of the vocabulary's {} pieces spells a single character; fetch the model's files "
                                "again.",
                                spec.pieces.size()));
    }
    bool anyByte = false;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        const auto at = ids.find(bytesToAlphabet(std::string_view(&c, 1)));
        m_byteToken[byte] = at == ids.end() ? -1 : at->second;
        anyByte = anyByte || m_byteToken[byte] >= 0;
    }
    if (anyByte) return {};
    return fail(ErrorCode::BadInput,
                fmt::format("None of the vocabulary's {} pieces spells a single byte, so it is not a byte-level "
                            "vocabulary; use a model with a byte-level BPE tokenizer.",
                            spec.pieces.size()));
}

Result<void> BpeMerger::readMerges(const std::unordered_map<std::string_view, TokenId>& ids,
                                   const TokenizerSpec& spec) {
    const auto idOf = [&](std::string_view piece) {
        const auto at = ids.find(piece);
        return at == ids.end() ? TokenId{-1} : at->second;
    };
    m_pairs.resize(std::bit_ceil((spec.merges.size() + spec.scoreMerges.size()) * 2 + 2));
    for (std::size_t k = 0; k < spec.merges.size(); ++k) {
        const auto& [left, right] = spec.merges[k];
        const std::string whole = left + right;
        for (const std::string* part : {&left, &right, &whole}) {
            if (idOf(*part) < 0) {
                return fail(ErrorCode::BadInput,
                            fmt::format("Merge {} ({:?} + {:?}) needs the piece {:?}, which the vocabulary does not "
                                        "have; fetch the model's files again.",
                                        k, left, right, *part));
            }
        }
        insert({pairKey(idOf(left), idOf(right)), static_cast<std::uint32_t>(k), idOf(whole)});
    }
    for (const auto& merge : spec.scoreMerges) insert({pairKey(merge.left, merge.right), merge.rank, merge.whole});
    return {};
}

void BpeMerger::insert(const Pair& pair) {
    std::size_t slot = slotOf(pair.key, m_pairs.size());
    while (m_pairs[slot].key != kNoPair && m_pairs[slot].key != pair.key) slot = (slot + 1) & (m_pairs.size() - 1);
    // The later of two equal merges wins, as in the tokenizers library.
    m_pairs[slot] = pair;
}

const BpeMerger::Pair* BpeMerger::find(TokenId left, TokenId right) const {
    const std::uint64_t key = pairKey(left, right);
    std::size_t slot = slotOf(key, m_pairs.size());
    while (m_pairs[slot].key != key) {
        if (m_pairs[slot].key == kNoPair) return nullptr;
        slot = (slot + 1) & (m_pairs.size() - 1);
    }
    return &m_pairs[slot];
}

void BpeMerger::consider(Scratch& scratch, std::uint32_t position) const {
    const auto& symbol = scratch.symbols[position];
    if (symbol.next == kNone) return;
    const Pair* pair = find(symbol.id, scratch.symbols[symbol.next].id);
    if (pair == nullptr) return;
    scratch.heap.push_back({pair->rank, position, pair->merged});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), [](const auto& a, const auto& b) {
        return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
    });
}

void BpeMerger::putSymbol(TokenId id, std::size_t begin, Scratch& scratch) const {
    const auto at = static_cast<std::uint32_t>(scratch.symbols.size());
    scratch.symbols.push_back({id, static_cast<std::uint32_t>(begin), at == 0 ? kNone : at - 1, at + 1});
    scratch.afterUnknown = false;
}

void BpeMerger::putUnknown(std::size_t begin, std::size_t end, Scratch& scratch) const {
    for (std::size_t at = begin; at < end; ++at) scratch.missing.push_back({-1, static_cast<std::uint32_t>(at)});
    if (m_unknownId >= 0 && !(m_fuseUnknown && scratch.afterUnknown)) putSymbol(m_unknownId, begin, scratch);
    scratch.afterUnknown = true;
}

void BpeMerger::cutIntoBytes(std::string_view word, Scratch& scratch) const {
    for (std::size_t k = 0; k < word.size(); ++k) {
        const TokenId id = m_byteToken[static_cast<unsigned char>(word[k])];
        if (id >= 0) {
            putSymbol(id, k, scratch);
        } else {
            putUnknown(k, k + 1, scratch);
        }
    }
}

void BpeMerger::cutIntoCharacters(std::string_view word, Scratch& scratch) const {
    for (std::size_t at = 0; at < word.size();) {
        const CodePoint c = codePointAt(word, at);
        const auto found = m_characterToken.find(c.value);
        const std::size_t begin = at;
        at += c.size;
        if (found != m_characterToken.end()) {
            putSymbol(found->second, begin, scratch);
            continue;
        }
        const auto byteToken = [&](std::size_t k) { return m_byteToken[static_cast<unsigned char>(word[k])]; };
        bool allBytes = true;
        for (std::size_t k = begin; k < at; ++k) allBytes = allBytes && byteToken(k) >= 0;
        if (!allBytes) {
            putUnknown(begin, at, scratch);
            continue;
        }
        for (std::size_t k = begin; k < at; ++k) putSymbol(byteToken(k), k, scratch);
    }
}

void BpeMerger::merge(std::string_view word, Scratch& scratch, std::vector<WordToken>& out) const {
    if (m_ignoreMerges) {
        if (const auto whole = m_wholeWords.find(std::string(word)); whole != m_wholeWords.end()) {
            out.push_back({whole->second, 0});
            return;
        }
    }
    auto& symbols = scratch.symbols;
    auto& heap = scratch.heap;
    symbols.clear();
    heap.clear();
    scratch.missing.clear();
    scratch.afterUnknown = false;
    if (m_byteLevel) {
        cutIntoBytes(word, scratch);
    } else {
        cutIntoCharacters(word, scratch);
    }
    if (!symbols.empty()) symbols.back().next = kNone;
    for (std::uint32_t k = 0; k + 1 < symbols.size(); ++k) consider(scratch, k);

    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), [](const auto& a, const auto& b) {
            return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
        });
        const auto top = heap.back();
        heap.pop_back();
        auto& symbol = symbols[top.position];
        // Symbols that were merged away have id −1; a candidate whose pair has changed since is out of date.
        if (symbol.id < 0 || symbol.next == kNone) continue;
        auto& right = symbols[symbol.next];
        const Pair* pair = find(symbol.id, right.id);
        if (pair == nullptr || pair->merged != top.merged) continue;
        symbol.id = top.merged;
        symbol.next = right.next;
        right.id = -1;
        if (symbol.next != kNone) symbols[symbol.next].previous = top.position;
        if (symbol.previous != kNone) consider(scratch, symbol.previous);
        consider(scratch, top.position);
    }
    for (std::uint32_t k = symbols.empty() ? kNone : 0; k != kNone; k = symbols[k].next) {
        out.push_back({symbols[k].id, symbols[k].begin});
    }
    out.insert(out.end(), scratch.missing.begin(), scratch.missing.end());
}

}  // namespace lpes::text
