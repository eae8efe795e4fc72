#include "core/studies/prompt_maker.h"

#include <algorithm>

namespace lpes::studies {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

std::string withoutLeadingSpace(const std::string& text) {
    return text.substr(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
}

void shift(tasks::ByteSpan& span, std::size_t by, std::size_t cutFront) {
    // What stood in white space that the preset trims begins where the text does.
    span.begin = span.begin > cutFront ? span.begin - cutFront + by : by;
    span.end = span.end > cutFront ? span.end - cutFront + by : by;
}

void shiftSpans(tasks::TaskPrompt& prompt, std::size_t by, std::size_t cutFront, std::size_t end) {
    const auto move = [&](tasks::ByteSpan& span) {
        shift(span, by, cutFront);
        span.end = std::min(span.end, end);
        span.begin = std::min(span.begin, span.end);
    };
    std::ranges::for_each(prompt.records, move);
    std::ranges::for_each(prompt.evidence, move);
    move(prompt.instruction);
    move(prompt.question);
}

/// First token that begins at or after `byte`. A beginning-of-sequence token stands in no text.
int tokenAt(const text::Encoding& encoding, std::size_t byte) {
    const auto first = encoding.byteBegin.begin() + (encoding.bosAdded ? 1 : 0);
    const auto it = std::lower_bound(first, encoding.byteBegin.end(), byte);
    return static_cast<int>(it - encoding.byteBegin.begin());
}

/// The last turn's text: what stands between the preset's own texts ahead of it and the ones that end the prompt.
tasks::ByteSpan lastSaid(const text::ChatPrompt& chat) {
    std::size_t end = chat.text.size();
    auto marker = chat.markers.rbegin();
    for (; marker != chat.markers.rend() && marker->end == end; ++marker) end = marker->begin;
    return {marker == chat.markers.rend() ? 0 : marker->end, end};
}

}  // namespace

std::size_t TokenizedPrompt::scored() const {
    std::size_t longest = answer.size();
    for (const auto& choice : choices) longest = std::max(longest, choice.size());
    return prompt.size() + longest;
}

Result<PromptText> PromptMaker::text(std::int64_t item, int position) const {
    const auto gold = m_task.goldIndex(item, position);
    if (!gold) return fail(gold.error());
    tasks::PromptOptions options;
    options.chat = m_task.chat != nullptr;
    options.officialTruncation = m_task.spec.truncation == "official";
    // What a benchmark cuts has no answer yet, for which there must be room behind it.
    tasks::TaskPrompt whole;
    if (options.officialTruncation) {
        auto uncut = m_task.benchmark->prompt(item, *gold, {options.chat, {}, false});
        if (!uncut) return fail(uncut.error());
        whole = std::move(*uncut);
    }
    // A prompt that cannot be made is not one that fits; the error shows when the prompt that is kept is made.
    options.fits = [&](const tasks::TaskPrompt& prompt) {
        tasks::TaskPrompt complete = prompt;
        if (options.officialTruncation) {
            complete.answer = whole.answer;
            complete.rule = whole.rule;
        }
        const auto made = around(std::move(complete));
        const auto tokens = made ? this->tokens(*made) : Result<TokenizedPrompt>(fail(made.error()));
        return tokens && tokens->tokens() <= static_cast<std::size_t>(m_contextLength);
    };
    auto prompt = m_task.benchmark->prompt(item, *gold, options);
    if (!prompt) return fail(prompt.error());
    return around(std::move(*prompt));
}

Result<PromptText> PromptMaker::around(tasks::TaskPrompt prompt) const {
    PromptText out;
    out.answer = prompt.answer;
    out.choices = prompt.choices;
    if (m_task.chat == nullptr) {
        const std::size_t before = prompt.system.empty() ? 0 : prompt.system.size() + 1;
        out.text = prompt.system.empty() ? prompt.text : prompt.system + "\n" + prompt.text;
        shiftSpans(prompt, before, 0, out.text.size());
        out.prompt = std::move(prompt);
        return out;
    }
    std::vector<text::ChatTurn> turns;
    if (!prompt.system.empty()) turns.push_back({text::ChatRole::System, prompt.system});
    turns.push_back({text::ChatRole::User, prompt.text});
    auto chat = text::renderChat(*m_task.chat, turns);
    if (!chat) return fail(chat.error());
    // Presets that trim may have cut the ends of what the user says.
    const auto first = prompt.text.find_first_not_of(kWhiteSpace);
    const std::size_t cut = first == std::string::npos ? 0 : first;
    const auto last = prompt.text.find_last_not_of(kWhiteSpace);
    const std::string_view core =
        std::string_view(prompt.text).substr(cut, last == std::string::npos ? 0 : last - cut + 1);
    const tasks::ByteSpan said = lastSaid(*chat);
    const std::size_t at = chat->text.find(core, said.begin);
    shiftSpans(prompt, at, cut, at + core.size());
    // Behind a marker that ends in white space an answer begins at once.
    if (!m_task.chat->generation.empty() &&
        kWhiteSpace.find(m_task.chat->generation.back()) != std::string_view::npos) {
        out.answer = withoutLeadingSpace(out.answer);
        for (std::string& choice : out.choices) choice = withoutLeadingSpace(choice);
    }
    out.text = chat->text;
    out.chat = std::move(*chat);
    out.prompt = std::move(prompt);
    return out;
}

Result<text::Encoding> PromptMaker::encode(const PromptText& text) const {
    if (text.chat) return text::encodeChat(*m_tokenizer, *text.chat);
    auto encoding = m_tokenizer->encode(text.text);
    if (!encoding || m_task.spec.bos != "model") return encoding;
    const auto special = m_tokenizer->encode("", {false, true});
    if (!special) return special;
    if (special->bosAdded && m_tokenizer->bosId() >= 0) text::prependBos(*encoding, m_tokenizer->bosId());
    return encoding;
}

Result<TokenizedPrompt> PromptMaker::tokens(const PromptText& text) const {
    auto prompt = encode(text);
    if (!prompt) return fail(prompt.error());
    const auto span = [&](const tasks::ByteSpan& bytes) {
        return std::pair<int, int>(tokenAt(*prompt, bytes.begin), tokenAt(*prompt, bytes.end));
    };
    TokenizedPrompt tokens;
    auto answer = m_tokenizer->encode(text.answer);
    if (!answer) return fail(answer.error());
    tokens.answer = std::move(answer->ids);
    for (const std::string& choice : text.choices) {
        auto ids = m_tokenizer->encode(choice);
        if (!ids) return fail(ids.error());
        tokens.choices.push_back(std::move(ids->ids));
    }
    tokens.goldIndex = text.prompt.goldIndex;
    for (const tasks::ByteSpan& record : text.prompt.records) tokens.records.push_back(span(record));
    for (const tasks::ByteSpan& evidence : text.prompt.evidence) tokens.evidence.push_back(span(evidence));
    tokens.instruction = span(text.prompt.instruction);
    tokens.question = span(text.prompt.question);
    tokens.references = text.prompt.references;
    tokens.rule = text.prompt.rule;
    tokens.note = text.prompt.note;
    tokens.prompt = std::move(prompt->ids);
    tokens.room = static_cast<int>(tokens.scored() - tokens.prompt.size());
    if (m_generates) tokens.room = std::max(tokens.room, tokens.rule.maxNewTokens);
    return tokens;
}

Result<TokenizedPrompt> PromptMaker::tokens(std::int64_t item, int position) const {
    auto made = text(item, position);
    if (!made) return fail(made.error());
    return tokens(*made);
}

}  // namespace lpes::studies
