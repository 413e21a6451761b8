"""Shared by the tests of exact mode: each exact function as a kernel, arguments for it, a world that calls them."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import warp as wp
from warp._src.context import get_module

import worldloom as wl
from worldloom.core.kernels import exact

UNARY = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "log2", "log10", "cbrt", "sinh", "cosh", "tanh")
BINARY = ("atan2", "pow", "min", "max")
FUNCTIONS = (*UNARY, *BINARY)
EDGES = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e-45,
        -1e-45,
        1.1754944e-38,
        3.4028235e38,
        -3.4028235e38,
        np.inf,
        -np.inf,
        np.nan,
        16777216.0,
    ]
    + [
        88.72284,
        -103.97208,
        89.0,
        -104.0,
        0.78539816,
        1.5707964,
        3.1415927,
        100.0,
        100.00001,
        0.00024414062,
        0.99999994,
        1.0000001,
        1.4142135,
        2.5,
        -2.5,
    ],
    np.float32,
)


def kernels() -> dict[str, Any]:
    """A kernel for each exact function, a thread per argument, in one module without contraction."""
    module = get_module("exact_probe")
    module.options.update({"enable_backward": False, "fuse_fp": False})
    text = ""
    for name in FUNCTIONS:
        taken = ("x",) if name in UNARY else ("x", "y")
        head = ", ".join(f"{n}: wp.array(dtype=wp.float32)" for n in (*taken, "out"))
        text += f"@wp.kernel(module=module, enable_backward=False)\ndef probe_{name}({head}):\n    i = wp.tid()\n"
        text += f"    out[i] = {exact.PREFIX}{name}({', '.join(f'{n}[i]' for n in taken)})\n\n"
    linecache.cache["<exact_probe>"] = (len(text), None, text.splitlines(keepends=True), "<exact_probe>")
    space: dict[str, Any] = {"wp": wp, "module": module, **exact.SPACE}
    exec(compile(text, "<exact_probe>", "exec"), space)
    return {name: space[f"probe_{name}"] for name in FUNCTIONS}


def run(kernel: Any, arguments: tuple[np.ndarray, ...], device: str) -> np.ndarray:
    """What a kernel gives for arrays of arguments."""
    out = wp.zeros(arguments[0].size, dtype=wp.float32, device=device)
    wp.launch(
        kernel,
        out.size,
        inputs=[*[wp.array(a, dtype=wp.float32, device=device) for a in arguments], out],
        device=device,
    )
    return out.numpy()


def arguments(name: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Arguments of a function: edges, numbers of every binade, random bits, and numbers of everyday size."""
    rng = np.random.default_rng(seed)
    mantissas = np.array([0, 1, 0x2AAAAA, 0x3504F3, 0x3504F4, 0x7FFFFF], np.uint32)
    binades = ((np.arange(512, dtype=np.uint32) << np.uint32(23))[:, None] | mantissas).ravel().view(np.float32)
    bits = rng.integers(0, 2**32, count // 2, dtype=np.uint32).view(np.float32)
    plain = (rng.standard_normal(count - count // 2) * rng.choice([0.1, 1.0, 10.0, 50.0], count - count // 2)).astype(
        np.float32
    )
    x = np.concatenate([EDGES, binades, bits, plain])
    if name in UNARY:
        return (x,)
    pairs = np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1)
    near_one = np.exp(rng.uniform(-1.0, 1.0, plain.size)).astype(np.float32)
    y = np.concatenate([rng.permutation(x), plain, pairs[1]])
    return np.concatenate([x, near_one, pairs[0]]), y


def same_bits(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Which numbers of 32 bits are equal to the bit; every NaN equals every other."""
    return (one.view(np.uint32) == two.view(np.uint32)) | (np.isnan(one) & np.isnan(two))


class Probe(wl.Entity):
    a: float
    b: float
    narrow: wl.float16
    v: wl.vec3
    w: wl.vec3
    q: wl.quat
    p: wl.quat
    m: wl.mat33
    out: wl.Array(float, 7)
    shares: wl.Array(float, 5)
    sum: float
    pull: wl.vec3
    reward: wl.Reward


class Room(wl.World):
    total: float
    least: float
    most: float


@wl.function
def curve(x: float, y: float) -> float:
    return wl.exp(-abs(x)) * abs(y) ** 0.7 + max(x, y)


@wl.system
def draw(e: Probe, world: Room):
    e.a = world.normal(0.0, 2.0)
    e.b = world.normal(0.0, 30.0)
    e.v = wl.vec3(world.normal(), world.normal(), world.random(-1.0, 1.0))
    e.q = wl.normalize(wl.quat(world.normal(), world.normal(), world.normal(), e.a))


@wl.system
def calculate(e: Probe, world: Room):
    e.out[0] = wl.sin(e.a) * wl.cos(e.b) + wl.tan(e.a)
    e.out[1] = curve(e.a, e.b)
    e.out[2] = wl.clamp(e.a, -0.0, e.b) + wl.min(e.v)
    e.out[3] = wl.smoothstep(-1.0, 1.0, e.a) + wl.lerp(e.a, e.b, 0.3)
    e.out[4] = e.b % 0.7 + e.b // 0.7 + wl.degrees(e.a)
    e.out[5] = wl.log(abs(e.a)) * wl.atan2(e.a, e.b)
    e.narrow = wl.sin(wl.float16(e.a))
    e.p = wl.quat_slerp(e.q, wl.quat_rpy(e.a, e.b, 0.5), 0.25) * wl.quat_from_axis_angle(wl.normalize(e.v), e.a)
    e.m = wl.inverse(wl.quat_to_matrix(e.q)) @ wl.quat_to_matrix(e.p)
    e.w = wl.max(e.m @ e.v, wl.quat_rotate(e.p, e.v))
    e.out[6] = wl.length(e.w) + wl.dot(e.v, e.w) + wl.determinant(e.m)


@wl.system
def gather(e: Probe, world: Room):
    world.total += e.out[0] * 0.1
    world.least = min(world.least, e.a)
    world.most = max(world.most, e.b)
    for other in world.all(Probe):
        other.sum += e.a * 0.1
        other.pull -= e.v * 0.3
        other.shares[e.id] += e.b


PROBE = wl.Definition("Probe-test", Room, {Probe: 5}, reset=(draw,), step=(draw, calculate, gather), max_steps=20)
