// Damaged and hostile tokenizer files: a sentence, never a crash.
#include <gtest/gtest.h>

#include "tests/core/text/family_golden.h"
#include "tests/core/text/golden.h"
#include "tests/support/temp_folder.h"

namespace lpes::text {
namespace {

using nlohmann::json;
using testing::FamilyGolden;

/// Numbers of a fixed sequence (Knuth's MMIX multiplier).
class Sequence {
  public:
    explicit Sequence(std::uint64_t seed) : m_state(seed) {}
    std::size_t below(std::size_t bound) {
        m_state = m_state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(m_state >> 33) % bound;
    }

  private:
    std::uint64_t m_state;
};

struct Counts {
    int made = 0, refused = 0;
};

/// Uses a tokenizer that was read from damaged files, if it could be.
void use(const Result<TokenizerSpec>& spec, Counts& counts) {
    const auto refusal = [&](const Error& error) {
        EXPECT_FALSE(error.message.empty());
        ++counts.refused;
    };
    if (!spec) return refusal(spec.error());
    const auto tokenizer = makeTokenizer(*spec);
    if (!tokenizer) return refusal(tokenizer.error());
    ++counts.made;
    const std::string text = "Hello  W\xC3\xB6rld \xE2\x91\xA0\xEF\xBC\xA1 e\xCC\x81 <s> 12 \xF0\x9F\x99\x82\n\n</s>a";
    const auto encoding = (*tokenizer)->encode(text, {true, true});
    if (!encoding) return;
    for (const std::size_t begin : encoding->byteBegin) EXPECT_LE(begin, text.size());
    (void)(*tokenizer)->decode(encoding->ids, true);
    (void)(*tokenizer)->description();
}

std::string mutatedBytes(std::string bytes, Sequence& sequence, std::size_t from, std::size_t to) {
    for (std::size_t edits = 1 + sequence.below(4); edits > 0; --edits) {
        const std::size_t at = from + sequence.below(std::min(to, bytes.size()) - from);
        switch (sequence.below(4)) {
            case 0:
                bytes[at] = static_cast<char>(sequence.below(256));
                break;
            case 1:
                bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1u << sequence.below(8)));
                break;
            case 2:
                bytes.erase(at, 1 + sequence.below(20));
                break;
            default:
                bytes.insert(at, std::string(1 + sequence.below(6), static_cast<char>(sequence.below(2) * 255)));
        }
        if (bytes.size() < from + 40) return bytes;
    }
    return bytes;
}

TEST(TokenizerMutations, SentencePieceModels) {
    Counts counts;
    const test::TempFolder folder;
    for (const char* family : {"llama2", "t5"}) {
        const std::string model = FamilyGolden(family).model;
        // Half of the changes at the ends: the specifications of trainer and normalizer stand behind the pieces.
        Sequence sequence(7);
        for (int round = 0; round < 300; ++round) {
            const std::size_t from = round % 2 == 0 ? 0 : model.size() - std::min<std::size_t>(model.size(), 800);
            folder.write("tokenizer.model", mutatedBytes(model, sequence, from, model.size()));
            use(readTokenizerFiles(folder.path()), counts);
        }
        for (std::size_t size = 0; size < 200; ++size) {
            folder.write("tokenizer.model", model.substr(0, size * (model.size() / 200)));
            use(readTokenizerFiles(folder.path()), counts);
        }
    }
    EXPECT_GT(counts.made, 50);
    EXPECT_GT(counts.refused, 200);
}

/// Every value of the file but the vocabulary, by path.
void collect(json& value, std::vector<json*>& out, int depth = 0) {
    out.push_back(&value);
    if (depth > 6 || !value.is_structured()) return;
    for (auto& member : value) {
        if (member.size() < 100) collect(member, out, depth + 1);
    }
}

TEST(TokenizerMutations, ValuesOfTokenizerJson) {
    Counts counts;
    const std::vector<json> values = {nullptr,
                                      true,
                                      -1,
                                      0,
                                      1.5,
                                      4294967296u,
                                      "",
                                      "x",
                                      " ",
                                      "\xE2\x96\x81",
                                      "(",
                                      "a*",
                                      "\\p{L}+",
                                      "always",
                                      "first",
                                      json::array(),
                                      json::object(),
                                      json::array({1, 2}),
                                      json{{"type", "NFKD"}},
                                      json{{"type", "Fuse"}},
                                      json{{"String", ""}},
                                      json{{"Regex", "(?<=a)b"}}};
    const test::TempFolder folder;
    for (const char* family : {"phi3", "gemma", "t5", "nemo"}) {
        json sound = FamilyGolden(family).tokenizer;
        Sequence sequence(11);
        for (int round = 0; round < 400; ++round) {
            json file = sound;
            std::vector<json*> places;
            for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens"}) {
                collect(file[key], places);
            }
            for (const char* key : {"unk_token", "unk_id", "byte_fallback", "fuse_unk", "ignore_merges", "dropout"}) {
                places.push_back(&file["model"][key]);
            }
            *places[sequence.below(places.size())] = values[sequence.below(values.size())];
            folder.write("tokenizer.json", file.dump());
            use(readTokenizerFiles(folder.path()), counts);
        }
    }
    EXPECT_GT(counts.made, 100);
    EXPECT_GT(counts.refused, 200);
}

TEST(TokenizerMutations, CharsmapsOfTokenizerJson) {
    Counts counts;
    json file = FamilyGolden("t5").tokenizer;
    std::string& map = file["normalizer"]["normalizers"][0]["precompiled_charsmap"].get_ref<std::string&>();
    const std::string sound = map;
    static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Sequence sequence(13);
    for (int round = 0; round < 60; ++round) {
        map = sound;
        for (int edits = 0; edits < 3000; ++edits) map[sequence.below(map.size() - 4)] = kDigits[sequence.below(64)];
        // Half of them with the sizes in front as they were.
        if (round % 2 == 0) map.replace(0, 8, sound, 0, 8);
        use(testing::specOf(file), counts);
    }
    EXPECT_GT(counts.made + counts.refused, 50);
}

}  // namespace
}  // namespace lpes::text
