#include "core/base/checksum.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

namespace lpes {

namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hexOf(const Digest& digest, unsigned int size) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (unsigned int i = 0; i < size; ++i) {
        out += kDigits[digest[i] >> 4];
        out += kDigits[digest[i] & 15];
    }
    return out;
}

}  // namespace

struct Sha256::Impl {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    Impl() { EVP_DigestInit_ex(context, EVP_sha256(), nullptr); }
    ~Impl() { EVP_MD_CTX_free(context); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

Sha256::Sha256() : m_impl(std::make_unique<Impl>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) {
    EVP_DigestUpdate(m_impl->context, bytes.data(), bytes.size());
}

void Sha256::add(std::string_view text) {
    EVP_DigestUpdate(m_impl->context, text.data(), text.size());
}

std::string Sha256::hex() {
    Digest digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(m_impl->context, digest.data(), &size);
    return hexOf(digest, size);
}

std::string sha256Hex(std::string_view text) {
    Sha256 hash;
    hash.add(text);
    return hash.hex();
}

std::string hmacSha256Hex(std::string_view key, std::string_view text) {
    Digest digest{};
    unsigned int size = 0;
    ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), digest.data(), &size);
    return hexOf(digest, size);
}

}  // namespace lpes
