"""Tiles of worlds with similar workloads, ``wl.Workload``."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from thorough import covering

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.codegen.tiles.tiled_kernel import LARGE_BATCH_LIMITS, SMALL_BATCH_LIMITS, TileLimits
from worldloom.core.frontend.system import System
from worldloom.core.kernels.world_order_kernels import order_size, place_worlds
from worldloom.core.schedule.row_lists import WorldOrderNode
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

BEADS = 6
PASSES = 3


class Bead(wl.Entity):
    height: float
    lifts: int


class Link(wl.Entity):
    """Of two neighbouring beads; those of one colour have none in common."""

    colour: int


class Rope(wl.World):
    links: wl.Workload
    lifted: int
    again: int


@wl.system
def hang(world: Rope):
    for i in range(world.integer(BEADS)):
        world.spawn(Link, colour=i % 2)
    for bead in world.all(Bead):
        bead.height = world.random()


@wl.system
def weigh(world: Rope):
    world.links = 8 * world.count(Link) - 4  # some are out of range


@wl.system(where=("colour", range(2)), disjoint=True, together=True)
def pull(link: Link, world: Rope):
    lower, upper = world.at(Bead, link.id), world.at(Bead, link.id + 1)
    change = 0.25 * (upper.height - lower.height)
    lower.height, upper.height = lower.height + change, upper.height - change
    upper.lifts += world.lifted + 1


@wl.system(together=True)
def lift(world: Rope):
    world.lifted += 1
    world.at(Bead, 0).height = 1.0 / float(world.lifted)


@wl.system(together=True)
def sag(bead: Bead, world: Rope):
    """For all rows, without a list."""
    bead.height -= 0.125 * float(world.lifted)


@wl.system(together=True)
def change_work(world: Rope):
    world.links = world.lifted % 3


@wl.system(where=("lifts", (1, 2)), disjoint=True, together=True)
def count_lifts(bead: Bead, world: Rope):
    """With a list of its own, after the workload has changed."""
    bead.height += 1.0


def rope(*more: System) -> wl.Definition:
    step = (weigh, *(pull, lift, sag) * PASSES, *more)
    return wl.Definition(
        "Rope-test", Rope, {Bead: BEADS, Link: wl.UpTo(BEADS - 1)}, reset=(hang,), step=step, max_steps=4
    )


def program(definition: wl.Definition, limits: TileLimits) -> Program:
    return generate(wl.Simulation(definition, 2, "python").schedule, True, True, tiles=limits)


@pytest.mark.parametrize(("worlds", "more"), covering([1, 9, 130, 70], [(), (change_work, count_lifts, lift, pull)]))
def test_results_do_not_depend_on_the_tiles(worlds: int, more: tuple[System, ...]) -> None:
    definition = rope(*more)
    cpu, machine_side = (wl.Simulation(definition, worlds, "cpu", seed=worlds) for _ in range(2))
    machine = Machine(machine_side, any_order=True, tiles=LARGE_BATCH_LIMITS)
    for step in range(5):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert cpu[Bead].lifts.numpy().any()
    table = machine.tables["World__by_links"]
    assert sorted(table["order"].array.numpy()[:worlds]) == list(range(worlds))


def test_python_and_cpu_agree() -> None:
    assert compare(rope(change_work, count_lifts), num_worlds=3, steps=10) is None


def test_worlds_are_ordered_before_the_first_list_and_after_a_change() -> None:
    assert [type(entry) is WorldOrderNode for entry in program(rope(), LARGE_BATCH_LIMITS).step].count(True) == 1
    changed = program(rope(change_work, count_lifts), LARGE_BATCH_LIMITS).step
    assert [type(entry) is WorldOrderNode for entry in changed].count(True) == 2
    orders = [n for n, entry in enumerate(changed) if type(entry) is WorldOrderNode]
    tiled = [n for n, entry in enumerate(changed) if isinstance(entry, KernelSpec) and entry.tile]
    assert orders[0] < tiled[0] < orders[1] < tiled[-1]


def test_small_batches_keep_adjacent_worlds_in_a_tile() -> None:
    assert not any(isinstance(entry, WorldOrderNode) for entry in program(rope(), SMALL_BATCH_LIMITS).step)


def expected_order(work: np.ndarray) -> np.ndarray:
    """Worlds by descending workload, in a stable order."""
    return np.argsort(-np.clip(work, 0, 31), kind="stable")


def test_the_kernel_orders_worlds_by_descending_workload() -> None:
    work = np.random.default_rng(0).integers(-2, 40, 1000).astype(np.int32)
    order = wp.zeros(order_size(len(work)), dtype=wp.int32, device="cpu")
    inputs = [len(work), wp.array(work, device="cpu")]
    wp.launch(place_worlds, dim=1, inputs=inputs, outputs=[order], device="cpu")
    np.testing.assert_array_equal(order.numpy()[: len(work)], expected_order(work))


def test_a_workload_is_of_the_world_and_there_is_one() -> None:
    class Busy(wl.Entity):
        work: wl.Workload

    class Twice(wl.World):
        work: wl.Workload
        more: wl.Workload

    with pytest.raises(wl.DefinitionError, match=r"'Busy.work' is a wl.Workload, which is of a whole world"):
        wl.Simulation(wl.Definition("Busy-test", wl.World, {Busy: 1}), 1, "python")
    with pytest.raises(wl.DefinitionError, match="the world has 2 workloads, work and more"):
        wl.Simulation(wl.Definition("Twice-test", Twice, {Bead: 1}), 1, "python")
