#include "core/text/oniguruma_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lpes::text {

namespace {

constexpr std::string_view kSpaces =
    R"(\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpaces =
    R"(\x{00}-\x{08}\x{0E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{D7FF}\x{E000}-\x{10FFFF})";
constexpr std::array<std::string_view, 37> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Cs"};

bool isHex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool isAlphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Translator {
  public:
    explicit Translator(std::string_view pattern) : m_pattern(pattern) {}

    Result<std::string> run() {
        while (m_at < m_pattern.size()) {
            const auto step = m_pattern[m_at] == '\\' ? escape() : m_inClass ? inClass() : outside();
            if (!step) return fail(step.error());
        }
        if (m_inClass) return broken("an unclosed \"[\"");
        return std::move(m_out);
    }

  private:
    [[nodiscard]] std::string_view rest() const { return m_pattern.substr(m_at); }
    void keep(std::size_t count) {
        m_out += rest().substr(0, count);
        m_at += std::min(count, rest().size());
    }
    [[nodiscard]] tl::unexpected<Error> refuse(std::string_view piece) const {
        return fail(
            ErrorCode::Unsupported,
            fmt::format("The tokenizer's pattern {:?} holds {}, which is not supported at offset {}; use a model "
                        "whose patterns do without it.",
                        m_pattern, piece, m_at));
    }
    [[nodiscard]] tl::unexpected<Error> broken(std::string_view what) const {
        return fail(ErrorCode::BadInput,
                    fmt::format("The tokenizer's pattern {:?} is malformed ({}); fetch tokenizer.json again.",
                                m_pattern, what));
    }

    Result<void> escape() {
        if (rest().size() < 2) return broken("it ends in a backslash");
        const char c = rest()[1];
        switch (c) {
            case 's':
                m_out += m_inClass ? std::string(kSpaces) : fmt::format("[{}]", kSpaces);
                m_at += 2;
                return {};
            case 'S':
                m_out += m_inClass ? std::string(kNotSpaces) : fmt::format("[^{}]", kSpaces);
                m_at += 2;
                return {};
            case 'd':
            case 'D':
                m_out += c == 'd' ? "\\p{Nd}" : "\\P{Nd}";
                m_at += 2;
                return {};
            case 'r':
            case 'n':
            case 't':
            case 'f':
            case 'a':
            case 'e':
                keep(2);
                return {};
            case 'p':
            case 'P':
                return property();
            case 'x':
            case 'u':
                return hexadecimal(c);
            default:
                if (isAlphanumeric(c)) return refuse(fmt::format("\"\\{}\"", c));
                keep(2);
                return {};
        }
    }

    Result<void> property() {
        const std::size_t close = rest().find('}');
        if (rest().size() < 3 || rest()[2] != '{' || close == std::string_view::npos) {
            return broken("\\p without a {name}");
        }
        const std::string_view name = rest().substr(3, close - 3);
        if (std::find(kCategories.begin(), kCategories.end(), name) == kCategories.end()) {
            return refuse(fmt::format("the property {:?}", name));
        }
        keep(close + 1);
        return {};
    }

    Result<void> hexadecimal(char kind) {
        std::size_t begin = 2;
        std::size_t end = 2;
        const bool braces = kind == 'x' && rest().size() > 2 && rest()[2] == '{';
        if (braces) begin = end = 3;
        const std::size_t most = braces ? 6 : kind == 'u' ? 4 : 2;
        while (end < rest().size() && end - begin < most && isHex(rest()[end])) ++end;
        const bool closed = !braces || (end < rest().size() && rest()[end] == '}');
        if (end == begin || !closed || (kind == 'u' && end - begin != 4)) {
            return broken(fmt::format("\\{} without its hexadecimal digits", kind));
        }
        // Oniguruma takes \x80…\xff for raw bytes of UTF-8, PCRE2 for characters.
        if (!braces && kind == 'x' && rest()[begin] >= '8' && end - begin == 2)
            return refuse("a raw byte (\\x80 to \\xff)");
        m_out += fmt::format("\\x{{{}}}", rest().substr(begin, end - begin));
        m_at += end + (braces ? 1 : 0);
        return {};
    }

    Result<void> inClass() {
        const char c = rest()[0];
        if (c == '[') return refuse("a class within a class");
        if (rest().substr(0, 2) == "&&") return refuse("the set operation \"&&\"");
        if (c == ']') m_inClass = false;
        keep(1);
        return {};
    }

    Result<void> outside() {
        const char c = rest()[0];
        if (c == '^' || c == '$') return refuse(fmt::format("the line anchor \"{}\"", c));
        if (c == '[') {
            m_inClass = true;
            keep(rest().substr(0, 2) == "[^" ? 2 : 1);
            if (rest().substr(0, 1) == "]") return refuse("\"]\" as the first character of a class");
            return {};
        }
        if (c == '(') return group();
        if (c == '{' && rest().substr(0, 2) == "{,") return refuse("an interval without a lower bound");
        if (c == '}' && rest().size() > 1 && (rest()[1] == '+' || rest()[1] == '?')) {
            return refuse(fmt::format("\"{}\" behind an interval", rest()[1]));
        }
        keep(1);
        return {};
    }

    Result<void> group() {
        if (rest().substr(0, 2) == "(*") return refuse("\"(*\"");
        if (rest().substr(0, 2) != "(?") {
            keep(1);
            return {};
        }
        static constexpr std::array<std::string_view, 7> kGroups = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
        for (const std::string_view opening : kGroups) {
            if (rest().substr(0, opening.size()) == opening) {
                keep(opening.size());
                return {};
            }
        }
        if (m_at == 0 && rest().substr(0, 4) == "(?i)") {
            keep(4);
            return {};
        }
        return refuse(fmt::format("the group {:?}", rest().substr(0, std::min(rest().find(')'), std::size_t{12}))));
    }

    std::string_view m_pattern;
    std::string m_out;
    std::size_t m_at = 0;
    bool m_inClass = false;
};

}  // namespace

Result<std::string> pcre2FromOniguruma(std::string_view pattern) {
    return Translator(pattern).run();
}

std::string pcre2Literal(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x80 && !isAlphanumeric(c)) {
            out += fmt::format("\\x{{{:02X}}}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            out.push_back(c);
        }
    }
    return out;
}

}  // namespace lpes::text
