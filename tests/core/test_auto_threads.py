"""``threads="auto"``: one thread or a warp, by what the shared loops of a system store."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.frontend.shared_loop import MAX_SERIAL_STORES


class Robot(wl.Entity):
    turns: int = 3
    total: int
    eight: wl.Observation(8)
    row: wl.Array(float, 100)


class Yard(wl.World):
    pass


def looping(count: int):
    @wl.system(threads="auto")
    def write(robot: Robot):
        for i in wl.share(count):
            robot.row[i] = float(i)
        for i in wl.share(count):
            robot.row[count + i] = 2.0 * float(i)

    return write


@pytest.mark.parametrize(("count", "threads"), [(1, 1), (MAX_SERIAL_STORES // 2, 1), (MAX_SERIAL_STORES // 2 + 1, 32)])
def test_the_number_of_stores_decides(count: int, threads: int) -> None:
    assert looping(count).threads == threads


def test_loops_of_unknown_length_and_sums_get_a_warp() -> None:
    @wl.system(threads="auto")
    def unknown(robot: Robot):
        for i in wl.share(robot.turns):
            robot.row[i] = 1.0

    @wl.system(threads="auto")
    def reduce(robot: Robot):
        for i in wl.share(4):
            robot.total += i

    assert unknown.threads == reduce.threads == 32


def test_a_loop_may_store_elements_of_a_vector_and_then_gets_one_thread() -> None:
    @wl.system(threads="auto")
    def write(robot: Robot):
        for i in wl.share(8):
            robot.eight[i] = float(i)
        for i in wl.share(100):
            robot.row[i] = 1.0

    assert write.threads == 1
    definition = wl.Definition("Auto-test", Yard, {Robot: 2}, observe=(write,))
    for device in ("cpu", "python"):
        sim = wl.Simulation(definition, 2, device)
        np.testing.assert_array_equal(sim["Robot"].eight.numpy(), np.tile(np.arange(8.0), (2, 2, 1)))

    with pytest.raises(wl.DefinitionError, match="all would store 'eight', a vector"):

        @wl.system(threads=32)
        def refuse(robot: Robot):
            for i in wl.share(8):
                robot.eight[i] = float(i)


def test_what_has_no_entity_has_no_threads() -> None:
    with pytest.raises(wl.DefinitionError, match="several threads"):

        @wl.system(threads="auto")
        def count(world: Yard):
            pass

    with pytest.raises(wl.WorldloomError, match="or 'auto'"):
        wl.system(threads=33)
