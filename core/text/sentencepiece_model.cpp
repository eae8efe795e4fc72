#include "core/text/sentencepiece_model.h"

#include <fmt/format.h>

#include <bit>

#include "core/text/protobuf_fields.h"
#include "core/text/spec_checks.h"

namespace lpes::text {

namespace {

using Field = ProtobufFields::Field;

tl::unexpected<Error> damaged(const std::string& where) {
    return fail(
        ErrorCode::BadInput,
        fmt::format("tokenizer.model is not a sentencepiece model, or it is damaged ({}); fetch it again.", where));
}

/// Calls `one` for each field of a message.
template <class One>
bool readFields(std::string_view message, const One& one) {
    ProtobufFields fields(message);
    while (const auto field = fields.next()) one(*field);
    return !fields.damaged();
}

bool readPiece(std::string_view message, ScoredVocabulary& vocabulary) {
    std::string piece;
    float score = 0.0F;
    auto type = static_cast<std::int32_t>(PieceType::Normal);
    const bool sound = readFields(message, [&](const Field& field) {
        if (field.number == 1 && field.isBytes) piece = field.bytes;
        if (field.number == 2 && field.isFixed32) score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        if (field.number == 3 && !field.isBytes && !field.isFixed32) type = static_cast<std::int32_t>(field.value);
    });
    vocabulary.pieces.push_back(std::move(piece));
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type);
    return sound;
}

bool readTrainer(std::string_view message, SentencePieceModel& model) {
    return readFields(message, [&](const Field& field) {
        if (field.isBytes) {
            if (field.number == 46) model.bosPiece = field.bytes;
            if (field.number == 47) model.eosPiece = field.bytes;
            return;
        }
        if (field.number == 3) model.modelType = static_cast<std::int64_t>(field.value);
        if (field.number == 24) model.spacesAsSuffix = field.value != 0;
        if (field.number == 35) model.byteFallback = field.value != 0;
    });
}

bool readNormalizerSpec(std::string_view message, SentencePieceModel& model) {
    return readFields(message, [&](const Field& field) {
        if (field.isBytes) {
            if (field.number == 2) model.charsmap = field.bytes;
            return;
        }
        if (field.number == 3) model.addDummyPrefix = field.value != 0;
        if (field.number == 4) model.removeExtraSpaces = field.value != 0;
        if (field.number == 5) model.escapeSpaces = field.value != 0;
    });
}

}  // namespace

Result<SentencePieceModel> parseSentencePieceModel(std::string_view bytes) {
    SentencePieceModel model;
    ProtobufFields fields(bytes);
    while (const auto field = fields.next()) {
        if (!field->isBytes) continue;
        if (field->number == 1) {
            if (model.vocabulary.pieces.size() >= static_cast<std::size_t>(kMaxVocabulary)) {
                return damaged(fmt::format("more than {} pieces", kMaxVocabulary));
            }
            if (!readPiece(field->bytes, model.vocabulary)) {
                return damaged(fmt::format("piece {}", model.vocabulary.pieces.size() - 1));
            }
        }
        if (field->number == 2 && !readTrainer(field->bytes, model)) return damaged("trainer_spec");
        if (field->number == 3 && !readNormalizerSpec(field->bytes, model)) return damaged("normalizer_spec");
    }
    if (fields.damaged()) return damaged("a field that does not end in the file");
    if (model.vocabulary.pieces.empty()) return damaged("no pieces");
    return model;
}

}  // namespace lpes::text
