#include "core/model/formats/mapped_weights.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <new>

#include "core/model/formats/dequantize.h"

namespace lpes::model {

namespace {

tl::unexpected<Error> noSuchTensor(const std::string& name) {
    return fail(ErrorCode::Usage, fmt::format("the model has no tensor '{}'", name));
}

tl::unexpected<Error> notFinite(const TensorView& view, std::size_t row) {
    return fail(
        ErrorCode::BadInput,
        fmt::format("'{}': tensor '{}' holds a value in row {} that is infinite or not a number, or too large for the "
                    "compute type; the file is damaged, fetch it again",
                    view.file.string(), view.name, row));
}

/// `bytes` of the view may be some rows of a larger tensor, so nothing but the view itself says how large a row is.
struct Rows {
    std::size_t count = 0;
    std::size_t width = 0;     ///< elements per row
    std::size_t rowBytes = 0;  ///< as stored
};

Rows rowsOf(const TensorView& view) {
    const auto count = static_cast<std::size_t>(rowCountOf(view));
    return {count, static_cast<std::size_t>(view.shape.back()), view.bytes.size() / count};
}

std::size_t elementBytes(ComputeType type) {
    return type == ComputeType::Float32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// One row; false when a value is not finite.
bool convert(const BoundTensor& tensor, const std::byte* in, std::size_t width, ComputeType type, std::byte* out) {
    const TensorView& view = tensor.view;
    if (tensor.lessOne) {
        // The sum is formed in float32, and rounded to the compute type once.
        std::vector<float> wide(width);
        if (!widenToFloat(view.type, in, width, wide.data())) return false;
        for (float& value : wide) value += 1.0f;
        const auto* whole = reinterpret_cast<const std::byte*>(wide.data());
        return type == ComputeType::Float32
                   ? widenToFloat(StorageType::F32, whole, width, reinterpret_cast<float*>(out))
                   : convertToBFloat16(StorageType::F32, whole, width, reinterpret_cast<std::uint16_t*>(out));
    }
    return type == ComputeType::Float32
               ? widenToFloat(view.type, in, width, reinterpret_cast<float*>(out))
               : convertToBFloat16(view.type, in, width, reinterpret_cast<std::uint16_t*>(out));
}

/// Where row `row` of the half-split order stands in the file. GGUF's llama converter moves row t·D/2 + j of each head
/// to 2j + t (LlamaModel.permute in convert_hf_to_gguf.py).
std::size_t storedRow(std::size_t row, std::size_t headDim) {
    const std::size_t half = headDim / 2;
    const std::size_t inHead = row % headDim;
    return row - inHead + 2 * (inHead % half) + inHead / half;
}

}  // namespace

MappedWeights::MappedWeights(BoundModel model, std::vector<MappedFile> files,
                             std::function<Result<text::TokenizerSpec>()> tokenizer)
    : m_model(std::move(model)), m_files(std::move(files)), m_tokenizer(std::move(tokenizer)) {}

std::vector<std::string> MappedWeights::names() const {
    std::vector<std::string> names;
    names.reserve(m_model.tensors.size());
    for (const auto& [name, tensor] : m_model.tensors) names.push_back(name);
    return names;
}

const BoundTensor* MappedWeights::bound(const std::string& canonicalName) const {
    const auto found = m_model.tensors.find(canonicalName);
    return found == m_model.tensors.end() ? nullptr : &found->second;
}

const TensorView* MappedWeights::find(const std::string& canonicalName) const {
    const BoundTensor* tensor = bound(canonicalName);
    return tensor == nullptr ? nullptr : &tensor->view;
}

std::span<const std::byte> MappedWeights::direct(const std::string& canonicalName, ComputeType type) const {
    const BoundTensor* tensor = bound(canonicalName);
    if (tensor == nullptr || tensor->interleavedRows || tensor->lessOne) return {};
    const StorageType wanted = type == ComputeType::Float32 ? StorageType::F32 : StorageType::BF16;
    const std::uintptr_t alignment = type == ComputeType::Float32 ? alignof(float) : alignof(std::uint16_t);
    if (tensor->view.type != wanted) return {};
    if (reinterpret_cast<std::uintptr_t>(tensor->view.bytes.data()) % alignment != 0) return {};
    return tensor->view.bytes;
}

Result<void> MappedWeights::readRows(const std::string& canonicalName, ComputeType type, std::int64_t firstRow,
                                     std::int64_t rowCount, std::span<std::byte> out) const {
    const BoundTensor* tensor = bound(canonicalName);
    if (tensor == nullptr) return noSuchTensor(canonicalName);
    const TensorView& view = tensor->view;
    const Rows rows = rowsOf(view);
    const auto all = static_cast<std::int64_t>(rows.count);
    if (firstRow < 0 || rowCount < 0 || firstRow > all || rowCount > all - firstRow) {
        return fail(ErrorCode::Usage, fmt::format("tensor '{}' has {} rows; {} from row {} on were asked for",
                                                  canonicalName, all, rowCount, firstRow));
    }
    const std::size_t rowOut = rows.width * elementBytes(type);
    const std::size_t needed = static_cast<std::size_t>(rowCount) * rowOut;
    if (out.size() != needed) {
        return fail(ErrorCode::Usage,
                    fmt::format("{} rows of tensor '{}' need {} bytes as {}, not {}", rowCount, canonicalName, needed,
                                type == ComputeType::Float32 ? "float32" : "bfloat16", out.size()));
    }
    if (reinterpret_cast<std::uintptr_t>(out.data()) % elementBytes(type) != 0) {
        return fail(ErrorCode::Usage,
                    fmt::format("the memory for tensor '{}' is not aligned for its type", canonicalName));
    }
    const auto headDim = static_cast<std::size_t>(m_model.config.headDim);
    if (tensor->interleavedRows && view.shape.size() == 1) {
        // A vector whose elements are out of order: blocks can be dequantised in the file's order only.
        if (rowCount == 0) return {};
        std::vector<std::byte> stored(needed);
        if (!convert(*tensor, view.bytes.data(), rows.width, type, stored.data())) return notFinite(view, 0);
        const std::size_t size = elementBytes(type);
        for (std::size_t i = 0; i < rows.width; ++i) {
            std::memcpy(out.data() + i * size, stored.data() + storedRow(i, headDim) * size, size);
        }
        return {};
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(rowCount); ++i) {
        const std::size_t row = static_cast<std::size_t>(firstRow) + i;
        const std::size_t from = tensor->interleavedRows ? storedRow(row, headDim) : row;
        if (!convert(*tensor, view.bytes.data() + from * rows.rowBytes, rows.width, type, out.data() + i * rowOut)) {
            return notFinite(view, from);
        }
    }
    return {};
}

void MappedWeights::release(const std::string& canonicalName) const {
    if (const BoundTensor* tensor = bound(canonicalName)) MappedFile::dropPages(tensor->view.bytes);
}

Result<void> MappedWeights::checkFinite(const std::string& canonicalName) const {
    const BoundTensor* tensor = bound(canonicalName);
    if (tensor == nullptr) return noSuchTensor(canonicalName);
    const Rows rows = rowsOf(tensor->view);
    std::vector<float> scratch(rows.width);
    for (std::size_t row = 0; row < rows.count; ++row) {
        if (!widenToFloat(tensor->view.type, tensor->view.bytes.data() + row * rows.rowBytes, rows.width,
                          scratch.data())) {
            return notFinite(tensor->view, row);
        }
    }
    return {};
}

Result<text::TokenizerSpec> MappedWeights::tokenizerSpec() const {
    try {
        return m_tokenizer();
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::OutOfMemory, "out of memory while reading the tokenizer; close other programs");
    } catch (const std::exception& error) {
        return fail(ErrorCode::Failed, "reading the tokenizer failed", error.what());
    }
}

}  // namespace lpes::model
