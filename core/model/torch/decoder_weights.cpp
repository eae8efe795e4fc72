#include "core/model/torch/decoder_weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <string>

#include "core/model/causal_lm.h"
#include "core/model/torch/large_pages.h"
#include "core/model/torch/packed_weight.h"
#include "core/model/torch/stored_matrix.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

std::int64_t elements(const TensorView& view) {
    std::int64_t count = 1;
    for (const std::int64_t extent : view.shape) count *= extent;
    return count;
}

/// What is too small to be worth keeping as stored, and small enough to fit anywhere.
bool isMatrix(const TensorView& view) {
    return view.shape.size() > 1;
}

Result<void> checkMemory(const WeightSource& source, ComputeType type, bool asStored) {
    const auto width = static_cast<std::int64_t>(c10::elementSize(scalarType(type)));
    std::int64_t needed = 0;
    for (const std::string& name : source.names()) {
        const TensorView* view = source.find(name);
        if (view && source.direct(name, type).empty() && !(asStored && isMatrix(*view)))
            needed += elements(*view) * width;
    }
    const auto available = availableMemory();
    if (available && needed > *available) {
        return fail(ErrorCode::OutOfMemory,
                    fmt::format("the weights of '{}' need {} MiB in {} but only {} MiB of memory are free; close other "
                                "programs or load a smaller model",
                                source.config().name, needed >> 20, computeTypeName(type), *available >> 20));
    }
    return {};
}

/// The least that is worth a thread's help: on a busy machine it may take milliseconds until all of them have run.
constexpr std::int64_t kBytesPerThread = 8 << 20;

class Loader {
  public:
    Loader(const std::shared_ptr<const WeightSource>& source, ComputeType type, bool asStored,
           const std::vector<at::Device>& devices, ProgressObserver& observer, const std::stop_token& stop)
        : m_source(source),
          m_type(type),
          m_asStored(asStored),
          m_devices(devices),
          m_device(devices.front()),
          m_observer(observer),
          m_stop(stop),
          m_total(static_cast<std::int64_t>(source->names().size())) {}

    Result<DecoderWeights> run() {
        DecoderWeights weights;
        const ModelConfig& config = m_source->config();
        weights.asStored = m_asStored;
        weights.devices = m_devices;
        Projection embedding;
        if (auto r = projection("embedding", embedding, false); !r) return fail(r.error());
        weights.head = embedding;
        m_device = m_devices.back();
        if (auto r = norm("final_norm", weights.finalNorm); !r) return fail(r.error());
        if (m_source->find("head")) {
            weights.head = {};
            if (auto r = projection("head", weights.head, false); !r) return fail(r.error());
        } else if (m_devices.front() != m_devices.back()) {
            weights.head.weight = embedding.weight.to(m_device);
            m_residentBytes += static_cast<std::int64_t>(weights.head.weight.nbytes());
        }
        weights.embedding = embedding.weight;
        weights.storedEmbedding = embedding.stored;
        weights.layers.resize(static_cast<std::size_t>(config.numLayers));
        for (int index = 0; index < config.numLayers; ++index) {
            LayerWeights& layer = weights.layers[static_cast<std::size_t>(index)];
            m_device = m_devices[static_cast<std::size_t>(index)];
            const std::string prefix = fmt::format("layer.{}.", index);
            if (auto r = norms(prefix, layer); !r) return fail(r.error());
            if (auto r = projections(prefix, {"q", "k", "v"}, layer.qkv); !r) return fail(r.error());
            if (auto r = projection(prefix + "o", layer.output); !r) return fail(r.error());
            if (auto r = projections(prefix, {"gate", "up"}, layer.gateUp); !r) return fail(r.error());
            if (auto r = projection(prefix + "down", layer.down); !r) return fail(r.error());
        }
        weights.residentBytes = m_residentBytes;
        return weights;
    }

  private:
    Result<const TensorView*> view(const std::string& name) const {
        const TensorView* found = m_source->find(name);
        if (!found)
            return fail(ErrorCode::BadInput, fmt::format("the model has no tensor '{}'; its file is incomplete", name));
        return found;
    }

    Result<void> step() {
        if (m_stop.stop_requested()) return fail(ErrorCode::Failed, kStoppedMessage);
        m_observer.progressed({"loading weights", ++m_done, m_total, 0.0, -1.0});
        return {};
    }

    /// The type that a tensor is read in: the formats know no float16 of ours, which is rounded on the device.
    static ComputeType readType(ComputeType type) { return type == ComputeType::Float16 ? ComputeType::Float32 : type; }

    /// The bytes of the file can be used where they are.
    bool isDirect(const std::string& name, ComputeType type) const {
        return m_device.is_cpu() && !m_source->direct(name, type).empty();
    }

    /// Sends what was read to its device, in the compute type.
    Result<void> place(const std::string& name, const at::Tensor& read, ComputeType type, at::Tensor& target) {
        target = m_device.is_cpu() ? read : read.to(m_device).to(scalarType(type));
        m_residentBytes += static_cast<std::int64_t>(target.nbytes());
        if (type != ComputeType::Float16 || target.isfinite().all().item<bool>()) return {};
        return fail(ErrorCode::Unsupported,
                    fmt::format("'{}' has values beyond what float16 can hold (65504); use bfloat16 or float32", name));
    }

    /// The rows of a large tensor are shared out among the threads. What was read leaves this process's memory, so that
    /// it never holds the file beside the weights.
    Result<void> readInto(const std::string& name, ComputeType type, const at::Tensor& target) {
        if (auto r = step(); !r) return r;
        const std::span<std::byte> out(static_cast<std::byte*>(target.data_ptr()), target.nbytes());
        const std::int64_t rows = target.dim() > 1 ? target.size(0) : 1;
        const std::int64_t rowBytes = static_cast<std::int64_t>(out.size()) / rows;
        std::atomic<bool> good = true;
        at::parallel_for(0, rows, std::max<std::int64_t>(1, kBytesPerThread / rowBytes),
                         [&](std::int64_t first, std::int64_t end) {
                             const auto part = out.subspan(static_cast<std::size_t>(first * rowBytes),
                                                           static_cast<std::size_t>((end - first) * rowBytes));
                             if (!m_source->readRows(name, type, first, end - first, part)) good = false;
                         });
        // Once more for the words: they name the first row that is wrong, whoever came upon it.
        auto done = good ? Result<void>() : m_source->read(name, type, out);
        m_source->release(name);
        return done;
    }

    Result<void> norm(const std::string& name, at::Tensor& target) {
        return tensor(name, target, m_source->config().wideNorms ? ComputeType::Float32 : m_type);
    }

    Result<void> norms(const std::string& prefix, LayerWeights& layer) {
        if (auto r = norm(prefix + "attention_norm", layer.attentionNorm); !r) return r;
        if (auto r = norm(prefix + "mlp_norm", layer.mlpNorm); !r) return r;
        if (m_source->config().queryKeyNorm) {
            if (auto r = norm(prefix + "q_norm", layer.queryNorm); !r) return r;
            if (auto r = norm(prefix + "k_norm", layer.keyNorm); !r) return r;
        }
        if (!m_source->config().postNorms) return {};
        if (auto r = norm(prefix + "post_attention_norm", layer.postAttentionNorm); !r) return r;
        return norm(prefix + "post_mlp_norm", layer.postMlpNorm);
    }

    Result<void> tensor(const std::string& name, at::Tensor& target) { return tensor(name, target, m_type); }

    /// passing: it will not be kept, and must not take of the memory of what is.
    Result<void> tensor(const std::string& name, at::Tensor& target, ComputeType type, bool passing = false) {
        const auto found = view(name);
        if (!found) return fail(found.error());
        if (isDirect(name, type)) {
            const auto bytes = m_source->direct(name, type);
            if (auto r = step(); !r) return r;
            if (auto r = m_source->checkFinite(name); !r) return r;
            // Never written to: the mapping is read-only, and every weight is an input only.
            target = at::from_blob(
                const_cast<std::byte*>(bytes.data()), (*found)->shape,
                [keepAlive = m_source](void*) mutable { keepAlive.reset(); }, scalarType(type));
            m_residentBytes += static_cast<std::int64_t>(bytes.size());
            return {};
        }
        const at::Tensor read = passing || !m_device.is_cpu()
                                    ? at::empty((*found)->shape, scalarType(readType(type)))
                                    : m_memory.take((*found)->shape, scalarType(readType(type)));
        if (auto r = readInto(name, readType(type), read); !r) return r;
        return place(name, read, type, target);
    }

    bool packs() const { return m_type == ComputeType::BFloat16 && m_device.is_cpu() && hasPackedWeights(); }

    /// Takes no more memory in the end: the plain copy goes.
    void pack(Projection& target) {
        if (!packs()) return;
        target.packed = packWeight(target.weight, m_memory);
        target.weight.reset();
    }

    /// Leaves matrices in the file, having looked at every value once.
    Result<void> keepStored(const std::vector<std::string>& names, Projection& target) {
        for (const std::string& name : names) {
            if (const auto found = view(name); !found) return fail(found.error());
            if (auto r = step(); !r) return r;
            if (auto r = m_source->checkFinite(name); !r) return r;
            m_source->release(name);
        }
        target.stored = std::make_shared<const StoredMatrix>(m_source, names, m_type);
        return {};
    }

    Result<void> projection(const std::string& name, Projection& target, bool packable = true) {
        const bool direct = isDirect(name, m_type);
        if (m_asStored && !direct) {
            if (auto r = keepStored({name}, target); !r) return r;
        } else {
            const bool toPack = packable && !direct && packs();
            if (auto r = tensor(name, target.weight, m_type, toPack); !r) return r;
            if (toPack) pack(target);
        }
        if (!m_source->find(name + "_bias")) return {};
        return tensor(name + "_bias", target.bias);
    }

    /// Several projections of the same input: side by side where the bytes can be used as they are, else as one matrix.
    Result<void> projections(const std::string& prefix, const std::vector<std::string>& names,
                             std::vector<Projection>& target) {
        const auto direct = [&](const std::string& name) { return isDirect(prefix + name, m_type); };
        if (std::all_of(names.begin(), names.end(), direct)) {
            for (const std::string& name : names) {
                if (auto r = projection(prefix + name, target.emplace_back()); !r) return r;
            }
            return {};
        }
        Projection& fused = target.emplace_back();
        if (m_asStored) {
            std::vector<std::string> whole;
            for (const std::string& name : names) whole.push_back(prefix + name);
            if (auto r = keepStored(whole, fused); !r) return r;
        } else {
            if (auto r = concatenated(prefix, names, "", fused.weight); !r) return r;
            pack(fused);
        }
        if (!m_source->find(prefix + names.front() + "_bias")) return {};
        return concatenated(prefix, names, "_bias", fused.bias);
    }

    Result<void> concatenated(const std::string& prefix, const std::vector<std::string>& names,
                              const std::string& suffix, at::Tensor& target) {
        std::vector<std::int64_t> shape;
        for (const std::string& name : names) {
            const auto found = view(prefix + name + suffix);
            if (!found) return fail(found.error());
            if (shape.empty()) {
                shape = (*found)->shape;
            } else {
                shape[0] += (*found)->shape[0];
            }
        }
        const at::Tensor read = at::empty(shape, scalarType(readType(m_type)));
        std::int64_t row = 0;
        for (const std::string& name : names) {
            const std::int64_t rows = m_source->find(prefix + name + suffix)->shape[0];
            if (auto r = readInto(prefix + name + suffix, readType(m_type), read.narrow(0, row, rows)); !r) return r;
            row += rows;
        }
        return place(prefix + names.front() + suffix, read, m_type, target);
    }

    std::shared_ptr<const WeightSource> m_source;
    ComputeType m_type;
    bool m_asStored;
    const std::vector<at::Device>& m_devices;
    at::Device m_device;  ///< of what is being read
    ProgressObserver& m_observer;
    const std::stop_token& m_stop;
    LargePages m_memory;
    std::int64_t m_done = 0, m_total = 0, m_residentBytes = 0;
};

}  // namespace

at::ScalarType scalarType(ComputeType type) {
    switch (type) {
        case ComputeType::BFloat16:
            return at::kBFloat16;
        case ComputeType::Float16:
            return at::kHalf;
        case ComputeType::Float32:
            return at::kFloat;
    }
    return at::kFloat;
}

std::vector<std::int64_t> bytesByLayer(const WeightSource& source, ComputeType type, bool onSeveralDevices) {
    const auto width = static_cast<std::int64_t>(c10::elementSize(scalarType(type)));
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(source.config().numLayers), 0);
    for (const std::string& name : source.names()) {
        std::size_t layer = name == "embedding" ? 0 : bytes.size() - 1;
        if (name.rfind("layer.", 0) == 0) layer = static_cast<std::size_t>(std::stoi(name.substr(6)));
        bytes[layer] += elements(*source.find(name)) * width;
        // A tied head is at the other end: a model on several devices has its embedding twice.
        if (name == "embedding" && source.config().tiedHead && onSeveralDevices)
            bytes.back() += elements(*source.find(name)) * width;
    }
    return bytes;
}

at::Tensor Projection::dense() const {
    if (stored) return stored->dense();
    return packed.defined() ? unpackWeight(packed) : weight;
}

Result<DecoderWeights> loadDecoderWeights(const std::shared_ptr<const WeightSource>& source, ComputeType type,
                                          Residency residency, const std::vector<at::Device>& devices,
                                          ProgressObserver& observer, const std::stop_token& stop) {
    return guarded("loading the weights", [&]() -> Result<DecoderWeights> {
        // Whatever mode the caller is in: a tensor made inside InferenceMode could never take part in autograd.
        const c10::InferenceMode off(false);
        const bool onCpu = devices.front().is_cpu();
        if (!onCpu && residency == Residency::AsStored) {
            return fail(ErrorCode::Unsupported, "weights stay as they are stored on the CPU only; dequantise them");
        }
        if (!onCpu) return Loader(source, type, false, devices, observer, stop).run();
        bool asStored = residency == Residency::AsStored;
        auto fits = checkMemory(*source, type, asStored);
        if (!fits && residency == Residency::Automatic && checkMemory(*source, type, true)) {
            observer.warned(fits.error().message +
                            "; they stay as they are stored and are dequantised at each use, which is slower");
            fits = {};
            asStored = true;
        }
        if (!fits) return fail(fits.error());
        return Loader(source, type, asStored, devices, observer, stop).run();
    });
}

}  // namespace lpes::model
