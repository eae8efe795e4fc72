#include "core/base/checksum.h"

#include <gtest/gtest.h>

namespace lpes {
namespace {

// FIPS 180-4, examples of NIST's Cryptographic Standards and Guidelines.
TEST(Sha256, AgreesWithThePublishedVectors) {
    EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256Hex(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheInputIsCut) {
    Sha256 hash;
    hash.add("a");
    hash.add(std::string_view());
    hash.add(std::as_bytes(std::span("bc", 2)));
    EXPECT_EQ(hash.hex(), sha256Hex("abc"));
}

TEST(Sha256, CanBeMovedWhileItIsFed) {
    Sha256 first;
    first.add("a");
    Sha256 second = std::move(first);
    second.add("bc");
    EXPECT_EQ(second.hex(), sha256Hex("abc"));
}

TEST(Sha256, SeesZeroBytes) {
    EXPECT_NE(sha256Hex(std::string_view("\0", 1)), sha256Hex(""));
}

// RFC 4231, test cases 2 and 6.
TEST(HmacSha256, AgreesWithThePublishedVectors) {
    EXPECT_EQ(hmacSha256Hex("Jefe", "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(hmacSha256Hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace lpes
