#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/tasks/benchmark.h"

/// Needle in a haystack as NVIDIA/RULER asks it (scripts/data/synthetic/niah.py and constants.py): the texts of
/// template, answer prefix, needle and noise, the kinds of keys, values and haystacks, and 128 tokens of room for the
/// answer.
///
/// Ours, and not RULER's:
/// - "words" are two words of our own list with a hyphen, where RULER takes adjective-noun pairs of the wonderwords
///   package; all keys and values of an item differ, and no haystack needle repeats one of them;
/// - the place of the asked needle is chosen by the caller, not drawn: any of the sentences + 1 gaps. The needle that
///   moves is the first value of the first asked key; the others stand in gaps that are drawn, the same for every place
///   of an item, none twice. Where the moving one meets another, it stands in front;
/// - an essay is cut into sentences where a word ends with . ! or ?, closing quotes and brackets left aside, and begins
///   anew when it is too short; RULER uses nltk's punkt;
/// - the text is as long as fits, by binary search over sentences; all items have as many sentences as the longest of
///   them allows, so that a place means the same in all of them;
/// - several answers are forced as "a, b, c".
/// The answer prefix stands at the end of the prompt, in a chat at the end of the user's turn.
namespace lpes::tasks {

/// Tokens that RULER leaves for the answer; they count in NiahSpec::length.
inline constexpr int kNiahAnswerTokens = 128;

struct Needle {
    std::string key, value;
};

/// What one item hides and asks for.
struct NiahNeedles {
    std::vector<Needle> needles;       ///< needles[0] is the one that moves
    std::vector<bool> asked;           ///< by needle: its value is among the answers
    std::vector<std::string> queries;  ///< asked keys
    std::vector<std::string> answers;  ///< in the order of the queries
};

/// Usage for an unknown haystack or kind (names what there is) and for numbers that make no sense. Asking for more keys
/// than `keys` raises `keys`, as RULER does.
[[nodiscard]] Result<NiahSpec> checkedNiahSpec(NiahSpec spec);

/// Item `index`'s needles: from (seed, index) alone.
[[nodiscard]] NiahNeedles drawNeedles(const NiahSpec& spec, std::uint64_t seed, std::int64_t index);
/// Gaps 0 … sentences of the needles that do not move, in the order of needles[1], needles[2], …; none twice.
[[nodiscard]] std::vector<std::size_t> drawGaps(const NiahNeedles& needles, std::uint64_t seed, std::int64_t index,
                                                std::size_t sentences);

/// "One of the special magic numbers for KEY is: VALUE."
[[nodiscard]] std::string needleSentence(const NiahSpec& spec, const Needle& needle);

/// The first `count` sentences of an item's haystack. `essay` is used by "essay" alone.
[[nodiscard]] std::vector<std::string> haystackSentences(const NiahSpec& spec, const std::vector<std::string>& essay,
                                                         const NiahNeedles& needles, std::uint64_t seed,
                                                         std::int64_t index, std::size_t count);

/// The sentences of a text file, or of a folder's .txt files in the order of their names; white space is collapsed.
/// Stops behind `enoughBytes`. BadInput for a file that is no UTF-8, for a folder without .txt files and for no
/// sentence; kStoppedMessage when stopped.
[[nodiscard]] Result<std::vector<std::string>> readEssay(const std::filesystem::path& path, std::size_t enoughBytes,
                                                         std::stop_token stop = {});

/// The whole prompt: haystack, needles[0] in gap `place`, the others in `gaps`.
[[nodiscard]] TaskPrompt renderNiahPrompt(const NiahSpec& spec, const NiahNeedles& needles,
                                          const std::vector<std::string>& haystack,
                                          const std::vector<std::size_t>& gaps, int place);

}  // namespace lpes::tasks
