#include <string_view>

#include "core/base/files.h"
#include "core/exporters/profile.h"

namespace lpes::exporters {

namespace {

/// A table starts with the header or with a layer's number; only JSON starts with a brace or a bracket.
bool looksLikeTable(std::string_view text, const std::filesystem::path& path) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return path.extension() == ".csv";
    const char c = text[first];
    if (c == '{' || c == '[') return false;
    return path.extension() == ".csv" || text.substr(first).starts_with("layer") || (c >= '0' && c <= '9');
}

}  // namespace

Result<LoadedProfile> readProfile(const std::filesystem::path& path) {
    constexpr std::size_t kLargestFile = 16u << 20;  // thousands of times what any profile needs
    const Result<std::string> text = readTextFile(path, kLargestFile);
    if (!text) return fail(text.error());
    return looksLikeTable(*text, path) ? profileFromCsv(*text, path.string()) : profileFromJson(*text, path.string());
}

}  // namespace lpes::exporters
