#include "core/text/bpe_merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "core/text/byte_alphabet.h"

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

Result<BpeMerger> BpeMerger::make(const TokenizerSpec& spec) {
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
    const auto idOf = [&](std::string_view piece) {
        const auto at = ids.find(piece);
        return at == ids.end() ? TokenId{-1} : at->second;
    };

    BpeMerger made;
    bool anyByte = false;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        made.m_byteToken[byte] = idOf(bytesToAlphabet(std::string_view(&c, 1)));
        anyByte = anyByte || made.m_byteToken[byte] >= 0;
    }
    if (!anyByte) {
        return fail(ErrorCode::BadInput,
                    fmt::format("None of the vocabulary's {} pieces spells a single byte, so it is not a byte-level "
                                "vocabulary; use a model with a byte-level BPE tokenizer.",
                                spec.pieces.size()));
    }

    made.m_pairs.resize(std::bit_ceil(spec.merges.size() * 2 + 2));
    for (std::size_t rank = 0; rank < spec.merges.size(); ++rank) {
        const auto& [left, right] = spec.merges[rank];
        const std::string whole = left + right;
        for (const std::string* part : {&left, &right, &whole}) {
            if (idOf(*part) < 0) {
                return fail(ErrorCode::BadInput,
                            fmt::format("Merge {} ({:?} + {:?}) needs the piece {:?}, which the vocabulary does not "
                                        "have; fetch the model's files again.",
                                        rank, left, right, *part));
            }
        }
        made.insert({pairKey(idOf(left), idOf(right)), static_cast<std::uint32_t>(rank), idOf(whole)});
    }

    made.m_unknownId = spec.unknownId;
    made.m_fuseUnknown = spec.fuseUnknown;
    made.m_ignoreMerges = spec.ignoreMerges;
    if (spec.ignoreMerges) {
        // Text that happens to spell an added token is not that token here: AddedTokens decides about those.
        std::unordered_set<TokenId> added;
        for (const auto& token : spec.added) added.insert(token.id);
        for (const auto& [piece, id] : ids) {
            if (added.contains(id)) continue;
            if (auto bytes = alphabetToBytes(piece)) made.m_wholeWords.emplace(std::move(*bytes), id);
        }
    }
    return made;
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
    std::vector<WordToken> missing;
    bool afterUnknown = false;
    for (std::size_t k = 0; k < word.size(); ++k) {
        TokenId id = m_byteToken[static_cast<unsigned char>(word[k])];
        const bool unknown = id < 0;
        if (unknown) {
            missing.push_back({-1, static_cast<std::uint32_t>(k)});
            if (m_unknownId < 0 || (m_fuseUnknown && afterUnknown)) continue;
            id = m_unknownId;
        }
        afterUnknown = unknown;
        const auto at = static_cast<std::uint32_t>(symbols.size());
        symbols.push_back({id, static_cast<std::uint32_t>(k), at == 0 ? kNone : at - 1, at + 1});
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
    out.insert(out.end(), missing.begin(), missing.end());
}

}  // namespace lpes::text
