"""Populations on CUDA: the model of the CPU's tests, crowds larger than a warp, thousands of worlds against the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worldloom as wl
from worldloom.core.tools.compare import compare, first_difference

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from population_run import MOODS, STEPS_PER_MOOD, Mood, Run, orders
from population_worlds import CROWDED, VARIANTS, Rules
from test_population_model import MOODS_PER_PROGRAM, TRIED, simulation

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

CUDA = "cuda:0"


@pytest.mark.parametrize(
    ("rules", "programs"), [*[(rules, 50) for rules in VARIANTS], (CROWDED, 10)], ids=lambda r: getattr(r, "name", r)
)
def test_the_engine_is_the_model(rules: Rules, programs: int) -> None:
    steps = 0

    @settings(TRIED, max_examples=programs)
    @given(st.lists(MOODS, min_size=MOODS_PER_PROGRAM, max_size=MOODS_PER_PROGRAM))
    def try_programs(moods: list[Mood]) -> None:
        nonlocal steps
        run = Run(rules, simulation(rules, CUDA))
        run.play(moods)
        steps += run.steps

    try_programs()
    assert steps >= programs * MOODS_PER_PROGRAM * STEPS_PER_MOOD


@pytest.mark.parametrize("rules", [VARIANTS[0], CROWDED], ids=lambda r: r.name)
def test_thousands_of_worlds_as_on_the_cpu(rules: Rules) -> None:
    worlds = 2_000
    sims = [wl.Simulation(rules.definition, worlds, device, seed=3) for device in ("cpu", CUDA)]
    rng = np.random.default_rng(0)
    mood = Mood(0, leave=0.1, breed=0.3, shed=0.2, spark=0.2, turn=0.1, wardens=0.3, world=0.3, resets=0.0)
    for step in range(60):
        given_now = orders(mood, rng, worlds, rules)
        for sim in sims:
            for table, values in given_now.items():
                sim[table].order.assign(values)
            sim.step()
        found = first_difference(sims[0], sims[1], step + 1)
        assert found is None, str(found)
    assert int(sims[0]["Mote"].counts.numpy().sum()) > worlds


def test_a_run_repeats_itself_bit_for_bit() -> None:
    """Threads spawn in any order; the tables do not show it."""
    traces = []
    for _ in range(2):
        with wl.Simulation(CROWDED.definition, 256, CUDA, seed=1) as sim:
            rng = np.random.default_rng(4)
            mood = Mood(0, leave=0.2, breed=0.9, shed=0.9, spark=0.9, turn=0.3, wardens=0.9, world=0.3, resets=0.0)
            for _ in range(20):
                for table, values in orders(mood, rng, 256, CROWDED).items():
                    sim[table].order.assign(values)
                sim.step()
            traces.append({name: sim[name].rows("wl_serial").cpu().numpy().tobytes() for name in CROWDED.limits})
    assert traces[0] == traces[1]


def test_exports_stay_on_the_device() -> None:
    with wl.Simulation(VARIANTS[0].definition, 8, CUDA, seed=0) as sim:
        table = sim["Mote"]
        assert all(t.is_cuda for t in (table.offsets, table.mask, table.rows("number"), table.padded("place", -1.0)))
        assert table.rows("number").shape[0] == int(table.counts.numpy().sum())


def test_too_many_are_an_error_of_this_or_a_later_step() -> None:
    """The host does not wait for the GPU, so it may hear of them late; never not at all."""
    error = next(rules for rules in VARIANTS if rules.name == "error")
    with wl.Simulation(error.definition, 4, CUDA, seed=0) as sim:
        with pytest.raises(wl.CapacityError, match=r"world 2, episode 0, step .*more Mote were spawned"):
            for _ in range(50):
                sim.world.order.assign(np.array([28, 28, 31, 28], np.int32))
                sim.step()
        sim.world.order.assign(np.full(4, 28, np.int32))
        sim.step()
        assert sim.world.episode.numpy()[2] >= 1 and sim["Mote"].counts.numpy()[2] < 6


@pytest.mark.parametrize("name", ["predator_prey", "bullets"])
def test_the_games_agree_with_the_cpu(name: str) -> None:
    world = __import__(name).WORLD
    assert compare(world, ("cpu", CUDA), num_worlds=64, steps=100) is None
