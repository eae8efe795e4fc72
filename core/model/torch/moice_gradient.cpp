#include "core/model/torch/moice_gradient.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "core/model/torch/decoder.h"
#include "core/model/torch/differentiable_decoder.h"
#include "core/model/torch/torch_errors.h"

namespace lpes::model {
namespace {

/// Rows of logits that exist at one time.
constexpr std::int64_t kHeadRows = 256;

class Pass {
  public:
    Pass(const ModelConfig& config, const DecoderWeights& weights, std::shared_ptr<const rope::MoiceRouters> routers,
         std::span<const TokenId> ids, double auxCoefficient, const std::stop_token& stop)
        : m_config(config),
          m_weights(weights),
          m_routers(MoiceWeights::make(std::move(routers), weights.devices)),
          m_ids(ids.begin(), ids.end()),
          m_auxCoefficient(auxCoefficient),
          m_stop(stop),
          m_switch(static_cast<std::int64_t>(m_routers->routers->bases.size()), m_routers->routers->topK) {}

    MoiceSequence run() {
        MoiceSequence result;
        forward();
        at::Tensor gradient = head(result.lmLoss);
        result.auxLoss = m_switch.value();
        std::vector<std::vector<float>> byLayer(m_weights.layers.size());
        for (int layer = m_config.numLayers - 1; layer >= 0; --layer)
            gradient = backward(layer, gradient, byLayer[static_cast<std::size_t>(layer)]);
        for (const auto& values : byLayer) result.gradient.insert(result.gradient.end(), values.begin(), values.end());
        return result;
    }

  private:
    struct Table {
        at::Tensor cos, sin;  ///< [T, R/2] float32
    };

    void checkStop() const {
        if (m_stop.stop_requested()) throw StopRequested{};
    }

    /// cos and sin of every distinct base, rounded to the compute type as the tables of a session are.
    void makeTables(at::ScalarType type) {
        rope::PositionMethod method;
        method.moice = m_routers->routers;
        const auto tokens = static_cast<int>(m_ids.size());
        for (const int expert : m_routers->experts) {
            const auto frequencies = rope::methodFrequencies(method, methodModel(m_config), 0, false, tokens, expert);
            const auto table = rope::positionTable(frequencies, 1.0, 0, tokens, m_config.rope.attentionFactor);
            const auto rounded = [&](const std::vector<float>& values) {
                return at::tensor(values).view({table.count, table.half}).to(type).to(at::kFloat);
            };
            m_tables.push_back({rounded(table.cos), rounded(table.sin)});
        }
    }

    [[nodiscard]] at::Device deviceOf(int layer) const { return m_weights.devices[static_cast<std::size_t>(layer)]; }

    /// A layer's output [T, E]; its router logits [H, T, N] go into `logits`.
    at::Tensor layerOutput(int layer, const at::Tensor& x, const MoiceWeights::Layer& router,
                           at::Tensor& logits) const {
        const AttentionRule rule = attentionRule(m_config, layer);
        const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
            at::Tensor mixed, shares;
            for (std::size_t expert = 0; expert < m_tables.size(); ++expert) {
                const at::Tensor cos = m_tables[expert].cos.to(x.device()), sin = m_tables[expert].sin.to(x.device());
                const at::Tensor queries = differentiable::rotated(q, m_config.headDim, cos, sin);
                if (expert == 0) {
                    logits = moiceLogits(queries.squeeze(0), router);
                    shares = at::matmul(moiceShares(logits, m_routers->routers->topK), m_routers->merge.to(x.device()));
                }
                const at::Tensor attended =
                    differentiable::attention(queries, differentiable::rotated(k, m_config.headDim, cos, sin), v, rule);
                if (m_tables.size() == 1) return attended;
                const at::Tensor part = attended.to(at::kFloat) *
                                        shares.select(2, static_cast<std::int64_t>(expert)).unsqueeze(-1).unsqueeze(0);
                mixed = expert == 0 ? part : mixed + part;
            }
            return mixed.to(q.scalar_type());
        };
        return differentiable::layerOutput(m_config, m_weights.layers[static_cast<std::size_t>(layer)], x, attend);
    }

    void forward() {
        const at::AutoGradMode off(false);
        at::Tensor x = differentiable::embedded(m_config, m_weights, m_ids);
        makeTables(x.scalar_type());
        for (int layer = 0; layer < m_config.numLayers; ++layer) {
            checkStop();
            x = x.to(deviceOf(layer));
            m_inputs.push_back(x);
            at::Tensor logits;
            x = layerOutput(layer, x, m_routers->layers[static_cast<std::size_t>(layer)], logits);
            m_switch.add(logits);
        }
        m_inputs.push_back(x);
    }

    /// The LM loss, and its gradient with respect to the last layer's output.
    at::Tensor head(double& loss) {
        const at::Tensor hidden = m_inputs.back();
        // Unpacked once for all blocks of rows.
        const Projection head{m_weights.head.dense(), {}, m_weights.head.bias, {}};
        const auto scored = static_cast<std::int64_t>(m_ids.size()) - 1;
        const at::Tensor targets = at::tensor(at::IntArrayRef(m_ids).slice(1), at::kLong).to(hidden.device());
        std::vector<at::Tensor> gradients;
        double sum = 0.0;
        for (std::int64_t first = 0; first < scored; first += kHeadRows) {
            checkStop();
            const std::int64_t count = std::min(kHeadRows, scored - first);
            const at::AutoGradMode on(true);
            const at::Tensor rows = hidden.narrow(0, first, count).detach().requires_grad_(true);
            const at::Tensor logProbs =
                at::log_softmax(differentiable::logits(m_config, m_weights.finalNorm, head, rows), 1);
            const at::Tensor nll = -logProbs.gather(1, targets.narrow(0, first, count).unsqueeze(1)).sum();
            (nll / static_cast<double>(scored)).backward();
            sum += nll.item<double>();
            gradients.push_back(rows.grad());
        }
        gradients.push_back(at::zeros_like(hidden.narrow(0, scored, 1)));  // nothing follows the last token
        loss = sum / static_cast<double>(scored);
        return at::cat(gradients);
    }

    /// Computes a layer again, writes the gradient of its router, and gives the gradient of its input.
    at::Tensor backward(int layer, const at::Tensor& outputGradient, std::vector<float>& routerGradient) {
        checkStop();
        const auto index = static_cast<std::size_t>(layer);
        const at::AutoGradMode on(true);
        // The embedding is a constant.
        const at::Tensor x = m_inputs[index].detach().requires_grad_(layer > 0);
        const MoiceWeights::Layer& weights = m_routers->layers[index];
        const MoiceWeights::Layer router{weights.w1.detach().requires_grad_(true),
                                         weights.w3.detach().requires_grad_(true),
                                         weights.w2.detach().requires_grad_(true)};
        at::Tensor logits;
        const at::Tensor output = layerOutput(layer, x, router, logits);
        std::vector<at::Tensor> roots, gradients;
        // With one base nothing of the first layer leads to a router.
        if (output.requires_grad()) {
            roots.push_back(output);
            gradients.push_back(outputGradient.to(output.device()));
        }
        const rope::MoiceRouters& routers = *m_routers->routers;
        // Where every expert is kept the auxiliary loss is a constant.
        if (m_auxCoefficient != 0.0 && static_cast<std::size_t>(routers.topK) < routers.bases.size()) {
            roots.push_back(m_switch.part(logits) * m_auxCoefficient);
            gradients.emplace_back();
        }
        if (!roots.empty()) torch::autograd::backward(roots, gradients);
        m_inputs.resize(index + 1);  // what is behind is not needed any more
        for (const at::Tensor& matrix : {router.w1, router.w2, router.w3}) {
            const at::Tensor gradient = matrix.grad().defined() ? matrix.grad() : at::zeros_like(matrix.detach());
            const at::Tensor rows = gradient.t().contiguous().cpu();
            const float* values = rows.const_data_ptr<float>();
            routerGradient.insert(routerGradient.end(), values, values + rows.numel());
        }
        return x.grad();
    }

    const ModelConfig& m_config;
    const DecoderWeights& m_weights;
    std::shared_ptr<const MoiceWeights> m_routers;
    std::vector<std::int64_t> m_ids;
    double m_auxCoefficient;
    const std::stop_token& m_stop;
    SwitchLoss m_switch;
    std::vector<Table> m_tables;       ///< of each distinct base
    std::vector<at::Tensor> m_inputs;  ///< of each layer, and the last one's output
};

}  // namespace

SwitchLoss::SwitchLoss(std::int64_t experts, int topK)
    : m_topK(topK), m_chosen(at::zeros({experts}, at::kDouble)), m_shares(at::zeros({experts}, at::kDouble)) {}

void SwitchLoss::add(const at::Tensor& logits) {
    const std::int64_t experts = m_chosen.size(0);
    const at::Tensor shares = at::softmax(logits.detach(), -1).view({-1, experts});
    m_chosen = m_chosen + at::bincount(keptExperts(shares, m_topK).flatten(), {}, experts).to(at::kDouble).cpu();
    m_shares = m_shares + shares.sum(0, false, at::kDouble).cpu();
    m_rows += shares.size(0);
}

double SwitchLoss::value() const {
    const double rows = static_cast<double>(std::max<std::int64_t>(1, m_rows));
    return (m_chosen * m_shares).sum().item<double>() * static_cast<double>(m_chosen.size(0)) / (rows * rows);
}

at::Tensor SwitchLoss::part(const at::Tensor& logits) const {
    const double rows = static_cast<double>(std::max<std::int64_t>(1, m_rows));
    const at::Tensor factors =
        (m_chosen * (static_cast<double>(m_chosen.size(0)) / (rows * rows))).to(at::kFloat).to(logits.device());
    return (at::softmax(logits, -1) * factors).sum();
}

MoiceSequence differentiateRouters(const ModelConfig& config, const DecoderWeights& weights,
                                   std::shared_ptr<const rope::MoiceRouters> routers, std::span<const TokenId> ids,
                                   double auxCoefficient, const std::stop_token& stop) {
    return Pass(config, weights, std::move(routers), ids, auxCoefficient, stop).run();
}

}  // namespace lpes::model
