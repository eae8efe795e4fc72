#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/model/formats/weight_source.h"
#include "tests/support/tiny_model.h"

/// PyTorch checkpoints made without PyTorch, right or wrong: nothing is checked here.
namespace lpes::test {

/// Opcodes of a pickle, one behind the other.
class PickleWriter {
  public:
    PickleWriter& raw(const std::string& codes);
    PickleWriter& text(const std::string& value);
    PickleWriter& integer(std::int64_t value);
    PickleWriter& global(const std::string& module, const std::string& name);
    /// A tuple of whole numbers.
    PickleWriter& tuple(const std::vector<std::int64_t>& values);

    std::string bytes;
};

/// A tensor as a state dict's pickle describes it.
struct TorchTensor {
    std::string name;
    std::string storageClass = "FloatStorage";
    std::string key = "0";
    std::int64_t storageElements = 0;
    std::int64_t offset = 0;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
};

[[nodiscard]] std::vector<std::int64_t> rowMajorStrides(const std::vector<std::int64_t>& shape);
/// An OrderedDict of these tensors; `old`: for the layout before 1.6.
[[nodiscard]] std::string stateDictPickle(const std::vector<TorchTensor>& tensors, bool old = false);

struct ZipPart {
    std::string name;
    std::string bytes;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
};
/// A zip archive of these parts, stored; `zip64`: with the wide end record and its locator, as torch.save writes.
[[nodiscard]] std::string zipBytes(const std::vector<ZipPart>& parts, bool zip64 = true);

/// Tensors under their file names → a checkpoint in the zip layout, each with a storage of its own. `edit` has the last
/// word on how the pickle describes each.
[[nodiscard]] std::vector<ZipPart> torchParts(const std::map<std::string, TinyTensor>& tensors, model::StorageType type,
                                              const std::function<void(TorchTensor&)>& edit = {});
/// The same in the older layout.
[[nodiscard]] std::string oldTorchBytes(const std::map<std::string, TinyTensor>& tensors, model::StorageType type);

/// Writes a Hugging Face folder whose weights are pytorch_model.bin; `edit` works on the zip layout alone.
void writeTorchFolder(const TinyModel& tiny, const std::filesystem::path& folder, model::StorageType type,
                      bool old = false, const std::function<void(TorchTensor&)>& edit = {});

}  // namespace lpes::test
