#include "core/studies/training_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/checksum.h"
#include "core/base/clock.h"
#include "core/model/causal_lm.h"
#include "core/tasks/json_keys.h"

namespace lpes::studies {

namespace {

constexpr std::uint64_t kStretch = std::uint64_t{64} << 10, kLongestStretch = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestLine = std::uint64_t{64} << 20;
/// So much of the mapping is let go at a time.
constexpr std::uint64_t kWindow = std::uint64_t{8} << 20;

bool isBlank(std::string_view line) {
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// A byte that continues a UTF-8 character.
bool continues(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
}

}  // namespace

TrainingText::TrainingText(MappedFile file, const text::Tokenizer& tokenizer, int maxLength)
    : m_file(std::make_unique<MappedFile>(std::move(file))), m_tokenizer(&tokenizer), m_maxLength(maxLength) {
    const std::string extension = m_file->path().extension().string();
    m_lines = extension == ".jsonl" || extension == ".ndjson";
}

Result<TrainingText> TrainingText::open(const std::filesystem::path& file, const text::Tokenizer& tokenizer,
                                        int maxLength, ProgressObserver& observer, std::stop_token stop) {
    auto mapped = MappedFile::open(file);
    if (!mapped) return fail(mapped.error());
    TrainingText text(std::move(*mapped), tokenizer, maxLength);
    if (auto done = text.scan(observer, stop); !done) return fail(done.error());
    if (text.m_sequences.empty()) {
        return fail(ErrorCode::BadInput,
                    fmt::format("'{}' has no sequence of at least 2 tokens; give a longer text", file.string()));
    }
    return text;
}

std::string_view TrainingText::bytesOf(std::uint64_t begin, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(m_file->bytes().data()) + begin, count};
}

std::uint64_t TrainingText::endOf(std::uint64_t begin) const {
    const std::uint64_t size = m_file->bytes().size();
    const std::uint64_t least = m_lines ? begin : std::min(size, begin + kStretch);
    const std::uint64_t most = std::min(size, begin + (m_lines ? kLongestLine : kLongestStretch));
    const auto lineEnd = bytesOf(least, most - least).find('\n');
    if (lineEnd != std::string_view::npos) return least + lineEnd + 1;
    std::uint64_t end = most;
    // Not inside a character; four bytes are the longest.
    for (int back = 0; back < 4 && end < size && end > begin + 1 && continues(bytesOf(end, 1)[0]); ++back) --end;
    return end;
}

tl::unexpected<Error> TrainingText::refuse(std::uint64_t begin, const std::string& why) const {
    const std::string_view before = bytesOf(0, begin);
    return fail(ErrorCode::BadInput, fmt::format("'{}', line {}: {}", m_file->path().string(),
                                                 std::count(before.begin(), before.end(), '\n') + 1, why));
}

Result<text::Encoding> TrainingText::encode(std::uint64_t begin, std::uint64_t bytes) const {
    const std::string_view raw = bytesOf(begin, bytes);
    Result<text::Encoding> encoding;
    if (!m_lines) {
        encoding = m_tokenizer->encode(raw, {false, begin == 0});
    } else {
        if (isBlank(raw)) return text::Encoding{};
        if (!raw.ends_with('\n') && begin + bytes < m_file->bytes().size())
            return refuse(begin, fmt::format("longer than the {} MiB that a line may have", kLongestLine >> 20));
        tasks::KeyedJson parsed;
        try {
            parsed = tasks::parseKeyedJson(std::string(raw));
        } catch (const nlohmann::json::exception&) {
            parsed.value = nullptr;  // refused as what it is not
        }
        if (!parsed.repeated.empty()) {
            return refuse(
                begin, fmt::format("'{}' is given twice; remove the one that is not meant", parsed.repeated.front()));
        }
        const nlohmann::json& line = parsed.value;
        if (!line.is_object() || !line.contains("text") || !line["text"].is_string())
            return refuse(begin, R"(no JSON object with a text under "text"; give {"text": "…"} on every line)");
        encoding = m_tokenizer->encode(line["text"].get_ref<const std::string&>(), {false, true});
    }
    if (!encoding) return refuse(begin, encoding.error().text());
    return encoding;
}

Result<void> TrainingText::scan(ProgressObserver& observer, const std::stop_token& stop) {
    const std::uint64_t size = m_file->bytes().size();
    const auto maxLength = static_cast<std::size_t>(m_maxLength);
    Sha256 hash;
    std::uint64_t dropped = 0;
    double told = 0.0;
    const double start = steadySeconds();
    for (std::uint64_t begin = 0; begin < size;) {
        if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        const std::uint64_t end = endOf(begin);
        hash.add(bytesOf(begin, end - begin));
        const auto encoding = encode(begin, end - begin);
        if (!encoding) return fail(encoding.error());
        const std::size_t count = encoding->ids.size();
        if (count > 0 && (m_lines || begin == 0)) ++m_documents;
        m_lostBytes += static_cast<std::int64_t>(encoding->withoutToken.size());
        for (std::size_t first = 0; first + 1 < count; first += maxLength) {
            m_sequences.push_back(
                {begin, static_cast<std::uint32_t>(end - begin), static_cast<std::uint32_t>(first / maxLength)});
            m_tokens += static_cast<std::int64_t>(std::min(maxLength, count - first));
        }
        begin = end;
        if (begin - dropped > kWindow) {
            MappedFile::dropPages(m_file->bytes().subspan(dropped, begin - dropped));
            dropped = begin;
        }
        if (const double now = steadySeconds(); now - told > 0.1) {
            told = now;
            const double rate = static_cast<double>(begin) / std::max(now - start, 1e-9);
            observer.progressed({"loading the text (bytes)", static_cast<std::int64_t>(begin),
                                 static_cast<std::int64_t>(size), rate, static_cast<double>(size - begin) / rate});
        }
    }
    m_hash = hash.hex();
    return {};
}

Result<std::vector<text::TokenId>> TrainingText::sequence(std::size_t index) const {
    const Sequence& sequence = m_sequences[index];
    const auto encoding = encode(sequence.begin, sequence.bytes);
    if (!encoding) return fail(encoding.error());
    const std::size_t first = std::size_t{sequence.chunk} * static_cast<std::size_t>(m_maxLength);
    if (first + 1 >= encoding->ids.size()) return refuse(sequence.begin, "the file was changed while it was read");
    const std::size_t last = std::min(encoding->ids.size(), first + static_cast<std::size_t>(m_maxLength));
    return std::vector<text::TokenId>(encoding->ids.begin() + static_cast<std::ptrdiff_t>(first),
                                      encoding->ids.begin() + static_cast<std::ptrdiff_t>(last));
}

}  // namespace lpes::studies
