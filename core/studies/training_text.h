#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/text/tokenizer.h"

namespace lpes::studies {

/// Text to train on, cut into sequences of tokens; any size, for the file is mapped and read piece by piece, and only
/// 16 bytes per sequence are kept.
///
/// A file whose name ends in .jsonl or .ndjson holds one JSON object per line, each a document with its text under
/// "text"; empty lines are passed over. Every other file is one document of plain text, which is read in stretches of
/// at least 64 KiB that end with a line (of at most 1 MiB, where lines are longer).
///
/// A document, or stretch, is tokenized by itself with the special tokens that the tokenizer adds (of plain text in
/// front of the first stretch alone), and its tokens are cut into consecutive sequences of `maxLength`; the last one is
/// shorter. Nothing is joined across documents and nothing padded. A last sequence of one token has no loss and is left
/// out. immutable, thread-safe.
class TrainingText {
  public:
    /// Tokenizes the file once. BadInput, naming the file and the line or byte: missing or empty file, a line that is
    /// no JSON object with a text under "text", text that is not UTF-8, or nothing to train on. kStoppedMessage when
    /// stopped. The tokenizer outlives the object.
    [[nodiscard]] static Result<TrainingText> open(const std::filesystem::path& file, const text::Tokenizer& tokenizer,
                                                   int maxLength, ProgressObserver& observer, std::stop_token stop);

    [[nodiscard]] std::size_t sequences() const { return m_sequences.size(); }
    [[nodiscard]] std::int64_t documents() const { return m_documents; }
    [[nodiscard]] std::int64_t tokens() const { return m_tokens; }        ///< of all sequences
    [[nodiscard]] std::int64_t lostBytes() const { return m_lostBytes; }  ///< that no token of the vocabulary spells
    [[nodiscard]] const std::string& hash() const { return m_hash; }      ///< SHA-256 of the file

    /// Tokens of one sequence, at least 2. BadInput when the file was changed meanwhile.
    [[nodiscard]] Result<std::vector<text::TokenId>> sequence(std::size_t index) const;

  private:
    struct Sequence {
        std::uint64_t begin = 0;  ///< of its document or stretch, in bytes
        std::uint32_t bytes = 0;  ///< of that
        std::uint32_t chunk = 0;  ///< which of its chunks
    };
    TrainingText(MappedFile file, const text::Tokenizer& tokenizer, int maxLength);

    [[nodiscard]] std::string_view bytesOf(std::uint64_t begin, std::uint64_t count) const;
    /// Where the document or stretch that begins there ends.
    [[nodiscard]] std::uint64_t endOf(std::uint64_t begin) const;
    /// Tokens of a document or stretch; none for an empty line.
    [[nodiscard]] Result<text::Encoding> encode(std::uint64_t begin, std::uint64_t bytes) const;
    [[nodiscard]] tl::unexpected<Error> refuse(std::uint64_t begin, const std::string& why) const;
    Result<void> scan(ProgressObserver& observer, const std::stop_token& stop);

    std::unique_ptr<MappedFile> m_file;
    const text::Tokenizer* m_tokenizer;
    int m_maxLength;
    bool m_lines;  ///< JSON lines
    std::vector<Sequence> m_sequences;
    std::int64_t m_documents = 0, m_tokens = 0, m_lostBytes = 0;
    std::string m_hash;
};

}  // namespace lpes::studies
