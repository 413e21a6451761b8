"""Edge cases in which Python, C and NumPy differ: one meaning on all devices."""

import math

import numpy as np
import pytest
from agreement import agree

import worldloom as wl

WIDE = wl.int64(5_000_000_000)
MIX = 0x9E3779B9  # more than 31 bits


class Edge(wl.Entity):
    low: int = -(2**31)
    quotients: wl.Array(int, 3)
    rests: wl.Array(int, 3)
    shifted: wl.Array(int, 3)
    cut: wl.Array(int, 6)
    small: wl.uint8
    tiny: wl.int8 = -128
    bits: wl.uint32 = 5
    wide: wl.int64
    half: wl.float16
    double: wl.float64
    mate: wl.Ref("Edge")
    flag: wl.Array(bool, 2)
    n: int
    x: float


class Rim(wl.World):
    leader: wl.Ref("Edge")
    visits: int


@wl.function
def pick(v: wl.vec3, i: int):
    return v[i]


@wl.function
def until_multiple(n: int, of: int):
    while True:
        n += 1
        if n % of == 0:
            return n


@wl.function
def or_nothing(x: float) -> float:
    if x > 3.0:
        return 0
    return x + 1.0


@wl.system
def divide(e: Edge):
    for i in range(3):
        e.quotients[i] = e.low // (i - 1)
        e.rests[i] = e.low % (i - 1)
    for i in range(3):
        e.shifted[i] = 1 << (31 + i)
    e.n = -e.low


@wl.system
def cut_off(e: Edge):
    huge = 1.0e10
    e.cut[0] = int(huge)
    e.cut[1] = int(-huge)
    e.cut[2] = int(wl.sqrt(-huge))
    e.cut[3] = int(-2.9)
    e.cut[4] = round(2.5) + 10 * round(3.5)
    e.cut[5] = int(huge * huge * huge * huge * huge)
    e.small = wl.uint8(huge) - wl.uint8(-3.0 - e.x)
    e.tiny = abs(e.tiny) - 1 + wl.int8(e.id * 1000)
    e.bits = (e.bits ^ MIX) + 4_000_000_000
    e.wide = e.wide * 1000 + WIDE
    e.n = int(e.wide)
    e.half = wl.float16(float(e.n))
    e.double = e.double / 3.0 + 0.1


@wl.system
def names(e: Edge, world: Rim):
    """Names that generated code also uses."""
    square = e.x**2
    cube = square**3
    row, slot, errors = 1, 2, 3
    uniform = world.random()
    e.x = wl.cos(square + cube + float(row + slot + errors) + uniform)


@wl.system
def tuples(e: Edge):
    e.mate, e.n = None, 2
    e.small, e.half = 1, 2.0
    a, b = 1, 2
    c, d = 1.5, 2.5
    e.x = c * d + float(a - b) + pick(wl.vec3(1.0, 2.0, 4.0), e.id + 1) + pick(wl.vec3(1.0, 2.0, 4.0), -1 - e.id)
    e.n += until_multiple(e.n, 5)
    e.x += or_nothing(e.x)


@wl.system
def read_then_change(e: Edge):
    """A condition or a value that was read does not change with its component."""
    e.flag[0] = True
    if e.flag[0]:
        e.n += 1
        e.flag[0] = False
    before = e.cut[4]
    e.cut[4] += 5
    e.n += before
    e.n += 3 if e.flag[1] else 4
    e.flag[1] = not e.flag[1]


@wl.system
def lead(world: Rim):
    best = -1.0
    for e in world.all(Edge):
        chance = world.random()
        if chance > best:
            best = chance
            world.leader = e.ref
    leader = world.leader.get()
    leader.x = 5.0
    world.leader.get().n += 1
    for e in world.all(Edge):
        e.mate = world.leader
        for other in world.all(Edge):
            if other.id == (e.id + 1) % 3:
                e.mate = other.ref


@wl.system
def visit(e: Edge, world: Rim):
    """Follows references to references, and accumulates into their rows."""
    e.mate.get().mate.get().n += 1
    world.visits += 1
    if world.step == 1:
        return
    world.visits += 10


EDGES = wl.Definition(
    "Edges-test", Rim, {Edge: 3}, step=(divide, cut_off, names, tuples, read_then_change, lead, visit)
)


def test_edges_agree() -> None:
    last = agree(EDGES, 5)[-1]
    low = -(2**31)
    assert last["Edge.quotients"][0, 0].tolist() == [low, 0, low]  # by -1, 0 and 1
    assert last["Edge.rests"][0, 0].tolist() == [0, low, 0]
    assert last["Edge.shifted"][0, 0].tolist() == [low, 1, 2]
    cut = last["Edge.cut"][0, 0]
    assert cut[0] > 2e9 and cut[1] == low and cut[2] == 0 and cut[3] == -2
    assert last["World.visits"].tolist() == [3 * 5 + 30 * 4] * 3
    assert last["Edge.mate"][0].tolist() == [1, 2, 0]


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_one_entity_per_world_keeps_the_worlds_fields_too(device: str) -> None:
    """With one entity per world the world's fields stay in registers; an early return must not lose them."""
    sim = wl.Simulation(EDGES, 2, device, seed=0, counts={Edge: 1}, checks=False)
    for _ in range(3):
        sim.step()
    assert sim.world.visits.numpy().tolist() == [23, 23]


def test_helpers_can_be_called_from_python() -> None:
    assert until_multiple(3, 5) == np.int32(5)
    assert pick(wl.vec3(1.0, 2.0, 4.0), -1) == np.float32(4.0)
    assert or_nothing(math.pi) == np.float32(0.0) and isinstance(or_nothing(1), np.float32)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        until_multiple(3)


class Spinner(wl.Entity):
    turns: int
    left: int


class Wheel(wl.World):
    limit: wl.Config = 5


@wl.system
def spin(spinner: Spinner, world: Wheel):
    while spinner.turns < world.limit:
        spinner.turns += 1 if world.limit < 100 else 0
    spinner.left += 1


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_loop_without_end_is_a_fault(device: str) -> None:
    sim = wl.Simulation(wl.Definition("Spin-test", Wheel, {Spinner: 1}, step=(spin,)), 3, device, seed=0)
    sim.step()
    assert sim["Spinner"].turns.numpy().ravel().tolist() == [5, 5, 5] and sim.errors() == []
    sim.set_config("limit", np.array([6, 1000, 7], np.int32))
    sim.step()
    assert [(f.world, "loop ran more than" in f.message) for f in sim.errors()] == [(1, True)]
    assert sim.truncated.numpy().tolist() == [False, True, False]


LATER = 1


def makers() -> list[wl.Definition]:
    """Systems defined in a loop, each with its own value of the loop variable."""
    definitions = []
    for amount in (1, 2):

        @wl.system
        def grow(spinner: Spinner):
            spinner.turns += amount
            spinner.left += LATER

        definitions.append(wl.Definition(f"Grow{amount}-test", Wheel, {Spinner: 1}, step=(grow,)))
    return definitions


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_names_from_outside_are_taken_when_the_system_is_defined(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = makers()
    monkeypatch.setitem(globals(), "LATER", 100)
    for definition, amount in ((one, 1), (two, 2)):
        sim = wl.Simulation(definition, 1, device, seed=0)
        sim.step()
        assert (sim["Spinner"].turns.numpy().item(), sim["Spinner"].left.numpy().item()) == (amount, 1)
