#pragma once

#include <string_view>

namespace lpes::tasks {

/// SQuAD's F1 over the words of both normalised answers (answer_normalising.h); no word in common gives 0, two empty
/// answers too. `ascii`: ZeroSCROLLS makes both ASCII after they are normalised, so that a typographic quote becomes
/// part of its word and a Chinese character a word; L-Eval leaves them.
[[nodiscard]] double tokenF1(std::string_view reference, std::string_view generated, bool ascii);

}  // namespace lpes::tasks
