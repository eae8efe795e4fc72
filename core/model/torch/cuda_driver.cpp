#include "core/model/torch/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <fstream>

namespace lpes::model {
namespace {

// The driver's interface as far as it is used here; its binary form has been the same since CUDA 4 (_v2) and 7
// (primary contexts). Results are CUresult, 0 for success; devices are ints, contexts opaque.
constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
constexpr int kNoDevice = 100;

struct Driver {
    int (*init)(unsigned) = nullptr;
    int (*driverVersion)(int*) = nullptr;
    int (*errorString)(int, const char**) = nullptr;
    int (*deviceCount)(int*) = nullptr;
    int (*device)(int*, int) = nullptr;
    int (*deviceName)(char*, int, int) = nullptr;
    int (*totalMemory)(std::size_t*, int) = nullptr;
    int (*attribute)(int*, int, int) = nullptr;
    int (*retainContext)(void**, int) = nullptr;
    int (*releaseContext)(int) = nullptr;
    int (*pushContext)(void*) = nullptr;
    int (*popContext)(void**) = nullptr;
    int (*memoryInfo)(std::size_t*, std::size_t*) = nullptr;
    std::string problem;

    std::string why(int result) const {
        const char* text = nullptr;
        return errorString(result, &text) == 0 && text ? std::string(text) : fmt::format("driver error {}", result);
    }
};

Driver openDriver() {
    Driver driver;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        driver.problem = "there is no NVIDIA driver (libcuda.so.1 was not found)";
        return driver;
    }
    const auto bind = [&](auto& function, const char* name) {
        void* address = dlsym(library, name);
        if (!address) driver.problem = fmt::format("the NVIDIA driver is too old (it has no {})", name);
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    bind(driver.init, "cuInit");
    bind(driver.driverVersion, "cuDriverGetVersion");
    bind(driver.errorString, "cuGetErrorString");
    bind(driver.deviceCount, "cuDeviceGetCount");
    bind(driver.device, "cuDeviceGet");
    bind(driver.deviceName, "cuDeviceGetName");
    bind(driver.totalMemory, "cuDeviceTotalMem_v2");
    bind(driver.attribute, "cuDeviceGetAttribute");
    bind(driver.retainContext, "cuDevicePrimaryCtxRetain");
    bind(driver.releaseContext, "cuDevicePrimaryCtxRelease");
    bind(driver.pushContext, "cuCtxPushCurrent_v2");
    bind(driver.popContext, "cuCtxPopCurrent_v2");
    bind(driver.memoryInfo, "cuMemGetInfo_v2");
    if (!driver.problem.empty()) return driver;
    if (const int result = driver.init(0); result != 0) {
        driver.problem = result == kNoDevice
                             ? std::string("the NVIDIA driver sees no device (is one hidden by CUDA_VISIBLE_DEVICES?)")
                             : fmt::format("the NVIDIA driver does not start: {}", driver.why(result));
    }
    return driver;
}

const Driver& driver() {
    static const Driver instance = openDriver();
    return instance;
}

std::string kernelModuleVersion() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    if (std::getline(file, version) && !version.empty()) return version;
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue …"
    std::ifstream proc("/proc/driver/nvidia/version");
    for (std::string word; proc >> word;) {
        if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') > 0 &&
            word.find('.') != std::string::npos) {
            return word;
        }
    }
    return {};
}

}  // namespace

GpuDiscovery askCudaDriver() {
    GpuDiscovery found;
    const Driver& d = driver();
    found.problem = d.problem;
    if (!found.problem.empty()) return found;
    found.driverVersion = kernelModuleVersion();
    int version = 0, count = 0;
    if (d.driverVersion(&version) == 0) found.cudaVersion = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    if (const int result = d.deviceCount(&count); result != 0) {
        found.problem = fmt::format("the NVIDIA driver does not count its devices: {}", d.why(result));
        return found;
    }
    for (int index = 0; index < count; ++index) {
        Gpu gpu;
        gpu.index = index;
        char name[256] = {};
        std::size_t bytes = 0;
        int device = 0, result = d.device(&device, index);
        if (result == 0) result = d.deviceName(name, sizeof name - 1, device);
        if (result == 0) result = d.totalMemory(&bytes, device);
        if (result == 0) result = d.attribute(&gpu.computeMajor, kComputeCapabilityMajor, device);
        if (result == 0) result = d.attribute(&gpu.computeMinor, kComputeCapabilityMinor, device);
        if (result != 0) {
            found.problem = fmt::format("GPU {} does not answer: {}", index, d.why(result));
            found.gpus.clear();
            return found;
        }
        gpu.name = name;
        gpu.totalBytes = static_cast<std::int64_t>(bytes);
        found.gpus.push_back(std::move(gpu));
    }
    if (found.gpus.empty()) found.problem = "the NVIDIA driver sees no device";
    return found;
}

Result<DeviceMemory> askGpuMemory(int index) {
    const Driver& d = driver();
    if (!d.problem.empty()) return fail(ErrorCode::Unsupported, fmt::format("no GPU: {}", d.problem));
    int device = 0;
    void* context = nullptr;
    void* popped = nullptr;
    std::size_t freeBytes = 0, totalBytes = 0;
    int result = d.device(&device, index);
    if (result == 0) result = d.retainContext(&context, device);
    if (result != 0) return fail(ErrorCode::Unsupported, fmt::format("no GPU cuda:{}: {}", index, d.why(result)));
    result = d.pushContext(context);
    if (result == 0) {
        result = d.memoryInfo(&freeBytes, &totalBytes);
        d.popContext(&popped);
    }
    d.releaseContext(device);
    if (result != 0) {
        return fail(ErrorCode::Failed, fmt::format("GPU cuda:{} does not say how much memory is free", index),
                    d.why(result));
    }
    return DeviceMemory{static_cast<std::int64_t>(freeBytes), static_cast<std::int64_t>(totalBytes)};
}

}  // namespace lpes::model
