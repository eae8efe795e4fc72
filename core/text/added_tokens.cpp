#include "core/text/added_tokens.h"

#include <algorithm>

#include "core/text/unicode.h"

namespace lpes::text {

Result<AddedTokens> AddedTokens::make(const TokenizerSpec& spec, const Normalizer* normalizer) {
    AddedTokens made;
    SplitPattern::Scratch scratch;
    for (const auto& token : spec.added) {
        if (token.normalized != (normalizer != nullptr) || token.content.empty()) continue;
        std::string content = token.content;
        if (normalizer != nullptr && !token.inNormalForm) {
            const auto normal = normalizer->run(token.content, 0, scratch);
            if (!normal) return fail(normal.error());
            content = normal->text();
            if (content.empty()) continue;  // nothing that could be found
        }
        auto& sizes = made.m_sizes[static_cast<unsigned char>(content.front())];
        if (std::find(sizes.begin(), sizes.end(), content.size()) == sizes.end()) sizes.push_back(content.size());
        made.m_tokens.emplace(std::move(content), token);
    }
    for (auto& sizes : made.m_sizes) std::sort(sizes.rbegin(), sizes.rend());
    return made;
}

const TokenizerSpec::Added* AddedTokens::longestAt(std::string_view text, std::size_t at, std::size_t& size) const {
    for (const std::size_t candidate : m_sizes[static_cast<unsigned char>(text[at])]) {
        if (candidate > text.size() - at) continue;
        if (const auto found = m_tokens.find(std::string(text.substr(at, candidate))); found != m_tokens.end()) {
            size = candidate;
            return &found->second;
        }
    }
    return nullptr;
}

void AddedTokens::split(std::string_view text, const std::function<bool(TextRange)>& parse,
                        std::vector<Part>& out) const {
    std::size_t done = 0;  // everything before it is in a part
    const auto ordinaryUpTo = [&](std::size_t end) {
        if (done < end) out.push_back({{done, end}, -1});
    };
    for (std::size_t at = 0; at < text.size() && !m_tokens.empty();) {
        std::size_t size = 0;
        const TokenizerSpec::Added* token = longestAt(text, at, size);
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + size;
        // What was matched is passed over even where the rules below turn it down, as the library does.
        at = end;
        if (token->special && !parse({begin, end})) continue;
        // A token before this one may have taken its first blanks (rstrip).
        if (begin < done) continue;
        if (token->singleWord) {
            const bool wordBefore = begin > 0 && isWordCharacter(codePointBefore(text, begin).value);
            const bool wordBehind = end < text.size() && isWordCharacter(codePointAt(text, end).value);
            if (wordBefore || wordBehind) continue;
        }
        while (token->lstrip && begin > done && isWhiteSpace(codePointBefore(text, begin).value)) {
            begin -= codePointBefore(text, begin).size;
        }
        while (token->rstrip && end < text.size() && isWhiteSpace(codePointAt(text, end).value)) {
            end += codePointAt(text, end).size;
        }
        ordinaryUpTo(begin);
        out.push_back({{begin, end}, token->id});
        done = end;
    }
    ordinaryUpTo(text.size());
}

}  // namespace lpes::text
