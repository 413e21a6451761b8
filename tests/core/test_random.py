"""Random numbers: published vectors, streams that never meet, and the distributions they promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.kernels import random
from worldloom.core.kernels.random import Key, philox_python

VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Known answers of Philox4x32-10, from the paper's own test suite: counter, key, result."""

LARGE = 2**31 - 1


class Part(wl.Components):
    first: wl.Persistent(wl.vec4i)  # what the last step of an episode drew outlives the reset
    second: wl.Persistent(wl.vec4i)


class Die(wl.Entity, Part):
    pass


class Coin(wl.Entity, Part):
    pass


class Deck(wl.Entity):
    cards: wl.Array(int, 4)
    colours: wl.Array(int, 3)
    uniform: wl.vec4
    normal: wl.vec4
    whole: wl.vec4i
    chosen: int
    weighted: int


class Table(wl.World):
    drawn: wl.Persistent(wl.vec4i)


@wl.system
def roll(part: wl.Has(Part), world: Table):
    part.first = wl.vec4i(world.integer(LARGE), world.integer(LARGE), world.integer(LARGE), world.integer(LARGE))


@wl.system
def roll_again(part: wl.Has(Part), world: Table):
    for i in range(4):
        part.second[i] = world.integer(LARGE)


@wl.system
def draw(world: Table):
    world.drawn = wl.vec4i(world.integer(LARGE), world.integer(LARGE), world.integer(LARGE), world.integer(LARGE))


@wl.system
def lay_out(deck: Deck, world: Table):
    for i in range(4):
        deck.cards[i] = i
    for i in range(3):
        deck.colours[i] = 10 * i


@wl.system
def deal(deck: Deck, world: Table):
    for i in range(4):
        deck.uniform[i] = world.random(-1.0, 3.0)
        deck.normal[i] = world.normal(2.0, 0.5)
        deck.whole[i] = world.integer(-2, 5)
        deck.cards[i] = i
    world.shuffle(deck.cards)
    deck.chosen = world.choice(deck.colours)
    deck.weighted = world.weighted(wl.vec3(1.0, 5.0, 2.0))


DICE = wl.Definition(
    "Dice-test", Table, {Die: 3, Coin: 2, Deck: 1}, reset=(lay_out,), step=(roll, roll_again, draw, deal), max_steps=8
)


@wp.kernel(enable_backward=False)
def philox_kernel(counters: wp.array(dtype=wp.vec4ui), keys: wp.array(dtype=wp.vec2ui), out: wp.array(dtype=wp.vec4ui)):
    i = wp.tid()
    c, k = counters[i], keys[i]
    out[i] = random.philox(c[0], c[1], c[2], c[3], k[0], k[1])


def samples(worlds: int, steps: int, names: tuple[str, ...], **options) -> dict[str, np.ndarray]:
    """Columns of :data:`DICE`, by ``Table.name``, shape (steps, num_worlds, ...)."""
    sim = wl.Simulation(DICE, worlds, "cpu", **options)
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for _ in range(steps):
        sim.step()
        for name in names:
            table, column = name.split(".")
            found[name].append(sim[table][column].numpy().copy())
    return {name: np.stack(values) for name, values in found.items()}


@pytest.fixture(scope="module")
def many() -> dict[str, np.ndarray]:
    names = ("uniform", "normal", "whole", "cards", "chosen", "weighted")
    return samples(5000, 5, tuple(f"Deck.{n}" for n in names), seed=11)


@pytest.mark.parametrize(("counter", "key", "answer"), VECTORS)
def test_published_vectors_in_python(counter, key, answer) -> None:
    assert philox_python(counter, key) == answer


def test_published_vectors_compiled() -> None:
    counters, keys = (
        wp.array(np.array([v[i] for v in VECTORS], np.uint32), dtype=t, device="cpu")
        for i, t in ((0, wp.vec4ui), (1, wp.vec2ui))
    )
    out = wp.zeros(len(VECTORS), dtype=wp.vec4ui, device="cpu")
    wp.launch(philox_kernel, len(VECTORS), inputs=[counters, keys, out], device="cpu")
    assert [tuple(row) for row in out.numpy().tolist()] == [v[2] for v in VECTORS]


def test_each_part_of_the_key_makes_a_stream_of_its_own() -> None:
    """Small keys, where a careless mixture of the parts would give the same counter twice."""
    small = (0, 1, 2, 5)
    blocks = [
        tuple(Key(*parts).bits(draw) for draw in range(4))
        for parts in itertools.product(small, small, small, small, (0, 1, 1 << 20, 1 << 20 | 1))
    ]
    later = [Key(0, 0, 0, 0, 0).bits(draw) for draw in range(2000)]
    assert len(set(blocks)) == len(blocks)
    assert len(set(later)) == len(later)


def test_no_two_streams_of_a_running_batch_meet() -> None:
    """Seeds, worlds, episodes, steps, systems, kinds and entities: 62 bits of every draw, all different."""
    names = ("Die.first", "Die.second", "Coin.first", "Coin.second", "World.drawn")
    pairs = []
    for seed in (0, 1, 2**32 - 1):
        for values in samples(40, 20, names, seed=seed).values():
            whole = values.astype(np.int64).reshape(-1, 2, 2)
            pairs.append((whole[..., 0] << 31 | whole[..., 1]).ravel())
    drawn = np.concatenate(pairs)
    assert drawn.size == 3 * 40 * 20 * (3 * 4 + 2 * 4 + 2)
    assert np.unique(drawn).size == drawn.size


def test_a_stream_does_not_depend_on_batch_shards_or_device() -> None:
    names = ("Die.first", "Coin.second", "World.drawn", "Deck.cards", "Deck.normal")
    alone = samples(3, 10, names, seed=4)
    for options in ({"threads": 1}, {"threads": 2}, {"threads": 7}):
        batch = samples(50, 10, names, seed=4, **options)
        for name in names:
            np.testing.assert_array_equal(batch[name][:, :3], alone[name], err_msg=name)
    interpreted = wl.Simulation(DICE, 3, "python", seed=4)
    for step in range(10):
        interpreted.step()
        for name in names:
            table, column = name.split(".")
            np.testing.assert_array_equal(
                interpreted[table][column].numpy(), alone[name][step], err_msg=f"{name}, step {step}"
            )


def test_uniform(many: dict[str, np.ndarray]) -> None:
    values = many["Deck.uniform"].astype(np.float64).ravel()
    assert values.min() >= -1.0 and values.max() < 3.0
    assert values.mean() == pytest.approx(1.0, abs=5 * 4 / math.sqrt(12 * values.size))
    assert values.var() == pytest.approx(16 / 12, rel=0.02)
    counts, _ = np.histogram(values, bins=50, range=(-1.0, 3.0))
    assert chi_square(counts) < 100, "49 degrees of freedom"


def test_normal(many: dict[str, np.ndarray]) -> None:
    values = (many["Deck.normal"].astype(np.float64).ravel() - 2.0) / 0.5
    assert np.isfinite(values).all()
    error = 5 / math.sqrt(values.size)
    assert values.mean() == pytest.approx(0.0, abs=error)
    assert (values**2).mean() == pytest.approx(1.0, abs=error * math.sqrt(2))
    assert (values**3).mean() == pytest.approx(0.0, abs=error * math.sqrt(15))
    assert (values**4).mean() == pytest.approx(3.0, abs=error * math.sqrt(96))
    assert np.corrcoef(many["Deck.normal"].reshape(-1, 4).T)[0, 1] == pytest.approx(0.0, abs=0.04)


def test_whole_numbers(many: dict[str, np.ndarray]) -> None:
    values, counts = np.unique(many["Deck.whole"], return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2, 3, 4]
    assert chi_square(counts) < 30, "6 degrees of freedom"


def test_choice_and_weights(many: dict[str, np.ndarray]) -> None:
    values, counts = np.unique(many["Deck.chosen"], return_counts=True)
    assert values.tolist() == [0, 10, 20] and chi_square(counts) < 25
    values, counts = np.unique(many["Deck.weighted"], return_counts=True)
    assert values.tolist() == [0, 1, 2]
    assert chi_square(counts, np.array([1, 5, 2]) / 8) < 25


def test_shuffle_gives_every_permutation_alike(many: dict[str, np.ndarray]) -> None:
    hands = many["Deck.cards"].reshape(-1, 4)
    assert (np.sort(hands, axis=1) == np.arange(4)).all()
    _, counts = np.unique(hands @ np.array([64, 16, 4, 1]), return_counts=True)
    assert counts.size == math.factorial(4)
    assert chi_square(counts) < 60, "23 degrees of freedom"


def test_an_empty_range_gives_its_lower_bound() -> None:
    assert Key(0, 0, 0, 0, 0).integer(0, np.int32(3), np.int32(3)) == 3
    assert {int(Key(s, 0, 0, 0, 0).integer(0, np.int32(-2147483648), np.int32(2147483647)) < 0) for s in range(20)} == {
        0,
        1,
    }


def chi_square(counts: np.ndarray, expected: np.ndarray | None = None) -> float:
    """Pearson's statistic of ``counts`` against equal shares, or those given."""
    shares = np.full(counts.size, 1 / counts.size) if expected is None else expected
    mean = shares * counts.sum()
    return float(((counts - mean) ** 2 / mean).sum())


class Wide(wl.World):
    low: wl.Config = -3e38
    high: wl.Config = 3e38
    x: float


@wl.system
def draw_between(world: Wide):
    world.x = world.random(world.low, world.high)


WIDE = wl.Definition("WideRandom-test", Wide, {}, step=(draw_between,))
MOST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("exact", [False, True])
def test_random_lies_between_all_finite_bounds(exact: bool) -> None:
    bounds = [(-3e38, 3e38), (-MOST, MOST), (MOST, -MOST), (-MOST, 0.0), (0.0, MOST), (-MOST, 1e38), (2e38, 3e38)]
    low, high = np.array(bounds * 60, np.float32).T
    seen = []
    for device in ("python", "cpu"):
        sim = wl.Simulation(WIDE, len(low), device, seed=0, config={"low": low, "high": high}, exact=exact)
        sim.step()
        seen.append(sim.world.x.numpy().copy())
    x = seen[0]
    assert (x == seen[1]).all() and sim.errors() == []
    assert (np.minimum(low, high) <= x).all() and (x <= np.maximum(low, high)).all()
    shares = (x[0::7].astype(np.float64) - low[0]) / (np.float64(high[0]) - low[0])
    assert shares.min() < 0.1 and shares.max() > 0.9 and 0.35 < shares.mean() < 0.65


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 3.4e38), (-1.7e38, 1.7e38), (5.0, 5.0)])
def test_bounds_whose_difference_is_finite_keep_their_numbers(low: float, high: float) -> None:
    one, two = np.float32(low), np.float32(high)
    for draw in range(20):
        share = np.float32(Key(3, 1, 4, 1, 5).bits(draw) >> 8) * np.float32(2**-24)
        assert Key(3, 1, 4, 1, 5).uniform(draw, one, two) == one + share * (two - one)
