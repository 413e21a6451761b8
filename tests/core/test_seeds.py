"""Seeds of 64 bits: different seeds, different episodes; those below 2**32 as before; files, copies and replays."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.kernels.random import EPISODE_FACTOR, STEP_FACTOR, WORLD_FACTOR, Key

SEEDS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**40, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1)
WIDE = 5 << 40 | 7


class Shell(wl.World):
    value: float
    older: wl.Persistent(float)


@wl.system
def shake(world: Shell):
    world.older = world.value
    world.value = world.random(0.0, 1.0)
    if world.random(0.0, 1.0) < 0.2:
        world.terminate()


SHELLS = wl.Definition("SeededShell-test", Shell, {}, reset=(shake,), step=(shake,), max_steps=6)


def make(seed: object, device: str = "cpu", worlds: int = 4) -> wl.Simulation:
    return wl.Simulation(SHELLS, worlds, device, seed=seed)  # type: ignore[arg-type]


def roll(sim: wl.Simulation, steps: int = 12) -> np.ndarray:
    values = []
    for _ in range(steps):
        sim.step()
        values.append(sim.world.value.numpy().copy())
    return np.stack(values)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_seeds_of_64_bits_differ_on_every_device(device: str) -> None:
    seen = {seed: roll(make(seed, device), 3) for seed in SEEDS}
    for one, other in itertools.combinations(SEEDS, 2):
        assert not (seen[one] == seen[other]).any(), (one, other)
    assert (roll(make(WIDE, device)) == roll(make(WIDE, "cpu"))).all()


def test_the_upper_half_displaces_world_episode_and_step() -> None:
    small, wide = Key(7, 3, 2, 1, 9), Key(WIDE, 3, 2, 1, 9)
    high = WIDE >> 32
    same = Key(7, 3 + high * WORLD_FACTOR, 2 + high * EPISODE_FACTOR, 1 + high * STEP_FACTOR, 9)
    assert wide.bits(0) == same.bits(0) != small.bits(0)


def test_two_seeds_share_no_numbers_of_a_million_worlds_episodes_and_steps() -> None:
    """A part of the check of all differences of upper halves that chose the factors, with its smallest."""
    least = 2**32
    for start in (1, 851105039 - 2**15, 2**31 - 2**21):
        differences = np.arange(start, start + 2**21, dtype=np.uint32)
        moved = [np.abs((differences * np.uint32(f)).view(np.int32).astype(np.int64)) for f in
                 (WORLD_FACTOR, EPISODE_FACTOR, STEP_FACTOR)]  # fmt: skip
        least = min(least, int(np.max(moved, axis=0).min()))
    assert least == 1_290_725


def test_each_world_may_have_a_wide_seed_of_its_own() -> None:
    seeds = [WIDE, 3, 2**64 - 1, WIDE]
    sim = make(0)
    sim.reset(seeds=seeds)
    assert sim.seeds.tolist() == seeds
    values = roll(sim)
    for world, seed in enumerate(seeds):
        assert (values[:, world] == roll(make(seed))[:, world]).all()
    sim.reset(np.array([True, True, True, False]), seeds=2**50)
    assert sim.seeds.tolist() == [2**50] * 3 + [WIDE]
    sim.reset(seeds=5)
    assert sim.seeds.tolist() == [5] * 4 and (roll(sim) == roll(make(5))).all()


@pytest.mark.parametrize("seeds", [WIDE, [WIDE, 3, 2**64 - 1, 4]])
def test_snapshots_copies_and_files_keep_wide_seeds(seeds: object, tmp_path: Path) -> None:
    sim = make(0)
    sim.reset(seeds=seeds)
    roll(sim, 3)
    sim.snapshot().save(tmp_path / "wide.safetensors")
    saved, twins = sim.snapshot(), [copy.deepcopy(sim)]
    wanted = roll(sim)
    fresh = make(1)
    fresh.restore(wl.Snapshot.load(tmp_path / "wide.safetensors"))
    part = make(1)
    part.restore(saved.worlds([2]), worlds=[2])
    assert (roll(part)[:, 2] == wanted[:, 2]).all() and part.seeds[0] == 1
    for twin in (*twins, fresh):
        assert twin.seeds.tolist() == np.broadcast_to(np.array(seeds, np.uint64), 4).tolist()
        assert (roll(twin) == wanted).all()


def test_a_state_of_small_seeds_is_written_as_before_and_replaces_wide_ones() -> None:
    small, wide = make(3), make(WIDE)
    assert "World.seed__high" not in small.snapshot().tensors
    wide.restore(small.snapshot())
    assert wide.seeds.tolist() == [3] * 4 and (roll(wide) == roll(small)).all()


def test_replays_of_wide_seeds(tmp_path: Path) -> None:
    sim = make(3)
    with sim.record(every=5) as recorder:
        roll(sim, 7)
        sim.reset(seeds=WIDE)
        roll(sim, 7)
        sim.reset(np.array([False, True, False, False]), seeds=2**63)
        roll(sim, 7)
    recorder.log.save(tmp_path / "log.safetensors")
    log = wl.ReplayLog.load(tmp_path / "log.safetensors", SHELLS)
    assert {episode.seed for episode in log.episodes(0)} == {3, WIDE}
    assert {episode.seed for episode in log.episodes(1)} == {3, WIDE, 2**63}
    replayed = [log.replay(w, episode) for w in range(4) for episode in log.episodes(w)]
    assert sum(sum(1 for _ in replay) for replay in replayed) == 4 * len(log)


def test_gymnasium_takes_and_returns_wide_seeds() -> None:
    env = wl.make("CartPole-v1", num_envs=2, device="python", seed=2**64 - 1)
    first = env.reset()[0].copy()
    assert env.np_random_seed == 2**64 - 1
    assert not (wl.make("CartPole-v1", num_envs=2, device="python", seed=2**32 - 1).reset()[0] == first).any()
    assert (env.reset(seed=env.np_random_seed)[0] == first).all()
    env.reset(seed=[2**63, 1])
    assert env.get_attr("np_random_seed") == (2**63, 1)


@pytest.mark.parametrize(
    ("seed", "reason"),
    [
        (2**64, "seeds are at most 2**64 - 1, which is 18,446,744,073,709,551,615, not 18446744073709551616"),
        (-1, "seeds are 0 or more, not -1"),
        (1.5, "seeds are one whole number, or one per world, shape (4,), not 1.5"),
        (True, "seeds are one whole number, or one per world, shape (4,), not True"),
        ("seven", "seeds are one whole number, or one per world, shape (4,), not 'seven'"),
        ([1, 2, 3], "seeds are one whole number, or one per world, shape (4,), not [1, 2, 3]"),
        (
            [1, 2, 3, 2**64],
            "seeds are at most 2**64 - 1, which is 18,446,744,073,709,551,615, not 18446744073709551616",
        ),
        ([2**63, 2, 3, -1], "seeds are 0 or more, not -1"),
        (np.zeros(4), "seeds are one whole number, or one per world, shape (4,), not float64 of shape (4,)"),
    ],
)
def test_what_is_no_seed_is_refused_in_one_sentence(seed: object, reason: str) -> None:
    with pytest.raises(wl.InputError) as refused:
        make(seed, "python")
    assert str(refused.value) == reason
    sim = make(0, "python")
    with pytest.raises(wl.InputError) as refused:
        sim.reset(seeds=seed)
    assert str(refused.value) == reason and sim.seeds.tolist() == [0] * 4


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_the_episode_count_ends_with_a_named_fault_and_never_wraps(device: str) -> None:
    sim = make(3, device)
    sim.world.episode.assign(np.array([5, 1_999_999_999, 2**31 - 2, 2**31 - 1], np.int32))
    faults = sim.errors()
    assert [(fault.world, fault.episode) for fault in faults] == [(2, 2**31 - 2), (3, 2**31 - 1)]
    assert "the episode count of this world ends at 2,147,483,647" in str(faults[0])
    for _ in range(3):
        sim.reset()
    assert sim.world.episode.numpy().tolist() == [8, 2_000_000_002, 2**31 - 1, 2**31 - 1]
    assert [fault.world for fault in sim.errors()] == [1, 2, 3]
    sim.reset(np.array([False, True, True, True]), seeds=4)
    assert sim.world.episode.numpy().tolist() == [8, 0, 0, 0] and sim.errors() == []
