# mypy: ignore-errors
"""Branches that store their results where they end: the values of plain Python and of Warp's translation."""

import numpy as np
import pytest
import warp as wp

from worldloom.core.base.warp_branches import OPTION
from worldloom.core.base.warp_private import get_module

STORED, SELECTED = get_module("branches_stored"), get_module("branches_selected")
STORED.options.update({"enable_backward": False, OPTION: True})
SELECTED.options.update({"enable_backward": False})


@wp.func
def early(x: wp.float32, n: wp.int32):
    if n == 3:
        return x
    elif n == 4:
        x = x + 2.0
    return x * 2.0


def branches(
    values: wp.array(dtype=wp.float32), counts: wp.array(dtype=wp.int32), flags: wp.array(dtype=wp.bool),
    # outputs
    out: wp.array(dtype=wp.vec4),
):  # fmt: skip
    i = wp.tid()
    x = wp.float32(values[i])
    n = wp.int32(counts[i])
    total = wp.float32(0.0)
    kept = wp.vec2()
    on = wp.bool(n > 2)
    if wp.bool(on):  # a copy, which Warp reads again; a loop in one branch changes variables in place
        for j in range(n):
            total = total + x * wp.float32(j)
            on = not on
    else:
        total = x - 1.0
        if n == 1:
            kept = wp.vec2(total, x)
    for j in range(n):
        if j == 5:
            break
        if j % 3 == 1:
            total = total * 0.5
            continue
        if total > 4.0:
            total = total - 4.0
        elif total < -4.0:
            total = total + 4.0
            kept = wp.vec2(kept[0] + 1.0, kept[1] - x)
        else:
            kept[0] = kept[0] + total
        inner = wp.float32(0.0)
        while inner < 1.5:
            inner = inner + (0.5 if total > 0.0 else 1.0)
            if inner > 1.0:
                total = total + inner
    choice = values[0] if n > 3 else (x if on else values[1])
    if flags[i]:  # an address as the condition, also of an expression
        total = total + 8.0
    total = total * (0.5 if flags[0] else 2.0)
    out[i] = wp.vec4(total + early(x, n), kept[0], kept[1], choice)


def in_python(x: np.float32, n: int, flag: bool, values: np.ndarray) -> list[np.float32]:
    """The same for one element, rounded to float32 after each operation."""
    real = np.float32
    total, kept, on = real(0.0), [real(0.0), real(0.0)], n > 2
    if on:
        for j in range(n):
            total, on = total + x * real(j), not on
    else:
        total = x - real(1.0)
        kept = [total, x] if n == 1 else kept
    for j in range(min(n, 5)):
        if j % 3 == 1:
            total *= real(0.5)
            continue
        if total > 4.0:
            total -= real(4.0)
        elif total < -4.0:
            total += real(4.0)
            kept = [kept[0] + real(1.0), kept[1] - x]
        else:
            kept = [kept[0] + total, kept[1]]
        inner = real(0.0)
        while inner < 1.5:
            inner += real(0.5) if total > 0.0 else real(1.0)
            total = total + inner if inner > 1.0 else total
    total = (total + real(8.0) if flag else total) * real(2.0)
    returned = x if n == 3 else ((x + real(2.0)) if n == 4 else x) * real(2.0)
    return [total + returned, *kept, values[0] if n > 3 else x if on else values[1]]


def test_values_are_those_of_python_and_warp() -> None:
    """For random inputs, bit for bit."""
    generator = np.random.default_rng(0)
    values, counts = generator.normal(0.0, 3.0, 500).astype(np.float32), generator.integers(0, 9, 500).astype(np.int32)
    flags = np.arange(500) % 3 == 1
    results = []
    for module in (STORED, SELECTED):
        kernel = wp.Kernel(func=branches, key="branches", module=module)
        out = wp.zeros(500, dtype=wp.vec4, device="cpu")
        inputs = [wp.array(values, device="cpu"), wp.array(counts, device="cpu"), wp.array(flags, device="cpu")]
        wp.launch(kernel, 500, inputs, [out], device="cpu")
        results.append(out.numpy())
    expected = np.array(
        [in_python(*row, values) for row in zip(values, counts.tolist(), flags, strict=True)], np.float32
    )
    assert np.array_equal(results[0], expected) and np.array_equal(results[1], expected)
    assert all(len(np.unique(column)) > 20 for column in expected[:, :3].T)


@pytest.mark.parametrize(("module", "selects"), [(STORED, False), (SELECTED, True)])
def test_only_modules_with_the_option_are_translated_so(module: object, selects: bool, tmp_path) -> None:
    kernel = wp.Kernel(func=branches, key="branches", module=module)
    wp.compile_aot_module(kernel.module, device="cpu", module_dir=tmp_path)
    text = next(tmp_path.glob("*.cpp")).read_text()
    assert ("wp::where(" in text) == selects
