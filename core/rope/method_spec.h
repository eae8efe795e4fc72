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
        MsPoe,                  ///< ms-poe[:min=…,max=…,variant=paper|code,gqa=first|mean,layers=A-B]
        AttentionBuckets,       ///< attention-buckets[:bases=B/B/…,combine=logits|probs]
        Moice                   ///< moice:ROUTER_FILE[,top_k=K]
    };
    enum class Variant { Paper, Code };
    enum class Combine { Logits, Probabilities };
    enum class GroupRatio { FirstHead, Mean };

    Kind kind = Kind::Baseline;
    double factor = 1.0;                            ///< pi, ntk, dynamic-ntk, yarn, uniform
    std::string file;                               ///< longrope, lpes, moice
    double minRatio = 1.2, maxRatio = 1.8;          ///< ms-poe
    Variant variant = Variant::Paper;               ///< ms-poe
    GroupRatio groupRatio = GroupRatio::FirstHead;  ///< ms-poe with grouped-query attention (methods.md §1.5)
    std::optional<int> firstLayer, lastLayer;       ///< ms-poe: layers it applies to; unset: the variant's own
    std::vector<double> bases;                      ///< attention-buckets; empty: the paper's for this model
    Combine combine = Combine::Logits;              ///< attention-buckets
    std::optional<int> topK;                        ///< moice; unset: the router file's own
};

[[nodiscard]] std::string methodName(MethodPart::Kind kind);  ///< "pi", "dynamic-ntk", …

/// Methods joined by '+', in the user's order: at most one of each kind, and only what can go together.
struct MethodSpec {
    std::vector<MethodPart> parts;  ///< at least one; baseline stands alone
    std::string text;               ///< the spelling, for records and plots

    [[nodiscard]] bool isBaseline() const { return parts.front().kind == MethodPart::Kind::Baseline; }
};

/// Usage for a spelling that is none, with the part and the value that is wrong and an example of the right one;
/// Unsupported for methods that cannot be joined. A '+' joins only where a method's name follows it: a file name may
/// hold one.
[[nodiscard]] Result<MethodSpec> parseMethod(const std::string& text);

/// "a;b;c" → specs. Usage for an empty part or the same method twice.
[[nodiscard]] Result<std::vector<MethodSpec>> parseMethods(const std::string& text);

}  // namespace lpes::rope
