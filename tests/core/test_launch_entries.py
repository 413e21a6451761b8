"""Launches in a schedule: same results as equivalent systems, in one graph with the systems around them."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from launch_worlds import JUDGE, OF_LAUNCHES, OF_SYSTEMS, Cell, Kernel, Note, Tank, churn_kernel, fill, grow_old, pay
from thorough import sample

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.measure import tune as tuning
from worldloom.core.measure.tune import tune_with
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime.executor import Executor
from worldloom.core.schedule.entries import CompactionNode, Entry, GridNode
from worldloom.core.schedule.schedule import plan
from worldloom.core.tools.compare import compare, first_difference
from worldloom.learn import DQN, PPO, DQNConfig, PolicyConfig, PPOConfig
from worldloom.learn.rollout.rollout_actor import max_truncations

pytestmark = pytest.mark.usefixtures("quick_compilation")

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]
MODES = ("same_step", "next_step", "disabled")


def actions(rng: np.random.Generator, worlds: int) -> np.ndarray:
    return rng.integers(0, 3, (worlds, 2)).astype(np.int32)


@pytest.mark.parametrize("mode", sample(MODES, 2))
def test_launches_do_what_systems_do(mode: str) -> None:
    """In every world and thread, in steps, in the engine's own resets and in those from outside."""
    systems, launches = (
        wl.Simulation(made, 7, seed=3, autoreset=mode, threads=3) for made in (OF_SYSTEMS, OF_LAUNCHES)
    )
    assert launches.slices == [(0, 2), (2, 4), (4, 7)]
    rng = np.random.default_rng(0)
    for step in range(24):
        given = actions(rng, 7)
        for sim in (systems, launches):
            sim.step(given)
        if step % 8 == 7:
            mask = rng.integers(0, 2, 7).astype(bool)
            for sim in (systems, launches):
                sim.reset(mask, seeds=step if step == 7 else None)
        assert first_difference(systems, launches, step) is None
    assert (systems.world.episode.numpy() > 0).any() and (systems[Cell].level.numpy()[..., 599] >= 24).all()


def test_interpreted_as_compiled() -> None:
    assert compare(OF_LAUNCHES, ("python", "cpu"), num_worlds=3, steps=12) is None


def test_a_step_is_one_recording_that_graphs_may_repeat(columns: Columns) -> None:
    whole, single = (wl.Simulation(OF_LAUNCHES, 6, seed=1, threads=2) for _ in range(2))
    assert not whole.has_host_calls and [len(part) for part in whole.executor.segments] == [1, 1]
    rng = np.random.default_rng(0)
    for _ in range(12):
        given = actions(rng, 6)
        whole.step(given)
        single[Cell].push.assign(given)
        single.enqueue_step()
    one, two = columns(whole), columns(single)
    assert all(np.array_equal(values, two[name]) for name, values in one.items())


def test_a_new_configuration_is_recorded_anew() -> None:
    systems, launches = (wl.Simulation(made, 6, seed=1) for made in (OF_SYSTEMS, OF_LAUNCHES))
    for sim in (systems, launches):
        sim.set_config("rate", np.arange(6, dtype=np.int32))
        sim.step(np.ones((6, 2), np.int32))
    assert first_difference(systems, launches, 1) is None


# -- order -----------------------------------------------------------------------------------------------------------


def parts(*step: object) -> list[list[str] | str]:
    """The entries of a step: kernels with the world's own systems in them, and launches."""
    sim = wl.Simulation(
        wl.Definition("Tank-test", Tank, {Cell: 2}, step=step), 1, "python", autoreset="disabled", checks=False
    )
    entries = generate(sim.schedule, fuse=True, cuda=False).step
    found = [
        e.name if isinstance(e, LaunchNode) else [label.partition("(")[0] for label in e.labels if "(" in label]
        for e in entries
    ]
    return [part for part in found if part]


def test_systems_stay_on_their_side_of_what_they_depend_on() -> None:
    assert parts(grow_old, Note("reader", reads=("age",)), pay) == [["grow_old", "pay"], "reader"]
    assert parts(fill, Note("reader", reads=("stock",)), pay) == [["fill", "pay"], "reader"]
    assert parts(pay, Note("reader", reads=("stock",)), fill) == ["reader", ["pay", "fill"]]
    assert parts(fill, Note("writer", writes=("stock",)), pay) == [["fill"], "writer", ["pay"]]
    assert parts(pay, Note("writer", writes=("stock",)), grow_old) == [["pay", "grow_old"], "writer"]
    assert parts(pay, Note("writer", writes=("stock",)), fill) == [["pay"], "writer", ["fill"]]


def test_systems_wait_for_others_behind_a_launch_that_they_have_nothing_to_do_with() -> None:
    assert parts(grow_old, Note("writer", writes=("stock",)), pay) == ["writer", ["grow_old", "pay"]]
    assert parts(grow_old, Note("writer", writes=("stock", "age")), pay) == [["grow_old"], "writer", ["pay"]]


def test_a_launch_keeps_its_place_among_launches_and_is_known_by_its_label() -> None:
    twin = Note("writer", writes=("age",))
    assert parts(Note("writer", writes=("stock",)), twin, Note("reader"), twin) == [
        "writer",
        "writer 2",
        "reader",
        "writer 2",
    ]


class Bird(wl.Entity):
    position: wl.vec2
    flock: int


class Air(wl.World):
    pass


@wl.system
def gather(bird: Bird, world: Air):
    bird.flock = 0
    for _ in world.near(Bird, bird.position, 1.0):
        bird.flock += 1


@wl.system
def hatch(world: Air):
    world.spawn(Bird, position=wl.vec2(1.0, 2.0))


class Blow(wl.Launch):
    writes = {Bird: ("position",)}


class Count(wl.Launch):
    reads = {Bird: ("flock",)}


def kinds(count: int | wl.UpTo, *step: object) -> list[str]:
    def name(entry: Entry) -> str:
        return type(entry).__name__ if isinstance(entry, (GridNode, CompactionNode)) else entry.label

    entries = plan(wl.Definition("Birds-test", Air, {Bird: count}, step=step), "disabled", checks=False).step
    return [name(entry) for entry in entries if name(entry) not in ("begin_step", "judge_faults", "end_step")]


def test_what_the_engine_derives_is_brought_up_to_date_for_and_after_launches() -> None:
    assert kinds(3, gather, Blow(), gather) == ["GridNode", "gather(Bird)", "Blow", "GridNode", "gather(Bird)"]
    assert kinds(3, gather, Count(), gather) == ["GridNode", "gather(Bird)", "Count", "gather(Bird)"]
    assert kinds(wl.UpTo(3), hatch, Count()) == ["hatch", "CompactionNode", "Count"]
    (node,) = [
        e
        for e in plan(wl.Definition("Birds-test", Air, {Bird: wl.UpTo(3)}, step=(Count(),)), "disabled", False).step
        if isinstance(e, LaunchNode)
    ]
    assert ("World", "Bird__count") in node.reads, "who looks at a population looks at how many there are"


# -- what is kept ----------------------------------------------------------------------------------------------------


class Holds:
    """Something that a simulation keeps for a launch."""


class Hold(Note):
    def prepare(self, simulation: wl.Simulation) -> Holds:
        self.made = [*getattr(self, "made", []), weakref.ref(found := Holds())]
        return found

    def launch(self, prepared: Holds, shard: wl.Shard) -> None:
        assert isinstance(prepared, Holds)


def test_every_simulation_prepares_once_and_lets_go() -> None:
    hold = Hold("hold")
    made = wl.Definition("Tank-test", Tank, {Cell: 1}, reset=(hold,), step=(hold, hold), observe=(hold,))
    one, two = (wl.Simulation(made, 2, device, seed=0) for device in ("cpu", "python"))
    one.step()
    two.step()
    assert len(hold.made) == 2 and hold.made[0]() is not hold.made[1]()
    one.close()
    del two
    gc.collect()
    assert [ref() for ref in hold.made] == [None, None]


def test_snapshots_forks_and_replays(columns: Columns) -> None:
    sim = wl.Simulation(OF_LAUNCHES, 4, seed=2)
    rng, seen = np.random.default_rng(1), []
    with sim.record(every=7) as recorder:
        for _ in range(25):
            sim.step(actions(rng, 4))
            seen.append(sim[Cell].stock.numpy()[2].copy())
    episode = recorder.log.episodes(2)[1]
    with recorder.log.replay(2, episode) as again:
        alone = [played[Cell].stock.numpy()[0].copy() for played in again]
    first = len(recorder.log.episodes(2)[0])
    np.testing.assert_array_equal(alone, seen[first : first + len(episode)])
    taken, given = sim.snapshot(), [actions(rng, 4) for _ in range(12)]
    histories = []
    for _ in range(2):
        sim.restore(taken)
        for now in given:
            sim.step(now)
        histories.append(columns(sim))
    assert all(np.array_equal(values, histories[1][name]) for name, values in histories[0].items())
    sim.copy_worlds(0, [1, 2])
    assert (sim[Cell].seen.numpy()[1:3] == sim[Cell].seen.numpy()[0]).all()


def test_the_hash_of_a_world_covers_its_launches() -> None:
    other = Kernel(churn_kernel, [(Tank, "rate"), (Cell, "push"), (Cell, "stock"), (Cell, "level")], ("stock", "level"))
    same = replace(OF_LAUNCHES, reset=(fill, other), step=(other, grow_old, pay, JUDGE))
    assert same.hash == OF_LAUNCHES.hash != OF_SYSTEMS.hash
    other.digest = lambda: "another kernel"
    assert replace(same, id=same.id).hash != OF_LAUNCHES.hash
    narrower = Kernel(churn_kernel, [(Tank, "rate"), (Cell, "push"), (Cell, "stock"), (Cell, "level")], ("stock",))
    assert replace(OF_LAUNCHES, step=(narrower, grow_old, pay, JUDGE)).hash != OF_LAUNCHES.hash


# -- looking at it ---------------------------------------------------------------------------------------------------


def test_explained_profiled_and_left_alone_by_tuning(columns: Columns) -> None:
    sim = wl.Simulation(OF_LAUNCHES, 6, seed=1, threads=2)
    explanation = sim.explain()
    assert explanation.launches == (
        "churn",
        "judge",
        "paint",
        "keep_Cell_arrays where finished",
        "clear_Cell_arrays where finished",
        "churn where finished",
        "paint where finished",
    )
    assert "keep_Cell_arrays" in explanation.engine and "churn" not in explanation.engine and not explanation.callables
    why = "it runs once per world and reads 'broken' of the world, which name_bad_numbers_Cell writes for every Cell"
    assert f"judge_faults starts a kernel of its own: {why}" in explanation.separate
    before = columns(sim)
    found = sim.profile(3)
    assert [(k.name, k.on_reset, k.engine) for k in found.kernels if not k.systems] == [
        ("churn", False, False),
        ("judge", False, False),
        ("paint", False, False),
        ("keep_Cell_arrays", True, True),
        ("clear_Cell_arrays", True, True),
        ("churn", True, False),
        ("paint", True, False),
    ]
    assert {"churn", "paint"} <= {s.name for s in found.systems} and all(s.seconds > 0.0 for s in found.systems)
    assert {(event.name, event.shard) for event in found.events if event.name == "churn"} == {
        ("churn", shard) for shard in range(len(sim.slices))
    }
    assert any("churn" in line and line.split()[-3:] == ["-"] * 3 for line in str(found).splitlines()), (
        "what a launch moves is not known"
    )
    assert "Launches of kernels of their own" in str(explanation)
    tuned = tune_with(sim, blocks=(1,), limits=())
    assert {k.name for k in tuned.kernels} == {
        e.name for e in (*sim.program.step, *sim.program.reset) if isinstance(e, KernelSpec)
    }
    after = columns(sim)
    assert all(np.array_equal(values, after[name]) for name, values in before.items())


def test_tuning_measures_a_step_with_its_launches() -> None:
    sim = wl.Simulation(OF_LAUNCHES, 2, seed=1)
    with tuning.PreservedState(sim) as state:
        bench = tuning.KernelBenchmark(sim, state, lambda: None)
    assert [entry.name for entry in bench.launchables["step"]] == [entry.name for entry in sim.program.step]
    assert not any(isinstance(spec, LaunchNode) for spec in bench.specs.values())


def test_heavy_worlds_get_threads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(3), raising=False)
    monkeypatch.setattr(Executor, "_record_all", lambda self: ([], []))
    assert wl.Simulation(OF_LAUNCHES, 3, seed=0).slices == [(0, 3)]
    assert wl.Simulation(OF_LAUNCHES, 7, seed=0).slices == [(0, 2), (2, 4), (4, 7)]
    assert len(wl.Simulation(replace(OF_LAUNCHES, worlds_per_thread=1024), 7, seed=0).slices) == 1


# -- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learn", sample(["ppo", "dqn"], 1))
def test_worlds_with_launches_train(learn: str) -> None:
    common = {"num_envs": 8, "total_steps": 256, "device": "cpu", "seed": 0, "policy": PolicyConfig(hidden=(8,))}
    if learn == "ppo":
        trainer = PPO(OF_LAUNCHES, PPOConfig(num_steps=16, **common))
    else:
        trainer = DQN(OF_LAUNCHES, DQNConfig(replay_capacity=128, batch_size=16, learning_starts=64, **common))
    trainer.learn()
    assert trainer.steps >= 256 and not trainer.simulation.has_host_calls
    (learner,) = trainer.learners.values()
    assert all(bool(torch.isfinite(p).all()) for p in learner.policy.parameters())


def test_a_launch_that_truncates_is_known_to() -> None:
    cutting = Note("cut")
    cutting.writes = {Tank: ("truncated",)}
    worlds = [wl.Definition("Tank-test", Tank, {Cell: 1}, step=(entry,)) for entry in (cutting, Note("look"))]
    assert [max_truncations(wl.Simulation(made, 1, "python"), 32) for made in worlds] == [32, 0]
