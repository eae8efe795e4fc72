#include "core/model/torch/decoder_weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "core/model/causal_lm.h"
#include "core/model/torch/packed_weight.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

std::int64_t elements(const TensorView& view) {
    std::int64_t count = 1;
    for (const std::int64_t extent : view.shape) count *= extent;
    return count;
}

/// Bytes that the kernel could hand out without swapping; empty where it does not say.
std::optional<std::int64_t> availableMemory() {
    std::ifstream info("/proc/meminfo");
    std::string key, unit;
    std::int64_t kilobytes = 0;
    while (info >> key >> kilobytes >> unit) {
        if (key == "MemAvailable:") return kilobytes * 1024;
    }
    return std::nullopt;
}

Result<void> checkMemory(const WeightSource& source, ComputeType type) {
    const auto width = static_cast<std::int64_t>(c10::elementSize(scalarType(type)));
    std::int64_t needed = 0;
    for (const std::string& name : source.names()) {
        const TensorView* view = source.find(name);
        if (view && source.direct(name, type).empty()) needed += elements(*view) * width;
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
    Loader(const std::shared_ptr<const WeightSource>& source, ComputeType type, ProgressObserver& observer,
           const std::stop_token& stop)
        : m_source(source),
          m_type(type),
          m_observer(observer),
          m_stop(stop),
          m_total(static_cast<std::int64_t>(source->names().size())) {}

    Result<DecoderWeights> run() {
        DecoderWeights weights;
        const ModelConfig& config = m_source->config();
        if (auto r = tensor("embedding", weights.embedding); !r) return fail(r.error());
        if (auto r = norm("final_norm", weights.finalNorm); !r) return fail(r.error());
        if (m_source->find("head")) {
            if (auto r = tensor("head", weights.head); !r) return fail(r.error());
        } else {
            weights.head = weights.embedding;
        }
        weights.layers.resize(static_cast<std::size_t>(config.numLayers));
        for (int index = 0; index < config.numLayers; ++index) {
            LayerWeights& layer = weights.layers[static_cast<std::size_t>(index)];
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

    Result<void> tensor(const std::string& name, at::Tensor& target, ComputeType type) {
        const auto found = view(name);
        if (!found) return fail(found.error());
        if (const auto bytes = m_source->direct(name, type); !bytes.empty()) {
            if (auto r = step(); !r) return r;
            if (auto r = m_source->checkFinite(name); !r) return r;
            // Never written to: the mapping is read-only, and every weight is an input only.
            target = at::from_blob(
                const_cast<std::byte*>(bytes.data()), (*found)->shape,
                [keepAlive = m_source](void*) mutable { keepAlive.reset(); }, scalarType(type));
            m_residentBytes += static_cast<std::int64_t>(bytes.size());
            return {};
        }
        target = at::empty((*found)->shape, scalarType(type));
        m_residentBytes += static_cast<std::int64_t>(target.nbytes());
        return readInto(name, type, target);
    }

    /// Takes no more memory in the end: the plain copy goes.
    void pack(Projection& target) const {
        if (m_type != ComputeType::BFloat16 || !hasPackedWeights()) return;
        target.packed = packWeight(target.weight);
        target.weight.reset();
    }

    Result<void> projection(const std::string& name, Projection& target) {
        if (auto r = tensor(name, target.weight); !r) return r;
        if (m_source->direct(name, m_type).empty()) pack(target);
        if (!m_source->find(name + "_bias")) return {};
        return tensor(name + "_bias", target.bias);
    }

    /// Several projections of the same input: side by side where the bytes can be used as they are, else as one matrix.
    Result<void> projections(const std::string& prefix, const std::vector<std::string>& names,
                             std::vector<Projection>& target) {
        const auto isDirect = [&](const std::string& name) { return !m_source->direct(prefix + name, m_type).empty(); };
        if (std::all_of(names.begin(), names.end(), isDirect)) {
            for (const std::string& name : names) {
                if (auto r = projection(prefix + name, target.emplace_back()); !r) return r;
            }
            return {};
        }
        Projection& fused = target.emplace_back();
        if (auto r = concatenated(prefix, names, "", fused.weight); !r) return r;
        pack(fused);
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
        target = at::empty(shape, scalarType(m_type));
        m_residentBytes += static_cast<std::int64_t>(target.nbytes());
        std::int64_t row = 0;
        for (const std::string& name : names) {
            const std::int64_t rows = m_source->find(prefix + name + suffix)->shape[0];
            if (auto r = readInto(prefix + name + suffix, m_type, target.narrow(0, row, rows)); !r) return r;
            row += rows;
        }
        return {};
    }

    std::shared_ptr<const WeightSource> m_source;
    ComputeType m_type;
    ProgressObserver& m_observer;
    const std::stop_token& m_stop;
    std::int64_t m_done = 0, m_total = 0, m_residentBytes = 0;
};

}  // namespace

at::ScalarType scalarType(ComputeType type) {
    return type == ComputeType::BFloat16 ? at::kBFloat16 : at::kFloat;
}

Result<DecoderWeights> loadDecoderWeights(const std::shared_ptr<const WeightSource>& source, ComputeType type,
                                          ProgressObserver& observer, const std::stop_token& stop) {
    return guarded("loading the weights", [&]() -> Result<DecoderWeights> {
        // Whatever mode the caller is in: a tensor made inside InferenceMode could never take part in autograd.
        const c10::InferenceMode off(false);
        if (auto r = checkMemory(*source, type); !r) return fail(r.error());
        return Loader(source, type, observer, stop).run();
    });
}

}  // namespace lpes::model
