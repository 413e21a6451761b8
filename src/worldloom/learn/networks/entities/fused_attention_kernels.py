# mypy: ignore-errors
"""Triton kernels of an attention layer over small sets, whose activations stay on the chip.

A program takes BM rows at a time: SETS whole sets of T tokens of D units each; tokens attend to those of their own set
that are present. A head has W units. Names in capitals are compile-time constants. Weights are as in
``torch.nn.Linear`` and have the type of the products, float32 or bfloat16; sums, softmax and normalization are float32.
Weights are read again for each tile, from the cache: per head, or C hidden units at a time.
"""

import triton
import triton.language as tl

FAR = tl.constexpr(-1.0e30)


@triton.jit
def rows_of_tile(tile, rows, SETS: tl.constexpr, T: tl.constexpr, BM: tl.constexpr):
    """The rows of a tile, whether each exists, and the set of each."""
    r = tl.arange(0, BM)
    row = tile * (SETS * T) + r
    return row, (r < SETS * T) & (row < rows), r // T


@triton.jit
def normalized(x, weight, bias, D: tl.constexpr, EPSILON: tl.constexpr):
    """Layer normalization of [BM, D]: the result, and before weight and bias, and the inverse standard deviation."""
    centred = x - tl.sum(x, 1)[:, None] / D
    inverse = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / D + EPSILON)
    unit = centred * inverse[:, None]
    return unit * weight[None, :] + bias[None, :], unit, inverse


@triton.jit
def normalized_slope(slope, unit, inverse, weight, D: tl.constexpr):
    """The gradient of the inputs of ``normalized`` from that of its result."""
    scaled = slope * weight[None, :]
    mean = tl.sum(scaled, 1) / D
    along = tl.sum(scaled * unit, 1) / D
    return (scaled - mean[:, None] - unit * along[:, None]) * inverse[:, None]


@triton.jit
def product(a, b, PRECISION: tl.constexpr):
    return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def projected(x, weight, bias, first, D: tl.constexpr, W: tl.constexpr, PRECISION: tl.constexpr):
    """``x`` [BM, D] times the rows ``first`` to ``first + W`` of a weight [., D], with bias; and these rows [W, D]."""
    w, d = first + tl.arange(0, W), tl.arange(0, D)
    part = tl.load(weight + w[:, None] * D + d[None, :])
    result = product(x, tl.trans(part), PRECISION) + tl.load(bias + w)[None, :]
    return result.to(x.dtype), part


@triton.jit
def attended(q, k, allowed, SCALE: tl.constexpr, PRECISION: tl.constexpr):
    """The weights [BM, BM] with which rows attend to others, float32."""
    scores = tl.where(allowed, product(q, tl.trans(k), PRECISION) * SCALE, FAR)
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def forward_kernel(
    x_ptr, present_ptr, between_ptr, out_ptr, rows,
    norm_w, norm_b, qkv_w, qkv_b, mix_w, mix_b, norm2_w, norm2_b, up_w, up_b, down_w, down_b,
    T: tl.constexpr, SETS: tl.constexpr, BM: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, W: tl.constexpr,
    UP: tl.constexpr, C: tl.constexpr, SCALE: tl.constexpr, EPSILON: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Stores the tokens after attention, for the backward pass, and those after the feed-forward layers."""
    d, one_head = tl.arange(0, D), tl.arange(0, W)
    kind = qkv_w.dtype.element_ty
    for tile in range(tl.program_id(0), tl.cdiv(rows, SETS * T), tl.num_programs(0)):
        row, valid, owner = rows_of_tile(tile, rows, SETS, T, BM)
        at = row[:, None] * D + d[None, :]
        x = tl.load(x_ptr + at, mask=valid[:, None], other=0.0).to(tl.float32)
        present = tl.load(present_ptr + row, mask=valid, other=0) != 0
        allowed = (owner[:, None] == owner[None, :]) & present[None, :]
        unit, _unscaled, _inverse = normalized(x, tl.load(norm_w + d), tl.load(norm_b + d), D, EPSILON)
        inputs = unit.to(kind)
        total = x + tl.load(mix_b + d)[None, :]
        for head in range(HEADS):
            q, _q_part = projected(inputs, qkv_w, qkv_b, head * W, D, W, PRECISION)
            k, _k_part = projected(inputs, qkv_w, qkv_b, D + head * W, D, W, PRECISION)
            v, _v_part = projected(inputs, qkv_w, qkv_b, 2 * D + head * W, D, W, PRECISION)
            mixed = product(attended(q, k, allowed, SCALE, PRECISION).to(kind), v, PRECISION).to(kind)
            part = tl.load(mix_w + d[None, :] * D + (head * W + one_head)[:, None])
            total += product(mixed, part, PRECISION)
        between = total.to(between_ptr.dtype.element_ty)
        tl.store(between_ptr + at, between, mask=valid[:, None])
        total = between.to(tl.float32)
        unit, _unscaled, _inverse = normalized(total, tl.load(norm2_w + d), tl.load(norm2_b + d), D, EPSILON)
        inputs = unit.to(kind)
        total += tl.load(down_b + d)[None, :]
        for first in range(0, UP, C):
            hidden, _up_part = projected(inputs, up_w, up_b, first, D, C, PRECISION)
            part = tl.load(down_w + d[None, :] * UP + (first + tl.arange(0, C))[:, None])
            total += product(tl.maximum(hidden, 0.0).to(kind), part, PRECISION)
        tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=valid[:, None])


@triton.jit
def feed_forward_backward_kernel(
    between_ptr, slope_ptr, between_slope_ptr, unit_ptr, hidden_ptr, hidden_slope_ptr, parts, rows,
    norm_w, norm_b, up_w, up_b, down_w,
    BM: tl.constexpr, D: tl.constexpr, UP: tl.constexpr, C: tl.constexpr, EPSILON: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradient of the tokens after attention, and the factors of the gradients of the weights.

    ``parts`` [programs, 3 D + UP], zeros at first, are sums of the gradients of the normalization's weight and bias, of
    the bias of the second layer, and of the first.
    """
    d, c = tl.arange(0, D), tl.arange(0, C)
    kind = up_w.dtype.element_ty
    own = parts + tl.program_id(0) * (3 * D + UP)
    weight, bias = tl.load(norm_w + d), tl.load(norm_b + d)
    weight_sum, bias_sum, down_sum = tl.zeros((D,), tl.float32), tl.zeros((D,), tl.float32), tl.zeros((D,), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, BM), tl.num_programs(0)):
        row = tile * BM + tl.arange(0, BM)
        valid = row < rows
        at = row[:, None] * D + d[None, :]
        total = tl.load(between_ptr + at, mask=valid[:, None], other=0.0).to(tl.float32)
        slope = tl.load(slope_ptr + at, mask=valid[:, None], other=0.0)
        inputs, _unit, _inverse = normalized(total, weight, bias, D, EPSILON)
        inputs = inputs.to(kind)
        tl.store(unit_ptr + at, inputs, mask=valid[:, None])
        down_sum += tl.sum(slope.to(tl.float32), 0)
        input_slope = tl.zeros((BM, D), tl.float32)
        for first in range(0, UP, C):
            hidden, part = projected(inputs, up_w, up_b, first, D, C, PRECISION)
            down = tl.load(down_w + d[:, None] * UP + (first + c)[None, :])
            hidden_slope = tl.where(hidden > 0.0, product(slope.to(kind), down, PRECISION), 0.0)
            hidden_slope = tl.where(valid[:, None], hidden_slope, 0.0)
            place = row[:, None] * UP + (first + c)[None, :]
            tl.store(hidden_ptr + place, tl.maximum(hidden, 0.0).to(kind), mask=valid[:, None])
            tl.store(hidden_slope_ptr + place, hidden_slope.to(kind), mask=valid[:, None])
            input_slope += product(hidden_slope.to(kind), part, PRECISION)
            tl.atomic_add(own + 3 * D + first + c, tl.sum(hidden_slope, 0), sem="relaxed")
        # Read again, which needs fewer registers than to keep them.
        total = tl.load(between_ptr + at, mask=valid[:, None], other=0.0).to(tl.float32)
        _again, unit, inverse = normalized(total, weight, bias, D, EPSILON)
        weight_sum += tl.sum(input_slope * unit, 0)
        bias_sum += tl.sum(input_slope, 0)
        slope = tl.load(slope_ptr + at, mask=valid[:, None], other=0.0)
        result = slope.to(tl.float32) + normalized_slope(input_slope, unit, inverse, weight, D)
        tl.store(between_slope_ptr + at, result.to(between_slope_ptr.dtype.element_ty), mask=valid[:, None])
    tl.store(own + d, weight_sum)
    tl.store(own + D + d, bias_sum)
    tl.store(own + 2 * D + d, down_sum)


@triton.jit
def attention_backward_kernel(
    x_ptr, present_ptr, between_slope_ptr, x_slope_ptr, unit_ptr, mixed_ptr, qkv_slope_ptr, parts, rows,
    norm_w, norm_b, qkv_w, qkv_b, mix_w,
    T: tl.constexpr, SETS: tl.constexpr, BM: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr, W: tl.constexpr,
    SCALE: tl.constexpr, EPSILON: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradient of the tokens, and the factors of the gradients of the weights.

    ``parts`` [programs, 6 D], zeros at first, are sums of the gradients of the normalization's weight and bias, of the
    bias of the output, and of queries, keys and values.
    """
    d, one_head = tl.arange(0, D), tl.arange(0, W)
    kind = qkv_w.dtype.element_ty
    own = parts + tl.program_id(0) * (6 * D)
    weight, bias = tl.load(norm_w + d), tl.load(norm_b + d)
    weight_sum, bias_sum, mix_sum = tl.zeros((D,), tl.float32), tl.zeros((D,), tl.float32), tl.zeros((D,), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, SETS * T), tl.num_programs(0)):
        row, valid, owner = rows_of_tile(tile, rows, SETS, T, BM)
        at = row[:, None] * D + d[None, :]
        x = tl.load(x_ptr + at, mask=valid[:, None], other=0.0).to(tl.float32)
        slope = tl.load(between_slope_ptr + at, mask=valid[:, None], other=0.0)
        present = tl.load(present_ptr + row, mask=valid, other=0) != 0
        allowed = (owner[:, None] == owner[None, :]) & present[None, :]
        inputs, _unit, _inverse = normalized(x, weight, bias, D, EPSILON)
        inputs = inputs.to(kind)
        tl.store(unit_ptr + at, inputs, mask=valid[:, None])
        mix_sum += tl.sum(slope.to(tl.float32), 0)
        input_slope = tl.zeros((BM, D), tl.float32)
        for head in range(HEADS):
            q, q_part = projected(inputs, qkv_w, qkv_b, head * W, D, W, PRECISION)
            k, k_part = projected(inputs, qkv_w, qkv_b, D + head * W, D, W, PRECISION)
            v, v_part = projected(inputs, qkv_w, qkv_b, 2 * D + head * W, D, W, PRECISION)
            weights = attended(q, k, allowed, SCALE, PRECISION)
            columns = (head * W + one_head)[None, :]
            mixed = product(weights.to(kind), v, PRECISION)
            tl.store(mixed_ptr + row[:, None] * D + columns, mixed.to(kind), mask=valid[:, None])
            part = tl.load(mix_w + d[:, None] * D + columns)
            mixed_slope = product(slope.to(kind), part, PRECISION).to(kind)
            v_slope = product(tl.trans(weights.to(kind)), mixed_slope, PRECISION)
            weights_slope = product(mixed_slope, tl.trans(v), PRECISION)
            scores_slope = weights * (weights_slope - tl.sum(weights * weights_slope, 1)[:, None]) * SCALE
            scores_slope = scores_slope.to(kind)
            q_slope = product(scores_slope, k, PRECISION)
            k_slope = product(tl.trans(scores_slope), q, PRECISION)
            place = row[:, None] * (3 * D) + columns
            tl.store(qkv_slope_ptr + place, q_slope.to(kind), mask=valid[:, None])
            tl.store(qkv_slope_ptr + place + D, k_slope.to(kind), mask=valid[:, None])
            tl.store(qkv_slope_ptr + place + 2 * D, v_slope.to(kind), mask=valid[:, None])
            sums = own + 3 * D + head * W + one_head
            tl.atomic_add(sums, tl.sum(q_slope, 0), sem="relaxed")
            tl.atomic_add(sums + D, tl.sum(k_slope, 0), sem="relaxed")
            tl.atomic_add(sums + 2 * D, tl.sum(v_slope, 0), sem="relaxed")
            input_slope += product(q_slope.to(kind), q_part, PRECISION)
            input_slope += product(k_slope.to(kind), k_part, PRECISION)
            input_slope += product(v_slope.to(kind), v_part, PRECISION)
        # Read again, which needs fewer registers than to keep them.
        x = tl.load(x_ptr + at, mask=valid[:, None], other=0.0).to(tl.float32)
        _again, unit, inverse = normalized(x, weight, bias, D, EPSILON)
        weight_sum += tl.sum(input_slope * unit, 0)
        bias_sum += tl.sum(input_slope, 0)
        slope = tl.load(between_slope_ptr + at, mask=valid[:, None], other=0.0)
        result = slope.to(tl.float32) + normalized_slope(input_slope, unit, inverse, weight, D)
        tl.store(x_slope_ptr + at, result.to(x_slope_ptr.dtype.element_ty), mask=valid[:, None])
    tl.store(own + d, weight_sum)
    tl.store(own + D + d, bias_sum)
    tl.store(own + 2 * D + d, mix_sum)
