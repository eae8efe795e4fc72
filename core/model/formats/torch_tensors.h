#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/formats/pickle.h"
#include "core/model/formats/storage.h"

namespace lpes::model {

/// A storage as a checkpoint's pickle names it.
struct TorchStorage {
    std::string_view key;
    std::optional<StorageType> type;  ///< empty for a type that no weight may have
    std::string_view typeName;        ///< "F32"
    std::int64_t elements = 0;
    std::int64_t bytes = 0;
};

/// Every storage that the pickle names, by key. BadInput: a storage that is described in another way than torch.save
/// does, or twice with different sizes; one that is larger than 63 bits can count.
[[nodiscard]] Result<std::map<std::string_view, TorchStorage>> storagesOf(const Pickle& pickle,
                                                                          const std::filesystem::path& file);

/// The state dict's tensors as torch_checkpoint.h says. `bytesOf` has the bytes of every storage, as many as it says.
[[nodiscard]] Result<std::vector<StoredTensor>> tensorsOf(
    const Pickle& pickle, const std::map<std::string_view, TorchStorage>& storages,
    const std::map<std::string_view, std::span<const std::byte>>& bytesOf, const std::filesystem::path& file);

}  // namespace lpes::model
