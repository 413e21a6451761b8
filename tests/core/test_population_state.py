"""Populations in snapshots and recordings."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.state.replay_log import ReplayLog

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Spark(wl.Entity):
    heat: float
    parent: wl.Ref[Spark]


class Fire(wl.World):
    pass


@wl.system
def light(world: Fire):
    for _ in range(3):
        world.spawn(Spark, heat=world.random(1.0, 2.0))


@wl.system
def burn(spark: Spark, world: Fire):
    spark.heat -= 0.3
    if spark.heat < 0.0:
        spark.despawn()
    elif world.random() < 0.4:
        world.spawn(Spark, heat=world.normal(1.0, 0.2), parent=spark.ref)


def made(limit: wl.UpTo) -> wl.Definition:
    return wl.Definition("Fire-state", Fire, {Spark: limit}, reset=(light,), step=(burn,), max_steps=12)


@pytest.mark.parametrize(
    "limit", [wl.UpTo(30, overflow="drop"), wl.UpTo(30, batch=200, overflow="drop")], ids=["per world", "pooled"]
)
def test_a_snapshot_goes_on_as_it_was(limit: wl.UpTo) -> None:
    sim = wl.Simulation(made(limit), 20, seed=1)
    for _ in range(7):
        sim.step()
    kept = sim.snapshot()

    def rows() -> list[np.ndarray]:
        for _ in range(20):
            sim.step()
        return [
            sim[Spark].counts.numpy().copy(),
            sim[Spark].rows("heat").clone().numpy(),
            sim[Spark].rows("wl_serial").clone().numpy(),
        ]

    wanted = rows()
    sim.restore(kept)
    assert all(np.array_equal(a, b) for a, b in zip(wanted, rows(), strict=True))


@pytest.mark.parametrize(
    "limit", [wl.UpTo(30, overflow="drop"), wl.UpTo(30, batch=200, overflow="drop")], ids=["per world", "pooled"]
)
@pytest.mark.parametrize("count", [-1, 31, 50_000_000])
def test_numbers_that_there_cannot_be_are_refused(limit: wl.UpTo, count: int) -> None:
    sim = wl.Simulation(made(limit), 4, seed=1)
    kept, before = sim.snapshot(), sim[Spark].counts.numpy().copy()
    counts = kept.tensors["World.Spark__count"].clone()
    counts[2] = count
    with pytest.raises(InputError, match=f"Spark__count of world 2 holds {count:,}, and it must be between 0 and 30"):
        sim.restore(replace(kept, tensors={**kept.tensors, "World.Spark__count": counts}))
    assert np.array_equal(sim[Spark].counts.numpy(), before)


@pytest.mark.parametrize("name", ["World.Spark__first", "Spark.wl_world"])
def test_rows_that_there_cannot_be_are_refused(name: str) -> None:
    sim = wl.Simulation(made(wl.UpTo(30, batch=200)), 4, seed=1)
    kept = sim.snapshot()
    rows = kept.tensors[name].clone()
    rows[1] = 1000
    with pytest.raises(InputError, match=r"Spark__first of world 1 holds 1,000, where|wl_world names other worlds"):
        sim.restore(replace(kept, tensors={**kept.tensors, name: rows}))


@pytest.mark.parametrize("exact", sample([False, True], 1))
def test_an_episode_of_a_world_with_other_numbers_is_played_again(tmp_path: Path, exact: bool) -> None:
    registered = made(wl.UpTo(8))
    sim = wl.Simulation(registered, 6, seed=4, counts={Spark: wl.UpTo(40, overflow="drop")}, exact=exact)
    with sim.record() as recorder:
        for _ in range(30):
            sim.step()
    recorder.log.save(tmp_path / "log.safetensors")
    log = ReplayLog.load(tmp_path / "log.safetensors", registered)
    assert log.exact == exact and log.definition.entities[Spark] == wl.UpTo(40, overflow="drop")
    for device in ("cpu", "python"):
        assert len(list(log.replay(5, 1, device=device))) == 12


def test_an_episode_that_ended_in_an_overflow_is_played_again() -> None:
    sim = wl.Simulation(made(wl.UpTo(5)), 8, seed=2)
    with sim.record() as recorder:
        for _ in range(25):
            with contextlib.suppress(wl.CapacityError):
                sim.step()
    episodes = [e for world in range(8) for e in recorder.log.episodes(world)]
    assert any(e.truncated and len(e) < 12 for e in episodes)
    for episode in episodes:
        assert len(list(recorder.log.replay(episode.world, episode.number, device="python"))) == len(episode)


def test_what_is_recorded_is_not_measured() -> None:
    sim = wl.Simulation(made(wl.UpTo(30)), 2, seed=2)
    with sim.record(), pytest.raises(InputError, match="being recorded cannot be profiled"):
        sim.profile(2)
    assert len(sim.profile(2).kernels) > 0


def test_a_restore_forgets_what_a_broken_step_left() -> None:
    sim = wl.Simulation(made(wl.UpTo(30)), 2, seed=2)
    kept = sim.snapshot()
    sim.world["Spark__pending"].fill(3)
    sim.restore(kept)
    assert not sim.world["Spark__pending"].numpy().any()


def test_definitions_are_checked_however_they_were_made() -> None:
    with pytest.raises(wl.DefinitionError, match="overflow='eror', which is none of error, reset, drop"):
        wl.Simulation(made(wl.UpTo(5, overflow="eror")), 2)
    kind = type("Spark__new", (wl.Entity,), {"__annotations__": {"heat": float}})
    with pytest.raises(wl.DefinitionError, match="'Spark__new' is a name reserved for the engine"):
        wl.Simulation(wl.Definition("Odd-state", Fire, {kind: 1}), 2)


@pytest.mark.parametrize("device", ["cpu", "python"])
@pytest.mark.parametrize("count", [-5, 1_000_000])
def test_numbers_written_from_outside_do_no_harm(device: str, count: int) -> None:
    sim = wl.Simulation(made(wl.UpTo(30, overflow="drop")), 4, device, seed=2)
    sim[Spark].counts.fill(count)
    for _ in range(14):
        sim.step()
    assert ((sim[Spark].counts.numpy() >= 0) & (sim[Spark].counts.numpy() <= 30)).all()
