#include "core/base/json_text.h"

namespace lpes {

using nlohmann::json;

std::string jsonLine(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json toJson(const Error& error) {
    return {{"code", errorName(error.code)},
            {"message", error.message},
            {"detail", error.detail},
            {"context", error.context}};
}

ErrorCode errorCodeNamed(std::string_view name) {
    for (const ErrorCode code :
         {ErrorCode::Usage, ErrorCode::BadInput, ErrorCode::Unsupported, ErrorCode::OutOfMemory, ErrorCode::Database}) {
        if (errorName(code) == name) return code;
    }
    return ErrorCode::Failed;
}

}  // namespace lpes
