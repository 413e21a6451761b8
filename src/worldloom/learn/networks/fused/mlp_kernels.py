# mypy: ignore-errors
"""Triton kernels of two small networks with two hidden layers of H units each, whose activations stay on the chip.

Names in capitals are compile-time constants: F inputs padded to FP, P outputs padded to PP, BM rows at a time. The
weights may be anywhere on the device; ``table`` holds their offsets from ``base`` in elements, six per network: weights
and biases of the first, the second and the output layer, as in ``torch.nn.Linear``. SHARED networks have the same
hidden layers and are computed as one network with the outputs of both; the table then continues with the weights and
biases of the second output layer.
"""

import triton
import triton.language as tl

SELU_SCALE = tl.constexpr(1.0507009873554805)
SELU_ALPHA = tl.constexpr(1.7580993408473766)  # scale times alpha


@triton.jit
def activate(z, KIND: tl.constexpr):
    if KIND == "tanh":
        return 2.0 * tl.sigmoid(2.0 * z) - 1.0
    if KIND == "relu":
        return tl.where(z <= 0.0, 0.0, z)  # NaN stays NaN
    if KIND == "elu":
        return tl.where(z <= 0.0, tl.exp(tl.minimum(z, 0.0)) - 1.0, z)
    return tl.where(z <= 0.0, SELU_ALPHA * (tl.exp(tl.minimum(z, 0.0)) - 1.0), SELU_SCALE * z)


@triton.jit
def slope(a, KIND: tl.constexpr):
    """The derivative of an activation, from its value."""
    if KIND == "tanh":
        return 1.0 - a * a
    if KIND == "relu":
        return tl.where(a > 0.0, 1.0, 0.0)
    if KIND == "elu":
        return tl.where(a > 0.0, 1.0, a + 1.0)
    return tl.where(a > 0.0, SELU_SCALE, a + SELU_ALPHA)


@triton.jit
def hidden_layers(base, places, h, f, H: tl.constexpr, F: tl.constexpr):
    """Weights [H, FP] and [H, H] and biases [H] of a network's hidden layers."""
    w1 = tl.load(base + tl.load(places) + h[:, None] * F + f[None, :], mask=(f < F)[None, :], other=0.0)
    b1 = tl.load(base + tl.load(places + 1) + h)
    w2 = tl.load(base + tl.load(places + 2) + h[:, None] * H + h[None, :])
    b2 = tl.load(base + tl.load(places + 3) + h)
    return w1, b1, w2, b2


@triton.jit
def last_layer(base, places, outputs, p, h, H: tl.constexpr, P0: tl.constexpr, P1: tl.constexpr, SHARED: tl.constexpr):
    """Weights [PP, H] and biases [PP] of a network's output layer."""
    w = tl.load(base + tl.load(places + 4) + p[:, None] * H + h[None, :], mask=(p < outputs)[:, None], other=0.0)
    b = tl.load(base + tl.load(places + 5) + p, mask=p < outputs, other=0.0)
    if SHARED:
        q = p - P0
        second = (q >= 0) & (q < P1)
        w += tl.load(base + tl.load(places + 6) + q[:, None] * H + h[None, :], mask=second[:, None], other=0.0)
        b += tl.load(base + tl.load(places + 7) + q, mask=second, other=0.0)
    return w, b


@triton.jit
def forward_kernel(
    x_ptr, base, table, first_out, second_out, rows,
    F: tl.constexpr, FP: tl.constexpr, H: tl.constexpr, P0: tl.constexpr, P1: tl.constexpr, PP: tl.constexpr,
    BM: tl.constexpr, KIND: tl.constexpr, PRECISION: tl.constexpr, SHARED: tl.constexpr,
):  # fmt: skip
    net = tl.program_id(1)
    h, f, p = tl.arange(0, H), tl.arange(0, FP), tl.arange(0, PP)
    w1, b1, w2, b2 = hidden_layers(base, table + net * 6, h, f, H, F)
    w3, b3 = last_layer(base, table + net * 6, tl.where(net == 0, P0, P1), p, h, H, P0, P1, SHARED)
    q = p - P0
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        x = tl.load(x_ptr + r[:, None] * F + f[None, :], mask=(r < rows)[:, None] & (f < F)[None, :], other=0.0)
        a1 = activate(tl.dot(x, tl.trans(w1), input_precision=PRECISION) + b1[None, :], KIND)
        a2 = activate(tl.dot(a1, tl.trans(w2), input_precision=PRECISION) + b2[None, :], KIND)
        out = tl.dot(a2, tl.trans(w3), input_precision=PRECISION) + b3[None, :]
        if SHARED:
            tl.store(first_out + r[:, None] * P0 + p[None, :], out, mask=(r < rows)[:, None] & (p < P0)[None, :])
            tl.store(
                second_out + r[:, None] * P1 + q[None, :],
                out,
                mask=(r < rows)[:, None] & ((q >= 0) & (q < P1))[None, :],
            )
        elif net == 0:
            tl.store(first_out + r[:, None] * P0 + p[None, :], out, mask=(r < rows)[:, None] & (p < P0)[None, :])
        else:
            tl.store(second_out + r[:, None] * P1 + p[None, :], out, mask=(r < rows)[:, None] & (p < P1)[None, :])


@triton.jit
def backward_kernel(
    x_ptr, base, table, first_slope, second_slope, parts, rows,
    F: tl.constexpr, FP: tl.constexpr, H: tl.constexpr, P0: tl.constexpr, P1: tl.constexpr, PP: tl.constexpr,
    BM: tl.constexpr, KIND: tl.constexpr, PRECISION: tl.constexpr, SHARED: tl.constexpr,
):  # fmt: skip
    """Gradients of all weights from those of the outputs. Activations are recomputed.

    Each program writes its sums to a row of ``parts``.
    """
    net = tl.program_id(1)
    h, f, p = tl.arange(0, H), tl.arange(0, FP), tl.arange(0, PP)
    w1, b1, w2, b2 = hidden_layers(base, table + net * 6, h, f, H, F)
    outputs = tl.where(net == 0, P0, P1)
    w3, _ = last_layer(base, table + net * 6, outputs, p, h, H, P0, P1, SHARED)
    q = p - P0
    d1 = tl.zeros((FP, H), tl.float32)
    d2 = tl.zeros((H, H), tl.float32)
    d3 = tl.zeros((H, PP), tl.float32)
    e1 = tl.zeros((H,), tl.float32)
    e2 = tl.zeros((H,), tl.float32)
    e3 = tl.zeros((PP,), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        r = tile * BM + tl.arange(0, BM)
        there = (r < rows)[:, None]
        x = tl.load(x_ptr + r[:, None] * F + f[None, :], mask=there & (f < F)[None, :], other=0.0)
        if SHARED:
            g3 = tl.load(first_slope + r[:, None] * P0 + p[None, :], mask=there & (p < P0)[None, :], other=0.0)
            g3 += tl.load(
                second_slope + r[:, None] * P1 + q[None, :], mask=there & ((q >= 0) & (q < P1))[None, :], other=0.0
            )
        elif net == 0:
            g3 = tl.load(first_slope + r[:, None] * P0 + p[None, :], mask=there & (p < P0)[None, :], other=0.0)
        else:
            g3 = tl.load(second_slope + r[:, None] * P1 + p[None, :], mask=there & (p < P1)[None, :], other=0.0)
        a1 = activate(tl.dot(x, tl.trans(w1), input_precision=PRECISION) + b1[None, :], KIND)
        a2 = activate(tl.dot(a1, tl.trans(w2), input_precision=PRECISION) + b2[None, :], KIND)
        d3 += tl.dot(tl.trans(a2), g3, input_precision=PRECISION)
        e3 += tl.sum(g3, 0)
        g2 = tl.dot(g3, w3, input_precision=PRECISION) * slope(a2, KIND)
        d2 += tl.dot(tl.trans(a1), g2, input_precision=PRECISION)
        e2 += tl.sum(g2, 0)
        g1 = tl.dot(g2, w2, input_precision=PRECISION) * slope(a1, KIND)
        d1 += tl.dot(tl.trans(x), g1, input_precision=PRECISION)
        e1 += tl.sum(g1, 0)
    size0 = H * F + H + H * H + H + P0 * H + P0
    size1 = P1 * H + P1 if SHARED else H * F + H + H * H + H + P1 * H + P1
    own = parts + tl.program_id(0) * (size0 + size1) + net * size0
    tl.store(own + h[None, :] * F + f[:, None], d1, mask=(f < F)[:, None])
    own += H * F
    tl.store(own + h, e1)
    own += H
    tl.store(own + h[None, :] * H + h[:, None], d2)
    own += H * H
    tl.store(own + h, e2)
    own += H
    tl.store(own + p[None, :] * H + h[:, None], d3, mask=(p < outputs)[None, :])
    own += outputs * H
    tl.store(own + p, e3, mask=p < outputs)
    if SHARED:
        own += outputs
        second = (q >= 0) & (q < P1)
        tl.store(own + q[None, :] * H + h[:, None], d3, mask=second[None, :])
        tl.store(own + P1 * H + q, e3, mask=second)
