#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "core/model/formats/gguf_config.h"
#include "core/model/formats/gguf_fields.h"

namespace lpes::model {

using Type = GgufValue::Type;

namespace {

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kAddBos = "tokenizer.ggml.add_bos_token";
constexpr const char* kAddEos = "tokenizer.ggml.add_eos_token";
constexpr const char* kAddSpacePrefix = "tokenizer.ggml.add_space_prefix";
constexpr std::array<const char*, 3> kFlags = {kAddBos, kAddEos, kAddSpacePrefix};

/// The numbers of a list whose element type checkGgufVocabulary has seen to.
template <class T>
std::vector<T> numbersOf(GgufFields& fields, const char* key) {
    std::vector<T> numbers;
    const GgufValue* value = fields.find(key);
    if (value == nullptr) return numbers;
    numbers.resize(value->count);
    if (value->count > 0) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
    return numbers;
}

/// A list of another element type would be read as garbage, one of another length beyond its end.
void checkList(GgufFields& fields, const std::string& key, Type elementType, std::optional<std::uint64_t> count) {
    const GgufValue* value = fields.find(key);
    if (value == nullptr) return;
    if (value->type != Type::Array || value->elementType != elementType) {
        fields.refuse(ErrorCode::BadInput, key, fmt::format("an array of {} is needed", ggufTypeName(elementType)));
    } else if (count && value->count != *count) {
        fields.refuse(ErrorCode::BadInput, key, fmt::format("one value for each of the {} tokens is needed", *count));
    }
}

}  // namespace

Result<void> checkGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file) {
    GgufFields fields(gguf, file);
    checkList(fields, kTokens, Type::String, std::nullopt);
    const GgufValue* tokens = fields.find(kTokens);
    const auto count = tokens == nullptr ? std::nullopt : std::optional(tokens->count);
    checkList(fields, "tokenizer.ggml.scores", Type::F32, count);
    checkList(fields, "tokenizer.ggml.token_type", Type::I32, count);
    checkList(fields, "tokenizer.ggml.merges", Type::String, std::nullopt);
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                            "tokenizer.ggml.eom_token_id", "tokenizer.ggml.unknown_token_id"}) {
        if (fields.has(key)) (void)fields.integer(key, 0, std::numeric_limits<int>::max());
    }
    for (const char* key : kFlags) {
        if (const GgufValue* flag = fields.find(key); flag != nullptr && !flag->boolean()) {
            fields.refuse(ErrorCode::BadInput, key, "true or false is needed");
        }
    }
    if (fields.error()) return fail(*fields.error());
    return {};
}

Result<text::GgufVocabulary> readGgufVocabulary(const GgufFile& gguf, const std::filesystem::path& file) {
    GgufFields fields(gguf, file);
    text::GgufVocabulary vocabulary;
    const auto model = fields.string("tokenizer.ggml.model");
    if (!model && !fields.error()) {
        fields.refuse(ErrorCode::BadInput, "tokenizer.ggml.model",
                      "the file has no tokenizer; convert the model again with it");
    }
    const GgufValue* tokens = fields.find(kTokens);
    if (tokens == nullptr)
        fields.refuse(ErrorCode::BadInput, kTokens, "the file has no tokenizer; convert the model again with it");
    const auto pre = fields.string("tokenizer.ggml.pre");
    if (fields.error()) return fail(*fields.error());

    vocabulary.model = *model;
    vocabulary.pre = pre.value_or("");
    vocabulary.tokens = tokens->strings().value_or(std::vector<std::string>{});
    if (const GgufValue* merges = fields.find("tokenizer.ggml.merges")) {
        vocabulary.merges = merges->strings().value_or(std::vector<std::string>{});
    }
    vocabulary.tokenTypes = numbersOf<std::int32_t>(fields, "tokenizer.ggml.token_type");
    vocabulary.scores = numbersOf<float>(fields, "tokenizer.ggml.scores");
    vocabulary.modelName = fields.has("general.name") ? fields.string("general.name").value_or("") : "";
    const auto id = [&](const char* key) {
        return fields.has(key) ? std::int64_t{fields.integer(key, 0, std::numeric_limits<int>::max())} : -1;
    };
    vocabulary.bosId = id("tokenizer.ggml.bos_token_id");
    vocabulary.eosId = id("tokenizer.ggml.eos_token_id");
    vocabulary.eotId = id("tokenizer.ggml.eot_token_id");
    vocabulary.eomId = id("tokenizer.ggml.eom_token_id");
    vocabulary.unknownId = id("tokenizer.ggml.unknown_token_id");
    const auto flag = [&](const char* key) {
        const GgufValue* value = fields.find(key);
        return value == nullptr ? -1 : value->boolean().value_or(false) ? 1 : 0;
    };
    vocabulary.addBos = flag(kAddBos);
    vocabulary.addEos = flag(kAddEos);
    vocabulary.addSpacePrefix = flag(kAddSpacePrefix);
    if (fields.error()) return fail(*fields.error());
    return vocabulary;
}

}  // namespace lpes::model
