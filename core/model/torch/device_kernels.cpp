#include "core/model/torch/device_kernels.h"

#include <ATen/ATen.h>

namespace lpes::model::device_kernels {

at::Tensor normed(const at::Tensor& x, const at::Tensor& weight, double eps) {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor unit = wide * at::rsqrt(wide.pow(2).mean({-1}, true) + eps);
    return weight.scalar_type() == x.scalar_type() ? weight * unit.to(x.scalar_type())
                                                   : (unit * weight).to(x.scalar_type());
}

void addRmsNorm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double eps,
                const at::Tensor& out) {
    if (delta.defined()) x.add_(delta);
    out.copy_(normed(x, weight, eps));
}

void normHeads(const at::Tensor& x, const at::Tensor& weight, double eps) {
    const at::Tensor heads = x.unflatten(1, {-1, weight.size(0)});
    heads.copy_(normed(heads, weight, eps));
}

void gatedActivation(Activation activation, const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out) {
    at::mul_out(const_cast<at::Tensor&>(out), activation == Activation::Silu ? at::silu(gate) : at::gelu(gate, "tanh"),
                up);
}

void rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut) {
    const std::int64_t headDim = qOut.size(2), half = table.cos.size(1);
    at::Tensor cos, sin;
    const bool consecutive = tableRows.back() - tableRows.front() + 1 == static_cast<std::int64_t>(tableRows.size());
    if (consecutive) {
        cos = table.cos.narrow(0, tableRows.front(), q.size(0));
        sin = table.sin.narrow(0, tableRows.front(), q.size(0));
    } else {
        const at::Tensor rows =
            at::tensor(std::vector<std::int64_t>(tableRows.begin(), tableRows.end()), at::kLong).to(q.device());
        cos = table.cos.index_select(0, rows);
        sin = table.sin.index_select(0, rows);
    }
    const auto rotate = [&](const at::Tensor& in, const at::Tensor& out) {
        const at::Tensor heads = in.unflatten(1, {-1, headDim}).transpose(0, 1);
        const at::Tensor a = heads.narrow(2, 0, half), b = heads.narrow(2, half, half);
        out.narrow(2, 0, half).copy_(a * cos - b * sin);
        out.narrow(2, half, half).copy_(b * cos + a * sin);
        if (2 * half < headDim) {
            out.narrow(2, 2 * half, headDim - 2 * half).copy_(heads.narrow(2, 2 * half, headDim - 2 * half));
        }
    };
    rotate(q, qOut);
    rotate(k, kOut);
    vOut.copy_(v.unflatten(1, {-1, headDim}).transpose(0, 1));
}

}  // namespace lpes::model::device_kernels
