#include "core/model/torch/device_kernels.h"

#include <ATen/ATen.h>

#include <vector>

#include "core/model/torch/own_kernels.h"
#include "core/model/torch/table_rows.h"

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

at::Tensor rotated(const at::Tensor& heads, const at::Tensor& cos, const at::Tensor& sin) {
    const std::int64_t half = cos.size(-1), passing = heads.size(-1) - 2 * half;
    const at::Tensor first = heads.narrow(-1, 0, half), second = heads.narrow(-1, half, half);
    std::vector<at::Tensor> parts{first * cos - second * sin, second * cos + first * sin};
    if (passing > 0) parts.push_back(heads.narrow(-1, 2 * half, passing));
    return at::cat(parts, -1);
}

void rotateAndSplit(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const RotaryTable& table,
                    std::span<const std::int32_t> tableRows, const at::Tensor& qOut, const at::Tensor& kOut,
                    const at::Tensor& vOut) {
    // The kernel's reference on the CPU is for its tests alone; methods with a table per head turn one head at a time.
    const bool whole = qOut.size(0) > 0 && kOut.size(0) > 0 && vOut.size(0) > 0;
    if (!q.is_cpu() && whole && own_kernels::rotateAndSplit(q, k, v, table, tableRows, qOut, kOut, vOut)) return;
    at::Tensor cos, sin;
    if (const auto first = firstOfConsecutive(tableRows)) {
        cos = table.cos.narrow(0, *first, q.size(0));
        sin = table.sin.narrow(0, *first, q.size(0));
    } else {
        const at::Tensor rows = rowsOn(q.device(), tableRows);
        cos = table.cos.index_select(0, rows);
        sin = table.sin.index_select(0, rows);
    }
    const auto byHead = [&](const at::Tensor& rows) { return rows.unflatten(1, {-1, qOut.size(2)}).transpose(0, 1); };
    if (qOut.size(0) > 0) qOut.copy_(rotated(byHead(q), cos, sin));
    if (kOut.size(0) > 0) kOut.copy_(rotated(byHead(k), cos, sin));
    if (vOut.size(0) > 0) vOut.copy_(byHead(v));
}

}  // namespace lpes::model::device_kernels
