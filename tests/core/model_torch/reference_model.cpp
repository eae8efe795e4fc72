#include "tests/core/model_torch/reference_model.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <string>

namespace lpes::test {

namespace {

at::Tensor wide(const std::vector<float>& values, at::IntArrayRef shape) {
    return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat).to(at::kDouble).clone();
}

at::Tensor row(const Row& values) {
    return at::tensor(at::ArrayRef<double>(values), at::kDouble);
}

Row values(const at::Tensor& vector) {
    const at::Tensor held = vector.contiguous();
    return {held.data_ptr<double>(), held.data_ptr<double>() + held.numel()};
}

Rows rowsOf(const at::Tensor& matrix) {
    Rows rows;
    for (std::int64_t i = 0; i < matrix.size(0); ++i) rows.push_back(values(matrix[i]));
    return rows;
}

at::Tensor normed(const at::Tensor& x, const at::Tensor& weight, double eps) {
    return x / at::sqrt(x.square().mean(-1, true) + eps) * weight;
}

/// x [H, T, D], half-split; ratios [H].
at::Tensor rotated(const at::Tensor& x, const Row& frequencies, const Row& ratios, double amplitude) {
    const std::int64_t half = x.size(2) / 2;
    const at::Tensor places = at::arange(x.size(1), at::kDouble).unsqueeze(0) / row(ratios).unsqueeze(1);  // [H, T]
    const at::Tensor angles = places.unsqueeze(2) * row(frequencies);
    const at::Tensor cos = at::cos(angles) * amplitude, sin = at::sin(angles) * amplitude;
    const at::Tensor low = x.slice(2, 0, half), high = x.slice(2, half);
    return at::cat({low * cos - high * sin, high * cos + low * sin}, 2);
}

/// Shares [H, T, T] of a causal softmax; k has the heads of q.
at::Tensor shares(const at::Tensor& q, const at::Tensor& k) {
    const at::Tensor scores = at::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(q.size(2)));
    const at::Tensor future = at::ones({q.size(1), q.size(1)}, at::kBool).triu(1);
    return at::softmax(scores.masked_fill(future, -INFINITY), -1);
}

Row oncePerHead(const Row& ofGroups, int heads) {
    Row result;
    for (int head = 0; head < heads; ++head) {
        result.push_back(ofGroups[static_cast<std::size_t>(head) * ofGroups.size() / static_cast<std::size_t>(heads)]);
    }
    return result;
}

/// The share of the row that reaches the threshold times its mean, for every head.
Row positionAwareness(const at::Tensor& attention, const MsPoeDefinition& definition, double& margin) {
    Row scores;
    for (std::int64_t head = 0; head < attention.size(0); ++head) {
        const Row all = values(attention[head]);
        const double bound =
            definition.threshold * std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
        const auto counted = std::count_if(
            all.begin(), all.end(), [&](double share) { return definition.code ? share > bound : share >= bound; });
        for (const double share : all) margin = std::min(margin, std::abs(share / bound - 1.0));
        scores.push_back(static_cast<double>(counted) / static_cast<double>(all.size()));
    }
    return scores;
}

}  // namespace

struct ReferenceModel::Weights {
    std::map<std::string, at::Tensor> tensors;
    [[nodiscard]] const at::Tensor& of(const std::string& name) const { return tensors.at(name); }
    [[nodiscard]] const at::Tensor& of(int layer, const std::string& name) const {
        return tensors.at("layer." + std::to_string(layer) + "." + name);
    }
};

ReferenceModel::ReferenceModel(const TinyModel& tiny) : m_spec(tiny.spec), m_weights(std::make_unique<Weights>()) {
    for (const auto& [name, tensor] : tiny.tensors) m_weights->tensors[name] = wide(tensor.values, tensor.shape);
}
ReferenceModel::~ReferenceModel() = default;

Row baseFrequencies(double base, int headDim) {
    Row frequencies;
    for (int i = 0; i < headDim / 2; ++i) frequencies.push_back(std::pow(base, -2.0 * i / headDim));
    return frequencies;
}

Row yarnFrequencies(double base, int headDim, double factor, double context) {
    const auto dim = [&](double rotations) {
        return headDim * std::log(context / (2.0 * std::numbers::pi * rotations)) / (2.0 * std::log(base));
    };
    const double low = std::max(std::floor(dim(32.0)), 0.0);
    double high = std::min(std::ceil(dim(1.0)), headDim - 1.0);
    if (low == high) high += 0.001;
    Row frequencies = baseFrequencies(base, headDim);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] = frequencies[i] / factor * ramp + frequencies[i] * (1.0 - ramp);
    }
    return frequencies;
}

Definition ReferenceModel::plain(std::optional<double> base) const {
    Row frequencies = baseFrequencies(base.value_or(m_spec.ropeTheta), m_spec.headDim);
    for (double& frequency : frequencies) frequency /= m_spec.linearFactor;
    const LayerDefinition layer{frequencies, Row(static_cast<std::size_t>(m_spec.numKvHeads), 1.0)};
    return {std::vector<LayerDefinition>(static_cast<std::size_t>(m_spec.numLayers), layer)};
}

ReferencePass ReferenceModel::run(std::span<const text::TokenId> ids, const Definition& definition) const {
    const c10::InferenceMode noGradients;
    at::set_num_threads(1);  // tensors are tiny
    const auto count = static_cast<std::int64_t>(ids.size());
    const int heads = m_spec.numHeads, groups = m_spec.numKvHeads, width = m_spec.headDim;
    const auto split = [&](const at::Tensor& x, int parts) { return x.view({count, parts, width}).transpose(0, 1); };
    ReferencePass pass;
    std::vector<std::int64_t> rows(ids.begin(), ids.end());
    at::Tensor x = m_weights->of("embedding").index_select(0, at::tensor(rows, at::kLong));
    for (int layer = 0; layer < m_spec.numLayers; ++layer) {
        const auto weight = [&](const char* name) { return m_weights->of(layer, name); };
        const auto project = [&](const at::Tensor& in, const char* name) { return at::matmul(in, weight(name).t()); };
        const LayerDefinition& place = definition.layers.at(static_cast<std::size_t>(layer));
        const at::Tensor in = normed(x, weight("attention_norm"), m_spec.rmsNormEps);
        const at::Tensor q = split(project(in, "q"), heads), k = split(project(in, "k"), groups),
                         v = split(project(in, "v"), groups).repeat_interleave(heads / groups, 0);
        const auto sharesFor = [&](const Row& frequencies, const Row& ofQueries, const Row& ofKeys) {
            return shares(rotated(q, frequencies, ofQueries, definition.amplitude),
                          rotated(k, frequencies, ofKeys, definition.amplitude).repeat_interleave(heads / groups, 0));
        };
        Row ofQueries = oncePerHead(place.scales, heads), ofKeys = place.scales;
        at::Tensor attention, mixed;
        if (const auto& msPoe = definition.msPoe; msPoe && layer >= msPoe->first && layer <= msPoe->last) {
            const at::Tensor prompt = msPoe->code ? shares(q, k.repeat_interleave(heads / groups, 0))
                                                  : sharesFor(place.frequencies, ofQueries, ofKeys);
            const at::Tensor deciding = prompt.select(1, msPoe->promptTokens - 1).slice(1, 0, msPoe->promptTokens);
            Row scores = positionAwareness(deciding, *msPoe, pass.margin);
            if (msPoe->means) {
                Row means(static_cast<std::size_t>(groups), 0.0);
                for (int head = 0; head < heads; ++head) {
                    means[static_cast<std::size_t>(head / (heads / groups))] +=
                        scores[static_cast<std::size_t>(head)] / (heads / groups);
                }
                scores = means;
            }
            const Row grid = msPoeGrid(*msPoe, static_cast<int>(scores.size()));
            Row chosen = msPoeAssignment(scores, grid, msPoe->code);
            if (msPoe->fixed) {
                for (std::size_t head = 0; head < chosen.size(); ++head) chosen[head] = grid[grid.size() - 1 - head];
                pass.margin = 1e9;
            }
            const Row ofHeads = oncePerHead(chosen, heads);
            for (int head = 0; head < heads; ++head) {
                ofQueries[static_cast<std::size_t>(head)] *= ofHeads[static_cast<std::size_t>(head)];
            }
            for (int group = 0; group < groups; ++group) {
                ofKeys[static_cast<std::size_t>(group)] *= ofHeads[static_cast<std::size_t>(group * (heads / groups))];
            }
            pass.ratios.push_back(ofHeads);
        }
        if (const auto& moice = definition.moice) {
            const auto experts = static_cast<std::int64_t>(moice->bases.size());
            const auto& router = moice->routers.at(static_cast<std::size_t>(layer));
            const at::Tensor seen = rotated(q, baseFrequencies(moice->bases[0], width), ofQueries, 1.0);
            const auto through = [&](const at::Tensor& from, const std::vector<float>& matrix, std::int64_t columns) {
                return at::matmul(from, wide(matrix, {experts, columns}).t());
            };
            const at::Tensor gate = at::silu(through(seen, router.w1, width)) * through(seen, router.w3, width);
            const at::Tensor all = at::softmax(through(gate, router.w2, experts), -1);  // [H, T, N]
            const auto [best, which] = all.topk(moice->topK, -1);
            const at::Tensor kept = at::zeros_like(all).scatter(-1, which, best / best.sum(-1, true));
            for (std::int64_t expert = 0; expert < experts; ++expert) {
                attention = sharesFor(baseFrequencies(moice->bases[static_cast<std::size_t>(expert)], width), ofQueries,
                                      ofKeys);
                const at::Tensor part = at::matmul(attention, v) * kept.select(2, expert).unsqueeze(2);
                mixed = expert == 0 ? part : mixed + part;
            }
        } else {
            attention = sharesFor(place.frequencies, ofQueries, ofKeys);
            mixed = at::matmul(attention, v);
        }
        pass.lastAttention.push_back(rowsOf(attention.select(1, count - 1)));
        x = x + project(mixed.transpose(0, 1).reshape({count, heads * width}), "o");
        const at::Tensor inner = normed(x, weight("mlp_norm"), m_spec.rmsNormEps);
        x = x + project(at::silu(project(inner, "gate")) * project(inner, "up"), "down");
        pass.hidden.push_back(rowsOf(x));
    }
    const at::Tensor head = m_spec.tiedHead ? m_weights->of("embedding") : m_weights->of("head");
    pass.logits = rowsOf(at::matmul(normed(x, m_weights->of("final_norm"), m_spec.rmsNormEps), head.t()));
    return pass;
}

Rows ReferenceModel::logProbs(std::span<const text::TokenId> ids, const Definition& definition) const {
    Rows rows = run(ids, definition).logits;
    for (Row& logits : rows) logits = logSoftmax(logits);
    return rows;
}

Rows ReferenceModel::bucketLogProbs(std::span<const text::TokenId> ids, const Row& bases, bool probabilities) const {
    std::vector<Rows> paths;
    for (const double base : bases) paths.push_back(run(ids, plain(base)).logits);
    Rows rows;
    for (std::size_t token = 0; token < ids.size(); ++token) {
        Rows logits;
        for (const Rows& path : paths) logits.push_back(path[token]);
        rows.push_back(combinedPaths(logits, probabilities));
    }
    return rows;
}

Row logSoftmax(const Row& logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    Row result = logits;
    for (double& value : result) value -= largest + std::log(sum);
    return result;
}

Row combinedPaths(const Rows& logits, bool probabilities) {
    Row weights;
    for (const Row& path : logits) weights.push_back(*std::max_element(path.begin(), path.end()));
    weights = logSoftmax(weights);
    Row sum(logits.front().size(), 0.0);
    for (std::size_t path = 0; path < logits.size(); ++path) {
        const Row part = probabilities ? logSoftmax(logits[path]) : logits[path];
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += std::exp(weights[path]) * (probabilities ? std::exp(part[i]) : part[i]);
        }
    }
    if (!probabilities) return logSoftmax(sum);
    for (double& value : sum) value = std::log(value);
    return sum;
}

Row msPoeGrid(const MsPoeDefinition& definition, int count) {
    Row grid;
    for (int i = 0; i < count; ++i) {
        grid.push_back(definition.min +
                       (definition.max - definition.min) * i / (definition.code ? count : std::max(count - 1, 1)));
    }
    return grid;
}

Row msPoeAssignment(const Row& scores, const Row& grid, bool code) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    Row ratios(scores.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (code) {
            ratios[i] = grid[order[i]];
        } else {
            ratios[order[i]] = grid[i];
        }
    }
    return ratios;
}

double structureDeviation(const Rows& one, const Rows& other) {
    const c10::InferenceMode noGradients;
    const auto centred = [](const Rows& rows) {
        std::vector<at::Tensor> all;
        for (const Row& each : rows) all.push_back(row(each));
        const at::Tensor matrix = at::stack(all);
        return matrix - matrix.mean(0, true);
    };
    const at::Tensor x = centred(one), y = centred(other);
    const auto norm = [](const at::Tensor& a, const at::Tensor& b) {
        return std::sqrt(at::matmul(a.t(), b).square().sum().item<double>());
    };
    return 1.0 - norm(y, x) * norm(y, x) / (norm(x, x) * norm(y, y));
}

}  // namespace lpes::test
