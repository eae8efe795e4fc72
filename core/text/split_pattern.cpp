#include "core/text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <utility>

#include "core/text/new_characters.h"

namespace lpes::text {

namespace {

struct Free {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

std::string pcre2Words(int code) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

Result<Owned<pcre2_code>> compileOne(const std::string& pattern) {
    const Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    PCRE2_SIZE offset = 0;
    Owned<pcre2_code> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                                         context.get()));
    if (!code) {
        return fail(ErrorCode::BadInput,
                    fmt::format("The tokenizer's pattern {:?} does not compile ({} at offset {}); fetch the tokenizer "
                                "files again.",
                                pattern, pcre2Words(error), offset));
    }
    // Where the machine forbids just-in-time code, pcre2_match interprets: slower, same matches.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    return code;
}

}  // namespace

struct SplitPattern::Impl {
    std::string pattern;
    Owned<pcre2_code> plain;
    Owned<pcre2_code> extended;  ///< slower, for texts with characters beyond the library's Unicode version
};

struct SplitPattern::Scratch::Impl {
    Owned<pcre2_match_data> data{pcre2_match_data_create(1, nullptr)};
    Owned<pcre2_match_context> context{pcre2_match_context_create(nullptr)};
    Owned<pcre2_jit_stack> stack{pcre2_jit_stack_create(32u << 10, 16u << 20, nullptr)};
};

SplitPattern::Scratch::Scratch() : m_impl(std::make_unique<Impl>()) {
    if (m_impl->context && m_impl->stack) {
        pcre2_jit_stack_assign(m_impl->context.get(), nullptr, m_impl->stack.get());
    }
}
SplitPattern::Scratch::~Scratch() = default;

SplitPattern::SplitPattern(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

Result<SplitPattern> SplitPattern::compile(const std::string& pattern) {
    auto plain = compileOne(pattern);
    if (!plain) return fail(plain.error());
    std::uint32_t matchesEmpty = 0;
    pcre2_pattern_info(plain->get(), PCRE2_INFO_MATCHEMPTY, &matchesEmpty);
    if (matchesEmpty != 0) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("The tokenizer's pattern {:?} can match an empty text, which is not supported; use a "
                                "model with another pattern.",
                                pattern));
    }
    auto extended = compileOne(withNewCharacters(pattern));
    if (!extended) return fail(extended.error());
    return SplitPattern(std::make_unique<Impl>(Impl{pattern, std::move(*plain), std::move(*extended)}));
}

Result<void> SplitPattern::matches(std::string_view text, bool newCharacters, Scratch& scratch,
                                   std::vector<TextRange>& out) const {
    if (!scratch.m_impl->data || !scratch.m_impl->context) {
        return fail(ErrorCode::OutOfMemory, "There is no memory for tokenizing; close other programs.");
    }
    const pcre2_code* code = newCharacters ? m_impl->extended.get() : m_impl->plain.get();
    pcre2_match_data* data = scratch.m_impl->data.get();
    std::size_t done = 0;
    while (done < text.size()) {
        const int rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done,
                                   PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, data, scratch.m_impl->context.get());
        if (rc == PCRE2_ERROR_NOMATCH) break;
        if (rc < 0) {
            return fail(ErrorCode::Failed,
                        fmt::format("The tokenizer's pattern {:?} gave up behind byte {} of a piece of the text ({}); "
                                    "shorten the text or use a model with another pattern.",
                                    m_impl->pattern, done, pcre2Words(rc)));
        }
        // A look-ahead with \K could end before it begins; PCRE2 10.42 refuses that at compile time by default.
        const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data);
        out.push_back({match[0], match[1]});
        done = match[1];
    }
    return {};
}

}  // namespace lpes::text
