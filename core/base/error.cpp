#include "core/base/error.h"

namespace lpes {

std::string Error::text() const {
    std::string out;
    if (!context.empty()) out += context + ": ";
    out += message;
    if (!detail.empty()) out += " (" + detail + ")";
    return out;
}

int exitCode(ErrorCode code) {
    switch (code) {
        case ErrorCode::Failed:
            return 1;
        case ErrorCode::Usage:
            return 2;
        case ErrorCode::BadInput:
            return 3;
        case ErrorCode::Unsupported:
            return 4;
        case ErrorCode::OutOfMemory:
            return 5;
        case ErrorCode::Database:
            return 6;
    }
    return 1;
}

std::string_view errorName(ErrorCode code) {
    switch (code) {
        case ErrorCode::Failed:
            return "failed";
        case ErrorCode::Usage:
            return "usage";
        case ErrorCode::BadInput:
            return "bad_input";
        case ErrorCode::Unsupported:
            return "unsupported";
        case ErrorCode::OutOfMemory:
            return "out_of_memory";
        case ErrorCode::Database:
            return "database";
    }
    return "failed";
}

}  // namespace lpes
