#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/model/formats/bind_tensors.h"
#include "core/model/formats/weight_source.h"

namespace lpes::model {

/// A bound model over mapped files. immutable.
class MappedWeights final : public WeightSource {
  public:
    /// `files` hold the bytes that the model's views point into. `tokenizer` is asked by tokenizerSpec, on any thread.
    MappedWeights(BoundModel model, std::vector<MappedFile> files,
                  std::function<Result<text::TokenizerSpec>()> tokenizer);

    [[nodiscard]] const ModelConfig& config() const override { return m_model.config; }
    [[nodiscard]] std::vector<std::string> names() const override;
    [[nodiscard]] const TensorView* find(const std::string& canonicalName) const override;
    [[nodiscard]] std::span<const std::byte> direct(const std::string& canonicalName, ComputeType type) const override;
    [[nodiscard]] Result<void> readRows(const std::string& canonicalName, ComputeType type, std::int64_t firstRow,
                                        std::int64_t rowCount, std::span<std::byte> out) const override;
    void release(const std::string& canonicalName) const override;
    [[nodiscard]] Result<void> checkFinite(const std::string& canonicalName) const override;
    [[nodiscard]] Result<text::TokenizerSpec> tokenizerSpec() const override;

  private:
    [[nodiscard]] const BoundTensor* bound(const std::string& canonicalName) const;

    BoundModel m_model;
    std::vector<MappedFile> m_files;
    std::function<Result<text::TokenizerSpec>()> m_tokenizer;
};

}  // namespace lpes::model
