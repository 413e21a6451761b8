"""Compaction of large populations on CUDA: kernels that sort, run thread by thread, against the CPU bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp
from crowded_worlds import FLASH, LEAVE, SPLIT, SPLIT_THRICE, Flash, Grain, heap
from warp._src.context import runtime

import worldloom as wl
from worldloom.core.codegen import compaction_large
from worldloom.core.codegen.compaction_large import run_lengths
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program, generate
from worldloom.core.codegen.resets.world_lists import NO_LISTS, list_width
from worldloom.core.model import population
from worldloom.core.model.population import SERIAL
from worldloom.core.tools.compare import first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

ROOM = 70
WORLDS = 3


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All populations are large, and are merged several times."""
    monkeypatch.setattr(population, "LARGE", 1)
    monkeypatch.setattr(compaction_large, "TILE", 4)


def pair(
    overflow: str = "error", room: int = ROOM, grains: object = 20
) -> tuple[wl.Simulation, wl.Simulation, Machine]:
    """The same worlds twice, of which threads of Python run the second, warps in any order."""
    cpu, other = (
        wl.Simulation(heap(room, overflow), WORLDS, "cpu", seed=1, config={"grains": grains}) for _ in range(2)
    )
    return cpu, other, Machine(other, any_order=True)


def step(cpu: wl.Simulation, other: wl.Simulation, machine: Machine, commands: np.ndarray, number: int) -> None:
    """One step of both with the same commands, shape (num_worlds, capacity), and the same result."""
    for sim in (cpu, other):
        sim[Grain].command.assign(commands.astype(np.int32))
    for kind in (Grain, Flash):  # scratch memory has no meaning between two steps
        for column in machine.tables[f"{kind.__name__}__scratch"].columns.values():
            column.values[:] = 1000
    cpu.enqueue_step()  # raises nothing
    machine.step()
    found = first_difference(cpu, other, number)
    assert found is None, str(found)
    for kind in (Grain, Flash):
        assert not other[kind]["wl_dead"].numpy().any()


def compactions(program: Program, label: str) -> list[KernelSpec]:
    return [spec for spec in program.step if isinstance(spec, KernelSpec) and spec.labels == (label,)]


def test_spawns_and_despawns_of_one_step() -> None:
    """Of different numbers in every world, among them none."""
    cpu, other, machine = pair(grains=np.array([20, 0, 9], np.int32))
    rng, seen = np.random.default_rng(4), set[tuple[int, ...]]()
    likely = (
        (0.3, 0.3, 0.05, 0.5),
        (0.0, 0.4, 0.0, 1.0),
        (0.4, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 0.8, 0.1, 0.2),
    )
    for number, chances in enumerate(likely):
        bits = [np.where(rng.random((WORLDS, ROOM)) < chance, 1 << k, 0) for k, chance in enumerate(chances)]
        step(cpu, other, machine, sum(bits), number)
        seen.add(tuple(cpu[Grain].counts.numpy().tolist()))
    assert len(seen) > 3 and max(map(max, seen)) > 32 and cpu.errors() == [] and machine.reports == []
    for world, count in enumerate(cpu[Grain].counts.numpy()):
        serials = other[Grain][SERIAL].numpy().reshape(WORLDS, -1)[world, :count]
        assert (np.diff(serials) > 0).all()


def test_spawned_entities_arrive_out_of_order() -> None:
    """Otherwise the other tests would not need the sort."""
    cpu, other, machine = pair(grains=30)
    step(cpu, other, machine, np.full((WORLDS, ROOM), SPLIT | FLASH), 0)
    staged = other.tables["Grain__new"][SERIAL].numpy().reshape(WORLDS, -1)[:, :30]
    assert (np.diff(staged) < 0).any(axis=1).all()
    assert cpu[Grain].counts.numpy().tolist() == [60] * WORLDS and cpu[Flash].counts.numpy().tolist() == [30] * WORLDS


@pytest.mark.parametrize("commands", [LEAVE, SPLIT_THRICE, LEAVE | SPLIT | FLASH])
def test_all_entities_do_the_same(commands: int) -> None:
    cpu, other, machine = pair(grains=17)
    for number in range(2):
        step(cpu, other, machine, np.full((WORLDS, ROOM), commands if number == 0 else 0), number)


def test_no_row_is_written_where_nothing_changes() -> None:
    cpu, other, machine = pair()
    step(cpu, other, machine, np.full((WORLDS, ROOM), SPLIT), 0)
    for table in (other[Grain], other.tables["Grain__new"]):  # what is read would be written
        table.number.values[:] = np.arange(table.number.values.size).reshape(table.number.values.shape)
    before = other[Grain].number.values.copy()
    machine._run(compactions(machine.program, "compact Grain"))
    assert np.array_equal(before, other[Grain].number.values)


@pytest.mark.parametrize("overflow", ["error", "reset", "drop"])
def test_what_does_not_fit(overflow: str) -> None:
    """World 0 spawns more than fits, world 1 as many as fit, world 2 more, after some have left."""
    cpu, other, machine = pair(overflow, room=33, grains=np.array([11, 11, 30], np.int32))
    commands = np.full((WORLDS, 33), SPLIT_THRICE)
    commands[1, :] = SPLIT | FLASH
    commands[2] = 0
    commands[2, 3:9] = LEAVE
    commands[2, 7:12] |= SPLIT_THRICE
    step(cpu, other, machine, commands, 0)
    faults = [(f.world, f.message.split(" more")[0]) for f in cpu.errors()]
    lost = [(world, str(value)) for world, *_, value in machine.reports]
    assert sorted(lost) == sorted(faults)
    dropped = cpu[Grain].dropped.numpy().tolist()
    assert dropped == other[Grain].dropped.numpy().tolist() and dropped == [11, 0, 6]
    assert (faults == []) == (overflow == "drop")
    step(cpu, other, machine, np.zeros((WORLDS, 33)), 1)


def test_more_are_spawned_than_can_be_staged() -> None:
    cpu, other, machine = pair("drop", room=20, grains=20)
    staged = next(iter(cpu.definition.populations.values())).spawn_capacity
    commands = np.full((WORLDS, 20), SPLIT_THRICE | SPLIT)
    commands[1] |= LEAVE
    assert staged < 80
    for sim in (cpu, other):
        sim[Grain].command.assign(commands.astype(np.int32))
    cpu.step()
    machine.step()
    assert cpu[Grain].counts.numpy().tolist() == other[Grain].counts.numpy().tolist() == [20] * WORLDS
    assert cpu[Grain].dropped.numpy().tolist() == other[Grain].dropped.numpy().tolist() == [80, 60, 80]


def test_equal_numbers_keep_their_order() -> None:
    """No world spawns them; each must still get a row of its own."""
    cpu, other, machine = pair(grains=0)
    table, count = other.tables["Grain__new"], 37
    rng = np.random.default_rng(0)
    serials = np.sort(rng.integers(0, 9, (WORLDS, count)))[:, rng.permutation(count)]
    for world in range(WORLDS):
        stage = world * table[SERIAL].values.shape[0] // WORLDS
        table[SERIAL].values[stage : stage + count] = serials[world]
        table["number"].values[stage : stage + count] = np.arange(count)
    other.tables["World"]["Grain__pending"].values[:] = count
    machine._run(compactions(machine.program, "compact Grain"))
    for world in range(WORLDS):
        order = np.argsort(serials[world], kind="stable")
        start = world * ROOM
        assert other[Grain].number.numpy().reshape(-1)[start : start + count].tolist() == order.tolist()
        assert (
            other[Grain][SERIAL].numpy().reshape(-1)[start : start + count].tolist() == serials[world][order].tolist()
        )
    assert cpu.num_worlds == WORLDS


def test_the_kernels_of_small_and_of_large_populations(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = wl.Simulation(heap(ROOM), 1, "python").schedule
    *large, in_reset = compactions(generate(schedule, True, cuda=True), "compact Grain")
    assert in_reset.rows == 1 and in_reset.first_of_entry, "it appends what one system has spawned in order"
    staged = schedule.counts["Grain__new"]
    merges = len(run_lengths(staged))
    assert merges == 3 and run_lengths(staged) == [4, 16, 64]
    assert [spec.rows for spec in large] == [staged, 96, *[staged] * merges, 32, max(ROOM, staged), 1]
    assert [spec.first_of_entry for spec in large] == [True, *[False] * (len(large) - 1)]
    assert [spec.takes_errors for spec in large] == [*[False] * (len(large) - 1), True]
    cpu = [s for s in generate(schedule, True, cuda=False).step if isinstance(s, KernelSpec)]
    assert [s.labels for s in cpu].count(("compact Grain",)) == 2
    assert not any(table.endswith("__scratch") for spec in cpu for table, _ in spec.columns)
    many_worlds = generate(schedule, True, cuda=True, list_width=list_width(65))
    assert len(compactions(many_worlds, "compact Grain")) == 2 and list_width(64) == NO_LISTS
    monkeypatch.setattr(population, "LARGE", max(ROOM, staged) + 1)
    schedule = wl.Simulation(heap(ROOM), 1, "python").schedule
    assert len(compactions(generate(schedule, True, cuda=True), "compact Grain")) == 2


@pytest.mark.skipif(not runtime.is_cuda_enabled, reason="this build of Warp has no compiler for CUDA")
def test_the_kernels_compile_for_cuda(tmp_path: Path) -> None:
    program = generate(wl.Simulation(heap(ROOM), 1, "python").schedule, fuse=True, cuda=True)
    kernels = program._build("large", cuda=True)
    for module in {kernel.module for kernel in kernels.values()}:
        wp.compile_aot_module(module, arch=90, module_dir=tmp_path / module.name, use_ptx=True)
    text = "".join(ptx.read_text() for ptx in tmp_path.glob("*/*.ptx"))
    assert all(f"{spec.name}_" in text for spec in compactions(program, "compact Grain"))
