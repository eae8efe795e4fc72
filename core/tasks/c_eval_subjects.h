#pragma once

#include <string_view>

namespace lpes::tasks {

/// The Chinese name of one of C-Eval's 52 subjects ("law" → "法学"), as it stands in the prompt (subject_mapping.json
/// of hkust-nlp/ceval); empty for any other.
[[nodiscard]] std::string_view cEvalSubjectName(std::string_view subject);

}  // namespace lpes::tasks
