#include "core/tasks/token_f1.h"

#include <string>

#include "core/tasks/answer_normalising.h"
#include "core/tasks/python_text.h"
#include "core/tasks/token_overlap.h"
#include "core/tasks/transliteration.h"

namespace lpes::tasks {

namespace {

std::string comparable(std::string_view text, bool ascii) {
    std::string normal = normaliseAnswer(text, WordRule::Re);
    return ascii ? toAscii(normal) : normal;
}

}  // namespace

double tokenF1(std::string_view reference, std::string_view generated, bool ascii) {
    const std::string wantedText = comparable(reference, ascii), predictedText = comparable(generated, ascii);
    const auto wanted = splitWords(wantedText), predicted = splitWords(predictedText);
    return fMeasure(sharedCount(wanted, predicted), predicted.size(), wanted.size());
}

}  // namespace lpes::tasks
