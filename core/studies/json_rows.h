#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/analysis/position_accuracy.h"
#include "core/base/result.h"
#include "core/store/rows.h"
#include "core/store/store.h"

/// JSON of the studies: reading with every key accounted for, and the rows that several verbs print.
namespace lpes::studies {

template <class T>
[[nodiscard]] nlohmann::json optionalJson(const std::optional<T>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// A method's hash by its spelling; null where there is none.
[[nodiscard]] nlohmann::json hashJson(const std::map<std::string, std::string>& hashes, const std::string& method);

/// Reads the keys of an object into variables; a wrong type, a missing key of a non-optional variable and a key that
/// nobody read are errors (BadInput naming the key). Values may be bare or {"value": …, "origin": …}.
class JsonFields {
  public:
    JsonFields(const nlohmann::json& object, std::string what);

    /// Leaves `into` as it is when the key is absent.
    template <class T>
    void read(const char* key, T& into) {
        if (const nlohmann::json* value = take(key)) store(key, *value, into);
    }
    template <class T>
    void read(const char* key, std::optional<T>& into) {
        const nlohmann::json* value = take(key);
        if (value == nullptr) return;
        if (value->is_null()) {
            into.reset();
            return;
        }
        T held{};
        store(key, *value, held);
        into = std::move(held);
    }
    [[nodiscard]] Result<void> finish() const;

  private:
    [[nodiscard]] const nlohmann::json* take(const char* key);
    /// Numbers are taken as they are: nothing is rounded, cut or made of true and false.
    template <class T>
    [[nodiscard]] static bool holds(const nlohmann::json& value) {
        if constexpr (std::is_same_v<T, bool> || !std::is_arithmetic_v<T>) {
            return true;
        } else if constexpr (std::is_integral_v<T>) {
            if (value.is_number_unsigned()) return std::in_range<T>(value.get<std::uint64_t>());
            return value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
        } else {
            return value.is_number();
        }
    }
    template <class T>
    void store(const char* key, const nlohmann::json& value, T& into) {
        if (!holds<T>(value)) {
            if (m_error.empty()) m_error = fmt::format("{}: '{}' has the wrong type: {}", m_what, key, value.dump());
            return;
        }
        try {
            into = value.get<T>();
        } catch (const nlohmann::json::exception&) {
            if (m_error.empty()) m_error = fmt::format("{}: '{}' has the wrong type: {}", m_what, key, value.dump());
        }
    }

    const nlohmann::json& m_object;
    std::string m_what;
    std::set<std::string> m_read;
    std::string m_error;
};

/// {"population": 12} → {"population": {"value": 12, "origin": "flag"}}; what has no origin is a default.
[[nodiscard]] nlohmann::json withOrigins(const nlohmann::json& plain,
                                         const std::map<std::string, std::string>& origins);
[[nodiscard]] std::map<std::string, std::string> readOrigins(const nlohmann::json& stored);

/// {"low", "high"}, both null where there is no interval.
[[nodiscard]] nlohmann::json intervalJson(const std::optional<analysis::Interval>& interval);

/// {"mean", "low", "high", "p_value"} of a paired test, null where there is none.
[[nodiscard]] nlohmann::json testJson(const analysis::PairedBootstrap& test);
/// Null where there is no value.
[[nodiscard]] nlohmann::json optionalsJson(const std::vector<std::optional<double>>& values);

/// The value, null where it is a mean of no items.
[[nodiscard]] nlohmann::json meanJson(double mean, std::int64_t items);
/// intervalJson of analysis::meanAccuracyInterval of the outcomes that `accuracy` sums up; null where no item counts.
[[nodiscard]] nlohmann::json meanAccuracyIntervalJson(const analysis::AccuracyByPosition& accuracy,
                                                      std::span<const analysis::ItemOutcome> outcomes,
                                                      std::uint64_t seed, bool graded);
/// The rows of "positions" as `eval --json` prints them (cli.md); figures of a position with n = 0 are null, as are the
/// ends of an interval of `nll` (by position) that there is not.
[[nodiscard]] nlohmann::json positionsJson(const analysis::AccuracyByPosition& accuracy,
                                           std::span<const std::optional<analysis::Interval>> nll);
[[nodiscard]] std::vector<store::PositionRow> positionRows(const analysis::AccuracyByPosition& accuracy,
                                                           std::int64_t variantId, const std::string& split);

[[nodiscard]] store::OutcomeRow toRow(const analysis::ItemOutcome& outcome);
[[nodiscard]] analysis::ItemOutcome fromRow(const store::OutcomeRow& row);
/// What a variant has answered on a split so far.
[[nodiscard]] Result<std::vector<analysis::ItemOutcome>> storedOutcomes(store::StoreReader& reader,
                                                                        std::int64_t variantId,
                                                                        const std::string& split);

}  // namespace lpes::studies
