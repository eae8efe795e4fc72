#include "tests/support/torch_writer.h"

#include <algorithm>
#include <cstring>

#include "tests/support/block_quantizer.h"

namespace lpes::test {

using model::StorageType;

namespace {

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

struct Prepared {
    std::vector<TorchTensor> tensors;
    std::vector<std::string> storages;
};

Prepared prepare(const std::map<std::string, TinyTensor>& tensors, StorageType type) {
    Prepared prepared;
    for (const auto& [name, tensor] : tensors) {
        prepared.tensors.push_back({name,
                                    type == StorageType::F32   ? "FloatStorage"
                                    : type == StorageType::F16 ? "HalfStorage"
                                                               : "BFloat16Storage",
                                    std::to_string(prepared.storages.size()),
                                    static_cast<std::int64_t>(tensor.values.size()), 0, tensor.shape,
                                    rowMajorStrides(tensor.shape)});
        prepared.storages.push_back(encode(tensor.values, type));
    }
    return prepared;
}

}  // namespace

PickleWriter& PickleWriter::raw(const std::string& codes) {
    bytes += codes;
    return *this;
}
PickleWriter& PickleWriter::text(const std::string& value) {
    bytes += 'X';
    put(bytes, static_cast<std::uint32_t>(value.size()));
    return raw(value);
}
PickleWriter& PickleWriter::integer(std::int64_t value) {
    bytes += "\x8a\x08";
    put(bytes, value);
    return *this;
}
PickleWriter& PickleWriter::global(const std::string& module, const std::string& name) {
    return raw("c" + module + "\n" + name + "\n");
}
PickleWriter& PickleWriter::tuple(const std::vector<std::int64_t>& values) {
    raw("(");
    for (const std::int64_t value : values) integer(value);
    return raw("t");
}

std::vector<std::int64_t> rowMajorStrides(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return strides;
}

std::string stateDictPickle(const std::vector<TorchTensor>& tensors, bool old) {
    PickleWriter pickle;
    pickle.raw("\x80\x02").global("collections", "OrderedDict").raw(")R(");
    for (const TorchTensor& tensor : tensors) {
        pickle.text(tensor.name).global("torch._utils", "_rebuild_tensor_v2").raw("((").text("storage");
        pickle.global("torch", tensor.storageClass).text(tensor.key).text("cpu").integer(tensor.storageElements);
        pickle.raw(old ? "NtQ" : "tQ").integer(tensor.offset).tuple(tensor.shape).tuple(tensor.strides);
        pickle.raw("\x89").global("collections", "OrderedDict").raw(")RtR");
    }
    // _metadata, as every state dict has it
    pickle.raw("u}").text("_metadata").global("collections", "OrderedDict").raw(")Rsb.");
    return pickle.bytes;
}

std::string zipBytes(const std::vector<ZipPart>& parts, bool zip64) {
    std::string out, table;
    const auto common = [](std::string& to, const ZipPart& part) {
        put<std::uint16_t>(to, part.flags);
        put<std::uint16_t>(to, part.method);
        put<std::uint32_t>(to, 0);  // time and date
        put<std::uint32_t>(to, 0);  // checksum
        put(to, static_cast<std::uint32_t>(part.bytes.size()));
        put(to, static_cast<std::uint32_t>(part.bytes.size()));
        put(to, static_cast<std::uint16_t>(part.name.size()));
    };
    for (const ZipPart& part : parts) {
        const auto header = static_cast<std::uint32_t>(out.size());
        out += "PK\x03\x04";
        put<std::uint16_t>(out, 0);
        common(out, part);
        // The extra field brings the bytes to a multiple of 64.
        const std::size_t at = out.size() + 2 + part.name.size() + 4;
        const auto padding = static_cast<std::uint16_t>((64 - at % 64) % 64);
        put<std::uint16_t>(out, padding + 4);
        out += part.name + "FB";
        put(out, padding);
        out += std::string(padding, 'Z') + part.bytes;
        table += "PK\x01\x02";
        put<std::uint32_t>(table, 0);
        common(table, part);
        table += std::string(2 + 2 + 2 + 2 + 4, '\0');  // extra, comment, disk, attributes
        put(table, header);
        table += part.name;
    }
    const std::uint64_t offset = out.size();
    out += table;
    if (zip64) {
        const std::uint64_t end = out.size();
        out += "PK\x06\x06";
        put<std::uint64_t>(out, 44);
        out += std::string(12, '\0');
        put<std::uint64_t>(out, parts.size());
        put<std::uint64_t>(out, parts.size());
        put<std::uint64_t>(out, table.size());
        put<std::uint64_t>(out, offset);
        out += "PK\x06\x07";
        put<std::uint32_t>(out, 0);
        put<std::uint64_t>(out, end);
        put<std::uint32_t>(out, 1);
    }
    out += "PK\x05\x06";
    put<std::uint32_t>(out, 0);
    put(out, static_cast<std::uint16_t>(parts.size()));
    put(out, static_cast<std::uint16_t>(parts.size()));
    put(out, static_cast<std::uint32_t>(table.size()));
    put(out, static_cast<std::uint32_t>(offset));
    put<std::uint16_t>(out, 0);
    return out;
}

std::vector<ZipPart> torchParts(const std::map<std::string, TinyTensor>& tensors, StorageType type,
                                const std::function<void(TorchTensor&)>& edit) {
    Prepared prepared = prepare(tensors, type);
    if (edit) std::for_each(prepared.tensors.begin(), prepared.tensors.end(), edit);
    std::vector<ZipPart> parts = {{"archive/data.pkl", stateDictPickle(prepared.tensors)},
                                  {"archive/byteorder", "little"}};
    for (std::size_t i = 0; i < prepared.storages.size(); ++i)
        parts.push_back({"archive/data/" + std::to_string(i), prepared.storages[i]});
    parts.push_back({"archive/version", "3\n"});
    parts.push_back({"archive/.data/serialization_id", "0"});
    return parts;
}

std::string oldTorchBytes(const std::map<std::string, TinyTensor>& tensors, StorageType type) {
    const Prepared prepared = prepare(tensors, type);
    PickleWriter front;
    front.raw("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.").raw("\x80\x02").integer(1001).raw(".");
    front.raw("\x80\x02}").text("little_endian").raw("\x88s.");
    PickleWriter keys;
    keys.raw("\x80\x02](");
    for (const TorchTensor& tensor : prepared.tensors) keys.text(tensor.key);
    keys.raw("e.");
    std::string out = front.bytes + stateDictPickle(prepared.tensors, true) + keys.bytes;
    for (std::size_t i = 0; i < prepared.storages.size(); ++i) {
        put(out, prepared.tensors[i].storageElements);
        out += prepared.storages[i];
    }
    return out;
}

void writeTorchFolder(const TinyModel& tiny, const std::filesystem::path& folder, StorageType type, bool old,
                      const std::function<void(TorchTensor&)>& edit) {
    writeHuggingFaceFolder(tiny, folder, {.type = type});
    std::filesystem::remove(folder / "model.safetensors");
    std::map<std::string, TinyTensor> tensors;
    for (const auto& [name, tensor] : tiny.tensors) tensors.emplace(huggingFaceName(name), tensor);
    writeBytes(folder / "pytorch_model.bin",
               old ? oldTorchBytes(tensors, type) : zipBytes(torchParts(tensors, type, edit)));
}

}  // namespace lpes::test
