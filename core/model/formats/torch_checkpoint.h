#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

/// Reads the table of a file that torch.save made of a state dict: the zip layout of PyTorch 1.6 and later, or the
/// older one of pickles with the storages behind them (torch/serialization.py). Nothing of it is executed (pickle.h);
/// views point into `bytes`, no storage is copied.
///
/// The outermost value is a dict of tensors, or a dict without tensors that has exactly one dict under 'state_dict',
/// 'model' or 'module'. Tensors that share a storage share bytes. A tensor that does not lie in one piece (a transposed
/// one), that has a type which no weight may have, or a value that is no tensor has no StorageType: it is refused, by
/// name, when a model needs it.
///
/// BadInput: a cut file, bytes behind the last storage; a storage that is missing or has another size than its tensors
/// say; a tensor outside its storage; a doubled name. Unsupported by name: what pickle.h and zip_table.h refuse,
/// big-endian checkpoints, the tar layout, TorchScript archives.
[[nodiscard]] Result<std::vector<StoredTensor>> readTorchCheckpoint(std::span<const std::byte> bytes,
                                                                    const std::filesystem::path& file);

}  // namespace lpes::model
