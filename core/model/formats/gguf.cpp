#include "core/model/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "core/base/files.h"

namespace lpes::model {

namespace {

using Type = GgufValue::Type;

constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kMaxNameBytes = 255;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr int kMaxArrayDepth = 4;
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kMaxAlignment = 1u << 20;
// The least that one entry of either table can take up: they bound the counts before anything is allocated.
constexpr std::uint64_t kMinValueBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

struct TensorType {
    std::uint32_t number;
    StorageType type;
};
constexpr TensorType kTypes[] = {
    {0, StorageType::F32},     {1, StorageType::F16},     {2, StorageType::Q4_0},  {3, StorageType::Q4_1},
    {6, StorageType::Q5_0},    {7, StorageType::Q5_1},    {8, StorageType::Q8_0},  {10, StorageType::Q2_K},
    {11, StorageType::Q3_K},   {12, StorageType::Q4_K},   {13, StorageType::Q5_K}, {14, StorageType::Q6_K},
    {20, StorageType::IQ4_NL}, {23, StorageType::IQ4_XS}, {30, StorageType::BF16},
};

/// ggml's other types, for the refusal's words. Source: enum ggml_type in ggml.h.
std::string otherTypeName(std::uint32_t number) {
    constexpr const char* kNames[] = {
        "F32",        "F16",        "Q4_0",       "Q4_1",  "Q4_2",     "Q4_3",     "Q5_0",     "Q5_1",    "Q8_0",
        "Q8_1",       "Q2_K",       "Q3_K",       "Q4_K",  "Q5_K",     "Q6_K",     "Q8_K",     "IQ2_XXS", "IQ2_XS",
        "IQ3_XXS",    "IQ1_S",      "IQ4_NL",     "IQ3_S", "IQ2_S",    "IQ4_XS",   "I8",       "I16",     "I32",
        "I64",        "F64",        "IQ1_M",      "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",   "TQ2_0",
        "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4", "NVFP4",    "Q1_0"};
    return number < std::size(kNames) ? kNames[number] : fmt::format("number {}", number);
}

std::uint64_t scalarBytes(Type type) {
    switch (type) {
        case Type::U8:
        case Type::I8:
        case Type::Bool:
            return 1;
        case Type::U16:
        case Type::I16:
            return 2;
        case Type::U32:
        case Type::I32:
        case Type::F32:
            return 4;
        case Type::U64:
        case Type::I64:
        case Type::F64:
            return 8;
        default:
            return 0;
    }
}

/// Keys and names come into messages, so they must be printable.
bool printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

struct Header {
    std::uint64_t tensorCount = 0;
    std::uint64_t valueCount = 0;
};

class Reader {
  public:
    Reader(std::span<const std::byte> bytes, const std::filesystem::path& file) : m_bytes(bytes), m_file(file) {}

    Result<GgufFile> read() {
        const auto header = readHeader();
        if (!header) return fail(header.error());
        for (std::uint64_t i = 0; i < header->valueCount; ++i) {
            if (auto done = readValue(i); !done) return fail(done.error());
        }
        if (auto done = readAlignment(); !done) return fail(done.error());
        if (header->tensorCount > remaining() / kMinTensorBytes)
            return refuseCount("tensor_count", header->tensorCount);
        for (std::uint64_t i = 0; i < header->tensorCount; ++i) {
            if (auto done = readTensor(i); !done) return fail(done.error());
        }
        if (auto done = place(); !done) return fail(done.error());
        return std::move(m_result);
    }

  private:
    struct Pending {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::size_t index = 0;
    };

    std::uint64_t remaining() const { return m_bytes.size() - m_at; }

    template <class T>
    bool take(T& value) {
        if (remaining() < sizeof value) return false;
        std::memcpy(&value, m_bytes.data() + m_at, sizeof value);
        m_at += sizeof value;
        return true;
    }

    bool takeText(std::uint64_t length, std::string_view& text) {
        if (length > remaining()) return false;
        text = {reinterpret_cast<const char*>(m_bytes.data()) + m_at, length};
        m_at += length;
        return true;
    }

    tl::unexpected<Error> refuse(const std::string& why, ErrorCode code = ErrorCode::BadInput) const {
        return refuseFile(m_file, why, code);
    }
    tl::unexpected<Error> cutOff(const std::string& where) const {
        return refuse(
            fmt::format("the file ends inside {} at byte {}; incomplete file (download interrupted?), fetch it again",
                        where, m_bytes.size()));
    }
    tl::unexpected<Error> refuseCount(const char* field, std::uint64_t value) const {
        return refuse(fmt::format("{} is {}, more than {} bytes can hold; the file is damaged, fetch it again", field,
                                  value, m_bytes.size()));
    }

    Result<Header> readHeader() {
        std::uint32_t magic = 0, version = 0;
        if (!take(magic) || magic != 0x46554747u)
            return refuse("this is not a GGUF file: it does not begin with 'GGUF'");
        if (!take(version)) return cutOff("the header");
        if ((version & 0xffffu) == 0 && version != 0) {
            return refuse(
                "this GGUF file is big-endian, which is not supported; convert it with gguf_convert_endian.py",
                ErrorCode::Unsupported);
        }
        if (version != 2 && version != 3) {
            return refuse(
                fmt::format("GGUF version {} is not supported; versions 2 and 3 are, so convert the model again",
                            version),
                ErrorCode::Unsupported);
        }
        m_result.version = version;
        Header header;
        if (!take(header.tensorCount) || !take(header.valueCount)) return cutOff("the header");
        if (header.tensorCount > remaining() / kMinTensorBytes) return refuseCount("tensor_count", header.tensorCount);
        if (header.valueCount > remaining() / kMinValueBytes)
            return refuseCount("metadata_kv_count", header.valueCount);
        return header;
    }

    Result<void> readValue(std::uint64_t number) {
        std::uint64_t length = 0;
        const std::string where = fmt::format("metadata key {}", number);
        if (!take(length)) return cutOff(where);
        if (length == 0) return refuse(fmt::format("{} is empty; the file is damaged", where));
        if (length > kMaxKeyBytes) {
            return refuse(fmt::format("{} has {} bytes, above the format's limit of {}", where, length, kMaxKeyBytes));
        }
        std::string_view key;
        if (!takeText(length, key)) return cutOff(where);
        if (!printable(key)) return refuse(fmt::format("{} is not printable ASCII; the file is damaged", where));
        GgufValue value;
        if (auto done = takeValue(std::string(key.substr(0, 100)), value); !done) return done;
        if (!m_result.values.emplace(std::string(key), value).second) {
            return refuse(fmt::format("metadata key '{}' stands twice; the file is damaged", key.substr(0, 100)));
        }
        return {};
    }

    Result<void> takeType(const std::string& key, Type& type) {
        std::uint32_t number = 0;
        if (!take(number)) return cutOff(fmt::format("metadata key '{}'", key));
        if (number > static_cast<std::uint32_t>(Type::F64)) {
            return refuse(fmt::format("metadata key '{}' has value type {}, which does not exist", key, number));
        }
        type = static_cast<Type>(number);
        return {};
    }

    Result<void> takeValue(const std::string& key, GgufValue& value) {
        if (auto done = takeType(key, value.type); !done) return done;
        if (value.type == Type::Array) return takeArray(key, value, 1);
        std::uint64_t length = scalarBytes(value.type);
        if (value.type == Type::String && !take(length)) return cutOff(fmt::format("metadata key '{}'", key));
        if (length > remaining()) {
            return refuse(
                fmt::format("metadata key '{}' has {} bytes, but {} are left in the file; incomplete or damaged file, "
                            "fetch it again",
                            key, length, remaining()));
        }
        value.bytes = m_bytes.subspan(m_at, length);
        m_at += length;
        if (value.type == Type::Bool && std::to_integer<unsigned>(value.bytes[0]) > 1) {
            return refuse(fmt::format("metadata key '{}' is a BOOL of value {}; 0 or 1 is needed", key,
                                      std::to_integer<unsigned>(value.bytes[0])));
        }
        return {};
    }

    Result<void> takeArray(const std::string& key, GgufValue& value, int depth) {
        if (depth > kMaxArrayDepth) {
            return refuse(fmt::format("metadata key '{}' nests arrays deeper than {}", key, kMaxArrayDepth));
        }
        if (auto done = takeType(key, value.elementType); !done) return done;
        if (!take(value.count)) return cutOff(fmt::format("metadata key '{}'", key));
        const bool counted = value.elementType == Type::String || value.elementType == Type::Array;
        const std::uint64_t least = counted ? 8 : scalarBytes(value.elementType);
        if (value.count > remaining() / least) {
            return refuse(fmt::format("metadata key '{}' is an array of {} {}, but {} bytes are left in the file", key,
                                      value.count, ggufTypeName(value.elementType), remaining()));
        }
        const std::uint64_t begin = m_at;
        if (!counted) m_at += value.count * least;
        for (std::uint64_t i = 0; counted && i < value.count; ++i) {
            if (value.elementType == Type::Array) {
                GgufValue inner;
                if (auto done = takeArray(key, inner, depth + 1); !done) return done;
                continue;
            }
            std::uint64_t length = 0;
            std::string_view text;
            if (!take(length) || !takeText(length, text)) {
                return cutOff(fmt::format("metadata key '{}', element {} of {} bytes", key, i, length));
            }
        }
        value.bytes = m_bytes.subspan(begin, m_at - begin);
        return {};
    }

    Result<void> readAlignment() {
        const auto found = m_result.values.find("general.alignment");
        if (found == m_result.values.end()) return {};
        const auto alignment = found->second.integer();
        if (!alignment || *alignment < 8 || static_cast<std::uint64_t>(*alignment) > kMaxAlignment ||
            !std::has_single_bit(static_cast<std::uint64_t>(*alignment))) {
            return refuse(fmt::format("general.alignment is {}; a power of two from 8 to {} is needed",
                                      found->second.shown(), kMaxAlignment));
        }
        m_alignment = static_cast<std::uint64_t>(*alignment);
        return {};
    }

    Result<void> readTensor(std::uint64_t number) {
        const std::string where = fmt::format("the entry of tensor {}", number);
        std::uint64_t length = 0;
        if (!take(length)) return cutOff(where);
        if (length == 0 || length > kMaxNameBytes) {
            return refuse(fmt::format("{} has a name of {} bytes; 1 to {} are needed", where, length, kMaxNameBytes));
        }
        std::string_view name;
        if (!takeText(length, name)) return cutOff(where);
        if (!printable(name)) return refuse(fmt::format("{} has a name that is not printable ASCII", where));
        if (!m_names.insert(std::string(name)).second) return refuse(fmt::format("tensor '{}' stands twice", name));

        StoredTensor tensor;
        tensor.name = name;
        tensor.file = m_file;
        std::uint32_t dimensions = 0, typeNumber = 0;
        if (!take(dimensions)) return cutOff(where);
        if (dimensions == 0 || dimensions > kMaxDimensions) {
            return refuse(
                fmt::format("tensor '{}' has n_dims {}; 1 to {} are needed", name, dimensions, kMaxDimensions));
        }
        for (std::uint32_t i = 0; i < dimensions; ++i) {
            std::uint64_t dim = 0;
            if (!take(dim)) return cutOff(where);
            if (dim == 0 || dim > std::uint64_t{INT64_MAX}) {
                return refuse(fmt::format("tensor '{}' has dimension {} of size {}", name, i, dim));
            }
            tensor.shape.insert(tensor.shape.begin(),
                                static_cast<std::int64_t>(dim));  // GGUF puts the row length first
        }
        Pending pending{0, 0, m_result.tensors.size()};
        if (!take(typeNumber) || !take(pending.offset)) return cutOff(where);
        const auto known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                        [&](const TensorType& candidate) { return candidate.number == typeNumber; });
        if (known == std::end(kTypes)) {
            return refuse(
                fmt::format("tensor '{}' has type {}, which is not supported; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                            "Q5_1, Q2_K to Q6_K, IQ4_NL and IQ4_XS are, so convert the model to one of these",
                            name, otherTypeName(typeNumber)),
                ErrorCode::Unsupported);
        }
        tensor.type = known->type;
        tensor.typeName = storageTypeName(known->type);
        const BlockSize block = blockSize(known->type);
        const auto elements = elementCount(tensor.shape);
        if (!elements)
            return refuse(
                fmt::format("tensor '{}' has shape {}, whose product overflows", name, shapeText(tensor.shape)));
        if (tensor.shape.back() % block.elements != 0) {
            return refuse(fmt::format("tensor '{}' has rows of {} elements, which blocks of {} do not divide ({})",
                                      name, tensor.shape.back(), block.elements, tensor.typeName));
        }
        const auto size = multiplied(*elements / block.elements, block.bytes);
        if (!size || static_cast<std::uint64_t>(*size) > m_bytes.size()) {
            return refuse(
                fmt::format("tensor '{}' of shape {} and type {} is larger than the file ({} bytes); incomplete or "
                            "damaged file, fetch it again",
                            name, shapeText(tensor.shape), tensor.typeName, m_bytes.size()));
        }
        pending.size = static_cast<std::uint64_t>(*size);
        if (pending.offset % m_alignment != 0) {
            return refuse(fmt::format("tensor '{}' has offset {}, which is not a multiple of the alignment {}", name,
                                      pending.offset, m_alignment));
        }
        m_pending.push_back(pending);
        m_result.tensors.push_back(std::move(tensor));
        return {};
    }

    std::uint64_t aligned(std::uint64_t position) const {
        return (position + m_alignment - 1) / m_alignment * m_alignment;
    }

    /// Tensors must lie inside the file, one after the other, with padding alone between them.
    Result<void> place() {
        const std::uint64_t dataBegin = std::min<std::uint64_t>(aligned(m_at), m_bytes.size());
        const std::span<const std::byte> data = m_bytes.subspan(dataBegin);
        std::sort(m_pending.begin(), m_pending.end(),
                  [](const Pending& a, const Pending& b) { return a.offset < b.offset; });
        std::uint64_t expected = 0;
        for (const Pending& pending : m_pending) {
            StoredTensor& tensor = m_result.tensors[pending.index];
            if (pending.offset > data.size() || pending.size > data.size() - pending.offset) {
                return refuse(
                    fmt::format("incomplete file (download interrupted?): tensor '{}' has offset {} and {} bytes, but "
                                "the file has {} bytes of data; fetch it again",
                                tensor.name, pending.offset, pending.size, data.size()));
            }
            if (pending.offset != expected) {
                return refuse(fmt::format(
                    "tensor '{}' has offset {}, where {} is expected: tensors {}; the file is damaged", tensor.name,
                    pending.offset, expected, pending.offset < expected ? "overlap" : "leave a gap"));
            }
            tensor.bytes = data.subspan(pending.offset, pending.size);
            expected = aligned(pending.offset + pending.size);
        }
        m_result.trailingBytes = data.size() > expected ? data.size() - expected : 0;
        return {};
    }

    std::span<const std::byte> m_bytes;
    const std::filesystem::path& m_file;
    std::uint64_t m_at = 0;
    std::uint64_t m_alignment = kDefaultAlignment;
    GgufFile m_result;
    std::set<std::string, std::less<>> m_names;
    std::vector<Pending> m_pending;
};

}  // namespace

Result<GgufFile> readGguf(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    return Reader(bytes, file).read();
}

}  // namespace lpes::model
