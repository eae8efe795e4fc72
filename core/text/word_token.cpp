#include "core/text/word_token.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

namespace lpes::text {

std::string bytePiece(unsigned char byte) {
    return fmt::format("<0x{:02X}>", byte);
}

std::array<TokenId, 256> byteTokens(const TokenizerSpec& spec) {
    std::unordered_map<std::string, std::size_t> byteOf;
    for (std::size_t byte = 0; byte < 256; ++byte) byteOf.emplace(bytePiece(static_cast<unsigned char>(byte)), byte);
    std::array<TokenId, 256> ids{};
    ids.fill(-1);
    for (std::size_t id = 0; id < spec.pieces.size(); ++id) {
        if (spec.pieces[id].size() != 6) continue;
        if (const auto at = byteOf.find(spec.pieces[id]); at != byteOf.end())
            ids[at->second] = static_cast<TokenId>(id);
    }
    return ids;
}

}  // namespace lpes::text
