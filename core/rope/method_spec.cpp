#include "core/rope/method_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/rope/rivals.h"
#include "core/rope/rope_config.h"

namespace lpes::rope {
namespace {

using Kind = MethodPart::Kind;

struct Known {
    Kind kind;
    std::string_view name;
    std::string_view example;
};

constexpr std::array<Known, 11> kKnown{{
    {Kind::Baseline, "baseline", "baseline"},
    {Kind::PositionInterpolation, "pi", "pi:1.5"},
    {Kind::Ntk, "ntk", "ntk:2"},
    {Kind::DynamicNtk, "dynamic-ntk", "dynamic-ntk:2"},
    {Kind::Yarn, "yarn", "yarn:4"},
    {Kind::LongRope, "longrope", "longrope:factors.csv"},
    {Kind::Uniform, "uniform", "uniform:1.5"},
    {Kind::Lpes, "lpes", "lpes:profile.json"},
    {Kind::MsPoe, "ms-poe", "ms-poe:min=1.2,max=1.8,variant=code,gqa=first,layers=2-31"},
    {Kind::AttentionBuckets, "attention-buckets", "attention-buckets:bases=10000/18000/25000,combine=logits"},
    {Kind::Moice, "moice", "moice:router.moice,top_k=3"},
}};

const Known* findKnown(std::string_view name) {
    const auto it = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.name == name; });
    return it == kKnown.end() ? nullptr : &*it;
}

const Known& known(Kind kind) {
    return *std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.kind == kind; });
}

std::string allNames() {
    std::string names;
    for (const Known& each : kKnown) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    return names;
}

std::string_view nameOf(std::string_view text) {
    return text.substr(0, text.find(':'));
}

/// "a+b" joins two methods only where a method's name follows the plus: a profile's file name may hold one.
std::vector<std::string_view> splitAtPluses(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    for (std::size_t plus = text.find('+'); plus != std::string_view::npos; plus = text.find('+', plus + 1)) {
        const std::string_view rest = text.substr(plus + 1);
        if (findKnown(nameOf(rest.substr(0, rest.find('+')))) == nullptr) continue;
        parts.push_back(text.substr(begin, plus - begin));
        begin = plus + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
}

template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value)) return std::nullopt;
    }
    return value;
}

/// Reads one method; every refusal names the part, the value, and shows how it is written.
class PartReader {
  public:
    PartReader(std::string_view text, const Known& method) : m_text(text), m_method(method) {
        m_part.kind = method.kind;
        m_hasArgument = method.name.size() < text.size();
        if (m_hasArgument) m_argument = text.substr(method.name.size() + 1);
    }

    Result<MethodPart> read() {
        if (auto done = readArgument(); !done) return fail(done.error());
        return std::move(m_part);
    }

  private:
    Result<void> readArgument() {
        switch (m_method.kind) {
            case Kind::Baseline:
                if (m_hasArgument)
                    return wrong(fmt::format("the method 'baseline' takes no value but got '{}'", m_argument));
                return {};
            case Kind::PositionInterpolation:
            case Kind::Uniform:
                return readFactor(kMinScale, kMaxScale);
            case Kind::Ntk:
            case Kind::DynamicNtk:
            case Kind::Yarn:
                return readFactor(1.0, kMaxContextFactor);
            case Kind::LongRope:
            case Kind::Lpes:
                m_part.file = m_argument;
                return checkFile();
            case Kind::Moice:
                return readFileAndOptions();
            case Kind::MsPoe:
            case Kind::AttentionBuckets:
                return m_hasArgument ? readOptions(m_argument) : Result<void>{};
        }
        return {};
    }

    [[nodiscard]] tl::unexpected<Error> wrong(const std::string& what) const {
        return fail(ErrorCode::Usage, fmt::format("{}; write for example {}", what, m_method.example));
    }

    Result<void> readFactor(double least, double largest) {
        const std::optional<double> factor = number<double>(m_argument);
        if (!factor || *factor < least || *factor > largest) {
            return wrong(fmt::format("'{}' in the method '{}' is not a number from {} to {}", m_argument, m_text, least,
                                     largest));
        }
        m_part.factor = *factor;
        return {};
    }

    Result<void> checkFile() const {
        if (m_part.file.empty()) return wrong(fmt::format("the method '{}' names no file", m_text));
        return {};
    }

    /// Options stand behind the file; what is no ",name=" is taken to belong to the file's name.
    Result<void> readFileAndOptions() {
        std::string_view file = m_argument;
        for (std::size_t comma = file.rfind(','); comma != std::string_view::npos; comma = file.rfind(',')) {
            const std::string_view option = file.substr(comma + 1);
            const std::size_t equals = option.find('=');
            const bool named = equals != std::string_view::npos && equals > 0 &&
                               option.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == equals;
            if (!named) break;
            file = file.substr(0, comma);
        }
        m_part.file = file;
        if (auto valid = checkFile(); !valid) return valid;
        return file.size() == m_argument.size() ? Result<void>{} : readOptions(m_argument.substr(file.size() + 1));
    }

    Result<void> readOptions(std::string_view text) {
        std::vector<std::string_view> seen;
        for (;;) {
            const std::size_t comma = text.find(',');
            const std::string_view option = text.substr(0, comma);
            const std::size_t equals = option.find('=');
            if (equals == std::string_view::npos) {
                return wrong(fmt::format("'{}' in the method '{}' is no option=value", option, m_text));
            }
            const std::string_view name = option.substr(0, equals);
            if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
                return wrong(fmt::format("the option '{}' stands twice in the method '{}'", name, m_text));
            }
            seen.push_back(name);
            if (auto done = readOption(name, option.substr(equals + 1)); !done) return done;
            if (comma == std::string_view::npos) break;
            text.remove_prefix(comma + 1);
        }
        if (m_part.minRatio > m_part.maxRatio) {
            return wrong(
                fmt::format("the method '{}' has min={} above max={}", m_text, m_part.minRatio, m_part.maxRatio));
        }
        return checkHeadOrder();
    }

    /// The fixed order is the released code's, and there are no scores whose means a group could share.
    Result<void> checkHeadOrder() const {
        if (m_part.headOrder == MethodPart::HeadOrder::Scored) return {};
        const bool code = m_part.variant == MethodPart::Variant::Code;
        if (code && m_part.groupRatio == MethodPart::GroupRatio::FirstHead) return {};
        return fail(
            ErrorCode::Usage,
            fmt::format("heads=normal in the method '{}' {}; write for example ms-poe:variant=code,heads=normal",
                        m_text,
                        code ? "scores no heads, and gqa=mean is about their scores"
                             : "is of the released code, and the paper has no such order"));
    }

    Result<void> readOption(std::string_view name, std::string_view value) {
        const bool msPoe = m_method.kind == Kind::MsPoe, buckets = m_method.kind == Kind::AttentionBuckets;
        if (msPoe && name == "min") return readRatio(name, value, m_part.minRatio);
        if (msPoe && name == "max") return readRatio(name, value, m_part.maxRatio);
        if (msPoe && name == "variant") {
            return readWord(name, value, m_part.variant, "paper", MethodPart::Variant::Paper, "code",
                            MethodPart::Variant::Code);
        }
        if (msPoe && name == "heads") {
            return readWord(name, value, m_part.headOrder, "scored", MethodPart::HeadOrder::Scored, "normal",
                            MethodPart::HeadOrder::Normal);
        }
        if (msPoe && name == "gqa") {
            return readWord(name, value, m_part.groupRatio, "first", MethodPart::GroupRatio::FirstHead, "mean",
                            MethodPart::GroupRatio::Mean);
        }
        if (msPoe && name == "layers") return readLayers(value);
        if (buckets && name == "bases") return readBases(value);
        if (buckets && name == "combine") {
            return readWord(name, value, m_part.combine, "logits", MethodPart::Combine::Logits, "probs",
                            MethodPart::Combine::Probabilities);
        }
        if (m_method.kind == Kind::Moice && name == "top_k") {
            m_part.topK = number<int>(value);
            if (!m_part.topK || *m_part.topK < 1) return wrongValue(name, value, "a whole number from 1");
            return {};
        }
        return wrong(fmt::format("the method '{}' has no option '{}' (in '{}')", m_method.name, name, m_text));
    }

    [[nodiscard]] tl::unexpected<Error> wrongValue(std::string_view name, std::string_view value,
                                                   const std::string& wanted) const {
        return wrong(fmt::format("'{}' of {} in the method '{}' is not {}", value, name, m_text, wanted));
    }

    Result<void> readRatio(std::string_view name, std::string_view value, double& ratio) const {
        const std::optional<double> read = number<double>(value);
        if (!read || *read <= 0.0 || *read > kMaxRatio) {
            return wrongValue(name, value, fmt::format("a number above 0 and up to {}", kMaxRatio));
        }
        ratio = *read;
        return {};
    }

    template <class T>
    Result<void> readWord(std::string_view name, std::string_view value, T& out, std::string_view first, T firstValue,
                          std::string_view second, T secondValue) const {
        if (value != first && value != second) return wrongValue(name, value, fmt::format("{} or {}", first, second));
        out = value == first ? firstValue : secondValue;
        return {};
    }

    Result<void> readLayers(std::string_view value) {
        const std::size_t dash = value.find('-');
        const auto first = number<int>(value.substr(0, dash));
        const auto last = dash == std::string_view::npos ? std::nullopt : number<int>(value.substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first) {
            return wrongValue("layers", value, "FIRST-LAST, two layers counted from 0 in ascending order");
        }
        m_part.firstLayer = first;
        m_part.lastLayer = last;
        return {};
    }

    Result<void> readBases(std::string_view value) {
        constexpr std::string_view kSearch = "search";
        if (value.substr(0, value.find('/')) == kSearch) {
            const bool counted = value.size() > kSearch.size();
            const std::optional<int> count =
                counted ? number<int>(value.substr(kSearch.size() + 1)) : std::optional<int>(BucketSearch{}.count);
            if (!count || *count < 2 || *count > kMaxSearchedBases) {
                return wrongValue("bases", value,
                                  fmt::format("search, or search/N with N from 2 to {}", kMaxSearchedBases));
            }
            m_part.searchedBases = count;
            return {};
        }
        for (std::string_view rest = value;;) {
            const std::size_t slash = rest.find('/');
            const std::optional<double> base = number<double>(rest.substr(0, slash));
            if (!base || *base <= 1.0 || *base > kMaxBase) {
                return wrongValue("bases", rest.substr(0, slash),
                                  fmt::format("a number above 1 and up to {}, the next one behind a '/'", kMaxBase));
            }
            m_part.bases.push_back(*base);
            if (slash == std::string_view::npos) return {};
            rest.remove_prefix(slash + 1);
        }
    }

    std::string_view m_text;
    const Known& m_method;
    bool m_hasArgument = false;
    std::string_view m_argument;
    MethodPart m_part;
};

/// Why nothing can be joined to a method; empty where something can.
std::string_view standsAloneBecause(Kind kind) {
    switch (kind) {
        case Kind::Baseline:
            return "it is the model as it is";
        case Kind::MsPoe:
            return "it chooses the ratios of its heads from attention at the model's own positions";
        case Kind::AttentionBuckets:
            return "each of its paths runs the model with a base of its own";
        case Kind::Moice:
            return "its routers were trained for experts with bases of their own";
        default:
            return {};
    }
}

bool replacesFrequencies(Kind kind) {
    return kind == Kind::Ntk || kind == Kind::DynamicNtk || kind == Kind::Yarn || kind == Kind::LongRope;
}

Result<void> checkTogether(const std::vector<MethodPart>& parts, const std::string& text) {
    const MethodPart* replacing = nullptr;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const MethodPart& part = parts[i];
        const std::string name = methodName(part.kind);
        if (const std::string_view why = standsAloneBecause(part.kind); parts.size() > 1 && !why.empty()) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("'{}' joins other methods to '{}', which stands alone: {}; write for example {}",
                                    text, name, why, known(part.kind).example));
        }
        if (std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const MethodPart& earlier) { return earlier.kind == part.kind; })) {
            return fail(ErrorCode::Unsupported, fmt::format("'{}' stands twice in '{}'; write it once, for example {}",
                                                            name, text, known(part.kind).example));
        }
        if (!replacesFrequencies(part.kind)) continue;
        if (replacing != nullptr) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("'{}' and '{}' in '{}' cannot be joined, since each decides all frequencies; use "
                                    "one of them, for example {}+uniform:1.5",
                                    methodName(replacing->kind), name, text, known(part.kind).example));
        }
        replacing = &part;
    }
    return {};
}

}  // namespace

std::string methodName(MethodPart::Kind kind) {
    return std::string(known(kind).name);
}

Result<MethodSpec> parseMethod(const std::string& text) {
    MethodSpec spec;
    spec.text = text;
    for (const std::string_view each : splitAtPluses(text)) {
        const Known* method = findKnown(nameOf(each));
        if (method == nullptr) {
            return fail(
                ErrorCode::Usage,
                fmt::format("'{}' is not a position method; write one of {}, for example {} or yarn:4+lpes:FILE", each,
                            allNames(), known(Kind::PositionInterpolation).example));
        }
        auto part = PartReader(each, *method).read();
        if (!part) return fail(part.error());
        spec.parts.push_back(std::move(*part));
    }
    if (auto valid = checkTogether(spec.parts, text); !valid) return fail(valid.error());
    return spec;
}

Result<std::vector<MethodSpec>> parseMethods(const std::string& text) {
    std::vector<MethodSpec> specs;
    for (std::string_view rest = text;;) {
        const std::size_t semicolon = rest.find(';');
        std::string_view each = rest.substr(0, semicolon);
        while (!each.empty() && each.front() == ' ') each.remove_prefix(1);
        while (!each.empty() && each.back() == ' ') each.remove_suffix(1);
        if (each.empty()) {
            return fail(ErrorCode::Usage, fmt::format("part {} of the methods '{}' is empty; write for example "
                                                      "'baseline;pi:1.5;lpes:FILE'",
                                                      specs.size() + 1, text));
        }
        auto spec = parseMethod(std::string(each));
        if (!spec) return fail(spec.error());
        for (const MethodSpec& earlier : specs) {
            if (std::is_permutation(earlier.parts.begin(), earlier.parts.end(), spec->parts.begin(),
                                    spec->parts.end())) {
                return fail(ErrorCode::Usage, fmt::format("'{}' and '{}' in '{}' are the same method; name it once",
                                                          earlier.text, spec->text, text));
            }
        }
        specs.push_back(std::move(*spec));
        if (semicolon == std::string_view::npos) return specs;
        rest.remove_prefix(semicolon + 1);
    }
}

}  // namespace lpes::rope
