#include "core/text/tokenizer.h"

#include <fmt/format.h>

#include <limits>
#include <new>
#include <unordered_map>
#include <utility>

#include "core/text/added_tokens.h"
#include "core/text/bpe_merger.h"
#include "core/text/byte_alphabet.h"
#include "core/text/known_steps.h"
#include "core/text/nfc.h"
#include "core/text/pre_tokenizer.h"
#include "core/text/tokenizer_spec.h"
#include "core/text/unicode.h"

namespace lpes::text {

namespace {

/// Longer pre-tokens are rare enough to be merged each time.
constexpr std::size_t kLongestCachedWord = 64;

class ByteLevelBpe;

/// One encoding in progress. It has its own cache of words, so that the tokenizer itself stays immutable.
class Encoder {
  public:
    Encoder(const ByteLevelBpe& tokenizer, const EncodeOptions& options, Encoding& out)
        : m_tokenizer(tokenizer), m_options(options), m_out(out) {}

    Result<void> run(std::string_view text);

  private:
    Result<void> plain(std::string_view segment, std::size_t begin);
    template <class Origin>
    Result<void> ordinary(std::string_view segment, const Origin& origin);
    std::span<const WordToken> tokensOf(std::string_view word);

    const ByteLevelBpe& m_tokenizer;
    const EncodeOptions& m_options;
    Encoding& m_out;
    PreTokenizer::Scratch m_scratch;
    BpeMerger::Scratch m_mergeScratch;
    std::vector<WordToken> m_word;    ///< tokens of a word that is not cached
    std::vector<WordToken> m_cached;  ///< tokens of all cached words, one behind the other
    std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> m_cache;  ///< word → [begin, end)
    std::deque<NfcText> m_normalized;  ///< keeps alive what the cache's keys point into
};

class ByteLevelBpe final : public Tokenizer {
  public:
    ByteLevelBpe(TokenizerSpec spec, BpeMerger merger, PreTokenizer preTokenizer)
        : m_spec(std::move(spec)),
          m_merger(std::move(merger)),
          m_preTokenizer(std::move(preTokenizer)),
          m_added(m_spec, false),
          m_addedNormalized(m_spec, true),
          m_fingerprint(fingerprintOf(m_spec)) {
        m_bytes.reserve(m_spec.pieces.size());
        for (const auto& piece : m_spec.pieces) m_bytes.push_back(alphabetToBytes(piece).value_or(piece));
        m_special.resize(m_spec.pieces.size());
        for (const auto& token : m_spec.added) {
            m_bytes[static_cast<std::size_t>(token.id)] = token.content;
            m_special[static_cast<std::size_t>(token.id)] = token.special;
        }
    }

    Result<Encoding> encode(std::string_view text, const EncodeOptions& options) const override;
    Result<std::string> decode(std::span<const TokenId> ids, bool keepSpecial) const override;
    std::string piece(TokenId id) const override {
        return contains(id) ? m_spec.pieces[static_cast<std::size_t>(id)] : std::string();
    }
    std::size_t vocabularySize() const override { return m_spec.pieces.size(); }
    TokenId bosId() const override { return m_spec.bosId; }
    const std::vector<TokenId>& endIds() const override { return m_spec.endIds; }
    const std::string& fingerprint() const override { return m_fingerprint; }
    std::string description() const override {
        const bool nfc = m_spec.normalizer == TokenizerSpec::Normalizer::Nfc;
        return fmt::format("byte-level BPE: {}, {} normalizer{}{}", stepsInWords(m_spec.steps), nfc ? "NFC" : "no",
                           m_spec.addPrefixSpace ? ", a space in front" : "",
                           m_spec.ignoreMerges ? ", whole words before merges" : "");
    }

  private:
    friend class Encoder;
    [[nodiscard]] bool contains(TokenId id) const {
        return id >= 0 && static_cast<std::size_t>(id) < m_spec.pieces.size();
    }

    TokenizerSpec m_spec;
    BpeMerger m_merger;
    PreTokenizer m_preTokenizer;
    AddedTokens m_added, m_addedNormalized;
    std::string m_fingerprint;
    std::vector<std::string> m_bytes;  ///< id → the text it stands for
    std::vector<bool> m_special;
};

Result<void> Encoder::run(std::string_view text) {
    std::vector<AddedTokens::Part> parts;
    m_tokenizer.m_added.split(text, m_options.parseSpecial, parts);
    for (const auto& part : parts) {
        if (part.id >= 0) {
            m_out.ids.push_back(part.id);
            m_out.byteBegin.push_back(part.range.begin);
            continue;
        }
        const auto done = plain(text.substr(part.range.begin, part.range.end - part.range.begin), part.range.begin);
        if (!done) return done;
    }
    return {};
}

Result<void> Encoder::plain(std::string_view segment, std::size_t begin) {
    if (m_tokenizer.m_spec.normalizer == TokenizerSpec::Normalizer::None) {
        return ordinary(segment, [begin](std::size_t at) { return begin + at; });
    }
    const NfcText& normal = m_normalized.emplace_back(segment);
    return ordinary(normal.text(), [&, begin](std::size_t at) { return begin + normal.originalOffset(at); });
}

template <class Origin>
Result<void> Encoder::ordinary(std::string_view segment, const Origin& origin) {
    std::vector<AddedTokens::Part> parts;
    m_tokenizer.m_addedNormalized.split(segment, m_options.parseSpecial, parts);
    std::vector<PreToken> words;
    for (const auto& part : parts) {
        if (part.id >= 0) {
            m_out.ids.push_back(part.id);
            m_out.byteBegin.push_back(origin(part.range.begin));
            continue;
        }
        words.clear();
        const std::string_view rest = segment.substr(part.range.begin, part.range.end - part.range.begin);
        const auto done = m_tokenizer.m_preTokenizer.run(rest, m_scratch, words);
        if (!done) return done;
        for (const PreToken& word : words) {
            for (const WordToken& token : tokensOf(word.bytes)) {
                // A space that was put in front has the offset of the character behind it.
                const std::size_t inWord = word.spaceAdded && token.begin > 0 ? token.begin - 1 : token.begin;
                const std::size_t at = origin(part.range.begin + word.begin + inWord);
                if (token.id < 0) {
                    m_out.withoutToken.push_back(at);
                } else {
                    m_out.ids.push_back(token.id);
                    m_out.byteBegin.push_back(at);
                }
            }
        }
    }
    return {};
}

std::span<const WordToken> Encoder::tokensOf(std::string_view word) {
    if (word.size() > kLongestCachedWord) {
        m_word.clear();
        m_tokenizer.m_merger.merge(word, m_mergeScratch, m_word);
        return m_word;
    }
    const auto [at, isNew] = m_cache.try_emplace(word);
    if (isNew) {
        const std::size_t begin = m_cached.size();
        m_tokenizer.m_merger.merge(word, m_mergeScratch, m_cached);
        at->second = {begin, m_cached.size()};
    }
    return std::span(m_cached).subspan(at->second.first, at->second.second - at->second.first);
}

Result<Encoding> ByteLevelBpe::encode(std::string_view text, const EncodeOptions& options) const {
    try {
        if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("The text has {} bytes, and at most 2 GiB can be tokenized; split it.", text.size()));
        }
        if (const auto bad = firstInvalidUtf8(text)) {
            return fail(ErrorCode::BadInput,
                        fmt::format("The text is not UTF-8 at byte {} (0x{:02X}); convert it to UTF-8.", *bad,
                                    static_cast<unsigned>(static_cast<unsigned char>(text[*bad]))));
        }
        Encoding out;
        if (options.addSpecial && m_spec.addBos) {
            out.bosAdded = true;
            out.ids.push_back(m_spec.bosId);
            out.byteBegin.push_back(0);
        }
        const auto done = Encoder(*this, options, out).run(text);
        if (!done) return fail(done.error());
        if (out.bosAdded && out.ids.size() > 1) out.byteBegin[0] = out.byteBegin[1];
        return out;
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    fmt::format("There is no memory to tokenize a text of {} bytes; split it.", text.size()));
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "The text could not be tokenized; please report this.", error.what());
    }
}

Result<std::string> ByteLevelBpe::decode(std::span<const TokenId> ids, bool keepSpecial) const {
    try {
        std::string text;
        for (const TokenId id : ids) {
            if (!contains(id)) {
                return fail(ErrorCode::Usage,
                            fmt::format("Token id {} is outside the vocabulary of {}; use ids from 0 to "
                                        "{}.",
                                        id, m_spec.pieces.size(), m_spec.pieces.size() - 1));
            }
            if (!m_special[static_cast<std::size_t>(id)] || keepSpecial) text += m_bytes[static_cast<std::size_t>(id)];
        }
        return text;
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, fmt::format("There is no memory for the text of {} tokens.", ids.size()));
    }
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> makeTokenizer(TokenizerSpec spec) {
    try {
        if (const auto sound = checkSpec(spec); !sound) return fail(sound.error());
        auto merger = BpeMerger::make(spec);
        if (!merger) return fail(merger.error());
        auto preTokenizer = PreTokenizer::make(spec);
        if (!preTokenizer) return fail(preTokenizer.error());
        return std::make_shared<const ByteLevelBpe>(std::move(spec), std::move(*merger), std::move(*preTokenizer));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for the vocabulary; close other programs.");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The tokenizer's files could not be used; fetch them again.", error.what());
    }
}

}  // namespace lpes::text
