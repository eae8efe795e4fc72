#include "core/model/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/base/files.h"
#include "core/model/formats/json_fields.h"

namespace lpes::model {

using nlohmann::json;

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference library's limit
constexpr std::size_t kMaxDimensions = 16;
constexpr const char* kMetadata = "__metadata__";

struct DType {
    std::string_view name;
    int bits;
    std::optional<StorageType> type;
};

/// Every dtype that the format names: a file may hold more than weights, and all of it must fit.
constexpr DType kDTypes[] = {
    {"F32", 32, StorageType::F32},
    {"F16", 16, StorageType::F16},
    {"BF16", 16, StorageType::BF16},
    {"F64", 64, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
    {"I64", 64, {}},
    {"I32", 32, {}},
    {"I16", 16, {}},
    {"I8", 8, {}},
    {"U64", 64, {}},
    {"U32", 32, {}},
    {"U16", 16, {}},
    {"U8", 8, {}},
    {"BOOL", 8, {}},
    {"C64", 64, {}},
};

struct Placed {
    StoredTensor tensor;
    std::uint64_t begin = 0, end = 0;
};

class TableReader {
  public:
    TableReader(std::span<const std::byte> data, const std::filesystem::path& file) : m_data(data), m_file(file) {}

    Result<Placed> tensor(const std::string& name, const json& entry) const {
        if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
            !entry.contains("data_offsets")) {
            return refuse(name, "needs dtype, shape and data_offsets");
        }
        Placed placed;
        placed.tensor.name = name;
        placed.tensor.file = m_file;
        const json& dtype = entry["dtype"];
        const auto known = std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](const DType& candidate) {
            return dtype.is_string() && dtype.get_ref<const std::string&>() == candidate.name;
        });
        if (known == std::end(kDTypes)) {
            return refuse(name, fmt::format("has dtype {}, which is not known", shown(dtype)), ErrorCode::Unsupported);
        }
        placed.tensor.type = known->type;
        placed.tensor.typeName = known->name;

        const json& shape = entry["shape"];
        if (!shape.is_array() || shape.size() > kMaxDimensions) {
            return refuse(
                name, fmt::format("has shape {}, which is not a list of up to {} sizes", shown(shape), kMaxDimensions));
        }
        for (const json& dim : shape) {
            if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
                return refuse(name, fmt::format("has size {} in its shape", shown(dim)));
            }
            placed.tensor.shape.push_back(dim.get<std::int64_t>());
        }

        const json& offsets = entry["data_offsets"];
        if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
            !offsets[1].is_number_unsigned()) {
            return refuse(name, fmt::format("has data_offsets {}, which are not two whole numbers", shown(offsets)));
        }
        placed.begin = offsets[0].get<std::uint64_t>();
        placed.end = offsets[1].get<std::uint64_t>();
        const auto elements = elementCount(placed.tensor.shape);
        const auto bits = elements ? multiplied(*elements, known->bits) : std::nullopt;
        if (!bits || *bits % 8 != 0 || placed.begin > placed.end ||
            placed.end - placed.begin != static_cast<std::uint64_t>(*bits / 8)) {
            return refuse(name, fmt::format("has data_offsets {} whose span does not match shape × dtype ({} of {})",
                                            shown(offsets), shown(shape), known->name));
        }
        if (placed.end > m_data.size()) {
            return fail(
                ErrorCode::BadInput,
                fmt::format("'{}': incomplete file (download interrupted?): data_offsets of tensor '{}' end at byte "
                            "{} but the file has {} bytes of data; fetch it again",
                            m_file.string(), name, placed.end, m_data.size()));
        }
        placed.tensor.bytes = m_data.subspan(placed.begin, placed.end - placed.begin);
        return placed;
    }

    /// Tensors must follow each other without gap or overlap and fill the file.
    Result<void> layout(std::vector<Placed>& tensors) const {
        std::sort(tensors.begin(), tensors.end(), [](const Placed& a, const Placed& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
        });
        std::uint64_t at = 0;
        for (const Placed& placed : tensors) {
            if (placed.begin != at) {
                return refuse(placed.tensor.name,
                              fmt::format("has data_offsets that begin at {}, where {} is expected: tensors {}",
                                          placed.begin, at, placed.begin < at ? "overlap" : "leave a gap"));
            }
            at = placed.end;
        }
        if (at != m_data.size()) {
            return fail(ErrorCode::BadInput,
                        fmt::format("'{}': {} bytes stand behind the last tensor; the file is damaged, fetch it again",
                                    m_file.string(), m_data.size() - at));
        }
        return {};
    }

  private:
    tl::unexpected<Error> refuse(const std::string& name, const std::string& why,
                                 ErrorCode code = ErrorCode::BadInput) const {
        return fail(code, fmt::format("'{}': tensor '{}' {}; the file is damaged or was not made by safetensors",
                                      m_file.string(), name.substr(0, 200), why));
    }

    std::span<const std::byte> m_data;
    const std::filesystem::path& m_file;
};

}  // namespace

namespace {

/// The parsed header and the bytes behind it.
struct Parsed {
    json table;
    std::span<const std::byte> data;
};

Result<Parsed> parseHeader(std::span<const std::byte> bytes, const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& why) { return refuseFile(file, why); };
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) {
        return refuse(
            fmt::format("incomplete file (download interrupted?): {} bytes are too few for safetensors; fetch it again",
                        bytes.size()));
    }
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length == 0) return refuse("header length is 0; the file is damaged or not safetensors");
    if (length > bytes.size() - sizeof length) {
        return refuse(
            fmt::format("header length is {} but the file has {} bytes; incomplete file (download interrupted?) or "
                        "not safetensors",
                        length, bytes.size()));
    }
    if (length > kMaxHeaderBytes) {
        return refuse(fmt::format("header length is {}, above the format's limit of {}", length, kMaxHeaderBytes));
    }
    const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
    if (header.front() != '{')
        return refuse("the header does not begin with '{'; the file is damaged or not safetensors");
    auto table = parseJsonObject(header, file, "header", {.depth = 4, .arrayLength = kMaxDimensions + 1});
    if (!table) return fail(table.error());
    return Parsed{std::move(*table), bytes.subspan(sizeof length + length)};
}

}  // namespace

Result<std::vector<StoredTensor>> readSafetensorsTable(std::span<const std::byte> bytes,
                                                       const std::filesystem::path& file) {
    const auto parsed = parseHeader(bytes, file);
    if (!parsed) return fail(parsed.error());
    const TableReader reader(parsed->data, file);
    std::vector<Placed> placed;
    for (const auto& [name, entry] : parsed->table.items()) {
        if (name == kMetadata) continue;
        auto tensor = reader.tensor(name, entry);
        if (!tensor) return fail(tensor.error());
        placed.push_back(std::move(*tensor));
    }
    if (auto fits = reader.layout(placed); !fits) return fail(fits.error());
    std::vector<StoredTensor> tensors;
    tensors.reserve(placed.size());
    for (Placed& each : placed) tensors.push_back(std::move(each.tensor));
    return tensors;
}

Result<std::map<std::string, std::string>> readSafetensorsMetadata(std::span<const std::byte> bytes,
                                                                   const std::filesystem::path& file) {
    const auto parsed = parseHeader(bytes, file);
    if (!parsed) return fail(parsed.error());
    std::map<std::string, std::string> metadata;
    const auto found = parsed->table.find(kMetadata);
    if (found == parsed->table.end()) return metadata;
    const auto refuse = [&](const json& value) {
        return fail(ErrorCode::BadInput, fmt::format("'{}': __metadata__ holds {} where the format allows texts alone",
                                                     file.string(), shown(value)));
    };
    if (!found->is_object()) return refuse(*found);
    for (const auto& [key, value] : found->items()) {
        if (!value.is_string()) return refuse(value);
        metadata[key] = value.get<std::string>();
    }
    return metadata;
}

std::string makeSafetensors(std::span<const FloatTensor> tensors, const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header[kMetadata] = metadata;
    std::size_t at = 0;
    for (const FloatTensor& tensor : tensors) {
        const std::size_t end = at + tensor.values.size_bytes();
        header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    std::string text = header.dump();
    // The data begin at a multiple of 8, as the reference library writes them.
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
    for (const FloatTensor& tensor : tensors)
        bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
    return bytes;
}

}  // namespace lpes::model
