#include "core/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/text/added_tokens.h"
#include "core/text/bpe_merger.h"
#include "core/text/byte_alphabet.h"
#include "core/text/decoder.h"
#include "core/text/known_steps.h"
#include "core/text/normalizer.h"
#include "core/text/pre_tokenizer.h"
#include "core/text/spec_checks.h"
#include "core/text/unicode.h"
#include "core/text/unigram_model.h"

namespace lpes::text {

namespace {

/// Longer pre-tokens are rare enough to be merged each time.
constexpr std::size_t kLongestCachedWord = 64;

/// Heterogeneous look-up, so that a word that is known costs no copy.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

using Model = std::variant<BpeMerger, UnigramModel>;

class StepTokenizer;

/// One encoding in progress. It has its own cache of words, so that the tokenizer itself stays immutable.
class Encoder {
  public:
    Encoder(const StepTokenizer& tokenizer, const EncodeOptions& options, Encoding& out)
        : m_tokenizer(tokenizer), m_options(options), m_out(out) {}

    Result<void> run(std::string_view text);

  private:
    /// Whether a special token at this place of the user's text is one.
    [[nodiscard]] bool isParsed(TextRange at) const;
    Result<void> plain(std::string_view segment, std::size_t begin);
    Result<void> words(MappedText text);
    std::span<const WordToken> tokensOf(std::string_view word);
    void putTokens(std::string_view word, std::vector<WordToken>& out);

    const StepTokenizer& m_tokenizer;
    const EncodeOptions& m_options;
    Encoding& m_out;
    PreTokenizer::Scratch m_scratch;
    BpeMerger::Scratch m_bpeScratch;
    UnigramModel::Scratch m_unigramScratch;
    std::vector<WordToken> m_word;    ///< tokens of a word that is not cached
    std::vector<WordToken> m_cached;  ///< tokens of all cached words, one behind the other
    /// word → [begin, end)
    std::unordered_map<std::string, std::pair<std::size_t, std::size_t>, TextHash, std::equal_to<>> m_cache;
};

/// The parts of a tokenizer, made from its spec.
struct Parts {
    Normalizer normalizer;
    AddedTokens added, addedNormalized;
    PreTokenizer preTokenizer;
    Model model;
    Decoder decoder;
};

class StepTokenizer final : public Tokenizer {
  public:
    StepTokenizer(TokenizerSpec spec, Parts parts)
        : m_spec(std::move(spec)), m_parts(std::move(parts)), m_fingerprint(fingerprintOf(m_spec)) {
        m_special.resize(m_spec.pieces.size());
        for (const auto& token : m_spec.added) m_special[static_cast<std::size_t>(token.id)] = token.special;
        if (!m_parts.decoder.isByteLevelAlone()) return;
        m_bytes.reserve(m_spec.pieces.size());
        for (const auto& piece : m_spec.pieces) m_bytes.push_back(alphabetToBytes(piece).value_or(piece));
        for (const auto& token : m_spec.added) m_bytes[static_cast<std::size_t>(token.id)] = token.content;
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
    std::string description() const override { return specInWords(m_spec); }

  private:
    friend class Encoder;
    [[nodiscard]] bool contains(TokenId id) const {
        return id >= 0 && static_cast<std::size_t>(id) < m_spec.pieces.size();
    }

    TokenizerSpec m_spec;
    Parts m_parts;
    std::string m_fingerprint;
    std::vector<std::string> m_bytes;  ///< id → the text it stands for, where that is the same in every sequence
    std::vector<bool> m_special;
};

Result<void> Encoder::run(std::string_view text) {
    std::vector<AddedTokens::Part> parts;
    m_tokenizer.m_parts.added.split(
        text, [&](TextRange at) { return isParsed(at); }, parts);
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

bool Encoder::isParsed(TextRange at) const {
    const auto& ranges = m_options.specialRanges;
    if (!m_options.parseSpecial || ranges.empty()) return m_options.parseSpecial;
    const auto next = std::upper_bound(ranges.begin(), ranges.end(), at.begin,
                                       [](std::size_t begin, const TextRange& range) { return begin < range.begin; });
    return next != ranges.begin() && at.end <= std::prev(next)->end;
}

Result<void> Encoder::plain(std::string_view segment, std::size_t begin) {
    const auto text = m_tokenizer.m_parts.normalizer.run(segment, begin, m_scratch.pattern);
    if (!text) return fail(text.error());
    std::vector<AddedTokens::Part> parts;
    const auto parse = [&](TextRange at) { return isParsed({text->origin(at.begin), text->origin(at.end)}); };
    m_tokenizer.m_parts.addedNormalized.split(text->text(), parse, parts);
    for (const auto& part : parts) {
        if (part.id >= 0) {
            m_out.ids.push_back(part.id);
            m_out.byteBegin.push_back(text->origin(part.range.begin));
            continue;
        }
        if (const auto done = words(text->part(part.range.begin, part.range.end)); !done) return done;
    }
    return {};
}

Result<void> Encoder::words(MappedText text) {
    WordList list;
    list.words.push_back({0, text.size()});
    list.text = std::move(text);
    if (const auto done = m_tokenizer.m_parts.preTokenizer.run(list, m_scratch); !done) return done;
    for (const TextRange& word : list.words) {
        for (const WordToken& token : tokensOf(list.text.text().substr(word.begin, word.end - word.begin))) {
            const std::size_t at = list.text.origin(word.begin + token.begin);
            if (token.id < 0) {
                m_out.withoutToken.push_back(at);
            } else {
                m_out.ids.push_back(token.id);
                m_out.byteBegin.push_back(at);
            }
        }
    }
    return {};
}

std::span<const WordToken> Encoder::tokensOf(std::string_view word) {
    if (word.size() > kLongestCachedWord) {
        m_word.clear();
        putTokens(word, m_word);
        return m_word;
    }
    auto at = m_cache.find(word);
    if (at == m_cache.end()) {
        const std::size_t begin = m_cached.size();
        putTokens(word, m_cached);
        at = m_cache.emplace(word, std::pair{begin, m_cached.size()}).first;
    }
    return std::span(m_cached).subspan(at->second.first, at->second.second - at->second.first);
}

void Encoder::putTokens(std::string_view word, std::vector<WordToken>& out) {
    if (const auto* bpe = std::get_if<BpeMerger>(&m_tokenizer.m_parts.model)) {
        bpe->merge(word, m_bpeScratch, out);
    } else {
        std::get<UnigramModel>(m_tokenizer.m_parts.model).tokenize(word, m_unigramScratch, out);
    }
}

Result<Encoding> StepTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
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
        if (options.addSpecial) {
            out.bosAdded = !m_spec.prefixIds.empty();
            out.ids = m_spec.prefixIds;
            out.byteBegin.assign(out.ids.size(), 0);
        }
        const std::size_t inFront = out.ids.size();
        const auto done = Encoder(*this, options, out).run(text);
        if (!done) return fail(done.error());
        if (options.addSpecial) {
            out.ids.insert(out.ids.end(), m_spec.suffixIds.begin(), m_spec.suffixIds.end());
            out.byteBegin.resize(out.ids.size(), text.size());
        }
        if (out.ids.size() > inFront) std::fill_n(out.byteBegin.begin(), inFront, out.byteBegin[inFront]);
        return out;
    } catch (const std::length_error&) {
        return fail(ErrorCode::Failed,
                    fmt::format("The tokenizer's normalizer makes more than 2 GiB out of the text of {} bytes; split "
                                "it.",
                                text.size()));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory,
                    fmt::format("There is no memory to tokenize a text of {} bytes; split it.", text.size()));
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "The text could not be tokenized; please report this.", error.what());
    }
}

Result<std::string> StepTokenizer::decode(std::span<const TokenId> ids, bool keepSpecial) const {
    try {
        std::string text;
        std::vector<std::string> pieces;
        const bool alone = m_parts.decoder.isByteLevelAlone();
        for (const TokenId id : ids) {
            if (!contains(id)) {
                return fail(ErrorCode::Usage,
                            fmt::format("Token id {} is outside the vocabulary of {}; use ids from 0 to "
                                        "{}.",
                                        id, m_spec.pieces.size(), m_spec.pieces.size() - 1));
            }
            const auto index = static_cast<std::size_t>(id);
            if (m_special[index] && !keepSpecial) continue;
            if (alone) {
                text += m_bytes[index];
            } else {
                pieces.push_back(m_spec.pieces[index]);
            }
        }
        if (alone) return text;
        return m_parts.decoder.run(std::move(pieces));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, fmt::format("There is no memory for the text of {} tokens.", ids.size()));
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "The tokens could not be decoded; please report this.", error.what());
    }
}

Result<Model> makeModel(const TokenizerSpec& spec, bool byteLevel) {
    if (spec.model == TokenizerSpec::Model::Bpe) {
        auto bpe = BpeMerger::make(spec, byteLevel);
        if (!bpe) return fail(bpe.error());
        return Model(std::move(*bpe));
    }
    if (byteLevel) {
        return fail(ErrorCode::Unsupported,
                    "A Unigram model behind ByteLevel is not supported; use a model with a BPE tokenizer.");
    }
    auto unigram = UnigramModel::make(spec);
    if (!unigram) return fail(unigram.error());
    return Model(std::move(*unigram));
}

Result<Parts> makeParts(const TokenizerSpec& spec) {
    if (const auto sound = checkSpec(spec); !sound) return fail(sound.error());
    auto normalizer = Normalizer::make(spec);
    if (!normalizer) return fail(normalizer.error());
    auto added = AddedTokens::make(spec, nullptr);
    if (!added) return fail(added.error());
    auto addedNormalized = AddedTokens::make(spec, &*normalizer);
    if (!addedNormalized) return fail(addedNormalized.error());
    auto preTokenizer = PreTokenizer::make(spec);
    if (!preTokenizer) return fail(preTokenizer.error());
    const bool byteLevel = preTokenizer->isByteLevel();
    auto decoder = Decoder::make(spec, byteLevel);
    if (!decoder) return fail(decoder.error());
    auto model = makeModel(spec, byteLevel);
    if (!model) return fail(model.error());
    return Parts{std::move(*normalizer),   std::move(*added), std::move(*addedNormalized),
                 std::move(*preTokenizer), std::move(*model), std::move(*decoder)};
}

}  // namespace

Result<Tokenizer::KnownText> Tokenizer::decodeKnown(std::span<const TokenId> ids, bool keepSpecial) const {
    std::vector<TokenId> known;
    std::ranges::copy_if(ids, std::back_inserter(known), [size = vocabularySize()](TokenId id) {
        return id >= 0 && static_cast<std::size_t>(id) < size;
    });
    auto text = decode(known, keepSpecial);
    if (!text) return fail(text.error());
    return KnownText{std::move(*text), std::ssize(ids) - std::ssize(known)};
}

Result<std::shared_ptr<const Tokenizer>> makeTokenizer(TokenizerSpec spec) {
    try {
        auto parts = makeParts(spec);
        if (!parts) return fail(parts.error());
        return std::make_shared<const StepTokenizer>(std::move(spec), std::move(*parts));
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for the vocabulary; close other programs.");
    } catch (const std::exception& error) {
        return fail(ErrorCode::BadInput, "The tokenizer's files could not be used; fetch them again.", error.what());
    }
}

}  // namespace lpes::text
