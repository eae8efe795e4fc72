#include "tests/support/gguf_writer.h"

#include <cstring>
#include <stdexcept>

namespace lpes::test {

namespace {

template <class T>
void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

void putString(std::string& out, const std::string& text) {
    put<std::uint64_t>(out, text.size());
    out += text;
}

template <class T>
GgufWriter::Value scalar(GgufWriter::ValueType type, T value) {
    GgufWriter::Value made{type, {}};
    put(made.bytes, value);
    return made;
}

template <class T>
GgufWriter::Value array(GgufWriter::ValueType type, const std::vector<T>& elements) {
    GgufWriter::Value made{GgufWriter::Array, {}};
    put<std::uint32_t>(made.bytes, type);
    put<std::uint64_t>(made.bytes, elements.size());
    for (const T element : elements) put(made.bytes, element);
    return made;
}

}  // namespace

void GgufWriter::setUint16(const std::string& key, std::uint16_t value) {
    values[key] = scalar(U16, value);
}
void GgufWriter::setInt32(const std::string& key, std::int32_t value) {
    values[key] = scalar(I32, value);
}
void GgufWriter::setUint32(const std::string& key, std::uint32_t value) {
    values[key] = scalar(U32, value);
}
void GgufWriter::setFloat32(const std::string& key, float value) {
    values[key] = scalar(F32, value);
}
void GgufWriter::setBool(const std::string& key, bool value) {
    values[key] = scalar<std::uint8_t>(Bool, value ? 1 : 0);
}

void GgufWriter::setString(const std::string& key, const std::string& value) {
    values[key] = {String, {}};
    putString(values[key].bytes, value);
}

void GgufWriter::setStrings(const std::string& key, const std::vector<std::string>& elements) {
    Value made{Array, {}};
    put<std::uint32_t>(made.bytes, String);
    put<std::uint64_t>(made.bytes, elements.size());
    for (const std::string& element : elements) putString(made.bytes, element);
    values[key] = std::move(made);
}

void GgufWriter::setInt32s(const std::string& key, const std::vector<std::int32_t>& elements) {
    values[key] = array(I32, elements);
}

void GgufWriter::setFloat32s(const std::string& key, const std::vector<float>& elements) {
    values[key] = array(F32, elements);
}

std::string GgufWriter::bytes() const {
    std::string out = magic;
    put(out, version);
    put<std::uint64_t>(out, tensors.size());
    put<std::uint64_t>(out, values.size());
    for (const auto& [key, value] : values) {
        putString(out, key);
        put(out, value.type);
        out += value.bytes;
    }
    std::string data;
    const auto pad = [this](std::string& text) {
        text.resize((text.size() + alignment - 1) / alignment * alignment, '\0');
    };
    for (const Tensor& tensor : tensors) {
        putString(out, tensor.name);
        put(out, static_cast<std::uint32_t>(tensor.dims.size()));
        for (const std::uint64_t dim : tensor.dims) put(out, dim);
        put(out, tensor.type);
        put<std::uint64_t>(out, data.size());
        data += tensor.bytes;
        pad(data);
    }
    pad(out);
    return out + data;
}

std::uint32_t ggmlType(model::StorageType type) {
    switch (type) {
        case model::StorageType::F32:
            return 0;
        case model::StorageType::F16:
            return 1;
        case model::StorageType::Q4_0:
            return 2;
        case model::StorageType::Q4_1:
            return 3;
        case model::StorageType::Q5_0:
            return 6;
        case model::StorageType::Q5_1:
            return 7;
        case model::StorageType::Q8_0:
            return 8;
        case model::StorageType::Q2_K:
            return 10;
        case model::StorageType::Q3_K:
            return 11;
        case model::StorageType::Q4_K:
            return 12;
        case model::StorageType::Q5_K:
            return 13;
        case model::StorageType::Q6_K:
            return 14;
        case model::StorageType::IQ4_NL:
            return 20;
        case model::StorageType::IQ4_XS:
            return 23;
        case model::StorageType::BF16:
            return 30;
    }
    throw std::runtime_error("no such storage type");
}

}  // namespace lpes::test
