#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace lpes::rope {

/// One position method as the user spells it (cli.md): a name, and behind a colon its value or its options.
struct MethodPart {
    enum class Kind {
        Baseline,
        PositionInterpolation,  ///< pi:S, positions divided by S
        Ntk,                    ///< ntk:S
        DynamicNtk,             ///< dynamic-ntk:S
        Yarn,                   ///< yarn:S
        LongRope,               ///< longrope:FILE, a CSV of d/2 or L × d/2 factors
        Uniform,                ///< uniform:S, LPES with one value
        Lpes,                   ///< lpes:FILE
        MsPoe,  ///< ms-poe[:min=…,max=…,variant=paper|code,heads=scored|normal,gqa=first|mean,layers=A-B]
        AttentionBuckets,  ///< attention-buckets[:bases=B/B/…|search|search/N,combine=logits|probs]
        Moice              ///< moice:ROUTER_FILE[,top_k=K]
    };
    enum class Variant { Paper, Code };
    enum class Combine { Logits, Probabilities };
    enum class GroupRatio { FirstHead, Mean };
    /// Normal is the released scripts' word for a fixed order that no score changes.
    enum class HeadOrder { Scored, Normal };

    Kind kind = Kind::Baseline;
    double factor = 1.0;                            ///< pi, ntk, dynamic-ntk, yarn, uniform
    std::string file;                               ///< longrope, lpes, moice
    double minRatio = 1.2, maxRatio = 1.8;          ///< ms-poe
    Variant variant = Variant::Paper;               ///< ms-poe
    HeadOrder headOrder = HeadOrder::Scored;        ///< ms-poe; Normal with the code variant alone
    GroupRatio groupRatio = GroupRatio::FirstHead;  ///< ms-poe with grouped-query attention (methods.md §1.5)
    std::optional<int> firstLayer, lastLayer;       ///< ms-poe: layers it applies to; unset: the variant's own
    std::vector<double> bases;                      ///< attention-buckets; empty: the paper's for this model
    std::optional<int> searchedBases;               ///< attention-buckets: so many, found by the search of §1.4
    Combine combine = Combine::Logits;              ///< attention-buckets
    std::optional<int> topK;                        ///< moice; unset: the router file's own

    bool operator==(const MethodPart&) const = default;
};

inline constexpr int kMaxSearchedBases = 32;
inline constexpr double kMaxContextFactor = 1000.0;  ///< of ntk, dynamic-ntk and yarn, which begin at 1
inline constexpr double kMaxRatio = 100.0;           ///< of ms-poe, whose ratios are above 0
inline constexpr double kMaxBase = 1e15;             ///< of attention-buckets and moice, whose bases are above 1

[[nodiscard]] std::string methodName(MethodPart::Kind kind);  ///< "pi", "dynamic-ntk", …

/// Methods joined by '+', in the user's order: at most one of each kind, and only what can go together.
struct MethodSpec {
    std::vector<MethodPart> parts;  ///< at least one; baseline stands alone
    std::string text;               ///< the spelling, for records and plots

    [[nodiscard]] bool isBaseline() const { return parts.front().kind == MethodPart::Kind::Baseline; }
};

/// Usage for a spelling that is none, with the part and the value that is wrong and an example of the right one;
/// Unsupported for methods that cannot be joined: pi, uniform and lpes go with each other and with one of ntk,
/// dynamic-ntk, yarn and longrope; the others stand alone. A '+' joins only where a method's name follows it, and
/// moice's options begin only at ",name=": a file name may hold either character.
[[nodiscard]] Result<MethodSpec> parseMethod(const std::string& text);

/// "a;b;c" → specs; blanks around a part are left out. Usage for an empty part, and for the same method twice in
/// whatever spelling (pi:1.5 and pi:1.50), since their results could not be told apart.
[[nodiscard]] Result<std::vector<MethodSpec>> parseMethods(const std::string& text);

}  // namespace lpes::rope
