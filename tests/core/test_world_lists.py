"""Kernels that work through a list of the worlds that begin an episode: which they are, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from listed_worlds import CROWS, FIELD, STONES, Crow, actions
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.core.codegen import kernel_spec
from worldloom.core.codegen.kernel_spec import LIST_THREADS, KernelSpec
from worldloom.core.codegen.program import Entry
from worldloom.core.codegen.resets.world_lists import MAX_LIST_WIDTH, NO_LISTS, WorldListNode, list_width
from worldloom.core.codegen.shared_programs import shared_program, shared_schedule
from worldloom.core.kernels.world_list_kernels import list_worlds
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

WORLDS = 5
LISTED = {
    "same_step": {"note(Stone)", "peer(Crow)", "watch(Watch)", "publish_Crow"},
    "next_step": {"drop(Stone)"},
    "disabled": set[str](),
}
"""Systems of a step whose kernels take a list, by autoreset mode."""


@pytest.fixture(autouse=True)
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that go through a list of a few worlds several times."""
    monkeypatch.setattr(kernel_spec, "WORLD_LIST_THREADS", 64)


def listed(entries: list[Entry]) -> list[tuple[str, ...]]:
    """The systems of the kernels that take a list."""
    return [entry.labels for entry in entries if isinstance(entry, KernelSpec) and entry.world_list]


def pair(
    autoreset: str, turns: object, exact: bool = False, **widths: int
) -> tuple[wl.Simulation, wl.Simulation, Machine]:
    """The same worlds twice, of which threads of Python run the second, with lists wherever they are possible."""
    cpu, other = (
        wl.Simulation(FIELD, WORLDS, "cpu", seed=3, autoreset=autoreset, exact=exact, config={"turns": turns})
        for _ in range(2)
    )
    return cpu, other, Machine(other, exact, **{"list_width": 0, **widths})


@pytest.mark.parametrize(
    ("autoreset", "turns", "uneven", "exact"),
    sample(
        [
            pytest.param("same_step", np.array([2, 100, 3, 2, 100], np.int32), 256, False, id="some worlds"),
            pytest.param("disabled", np.full(WORLDS, 100, np.int32), 16, False, id="never"),
            pytest.param("same_step", np.array([100, 100, 100, 2, 100], np.int32), 16, True, id="one, exact"),
            pytest.param("next_step", np.array([1, 3, 100, 2, 2], np.int32), 16, False, id="in the next step"),
            pytest.param("same_step", np.full(WORLDS, 2, np.int32), 16, False, id="all at once or none"),
        ],
        3,
    ),
)
def test_worlds_that_begin_an_episode_are_those_of_the_cpu(
    autoreset: str, turns: np.ndarray, uneven: int, exact: bool
) -> None:
    cpu, other, machine = pair(autoreset, turns, exact, uneven=uneven)
    found = {label for labels in listed(machine.program.step) for label in labels}
    assert LISTED[autoreset] <= found and bool(LISTED[autoreset]) == bool(found)
    rng, begun, crows = np.random.default_rng(1), set[int](), set[int]()
    for step in range(3):
        moves = actions(rng, WORLDS)
        cpu.step({"Crow.hop": moves})
        other[Crow].agent_rows.hop = moves
        machine.step()
        begun.add(int((cpu.terminated.numpy() | cpu.truncated.numpy()).sum()))
        crows.update(cpu[Crow].agent_rows.active.numpy().sum(axis=1).tolist())
        assert first_difference(cpu, other, step) is None
    expected = {"disabled": {0}, "next_step": begun}.get(
        autoreset, {0, int((turns == 2).sum()), int((turns == 3).sum())}
    )
    assert begun == expected and len(crows) > 1


@pytest.mark.parametrize(
    ("mask", "uneven"),
    sample(
        [
            pytest.param([True] * WORLDS, 256, id="all worlds"),
            pytest.param([False] * WORLDS, 16, id="none"),
            pytest.param([False, True, False, False, True], 16, id="some"),
            pytest.param([True] * WORLDS, 16, id="all worlds in narrow kernels"),
        ],
        2,
    ),
)
def test_resets_from_outside_are_those_of_the_cpu(mask: list[bool], uneven: int) -> None:
    cpu, other, machine = pair("same_step", 100, uneven=uneven)
    assert listed(machine.program.reset)
    for step in range(2):
        moves = actions(np.random.default_rng(step), WORLDS)
        cpu.step({"Crow.hop": moves})
        other[Crow].agent_rows.hop = moves
        machine.step()
        cpu.reset(np.array(mask))
        machine.reset(np.array(mask))
        assert first_difference(cpu, other, step) is None
    assert (cpu.world.episode.numpy() == np.where(mask, 2, 0)).all()


def test_snapshots_continue_with_lists() -> None:
    """The list of the worlds is no part of the state."""
    cpu, other, machine = pair("same_step", np.array([2, 3, 4, 2, 3], np.int32))
    before = other.snapshot()
    for _ in range(2):
        for step in range(3 if THOROUGH else 2):  # the first episodes end in the second one
            moves = actions(np.random.default_rng(step), WORLDS)
            cpu.step({"Crow.hop": moves})
            other[Crow].agent_rows.hop = moves
            machine.step()
            assert first_difference(cpu, other, step) is None
        cpu.restore(before)
        other.restore(before)


class Meadow(wl.World):
    total: int
    twice: int


class Daisy(wl.Entity):
    place: int
    height: int


@wl.system
def scatter(daisy: Daisy, world: Meadow):
    daisy.place = world.integer(100)


@wl.system
def grow(daisy: Daisy):
    daisy.height += 1


@wl.system
def bloom(daisy: Daisy, world: Meadow):
    world.total += 1 + daisy.place


@wl.system
def double(world: Meadow):
    world.twice = 2 * world.total


@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3, [True] * 3])
def test_narrow_stages_share_a_block_among_listed_worlds(mask: list[bool]) -> None:
    """The last block has more threads than the list has rows, of which each runs once."""
    world = wl.Definition("Meadow-narrow-test", Meadow, {Daisy: 5}, reset=(scatter, bloom, double))
    cpu, other = (wl.Simulation(world, 3, "cpu", seed=1) for _ in range(2))
    machine = Machine(other, list_width=0)
    (kernel,) = [entry for entry in machine.program.reset if isinstance(entry, KernelSpec)]
    assert kernel.world_list and (kernel.rows, len(kernel.stages)) == (8, 3)
    for turn in range(2):
        cpu.reset(np.array(mask))
        machine.reset(np.array(mask))
        assert first_difference(cpu, other, turn) is None


def test_a_callable_may_change_which_worlds_begin() -> None:
    def choose(sim: wl.Simulation) -> None:
        sim.world.reset_mask = np.array([False, True, False])

    world = wl.Definition("Meadow-test", Meadow, {Daisy: 64}, reset=(scatter, choose, grow))
    sim = wl.Simulation(world, 3, "cpu", seed=0)
    before = sim[Daisy].height.numpy()[:, 0].tolist()
    machine = Machine(sim, list_width=0)
    assert [type(entry) for entry in machine.program.reset].count(WorldListNode) == 2, "before and after the callable"
    machine.reset(np.array([True, False, False]))
    assert before == [0, 1, 0] and sim[Daisy].height.numpy()[:, 0].tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("num_worlds", "width"),
    [
        (1, NO_LISTS),
        (LIST_THREADS // (2 * MAX_LIST_WIDTH), NO_LISTS),
        (LIST_THREADS // MAX_LIST_WIDTH, MAX_LIST_WIDTH),
        (4096, 32),
        (16384, 8),
        (16385, 4),
        (2**17, 1),
        (2**20, 1),
    ],
)
def test_the_width_without_a_list_fits_the_batch(num_worlds: int, width: int) -> None:
    assert list_width(num_worlds) == width


def program(num_worlds: int, fuse: bool = True, cuda: bool = True) -> list[Entry]:
    definition = FIELD.with_counts(None).checked
    schedule = shared_schedule(definition, "same_step", True)
    return shared_program(definition, schedule, "same_step", True, fuse, cuda, False, num_worlds).step


def test_kernels_of_large_batches_take_lists() -> None:
    assert (
        not listed(program(512)) and not listed(program(2**16, cuda=False)) and not listed(program(2**16, fuse=False))
    )
    large = [entry for entry in program(2**16) if isinstance(entry, KernelSpec)]
    found = {label: spec for spec in large if spec.world_list for label in spec.labels}
    assert {"peer(Crow)", "publish_Crow", "note(Stone)"} <= found.keys()
    assert found["peer(Crow)"].rows == 32 * CROWS and found["note(Stone)"].rows >= STONES
    plain = [spec for spec in large if spec.labels == ("peer(Crow)",) and not spec.world_list]
    assert [spec.active_threads(2**16) for spec in plain] == [2**16 * 32 * CROWS], "that of all worlds"
    assert found["peer(Crow)"].active_threads(2**16) == kernel_spec.WORLD_LIST_THREADS
    assert all(not spec.world_list or spec.active_threads(7) % spec.threads == 0 for spec in large)
    assert sum(isinstance(entry, WorldListNode) for entry in program(2**16)) == 1, "for all kernels of a step"


@pytest.mark.parametrize("num_worlds", [1, 15, 16, 17, 513, 20000])
def test_worlds_are_listed_in_order(num_worlds: int) -> None:
    rng = np.random.default_rng(num_worlds)
    for share in (0.0, 0.01, 0.5, 1.0):
        flags = rng.random(num_worlds) < share
        sizes, worlds = wp.zeros(1, dtype=wp.int32, device="cpu"), wp.zeros(num_worlds, dtype=wp.int32, device="cpu")
        mask = wp.array(flags, dtype=wp.bool, device="cpu")
        wp.launch(list_worlds, dim=1, inputs=[num_worlds, mask], outputs=[sizes, worlds], device="cpu")
        assert sizes.numpy()[0] == flags.sum()
        np.testing.assert_array_equal(worlds.numpy()[: flags.sum()], np.flatnonzero(flags))
