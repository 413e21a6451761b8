"""The engine's own systems: resets, counters, checks and final observations."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule.long_arrays import LONG
from worldloom.core.schedule.table_views import make_table_views
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

DEVICES = ["python", "cpu"]
MODES = ["same_step", "next_step", "disabled"]


class Plant(wl.Entity):
    """Every kind of component that a reset brings back, or leaves."""

    height: float = 0.5
    leaves: int = 3
    sick: bool
    spot: wl.vec2 = wl.vec2(1.0, -2.0)
    turn: wl.mat22 = 4.0
    rings: wl.Array(int, 4) = 7
    grid: wl.Array(float, 2, 3)
    record: wl.Persistent(float) = 9.0
    neighbour: wl.Ref("Plant")
    water: wl.Action(wl.Box(0.0, 1.0, shape=(2,)))
    food: wl.Action(wl.MultiDiscrete(2, 3))
    light: wl.Finite(wl.vec2)
    traces: wl.Finite(wl.Array(float, 3))
    sight: wl.Observation(2)
    picture: wl.Observation(4, 5, dtype=wl.uint8)
    long: wl.Observation(18)
    reward: wl.Reward


class Garden(wl.World):
    season: int = 2
    total: float
    age: wl.Persistent(int)
    scene: wl.Observation(2)
    harvest: wl.Reward


@wl.system
def live(plant: Plant, world: Garden):
    plant.height += 1.0
    plant.leaves += 1
    plant.sick = True
    plant.spot.x += 1.0
    plant.turn[0, 1] += 1.0
    plant.record += 1.0
    for i in range(4):
        plant.rings[i] += i
    plant.grid[1, 2] += 1.0
    plant.neighbour = plant.ref
    plant.reward += plant.height
    world.total += plant.height


@wl.system
def turn_over(world: Garden):
    world.season += 1
    world.age += 1
    world.harvest = world.total


@wl.system
def look(plant: Plant, world: Garden):
    plant.sight = wl.vec2(plant.height, float(world.season))
    plant.picture[3, 4] = wl.uint8(plant.leaves)
    plant.long[17] = plant.height


@wl.system
def look_around(world: Garden):
    world.scene = wl.vec2(world.total, float(world.season))


GARDEN = wl.Definition(
    "Garden-test", Garden, {Plant: 2}, step=(live, turn_over), observe=(look, look_around), max_steps=3
)

CALM = {"Plant.water": np.zeros((3, 2, 2), np.float32), "Plant.food": np.zeros((3, 2, 2), np.int32)}


@pytest.mark.parametrize("device", DEVICES)
def test_a_reset_brings_back_every_default(device: str) -> None:
    sim = wl.Simulation(GARDEN, 3, device, seed=0, autoreset="disabled")
    fresh = {c.name: np.array(c.numpy()) for t in sim.tables.values() for c in t}
    assert (
        (fresh["Plant.height"] == 0.5).all()
        and (fresh["Plant.rings"] == 7).all()
        and (fresh["Plant.turn"] == 4.0).all()
    )
    assert (
        fresh["Plant.spot"][0, 0].tolist() == [1.0, -2.0]
        and (fresh["Plant.neighbour"] == -1).all()
        and (fresh["World.season"] == 2).all()
    )
    sim.step(CALM)
    assert sim["Plant"].rings.numpy()[0, 0].tolist() == [7, 8, 9, 10] and sim["Plant"].grid.numpy()[1, 1, 1, 2] == 1.0
    assert sim["Plant"].neighbour.numpy()[0].tolist() == [0, 1] and sim["Plant"].turn.numpy()[0, 0].tolist() == [
        [4.0, 5.0],
        [4.0, 4.0],
    ]
    sim.reset()
    for table in sim.tables.values():
        for column in table:
            kept = {"Plant.record": 10.0, "World.age": 1, "World.episode": 1}.get(column.name)
            wanted = fresh[column.name] if kept is None else np.full(column.shape, kept)
            np.testing.assert_array_equal(column.numpy(), wanted, err_msg=column.name)


@pytest.mark.parametrize("device", DEVICES)
def test_every_observation_is_kept(device: str) -> None:
    """Vectors, pictures, long ones, and those of the world."""
    sim = wl.Simulation(GARDEN, 3, device, seed=0)
    for _ in range(3):
        sim.step(CALM)
    plant, world = sim["Plant"], sim.world
    assert sim.truncated.numpy().all()
    assert plant.final_sight.numpy()[0, 0].tolist() == [3.5, 5.0] and plant.sight.numpy()[0, 0].tolist() == [0.5, 2.0]
    assert plant.final_picture.numpy()[2, 1, 3].tolist() == [0, 0, 0, 0, 6] and plant.picture.numpy()[
        2, 1, 3
    ].tolist() == [0, 0, 0, 0, 3]
    assert plant.final_long.numpy()[1, 0, 17] == 3.5 and plant.long.numpy()[1, 0, 17] == 0.5
    assert world.final_scene.numpy()[0].tolist() == [15.0, 5.0] and world.scene.numpy()[0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("device", DEVICES)
def test_rewards_start_from_nothing_at_every_step(device: str) -> None:
    sim = wl.Simulation(GARDEN, 3, device, seed=0, autoreset="disabled")
    for step in range(1, 4):
        sim.step(CALM)
        assert (sim["Plant"].reward.numpy() == 0.5 + step).all()
    assert (sim.world.harvest.numpy() == 2 * (1.5 + 2.5 + 3.5)).all()
    sim.reset()
    assert not sim["Plant"].reward.numpy().any() and not sim.world.harvest.numpy().any()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("Plant.water", (1, 1, 0), np.nan, "action water of Plant 1 is not a finite number"),
        ("Plant.water", (1, 0, 1), np.inf, "action water of Plant 0 is not a finite number"),
        ("Plant.food", (1, 0, 0), 2, "action Plant.food[0] is 2, which is not in 0 to 1"),
        ("Plant.food", (1, 1, 1), -1, "action Plant.food[1] is -1, which is not in 0 to 2"),
    ],
)
def test_every_kind_of_action_is_checked(device: str, name: str, place: tuple, value: float, words: str) -> None:
    sim = wl.Simulation(GARDEN, 3, device, seed=0)
    actions = {n: v.copy() for n, v in CALM.items()}
    actions[name][place] = value
    sim.step(actions)
    assert [(f.world, f.step, f.message) for f in sim.errors()] == [(1, 0, words)]
    assert sim.truncated.numpy().tolist() == [False, True, False]
    sim.step(CALM)
    assert sim.errors() == []


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("column", "place"), [("light", (2, 1, 0)), ("light", (2, 0, 1)), ("traces", (2, 0, 2))])
def test_every_kind_of_flagged_column_is_checked(device: str, column: str, place: tuple) -> None:
    sim = wl.Simulation(GARDEN, 3, device, seed=0)
    sim["Plant"][column].numpy()[place] = np.nan
    sim.step(CALM)
    assert [(f.world, f.message) for f in sim.errors()] == [(2, f"{column} of Plant {place[1]} is not a finite number")]
    assert sim.truncated.numpy().tolist() == [False, False, True]
    assert np.isfinite(sim["Plant"][column].numpy()).all()


def test_the_tables_that_the_engine_adds_to(race: wl.Definition) -> None:
    kept, lost = (make_table_views(race, keep_final=keep) for keep in (True, False))
    assert list(kept) == ["World", "Runner"]
    assert {"active", "terminated", "truncated", "final_sight"} <= set(kept["Runner"].fields)
    assert "final_sight" not in lost["Runner"].fields
    assert "active" not in make_table_views(GARDEN, keep_final=True)["Plant"].fields
    assert "final_sight" not in race.world.fields and "active" not in next(iter(race.entities)).fields, (
        "the user's classes stay as they were"
    )


@pytest.mark.parametrize("mode", MODES)
def test_interpreted_as_compiled_in_every_mode(race: wl.Definition, columns, mode: str) -> None:
    sims = [
        wl.Simulation(race, 6, device, seed=2, autoreset=mode, config={"goal": np.arange(2, 8, dtype=np.int32)})
        for device in DEVICES
    ]
    rng = np.random.default_rng(0)
    for step in range(25):
        actions = rng.choice(3, (6, 2), p=[0.8, 0.1, 0.1]).astype(np.int32)
        for sim in sims:
            sim.step(actions)
        slow, fast = (columns(sim) for sim in sims)
        for name, values in slow.items():
            np.testing.assert_array_equal(fast[name], values, err_msg=f"{name}, step {step}")
    assert (fast["World.episode"] > 0).all() or mode == "disabled"


class Scroll(wl.Entity):
    text: wl.Observation(LONG + 3)
    notes: wl.Array(int, 3, LONG) = 5
    short: wl.Array(int, 20) = 6


class Library(wl.World):
    shelf: wl.Array(int, LONG + 1) = 4


@wl.system
def write(scroll: Scroll, world: Library):
    scroll.notes[2, world.step] += 1
    scroll.short[world.step] += 1


@wl.system
def note(world: Library):
    world.shelf[world.step] += 1


@wl.system
def copy_out(scroll: Scroll, world: Library):
    scroll.text[LONG + 2] = float(world.step + 10 * scroll.id)


def test_long_arrays_are_kept_and_cleared() -> None:
    """By kernels of their own, between those that the threads of Python run here."""
    made = wl.Definition("Library-test", Library, {Scroll: 2}, step=(write, note), observe=(copy_out,), max_steps=2)
    cpu, threads = (wl.Simulation(made, 2, "cpu", seed=0) for _ in range(2))
    machine = Machine(threads)
    apart = [entry.label for entry in machine.program.step if isinstance(entry, LaunchNode)]
    assert apart == ["keep_Scroll_arrays", "clear_World_arrays", "clear_Scroll_arrays"]
    for step in range(3):
        cpu.step()
        machine.step()
        assert first_difference(cpu, threads, step) is None
        changed = [
            int((sim_column.numpy() != value).sum())
            for sim_column, value in ((cpu[Scroll].notes, 5), (cpu[Scroll].short, 6), (cpu.world.shelf, 4))
        ]
        assert changed == ([0, 0, 0] if step == 1 else [4, 4, 2])
    np.testing.assert_array_equal(cpu[Scroll].final_text.numpy()[:, :, -2:], [[[0.0, 2.0], [0.0, 12.0]]] * 2)
