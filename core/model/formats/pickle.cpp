#include "core/model/formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/model/formats/pickle_globals.h"

namespace lpes::model {

namespace {

using Kind = PickleValue::Kind;
using Ref = std::uint32_t;

constexpr std::size_t kMaxSteps = 1u << 23;
constexpr std::size_t kMaxValues = 1u << 20;
constexpr std::size_t kMaxGlobalBytes = 512;  // module and name with their line ends

/// Text of a hostile file, fit for a message.
std::string printable(std::string_view text) {
    std::string visible(text.substr(0, 100));
    for (char& c : visible) {
        if (c < 0x20 || c > 0x7e) c = '?';
    }
    return visible;
}

class Machine {
  public:
    Machine(std::span<const std::byte> bytes, const std::filesystem::path& file) : m_bytes(bytes), m_file(file) {}

    Result<Pickle> run() {
        for (std::size_t steps = 0; !m_error; ++steps) {
            std::uint8_t code = 0;
            if (steps == kMaxSteps || m_pickle.values.size() > kMaxValues) {
                refuse("its table of tensors is larger than that of any model");
            } else if (take(code)) {
                if (code == '.') return finish();
                step(code);
            }
        }
        return fail(*m_error);
    }

  private:
    void refuse(const std::string& why, ErrorCode code = ErrorCode::BadInput) {
        if (!m_error) m_error = Error{code, fmt::format("'{}': {}", m_file.string(), why), {}, {}};
    }
    void damaged(const char* what) {
        refuse(fmt::format("{} at byte {} of the pickle; the file is damaged, fetch it again", what, m_at));
    }
    void wantsToCall(std::string_view module, std::string_view name) {
        refuse(
            fmt::format("the checkpoint wants to call '{}.{}'; nothing of it was executed, and only checkpoints that "
                        "hold tensors alone are read, so ask its maker for safetensors",
                        printable(module), printable(name)),
            ErrorCode::Unsupported);
    }

    Result<Pickle> finish() {
        if (m_stack.size() != 1 || !m_marks.empty()) damaged("STOP with another number of values than one");
        if (m_error) return fail(*m_error);
        m_pickle.root = m_stack.back();
        m_pickle.length = m_at;
        return std::move(m_pickle);
    }

    // Bytes.

    template <class T>
    bool take(T& value) {
        if (m_bytes.size() - m_at < sizeof value) {
            refuse(
                fmt::format("incomplete file (download interrupted?): the pickle ends at byte {} without its end mark; "
                            "fetch it again",
                            m_bytes.size()));
            return false;
        }
        std::memcpy(&value, m_bytes.data() + m_at, sizeof value);
        m_at += sizeof value;
        return true;
    }

    template <class Length>
    bool takeText(std::string_view& text) {
        Length length = 0;
        if (!take(length)) return false;
        if (length > m_bytes.size() - m_at) {
            damaged("a text that is longer than the file");
            return false;
        }
        text = {reinterpret_cast<const char*>(m_bytes.data()) + m_at, static_cast<std::size_t>(length)};
        m_at += text.size();
        return true;
    }

    bool takeLine(std::string_view& line) {
        const std::size_t most = std::min(kMaxGlobalBytes, m_bytes.size() - m_at);
        const std::string_view rest(reinterpret_cast<const char*>(m_bytes.data()) + m_at, most);
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) {
            damaged("a name without an end");
            return false;
        }
        line = rest.substr(0, end);
        m_at += end + 1;
        return true;
    }

    // Values.

    void push(PickleValue value) {
        m_stack.push_back(static_cast<Ref>(m_pickle.values.size()));
        m_pickle.values.push_back(std::move(value));
    }
    void push(Kind kind) { push(PickleValue{.kind = kind}); }
    void pushInteger(std::int64_t value) { push(PickleValue{.kind = Kind::Int, .integer = value}); }

    /// What the stack holds above the last mark, or all of it.
    std::size_t above() const { return m_stack.size() - (m_marks.empty() ? 0 : m_marks.back()); }

    std::optional<Ref> pop() {
        if (above() == 0) {
            damaged("a value is missing");
            return std::nullopt;
        }
        const Ref top = m_stack.back();
        m_stack.pop_back();
        return top;
    }

    /// Everything above the last mark, and the mark.
    std::vector<Ref> popMarked() {
        if (m_marks.empty()) {
            damaged("a mark is missing");
            return {};
        }
        const auto begin = m_stack.begin() + static_cast<std::ptrdiff_t>(m_marks.back());
        std::vector<Ref> items(begin, m_stack.end());
        m_stack.erase(begin, m_stack.end());
        m_marks.pop_back();
        return items;
    }

    void pushItems(Kind kind, std::vector<Ref> items) {
        if (kind == Kind::Dict && items.size() % 2 != 0) return damaged("a dict with a key without a value");
        push(PickleValue{.kind = kind, .items = std::move(items)});
    }

    void pushLast(Kind kind, std::size_t count) {
        if (above() < count) return damaged("a value is missing");
        std::vector<Ref> items(m_stack.end() - static_cast<std::ptrdiff_t>(count), m_stack.end());
        m_stack.resize(m_stack.size() - count);
        pushItems(kind, std::move(items));
    }

    /// Adds to the list or dict on top of the stack.
    void extend(Kind kind, const std::vector<Ref>& items) {
        if (m_error) return;
        if (above() == 0 || m_pickle.values[m_stack.back()].kind != kind) return damaged("items for no list or dict");
        if (kind == Kind::Dict && items.size() % 2 != 0) return damaged("a dict with a key without a value");
        std::vector<Ref>& target = m_pickle.values[m_stack.back()].items;
        target.insert(target.end(), items.begin(), items.end());
    }

    void extendByLast(Kind kind, std::size_t count) {
        if (above() < count) return damaged("a value is missing");
        const std::vector<Ref> items(m_stack.end() - static_cast<std::ptrdiff_t>(count), m_stack.end());
        m_stack.resize(m_stack.size() - count);
        extend(kind, items);
    }

    void remember(std::uint64_t number) {
        if (above() == 0) return damaged("nothing to remember");
        if (m_memo.size() > kMaxValues) return damaged("more remembered values than any checkpoint has");
        m_memo[number] = m_stack.back();
    }
    void recall(std::uint64_t number) {
        const auto found = m_memo.find(number);
        if (found == m_memo.end()) return damaged("a value that was never remembered");
        m_stack.push_back(found->second);
    }

    void pushGlobal(std::string_view module, std::string_view name) {
        if (!isAllowedGlobal(module, name)) return wantsToCall(module, name);
        push(PickleValue{.kind = Kind::Global, .text = module, .name = name});
    }

    void pushLong(std::string_view digits) {
        PickleValue value{.kind = Kind::Int, .text = digits};
        value.fits = digits.size() <= sizeof value.integer;
        if (value.fits && !digits.empty()) {
            std::uint64_t bits = static_cast<signed char>(digits.back()) < 0 ? ~std::uint64_t{0} : 0;
            std::memcpy(&bits, digits.data(), digits.size());
            value.integer = static_cast<std::int64_t>(bits);
        }
        push(std::move(value));
    }

    /// OrderedDict(), or OrderedDict([[key, value], …]) as Python 2 wrote it.
    void pushOrderedDict(const std::vector<Ref>& arguments) {
        std::vector<Ref> items;
        if (arguments.size() == 1 && m_pickle.at(arguments[0]).kind == Kind::List) {
            for (const Ref pair : m_pickle.at(arguments[0]).items) {
                const PickleValue& entry = m_pickle.at(pair);
                const bool isPair = (entry.kind == Kind::List || entry.kind == Kind::Tuple) && entry.items.size() == 2;
                if (!isPair) return damaged("an OrderedDict of other things than pairs");
                items.insert(items.end(), entry.items.begin(), entry.items.end());
            }
        } else if (!arguments.empty()) {
            return damaged("an OrderedDict with other arguments than a list");
        }
        pushItems(Kind::Dict, std::move(items));
    }

    /// REDUCE and NEWOBJ.
    void call() {
        const auto arguments = pop();
        const auto callee = pop();
        if (m_error) return;
        const PickleValue& function = m_pickle.at(*callee);
        const PickleValue& tuple = m_pickle.at(*arguments);
        if (function.kind != Kind::Global || tuple.kind != Kind::Tuple) return damaged("a call of no function");
        if (isOrderedDict(function.text, function.name)) return pushOrderedDict(std::vector<Ref>(tuple.items));
        if (!isRebuilder(function.text, function.name)) return wantsToCall(function.text, function.name);
        std::vector<Ref> items = {*callee};
        items.insert(items.end(), tuple.items.begin(), tuple.items.end());
        pushItems(Kind::Call, std::move(items));
    }

    /// Attributes of a dict, such as a state dict's _metadata: of no use here.
    void build() {
        (void)pop();
        if (m_error) return;
        if (above() == 0 || m_pickle.at(m_stack.back()).kind != Kind::Dict) damaged("attributes of no dict");
    }

    void stackGlobal() {
        const auto name = pop();
        const auto module = pop();
        if (m_error) return;
        if (m_pickle.at(*name).kind != Kind::String || m_pickle.at(*module).kind != Kind::String)
            return damaged("a global without a name");
        pushGlobal(m_pickle.at(*module).text, m_pickle.at(*name).text);
    }

    template <class T>
    void numberOf(void (Machine::*use)(std::uint64_t)) {
        T value = 0;
        if (take(value)) (this->*use)(value);
    }
    template <class T>
    void integerOf() {
        T value = 0;
        if (take(value)) pushInteger(value);
    }
    template <class Length>
    void textOf(Kind kind) {
        std::string_view text;
        if (!takeText<Length>(text)) return;
        if (kind == Kind::Int) return pushLong(text);
        push(PickleValue{.kind = kind, .text = text});
    }
    template <class T>
    void skip() {
        T ignored{};
        (void)take(ignored);
    }

    void step(std::uint8_t code);

    std::span<const std::byte> m_bytes;
    const std::filesystem::path& m_file;
    std::size_t m_at = 0;
    Pickle m_pickle;
    std::vector<Ref> m_stack;
    std::vector<std::size_t> m_marks;  ///< heights of the stack
    std::unordered_map<std::uint64_t, Ref> m_memo;
    std::optional<Error> m_error;
};

void Machine::step(std::uint8_t code) {
    switch (code) {
        case 0x80: {  // PROTO
            std::uint8_t protocol = 0;
            if (take(protocol) && (protocol < 2 || protocol > 5))
                refuse(fmt::format("pickle protocol {} is not supported; 2 to 5 are", protocol),
                       ErrorCode::Unsupported);
            return;
        }
        case 0x95:  // FRAME
            return skip<std::uint64_t>();
        case '(':  // MARK
            return m_marks.push_back(m_stack.size());
        case '0':  // POP
            if (above() == 0 && !m_marks.empty()) return m_marks.pop_back();
            return void(pop());
        case '1':  // POP_MARK
            return void(popMarked());
        case 'N':  // NONE
            return push(Kind::None);
        case 0x88:  // NEWTRUE
            return push(PickleValue{.kind = Kind::Bool, .integer = 1});
        case 0x89:  // NEWFALSE
            return push(Kind::Bool);
        case 'J':  // BININT
            return integerOf<std::int32_t>();
        case 'K':  // BININT1
            return integerOf<std::uint8_t>();
        case 'M':  // BININT2
            return integerOf<std::uint16_t>();
        case 0x8a:  // LONG1
            return textOf<std::uint8_t>(Kind::Int);
        case 'G':  // BINFLOAT
            skip<double>();
            return push(Kind::Float);
        case 'U':   // SHORT_BINSTRING
        case 'C':   // SHORT_BINBYTES
        case 0x8c:  // SHORT_BINUNICODE
            return textOf<std::uint8_t>(Kind::String);
        case 'T':  // BINSTRING
        case 'B':  // BINBYTES
        case 'X':  // BINUNICODE
            return textOf<std::uint32_t>(Kind::String);
        case 0x8d:  // BINUNICODE8
        case 0x8e:  // BINBYTES8
            return textOf<std::uint64_t>(Kind::String);
        case ']':  // EMPTY_LIST
            return push(Kind::List);
        case 'a':  // APPEND
            return extendByLast(Kind::List, 1);
        case 'e':  // APPENDS
            return extend(Kind::List, popMarked());
        case ')':  // EMPTY_TUPLE
            return push(Kind::Tuple);
        case 't':  // TUPLE
            return pushItems(Kind::Tuple, popMarked());
        case 0x85:  // TUPLE1 … TUPLE3
        case 0x86:
        case 0x87:
            return pushLast(Kind::Tuple, code - 0x84u);
        case '}':  // EMPTY_DICT
            return push(Kind::Dict);
        case 's':  // SETITEM
            return extendByLast(Kind::Dict, 2);
        case 'u':  // SETITEMS
            return extend(Kind::Dict, popMarked());
        case 'c': {  // GLOBAL
            std::string_view module, name;
            if (takeLine(module) && takeLine(name)) pushGlobal(module, name);
            return;
        }
        case 'i': {  // INST
            std::string_view module, name;
            if (takeLine(module) && takeLine(name)) wantsToCall(module, name);
            return;
        }
        case 0x93:  // STACK_GLOBAL
            return stackGlobal();
        case 'R':   // REDUCE
        case 0x81:  // NEWOBJ
            return call();
        case 'b':  // BUILD
            return build();
        case 'Q':  // BINPERSID
            return pushLast(Kind::Persistent, 1);
        case 'q':  // BINPUT
            return numberOf<std::uint8_t>(&Machine::remember);
        case 'r':  // LONG_BINPUT
            return numberOf<std::uint32_t>(&Machine::remember);
        case 0x94:  // MEMOIZE
            return remember(m_memo.size());
        case 'h':  // BINGET
            return numberOf<std::uint8_t>(&Machine::recall);
        case 'j':  // LONG_BINGET
            return numberOf<std::uint32_t>(&Machine::recall);
        default:
            return refuse(
                fmt::format("pickle opcode {:#04x} at byte {} is none that a checkpoint of tensors needs; ask "
                            "its maker for safetensors",
                            code, m_at - 1),
                ErrorCode::Unsupported);
    }
}

}  // namespace

std::string_view pickleKindName(PickleValue::Kind kind) {
    constexpr std::string_view kNames[] = {"None",   "a bool", "a whole number", "a number", "a text",   "a tuple",
                                           "a list", "a dict", "a name",         "a tensor", "a storage"};
    return kNames[static_cast<std::size_t>(kind)];
}

Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    return Machine(bytes, file).run();
}

}  // namespace lpes::model
