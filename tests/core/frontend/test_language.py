"""The Python of systems, construct by construct: all columns are equal, interpreted and compiled."""

import enum
import math

import numpy as np
import pytest
from agreement import agree

import worldloom as wl

LIMIT = 12
TAU = 2 * math.pi
PUSH = wl.vec2(0.25, 0.5)
WIDE = np.int64(5_000_000_000)
Five = wl.vec(5)


class Colour(enum.IntEnum):
    RED = 3
    BLUE = 4


# -- numbers ---------------------------------------------------------------------------------------------------------


class Number(wl.Entity):
    a: int = 7
    i8: wl.int8
    u8: wl.uint8
    i16: wl.int16
    u16: wl.uint16
    u32: wl.uint32
    i64: wl.int64
    u64: wl.uint64
    h: wl.float16
    d: wl.float64
    x: float = 0.7
    y: float = 0.3
    p: bool
    out: wl.Array(float, 32)


class Numbers(wl.World):
    scale: wl.Config = 0.125


@wl.system
def whole_numbers(n: Number, world: Numbers):
    n.a = n.a * 3 - 11 + n.id
    n.i8 += 100
    n.u8 -= 3
    n.i16 = n.i8 * 3 + n.i16
    n.i16 += n.u8
    n.u16 += n.u8 * 200
    n.u32 = n.u32 * 1664525 + 1013904223
    n.i64 = n.i64 * 31 + n.a + WIDE
    n.u64 = n.u64 * 6364136 + n.u32 if n.id > 1 else n.u64 + 1
    n.a = n.a // 4 + (-n.a) % 5 + (n.a ^ 3) + ~n.a + (n.a & 12 | 3) + (n.a << 2) - (n.a >> 1) + (+n.a)
    n.u16 = ~n.u16
    n.u32 = -n.u32 >> 3
    n.i8 = n.i8 // -7 + n.i8 % 5
    n.u8 = n.u8 // 7 + n.u8 % 5
    n.i64 = n.i64 // -7 + n.i64 % 5
    n.a //= 3
    n.a %= 1000
    n.a |= 64
    n.a &= 1023
    n.a ^= 5
    n.a <<= 2
    n.a >>= 1
    n.a -= n.a // 0 + n.a % 0  # a division of whole numbers by 0 gives 0, its remainder the number itself


@wl.system
def real_numbers(n: Number, world: Numbers):
    n.h = n.h * 1.5 + 0.3
    n.d = n.d / 3.0 + n.x + 0.1
    n.x = n.a / 7 + n.h + world.scale * float(world.step)
    n.h = abs(n.h) ** 2
    n.h %= 3.0
    n.d = n.d % 10.0 + wl.sin(n.d) - n.d // 3.0
    n.x %= 2.5
    n.x **= 2
    n.y = 1.0 / (1.0 + n.y) ** 3 + n.x**1.7 + n.x**0.5 + math.pi + TAU
    n.p = n.x > n.y
    n.x += n.p * 2.5 + (n.a > 2) + True
    n.p ^= n.a > 3
    n.p |= n.id == 1
    n.p &= n.y != n.y + 1.0
    n.a += n.p + 1


@wl.system
def mathematics(n: Number, world: Numbers):
    x = n.x % 0.9 + 0.01
    n.out[0] = wl.sin(x) + wl.cos(x) * wl.tan(x)
    n.out[1] = wl.asin(x) - wl.acos(x) + wl.atan(x) + wl.atan2(x, n.y)
    n.out[2] = wl.sinh(x) + wl.cosh(x) - wl.tanh(x)
    n.out[3] = wl.degrees(x) + wl.radians(x)
    n.out[4] = wl.exp(x) + wl.log(x) + wl.log2(x) + wl.log10(x)
    n.out[5] = wl.pow(x, n.y) + wl.sqrt(x) + wl.cbrt(x)
    n.out[6] = wl.floor(x * 3.0) + wl.ceil(x * 3.0) + wl.trunc(-x * 3.0) + wl.rint(x * 2.5) + wl.frac(x * 3.0)
    n.out[7] = wl.sign(-x) + wl.step(x - 1.0) + wl.nonzero(x) + wl.clamp(x, 0.0, 0.8)
    n.out[8] = wl.lerp(x, n.y, 0.3) + wl.smoothstep(0.0, 1.0, x)
    n.out[9] = math.exp(-x) + math.fabs(-x) + abs(-x)
    n.out[10] = x % 0.3 + (-x) % 0.7 + x // 0.2 + (-x) // 0.2
    n.out[11] = float(round(x * 10.0)) + float(int(-x * 10.0))
    n.out[12] = max(x, n.y, 0.9) + min(x, n.a) + pow(x, 2)
    if wl.isnan(n.out[1]) or not wl.isfinite(n.out[2]) or wl.isinf(n.out[3]):
        n.out[13] = 1.0


NUMBERS = wl.Definition("Numbers-test", Numbers, {Number: 3}, step=(whole_numbers, real_numbers, mathematics))


# -- flow ------------------------------------------------------------------------------------------------------------


class Step(wl.Entity):
    n: int
    m: int
    x: float
    y: float
    p: bool
    v: wl.vec2
    cards: wl.Array(int, 4)


class Flow(wl.World):
    pass


@wl.function
def even(n: int) -> bool:
    return n % 2 == 0


@wl.function
def polar(radius: float, angle: float):
    return radius * wl.cos(angle), radius * wl.sin(angle)


@wl.function
def order(a: float, b: float):
    if a < b:
        return a, b
    return b, a


@wl.function
def turn(v: wl.vec2, angle: float):
    c, s = polar(1.0, angle)
    v.x = v.x + 1.0  # a helper's own copy
    return wl.vec2(c * v.x - s * v.y, s * v.x + c * v.y)


@wl.function
def count(n: int, skip: int):
    total = 0
    for i in range(n):
        if i == skip:
            continue
        if total > 20:
            return total
        total += i
    n -= 1
    return total + n


@wl.system
def loops(s: Step):
    """Loops in loops, and every way out of them."""
    for i in range(6):
        if i == s.id:
            continue
        if i > 4:
            break
        j = 0
        while True:
            j += 1
            if j > i:
                break
            if j % 2 == 0:
                continue
            s.n += j
            for k in range(10):
                if k == 3:
                    break
                s.m += 1
        s.n += 100
    for i in range(5, -5, -2):
        s.m += i
    for i in range(3, s.id - 6, -1):
        s.n += i
    for i in range(3):
        for i in range(2):  # the same name twice
            s.m += i
        s.m += 10 * i
    i = 0
    while i < 4 and s.cards[i] == 0:  # the second operand is not evaluated where the first is false
        s.cards[i] += i % 3
        i += 1
    pass


@wl.system
def branches(s: Step):
    s.p = 0 < s.n < 1000 and not s.p or s.x > 3.0  # noqa: RUF021
    if s.id in (0, 2):
        s.x += 1.0
    elif s.id not in (1, 5):
        s.x += 2.0
    else:
        s.x -= 1.0
    if s.p:
        return
    s.x = 5.0 if s.n > 3 else 2.0 if s.m > 3 else 1.0
    total: float = 0
    while total < 3:
        total += 1
    s.x += total
    for i in range(s.n % 3, 7, 2):
        if i == 5:
            return
        s.m -= i
    s.y += 1.0


@wl.system
def tuples(s: Step):
    a, b = s.n, s.m
    a, b = b, a
    s.n, s.m = a % 1000, b % 1000
    s.n, s.x = s.m, s.x * 0.5
    s.cards[0], s.cards[1] = s.cards[1], s.cards[0]


@wl.system
def helpers(s: Step):
    s.x, s.y = polar(1.5, 0.3 * float(s.id + 1))
    s.n += count(10, s.id)
    s.v = turn(s.v + wl.vec2(1.0, 0.0), 0.5)
    low, high = order(s.x, s.y)
    s.x = high - low
    if even(s.n):
        s.n += 1


@wl.system
def constants(s: Step):
    s.m += Colour.RED + Colour.BLUE.value + LIMIT + int(math.pi * 10.0) + int(TAU)
    s.v += PUSH
    s.x += PUSH.x


def adder(amount: int):
    @wl.system
    def add(s: Step):
        s.n += amount

    return add


FLOW = wl.Definition(
    "Flow-test", Flow, {Step: 3}, step=(loops, branches, tuples, helpers, constants, adder(3), adder(40))
)


# -- vectors, matrices, arrays ---------------------------------------------------------------------------------------


class Shape(wl.Entity):
    v: wl.vec3 = (1.0, 2.0, 3.0)
    w: wl.vec2
    i: wl.vec4i
    f: Five
    m: wl.mat33
    n: wl.mat22
    q: wl.quat
    t: wl.transform
    x: float
    cards: wl.Array(int, 4)
    grid: wl.Array(float, 3, 4)
    cube: wl.Array(wl.uint8, 2, 3, 2)
    points: wl.Array(wl.vec2, 3)
    flags: wl.Array(bool, 5)


class Space(wl.World):
    centre: wl.vec2
    axes: wl.Array(int, 3)


@wl.system
def vectors(s: Shape):
    a = s.v
    a.x = 5.0  # a copy: s.v stays
    b = a
    b[1] = 3.0
    s.w = -s.w + wl.vec2(a.y, b.y) / 3.0
    s.w -= 0.5 * s.w
    s.w *= 2.0
    s.w /= 3.0
    s.i = s.i + wl.vec4i(1, 2, 3, 4)
    s.i[2] *= 3
    s.i.x = -s.i.w
    s.f[s.id] += 1.0
    s.f[-1] = float(len(s.f))
    s.f = s.f * 1.5 - -s.f / 2.0 + Five(1.0, 2.0, 3.0, 4.0, 5.0)
    s.v = wl.cw_mul(s.v, b) - wl.cw_div(s.v, wl.vec3(2.0, 4.0, 8.0)) + wl.cross(s.v, wl.vec3(1.0, 0.0, 0.0))
    s.v[s.id] = -s.v[2 - s.id]
    s.v.y += 1.0
    s.v = wl.normalize(s.v) * 2.0
    s.x = wl.dot(s.v, a) + wl.length(s.w) + wl.length_sq(s.v) + wl.vec2(3.0).y + wl.vec3().x
    s.x += float(wl.argmax(s.v) + s.id) + wl.length(s.f)
    s.w = wl.max(s.w, wl.vec2(0.1, 0.1)) if s.id > 0 else wl.min(s.w, wl.vec2(0.1, 0.1))


@wl.system
def matrices(s: Shape, world: Space):
    s.m = wl.mat33(1.0, 2.0, 3.0, 0.5, 1.0, 0.0, 0.0, 0.25, 2.0)
    s.v = s.m * s.v * 0.25
    s.m[1, 2] = s.v.x
    s.m[s.id, 0] += 1.0
    s.m = s.m @ wl.transpose(s.m)
    s.x = wl.determinant(s.m) + wl.trace(s.m) + s.m[0, 0]
    s.n = wl.inverse(wl.mat22(2.0, 1.0, 0.0, 3.0))
    s.n *= 2.0
    s.w = s.n * wl.vec2(1.0, s.x)
    s.q = wl.quat_from_axis_angle(wl.vec3(0.0, 0.0, 1.0), 0.3 * float(world.step))
    s.v = wl.quat_rotate(s.q, s.v)
    s.q = s.q * wl.quat_rpy(0.1, 0.2, 0.3)
    s.x += s.q.w + s.q[0] + wl.quat_to_matrix(s.q)[0, 1]
    s.m += wl.outer(s.v, s.v) + wl.skew(s.v) + wl.diag(s.v)
    s.v = wl.normalize(s.v + wl.get_diag(s.m))
    s.t = wl.transform(wl.vec3(1.0, 2.0, 3.0), s.q)
    s.v += wl.transform_point(s.t, s.v) * 0.1
    s.t = wl.transform_multiply(s.t, wl.transform_inverse(s.t))


@wl.system
def arrays(s: Shape, world: Space):
    for i in range(len(s.cards)):
        s.cards[i] += i * (s.id + 1)
        s.cards[-1] -= 1
    for i in range(3):
        for j in range(4):
            s.grid[i, j] = float(i * 4 + j) + s.grid[2 - i, j] * 0.5
    for i in range(2):
        for j in range(3):
            s.cube[i, j, (i + j) % 2] += 60
    s.points[1] = wl.vec2(1.0, 2.0) + s.points[s.id]
    s.x += s.points[1].x
    s.flags[world.step % 5] = not s.flags[0]
    if s.flags[s.id]:
        s.x += 100.0


SHAPES = wl.Definition("Shapes-test", Space, {Shape: 3}, step=(vectors, matrices, arrays))


# -- agreement -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("definition", [NUMBERS, FLOW, SHAPES], ids=lambda d: d.id)
def test_interpreted_and_compiled_agree(definition: wl.Definition) -> None:
    last = agree(definition, 6)[-1]
    moved = [name for name, values in last.items() if not name.startswith("World.") and np.any(values)]
    assert len(moved) >= 6


def test_loops_mean_what_python_means() -> None:
    """The loops, computed by Python itself."""
    expected = []
    for entity in range(3):
        n = m = 0
        for i in range(6):
            if i == entity:
                continue
            if i > 4:
                break
            j = 0
            while True:
                j += 1
                if j > i:
                    break
                if j % 2 == 0:
                    continue
                n += j
                m += 3
            n += 100
        n += sum(range(3, entity - 6, -1))
        m += sum(range(5, -5, -2)) + 3 * 11
        expected.append((n, m))
    only_loops = wl.Simulation(wl.Definition("Loops-test", Flow, {Step: 3}, step=(loops,)), 1, "python", seed=0)
    only_loops.step()
    n, m = only_loops[Step].n.numpy()[0].tolist(), only_loops[Step].m.numpy()[0].tolist()
    assert list(zip(n, m, strict=True)) == expected
