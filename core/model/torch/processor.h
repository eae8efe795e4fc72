#pragma once

#include <string>

namespace lpes::model {

/// What Linux says about the processor: a feature counts only where the kernel lets programs use it. immutable.
struct Processor {
    std::string name = "unknown processor";
    bool avx2 = false, avx512 = false, avx512Bf16 = false, amxBf16 = false;

    /// "Intel(R) Xeon(R) Processor (AVX2, AVX-512, AVX512-BF16, AMX)".
    [[nodiscard]] std::string description() const;
};

/// Read once.
[[nodiscard]] const Processor& processor();

}  // namespace lpes::model
