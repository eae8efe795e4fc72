#include "core/text/tokenizer_neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/files.h"
#include "core/text/spec_checks.h"
#include "core/text/tokenizer_json_steps.h"

namespace lpes::text {

namespace {

using nlohmann::json;

/// add_bos_token or add_eos_token: said explicitly, the token is there or not, whatever the post-processor does.
Result<void> settleAround(const json& config, const char* key, const std::filesystem::path& path, TokenId token,
                          std::vector<TokenId>& ids) {
    const json& said = memberOf(config, key);
    if (said.is_null()) return {};
    const auto wanted = boolAt(config, key, false, path.string());
    if (!wanted) return fail(wanted.error());
    const auto at = std::find(ids.begin(), ids.end(), token);
    if (*wanted && token < 0) {
        return fail(
            ErrorCode::BadInput,
            fmt::format("{} says {} and names no such token; fetch the tokenizer files again.", path.string(), key));
    }
    if (*wanted && at == ids.end()) ids.push_back(token);
    if (!*wanted && at != ids.end()) ids.erase(at);
    return {};
}

Result<void> readConfig(const std::filesystem::path& path, TokenizerSpec& spec) {
    const auto config = parseJsonFile(path);
    if (!config) return fail(config.error());
    const TokenId bos = idOfSpecial(spec, memberOf(*config, "bos_token"));
    if (bos >= 0 && spec.bosId < 0) spec.bosId = bos;
    const TokenId end = idOfSpecial(spec, memberOf(*config, "eos_token"));
    if (end >= 0) spec.endIds.push_back(end);
    if (const auto done = settleAround(*config, "add_bos_token", path, spec.bosId, spec.prefixIds); !done) return done;
    return settleAround(*config, "add_eos_token", path, end, spec.suffixIds);
}

}  // namespace

Result<json> parseJsonFile(const std::filesystem::path& path) {
    const auto text = readTextFile(path);
    if (!text) return fail(text.error());
    try {
        json value = json::parse(*text);
        if (!value.is_object()) {
            return fail(ErrorCode::BadInput,
                        fmt::format("{} is not a JSON object; fetch the file again.", path.string()));
        }
        return value;
    } catch (const json::exception& error) {
        return fail(ErrorCode::BadInput, fmt::format("{} is not valid JSON; fetch the file again.", path.string()),
                    error.what());
    }
}

const json& memberOf(const json& object, const std::string& key) {
    static const json null;
    const auto found = object.find(key);
    return found == object.end() ? null : *found;
}

Result<TokenId> idFrom(const json& value, const std::string& where) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxVocabulary)) {
        return malformed(where, fmt::format("an id from 0 to {}", kMaxVocabulary - 1));
    }
    return value.get<TokenId>();
}

TokenId idOfSpecial(const TokenizerSpec& spec, const json& token) {
    const json& text = token.is_object() ? memberOf(token, "content") : token;
    if (!text.is_string()) return -1;
    for (const auto& added : spec.added) {
        if (added.content == text.get_ref<const std::string&>()) return added.id;
    }
    return -1;
}

Result<void> readNeighbours(const std::filesystem::path& folder, TokenizerSpec& spec) {
    std::error_code ignored;
    if (const auto path = folder / "tokenizer_config.json"; std::filesystem::exists(path, ignored)) {
        if (const auto done = readConfig(path, spec); !done) return done;
    }
    if (const auto path = folder / "generation_config.json"; std::filesystem::exists(path, ignored)) {
        const auto config = parseJsonFile(path);
        if (!config) return fail(config.error());
        const json& ends = memberOf(*config, "eos_token_id");
        for (const json& end : ends.is_array() ? ends : ends.is_null() ? json::array() : json::array({ends})) {
            const auto id = idFrom(end, path.string() + ": eos_token_id");
            if (!id) return fail(id.error());
            spec.endIds.push_back(*id);
        }
    }
    return {};
}

}  // namespace lpes::text
