#include "core/text/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>

namespace lpes::text {

std::optional<std::string> bytesFromBase64(std::string_view text) {
    if (text.size() % 4 != 0 || text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        return std::nullopt;
    }
    std::string bytes(text.size() / 4 * 3, '\0');
    if (text.empty()) return bytes;
    const int size =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0) return std::nullopt;
    // EVP_DecodeBlock makes a zero byte of every "=".
    const std::size_t padding = text.back() != '=' ? 0 : text[text.size() - 2] != '=' ? 1 : 2;
    bytes.resize(static_cast<std::size_t>(size) - std::min(padding, static_cast<std::size_t>(size)));
    return bytes;
}

}  // namespace lpes::text
