#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/result.h"
#include "core/rope/method_spec.h"
#include "core/store/store.h"

/// Files that hold scales alone, held against what the searches of a data base found.
namespace lpes::studies {

/// A search that found the scales of a file.
struct FoundProfile {
    std::int64_t runId = 0;
    nlohmann::json provenance;  ///< of the profile that it wrote, an object
};

/// The finished searches whose profile, or a member of whose front, has the scales that the file of a method's part
/// (lpes:FILE, longrope:FILE) holds, to the four decimals that results are printed with. None for a file that changes
/// nothing, which is what many searches look at, or that cannot be read, which is refused elsewhere, and for any other
/// part. Database errors.
[[nodiscard]] Result<std::vector<FoundProfile>> searchesThatFound(const rope::MethodPart& part,
                                                                  store::StoreReader& store);

}  // namespace lpes::studies
