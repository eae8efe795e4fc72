#include "core/model/torch/devices.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <torch/version.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <set>
#include <system_error>

#include "core/model/torch/cuda_driver.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> cudaHalfLoaded = false;

constexpr const char* kCudaHalf = "libtorch_cuda.so";
constexpr const char* kRemedy = "run packaging/setup.sh --cuda, or set LPES_LIBTORCH to a LibTorch with CUDA";

/// Folder of the libtorch_cpu.so that this process runs with.
fs::path libTorchFolder() {
    fs::path found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            const fs::path file(info->dlpi_name);
            if (file.filename() != "libtorch_cpu.so") return 0;
            *static_cast<fs::path*>(result) = file.parent_path();
            return 1;
        },
        &found);
    return found;
}

/// "2.15.0+cu130" → "2.15.0"; empty when the folder does not say.
std::string versionOf(const fs::path& root) {
    std::string line;
    std::ifstream archive(root / "build-version");
    if (!std::getline(archive, line)) {
        std::ifstream wheel(root / "version.py");
        while (std::getline(wheel, line) && line.rfind("__version__", 0) != 0) line.clear();
    }
    const std::size_t begin = line.find_first_of("0123456789");
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_first_not_of("0123456789.", begin) - begin);
}

/// Folders where the libraries that LibTorch's CUDA half needs may lie: those of NVIDIA's wheels beside torch, and a
/// toolkit's.
std::vector<fs::path> companionFolders(const fs::path& torchLibraries) {
    std::vector<fs::path> folders = {torchLibraries};
    std::error_code ignored;
    for (fs::directory_iterator it(torchLibraries / "../../nvidia", ignored), end; !ignored && it != end;
         it.increment(ignored)) {
        folders.push_back(it->path() / "lib");
    }
    folders.emplace_back("/usr/local/cuda/lib64");
    return folders;
}

/// Opens a library for the whole process. One that the loader does not find for it is looked for in `folders`, opened
/// first, and the library tried again. Empty on success, else the loader's words.
std::string openWithCompanions(const std::string& file, const std::vector<fs::path>& folders,
                               std::set<std::string>& tried) {
    for (;;) {
        if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return {};
        const char* words = dlerror();
        const std::string problem = words ? words : "unknown reason";
        // "libcudnn.so.9: cannot open shared object file: No such file or directory"
        const std::string missing = problem.substr(0, problem.find(':'));
        if (missing.find(".so") == std::string::npos || missing.find('/') != std::string::npos ||
            problem.find("cannot open shared object file") == std::string::npos || !tried.insert(missing).second) {
            return problem;
        }
        std::error_code ignored;
        bool opened = false;
        for (const fs::path& folder : folders) {
            if (!fs::exists(folder / missing, ignored)) continue;
            opened = openWithCompanions((folder / missing).string(), folders, tried).empty();
            if (opened) break;
        }
        if (!opened) return problem;
    }
}

std::string loadCudaHalf() {
    const GpuDiscovery& found = discoverGpus();
    if (!found.problem.empty()) return found.problem;
    const char* named = std::getenv("LPES_LIBTORCH");
    const auto file = findCudaHalf(libTorchFolder(), named ? named : "");
    if (!file) return file.error().message;
    std::set<std::string> tried;
    const std::string problem = openWithCompanions(file->string(), companionFolders(file->parent_path()), tried);
    if (!problem.empty()) return fmt::format("{} does not load ({}); {}", file->string(), problem, kRemedy);
    const auto counted = guarded("asking LibTorch for GPUs", [&]() -> Result<int> {
        if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA) || !at::detail::getCUDAHooks().hasCUDART()) {
            return fail(ErrorCode::Unsupported,
                        "LibTorch was asked for CUDA before its CUDA half was loaded; start the program again with the "
                        "GPU as its first device");
        }
        return static_cast<int>(c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount());
    });
    if (!counted) return counted.error().message;
    if (*counted == 0) {
        return fmt::format(
            "LibTorch {} does not work with this driver (version {}, CUDA {}); update the driver, or set LPES_LIBTORCH "
            "to a LibTorch for that CUDA",
            TORCH_VERSION, found.driverVersion.empty() ? "unknown" : found.driverVersion, found.cudaVersion);
    }
    // Long sums of 16-bit products are kept in float32 also where cuBLAS splits them: float16 would overflow there.
    at::globalContext().setAllowFP16ReductionCuBLAS(false);
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
    return {};
}

}  // namespace

Result<fs::path> findCudaHalf(const fs::path& loadedFrom, const fs::path& named) {
    std::error_code ignored;
    if (!loadedFrom.empty() && fs::exists(loadedFrom / kCudaHalf, ignored)) return loadedFrom / kCudaHalf;
    if (!named.empty()) {
        for (const fs::path& root : {named, named / "torch"}) {
            if (!fs::exists(root / "lib" / kCudaHalf, ignored)) continue;
            const std::string version = versionOf(root), ours = TORCH_VERSION;
            if (version == ours) return root / "lib" / kCudaHalf;
            return fail(ErrorCode::Unsupported,
                        fmt::format("{} holds LibTorch {}, but the program runs with {}; set LPES_LIBTORCH to the same "
                                    "version, or build against that one",
                                    root.string(), version.empty() ? "of unknown version" : version, ours));
        }
    }
    return fail(ErrorCode::Unsupported, fmt::format("LibTorch's CUDA half ({}) is not installed beside {}; {}",
                                                    kCudaHalf, loadedFrom.string(), kRemedy));
}

const GpuDiscovery& discoverGpus() {
    static const GpuDiscovery found = askCudaDriver();
    return found;
}

std::string loadGpuSupport() {
    static const std::string problem = [] {
        std::string found = loadCudaHalf();
        cudaHalfLoaded = found.empty();
        return found;
    }();
    return problem;
}

Result<DeviceMemory> gpuMemory(int index) {
    return askGpuMemory(index);
}

void giveBackGpuMemory() {
    // Only then: asking LibTorch for CUDA before its CUDA half is there would settle its answer for good.
    if (!cudaHalfLoaded) return;
    try {
        c10::getDeviceAllocator(c10::kCUDA)->emptyCache();
    } catch (const std::exception&) {
        // Memory that cannot be given back is missing later, which is reported then.
    }
}

std::string gpuStatus() {
    const std::string problem = loadGpuSupport();
    if (!problem.empty()) return "no GPU: " + problem;
    const GpuDiscovery& found = discoverGpus();
    std::string text;
    for (const Gpu& gpu : found.gpus) {
        if (!text.empty()) text += '\n';
        text +=
            fmt::format("cuda:{} {} (compute capability {}.{}, {:.1f} GiB; driver {}, CUDA {})", gpu.index, gpu.name,
                        gpu.computeMajor, gpu.computeMinor, static_cast<double>(gpu.totalBytes) / (1 << 30),
                        found.driverVersion.empty() ? "unknown" : found.driverVersion, found.cudaVersion);
    }
    return text;
}

}  // namespace lpes::model
