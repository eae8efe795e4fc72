#include "core/model/torch/processor.h"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

namespace lpes::model {
namespace {

Processor readProcessor() {
    Processor result;
    std::ifstream info("/proc/cpuinfo");
    std::string line;
    while (std::getline(info, line) && !line.empty()) {  // the first processor's paragraph
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.rfind("model name", 0) == 0) result.name = value;
        if (line.rfind("flags", 0) != 0) continue;
        std::istringstream words(value);
        std::set<std::string> flags;
        for (std::string word; words >> word;) flags.insert(word);
        result.avx2 = flags.count("avx2") > 0;
        result.avx512 = flags.count("avx512f") > 0 && flags.count("avx512bw") > 0 && flags.count("avx512dq") > 0 &&
                        flags.count("avx512vl") > 0;
        result.avx512Bf16 = flags.count("avx512_bf16") > 0;
        result.amxBf16 = flags.count("amx_bf16") > 0 && flags.count("amx_tile") > 0;
    }
    return result;
}

}  // namespace

std::string Processor::description() const {
    std::string instructions;
    const auto add = [&](bool present, const char* word) {
        if (!present) return;
        if (!instructions.empty()) instructions += ", ";
        instructions += word;
    };
    add(avx2, "AVX2");
    add(avx512, "AVX-512");
    add(avx512Bf16, "AVX512-BF16");
    add(amxBf16, "AMX");
    return fmt::format("{} ({})", name, instructions.empty() ? "no wide vectors" : instructions);
}

const Processor& processor() {
    static const Processor instance = readProcessor();
    return instance;
}

}  // namespace lpes::model
