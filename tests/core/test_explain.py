"""Explanations: what shares a kernel, why the rest does not, and what that saves."""

from __future__ import annotations

from dataclasses import replace

import pytest

import worldloom as wl
from worldloom.core.measure.explain import Explanation, step_bytes


class Robot(wl.Entity):
    position: wl.vec2
    nearest: float
    bumps: int


class Hall(wl.World):
    busy: int
    pace: wl.Config = 0.1


@wl.system
def move(robot: Robot, world: Hall):
    robot.position += wl.vec2(world.pace, 0.0)


@wl.system
def turn(robot: Robot):
    robot.position = wl.vec2(robot.position.y, robot.position.x)


@wl.system
def see(robot: Robot, world: Hall):
    robot.nearest = 1000.0
    for other in world.all(Robot):
        if other.id != robot.id:
            robot.nearest = min(robot.nearest, wl.length(other.position - robot.position))


@wl.system
def push(robot: Robot, world: Hall):
    for other in world.all(Robot):
        other.bumps += 1


@wl.system
def feel(robot: Robot):
    robot.nearest = robot.nearest + float(robot.bumps)


@wl.system
def count(world: Hall):
    for robot in world.all(Robot):
        world.busy += robot.bumps


def pause(simulation: wl.Simulation) -> None:
    pass


HALL = wl.Definition("Hall-test", Hall, {Robot: 3}, step=(move, turn, see, push, feel, count, pause, move))


@pytest.fixture(scope="module")
def hall() -> Explanation:
    return wl.Simulation(HALL, 2, "python", seed=0, autoreset="disabled").explain()


def kernel_of(explanation: Explanation, system: str, phase: str = "step"):
    return next(k for k in explanation.kernels if k.phase == phase and system in k.systems)


def test_neighbours_that_share_a_kernel(hall: Explanation) -> None:
    kernel = kernel_of(hall, "move(Robot)")
    assert kernel.systems[:2] == ("move(Robot)", "turn(Robot)") and kernel.threads_per_world == 3
    assert kernel.loads == ("Robot.position", "World.pace") and kernel.stores == ("Robot.position",)
    assert (kernel.bytes_read, kernel.bytes_written) == (3 * 8, 3 * 8), "each column once, configuration not at all"


@pytest.mark.parametrize(
    ("system", "reason"),
    [
        ("see(Robot)", "it reads 'position' of any Robot, which move(Robot) writes"),
        ("feel(Robot)", "it reads its own 'bumps', which push(Robot) changes from other rows"),
        ("count", "it runs once per world and reads 'bumps' of any Robot, which push(Robot) writes for every Robot"),
    ],
)
def test_reasons_in_the_words_of_the_world(hall: Explanation, system: str, reason: str) -> None:
    assert kernel_of(hall, system).reason == reason
    assert f"{system} starts a kernel of its own: {reason}" in hall.separate


def test_callables_keep_kernels_apart(hall: Explanation) -> None:
    last = [k for k in hall.kernels if k.phase == "step" and "move(Robot)" in k.systems][-1]
    assert hall.callables == ("pause",) and last.reason == "the callable pause comes before it"


def test_the_first_kernel_has_nothing_before_it(hall: Explanation) -> None:
    assert hall.kernels[0].reason == "it comes first"
    assert len(hall.separate) == len([k for k in hall.kernels if k.phase == "step"]) - 1


def test_cartpole_saves_bytes() -> None:
    found = wl.Simulation("CartPole-v1", 2, "python", seed=0).explain()
    assert [k.phase for k in found.kernels] == ["step", "reset"] and found.systems == len(found.kernels[0].systems)
    assert found.bytes_fused == found.kernels[0].bytes_read + found.kernels[0].bytes_written < found.bytes_unfused
    assert "Cart.final_sight" in found.kernels[0].sometimes, "kept only where an episode ends"
    assert {"begin_step", "end_step"} <= set(found.engine) and "swing(Cart)" not in found.engine


def test_compiled_and_interpreted_are_explained_alike() -> None:
    compiled = wl.Simulation("CartPole-v1", 2, "cpu", seed=0)
    assert compiled.explain() == wl.Simulation("CartPole-v1", 2, "python", seed=0).explain()
    assert compiled.explain().bytes_fused == step_bytes(compiled.program)


def test_without_fusing_nothing_is_saved() -> None:
    found = wl.Simulation("CartPole-v1", 2, "cpu", seed=0, fuse=False).explain()
    assert found.bytes_fused == found.bytes_unfused
    assert {k.reason for k in found.kernels} == {"fusing is off"}


def test_it_prints(hall: Explanation) -> None:
    text = str(hall)
    assert text.startswith("Hall-test: the ") and "systems of a step run as" in text.splitlines()[0]
    assert f"{hall.bytes_unfused:,} with a kernel for each system, {hall.bytes_fused:,} fused" in text
    assert "see(Robot): it reads 'position' of any Robot, which move(Robot) writes" in text


def test_a_kernel_that_runs_twice_is_shown_once(hall: Explanation) -> None:
    printed = str(replace(hall, kernels=(*hall.kernels, hall.kernels[0])))
    name = hall.kernels[0].name
    assert printed.count(f"{name} (step)") == 2 and f"{name} (step): again" in printed


def test_kernels_beside_others_are_named(hall: Explanation) -> None:
    beside = replace(hall, kernels=(replace(hall.kernels[0], beside=True),))
    what = "the last observations and the resets of finished worlds"
    assert what in str(beside) and what not in str(hall)


def test_a_closed_simulation_explains_nothing() -> None:
    simulation = wl.Simulation("CartPole-v1", 2, "python", seed=0)
    simulation.close()
    with pytest.raises(wl.InputError, match="closed"):
        simulation.explain()


class Spark(wl.Entity):
    heat: float = 1.0


class Lamp(wl.Entity):
    age: int
    marks: wl.Array(int, 4)


class Night(wl.World):
    pass


@wl.system
def strike(world: Night):
    world.spawn(Spark, heat=2.0)


@wl.system
def count_steps(lamp: Lamp, world: Night):
    lamp.age = world.step


@wl.system
def mark(lamp: Lamp, world: Night):
    lamp.marks[lamp.age] = 1


@wl.system
def cool(spark: Spark, world: Night):
    spark.heat *= 0.5


def test_a_system_is_not_said_to_look_at_a_population_that_it_never_touches() -> None:
    night = wl.Definition(
        "ExplainNight-v0", Night, {Spark: wl.UpTo(4), Lamp: 3}, step=(strike, cool, count_steps, mark)
    )
    reasons = {
        kernel.whose: kernel.reason
        for kernel in wl.Simulation(night, 4, "python").explain().kernels
        if kernel.phase == "step"
    }
    assert "it uses Spark" in reasons["cool(Spark)"]
    assert reasons["count_steps(Lamp)"] == "it reads 'step' of the world, and so does the compaction of Spark before it"
