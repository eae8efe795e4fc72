#include "core/model/formats/mapped_weights.h"

#include <fmt/format.h>

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

struct Rows {
    std::size_t count = 0;
    std::size_t width = 0;     ///< elements per row
    std::size_t rowBytes = 0;  ///< as stored
};

/// A vector whose order must be undone counts as rows of one element, else as one row.
Rows rowsOf(const BoundTensor& tensor) {
    const TensorView& view = tensor.view;
    const auto first = static_cast<std::size_t>(view.shape.front());
    const bool matrix = view.shape.size() > 1;
    const std::size_t count = matrix || tensor.interleavedRows ? first : 1;
    return {count, matrix ? static_cast<std::size_t>(view.shape[1]) : first / count, view.bytes.size() / count};
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

Result<void> MappedWeights::read(const std::string& canonicalName, ComputeType type, std::span<std::byte> out) const {
    const BoundTensor* tensor = bound(canonicalName);
    if (tensor == nullptr) return noSuchTensor(canonicalName);
    const TensorView& view = tensor->view;
    const Rows rows = rowsOf(*tensor);
    const std::size_t elementBytes = type == ComputeType::Float32 ? sizeof(float) : sizeof(std::uint16_t);
    if (out.size() != rows.count * rows.width * elementBytes) {
        return fail(ErrorCode::Usage, fmt::format("tensor '{}' needs {} bytes as {}, not {}", canonicalName,
                                                  rows.count * rows.width * elementBytes,
                                                  type == ComputeType::Float32 ? "float32" : "bfloat16", out.size()));
    }
    if (reinterpret_cast<std::uintptr_t>(out.data()) % elementBytes != 0) {
        return fail(ErrorCode::Usage,
                    fmt::format("the memory for tensor '{}' is not aligned for its type", canonicalName));
    }
    const auto headDim = static_cast<std::size_t>(m_model.config.headDim);
    std::vector<float> wide(tensor->lessOne ? rows.width : 0);
    for (std::size_t row = 0; row < rows.count; ++row) {
        const std::size_t from = tensor->interleavedRows ? storedRow(row, headDim) : row;
        const std::byte* in = view.bytes.data() + from * rows.rowBytes;
        std::byte* to = out.data() + row * rows.width * elementBytes;
        if (tensor->lessOne) {
            if (!widenToFloat(view.type, in, rows.width, wide.data())) return notFinite(view, from);
            for (float& value : wide) value += 1.0f;
            in = reinterpret_cast<const std::byte*>(wide.data());
        }
        const StorageType stored = tensor->lessOne ? StorageType::F32 : view.type;
        const bool finite = type == ComputeType::Float32
                                ? widenToFloat(stored, in, rows.width, reinterpret_cast<float*>(to))
                                : convertToBFloat16(stored, in, rows.width, reinterpret_cast<std::uint16_t*>(to));
        if (!finite) return notFinite(view, from);
    }
    return {};
}

Result<void> MappedWeights::checkFinite(const std::string& canonicalName) const {
    const BoundTensor* tensor = bound(canonicalName);
    if (tensor == nullptr) return noSuchTensor(canonicalName);
    const Rows rows = rowsOf(*tensor);
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
