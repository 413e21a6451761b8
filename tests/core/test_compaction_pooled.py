"""Pooled populations: same worlds as with rows per world, on every device."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
import torch
from pooled_worlds import PER_WORLD, STALE, Ember, Gnat, Mote, Nest, Seed, Spark, bed, gnats, pooled
from thorough import THOROUGH
from warp_lanes import run_kernel

import worldloom as wl
from worldloom.core.base.errors import CapacityError, InputError
from worldloom.core.codegen import compaction_pooled
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.interpreter import interpreter
from worldloom.core.measure.timing import time_systems
from worldloom.core.model import scratch_columns
from worldloom.core.model.columns import WORLD, FaultSites
from worldloom.core.model.population import SERIAL
from worldloom.core.runtime import scratch
from worldloom.core.schedule.schedule import plan
from worldloom.core.state import snapshot
from worldloom.core.tools.compare import first_difference

pytestmark = pytest.mark.usefixtures("quick_compilation")

POOLED = pooled(motes=160, sparks=240)
"""Rows for fewer than all worlds full, and more than they ever hold together."""
WORLDS = 9


def assert_same_rows(one: wl.Simulation, two: wl.Simulation, when: str) -> None:
    """The entities of every world are the same in both layouts, bit for bit, and so are the worlds."""
    for kind in (Mote, Spark):
        a, b = one[kind], two[kind]
        np.testing.assert_array_equal(b.counts.numpy(), a.counts.numpy(), err_msg=when)
        np.testing.assert_array_equal(b.dropped.numpy(), a.dropped.numpy(), err_msg=when)
        assert torch.equal(b.offsets, a.offsets), when
        for name in (SERIAL, *kind.fields):
            np.testing.assert_array_equal(
                b.rows(name).numpy(), a.rows(name).numpy(), err_msg=f"{kind.__name__}.{name} {when}"
            )
    for name in ("sparks", "warmth", "episode", "step", "finished"):
        np.testing.assert_array_equal(two.world[name].numpy(), one.world[name].numpy(), err_msg=f"{name} {when}")


@pytest.mark.parametrize(
    ("device", "steps", "worlds"),
    [("cpu", 2000 if THOROUGH else 300, WORLDS), ("python", 100, 5)],
)
def test_both_layouts_hold_the_same_worlds(device: str, steps: int, worlds: int) -> None:
    one, two = wl.Simulation(PER_WORLD, worlds, "cpu", seed=5), wl.Simulation(POOLED, worlds, device, seed=5)
    numbers = np.random.default_rng(2)
    seen = 0
    for step in range(steps):
        one.step()
        two.step()
        if step % 11 == 10:
            mask = numbers.random(worlds) < 0.3
            one.reset(mask)
            two.reset(mask)
        assert_same_rows(one, two, f"after step {step}")
        seen = max(seen, int(two[Mote].counts.numpy().sum()))
    assert seen > 6 * worlds and (one.world.episode.numpy() > 1).all() and one[Mote].dropped.numpy().any()
    assert [str(f) for f in one.errors()] == [str(f).replace(" and 240 in the batch", "") for f in two.errors()]


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_interpreted_and_compiled_agree_in_every_row(mode: str) -> None:
    """Also in empty rows, and from one reset to the next."""
    one, two = (wl.Simulation(POOLED, 4, device, seed=2, autoreset=mode) for device in ("cpu", "python"))
    for sim in (one, two):
        sim.set_config("max_steps", 7)
    for step in range(20):
        assert first_difference(one, two, step) is None
        one.step()
        two.step()
    assert (one.world.episode.numpy() > 1).all()


def test_neighbours_and_pairs_are_those_of_the_world() -> None:
    one, two = wl.Simulation(gnats(None), 4, "python", seed=1), wl.Simulation(gnats(100), 4, "cpu", seed=1)
    bumps = crowd = 0
    for step in range(20):
        one.step()
        two.step()
        for name in (SERIAL, *Gnat.fields):
            assert torch.equal(two[Gnat].rows(name), one[Gnat].rows(name)), (name, step)
        assert torch.equal(two.world.meetings.torch(), one.world.meetings.torch())
        bumps, crowd = bumps + int(one[Gnat].rows("bumps").sum()), max(crowd, int(one[Gnat].rows("crowd").max()))
    assert bumps > 0 and crowd > 5


class OnLanes:
    """Replaces the interpreter's compaction: runs the CUDA kernels on the same memory."""

    def __init__(self) -> None:
        self.order, self.notes, self.runs = random.Random(3), dict[str, dict[str, np.ndarray]](), 0

    def __call__(self, population: Any, own: Any, new: Any, world: Any, staged: int) -> np.ndarray:
        fields, worlds = {n: c.field for n, c in own.items()}, own[SERIAL].num_worlds
        if population.table not in self.notes:
            known = scratch_columns.fields(population, fields)
            used = {(population.scratch_table, name) for name in known}
            made = scratch.allocate([population], {population.scratch_table: known}, used, worlds, own[SERIAL].device)
            self.notes[population.table] = {n: c.values for n, c in made[population.scratch_table].columns.items()}
        notes = self.notes[population.table]
        notes["state"][scratch_columns.CURSOR] = staged
        columns = {(population.scratch_table, n): v for n, v in notes.items()}
        for table, held in ((population.table, own), (population.new_table, new), (WORLD, world)):
            columns.update({(table, n): c.values for n, c in held.items()})
        dropped = world[f"{population.table}__dropped"].values
        before = dropped.copy()
        for kernel in compaction_pooled.compaction_kernels(population, fields, FaultSites(), {}, cuda=True):
            run_kernel(kernel, columns, worlds, self.order)
        lost = dropped - before
        dropped[:] = before
        self.runs += 1
        return lost


@pytest.mark.parametrize("motes", [400, 90], ids=["room enough", "too little room"])
def test_the_kernels_of_cuda_do_the_same_thread_by_thread(monkeypatch: pytest.MonkeyPatch, motes: int) -> None:
    """More worlds than a warp has threads, so that sums are carried; warps and threads run in any order."""
    made = pooled(motes=motes, sparks=200)
    one = wl.Simulation(made, 35, "python", seed=4)
    lanes = OnLanes()
    monkeypatch.setattr(interpreter, "compact_pooled", lanes)
    two = wl.Simulation(made, 35, "python", seed=4)
    for step in range(5):
        monkeypatch.undo()
        one.step()
        monkeypatch.setattr(interpreter, "compact_pooled", lanes)
        two.step()
        assert first_difference(one, two, step) is None
    assert lanes.runs > 10 and (one[Mote].dropped.numpy().any() == (motes == 90))


def test_sums_are_carried_over_any_number_of_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_pooled, "ITEMS", 2)
    population = pooled(motes=50_000, sparks=1).populations["Mote"]
    count, carry = compaction_pooled.compaction_kernels(
        population, {n: f for n, f in Mote.fields.items()} | population.row_fields, FaultSites(), {}, cuda=True
    )[:2]
    numbers, worlds = np.random.default_rng(0), 2 * 32 * 32 * 2 + 77
    counts, born = numbers.integers(0, 10, worlds).astype(np.int32), numbers.integers(0, 30, worlds).astype(np.int32)
    columns = {
        (WORLD, "Mote__count"): counts,
        (WORLD, "Mote__pending"): born,
        (WORLD, "Mote__changed"): np.zeros(worlds, bool),
    }
    columns[WORLD, "Mote__first"] = (np.cumsum(counts) - counts).astype(np.int32)
    columns["Mote", "wl_dead"] = np.zeros(50_000, bool)
    for name in ("state", "kept", "before", "sums"):
        wide = (3,) if name in ("before", "sums") else ()
        columns[population.scratch_table, name] = np.zeros((scratch.rows(population, name, worlds), *wide), np.int32)
    state = columns[population.scratch_table, "state"]
    state[scratch_columns.CURSOR] = 123
    for kernel in (count, carry):
        run_kernel(kernel, columns, worlds, random.Random(1))
    near, far = columns[population.scratch_table, "before"], columns[population.scratch_table, "sums"]
    found = near + np.repeat(far, 32, axis=0)[:worlds]
    for place, values in enumerate((counts, np.minimum(born, 24 - counts), born)):
        np.testing.assert_array_equal(found[:, place], np.cumsum(values) - values)
    assert state.tolist() == [0, 0, 1, 123, 50_000 - counts.sum()]


# -- room ------------------------------------------------------------------------------------------------------------


def sow(sim: wl.Simulation, births: list[int], oldest: int = 1000) -> None:
    sim.set_config("births", np.array(births, np.int32))
    sim.set_config("oldest", oldest)
    sim.step()


def seeds(sim: wl.Simulation) -> list[list[int]]:
    """The numbers of the seeds of each world."""
    numbers = sim[Seed].rows("number").tolist()
    return [
        numbers[at : at + n]
        for at, n in zip(sim[Seed].offsets.tolist(), sim[Seed].counts.numpy().tolist(), strict=True)
    ]


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_who_lives_keeps_its_row_and_the_last_worlds_lose_their_new_ones(device: str) -> None:
    with wl.Simulation(bed("drop"), 4, device, seed=0) as sim:
        sow(sim, [0, 0, 0, 5])
        sow(sim, [2, 1, 2, 0])
        assert seeds(sim) == [[1, 2], [1], [1, 2], [1, 2, 3, 4, 5]]
        sow(sim, [1, 3, 1, 1])  # two rows are left, and world 3 keeps what it has
        assert seeds(sim) == [[1, 2, 3], [1, 2], [1, 2], [1, 2, 3, 4, 5]]
        assert sim[Seed].dropped.numpy().tolist() == [0, 2, 1, 1]
        sow(sim, [1, 1, 2, 0], oldest=2)  # the oldest leave, which is known before the new ones enter
        assert seeds(sim) == [[3, 4], [2, 5], [4, 5], []]
        sow(sim, [6, 0, 0, 0])  # a world holds six
        assert seeds(sim)[0] == [3, 4, 5, 6, 7, 8] and sim[Seed].dropped.numpy().tolist() == [2, 2, 1, 1]
        sow(sim, [4, 4, 4, 1])  # thirteen at once for twelve rows: none of them fits
        assert seeds(sim) == [[3, 4, 5, 6, 7, 8], [2, 5], [4, 5], []]
        assert sim[Seed].dropped.numpy().tolist() == [6, 6, 5, 2]
        sow(sim, [0, 0, 0, 2])
        assert seeds(sim)[3] == [8, 9] and sim.world.here.numpy().tolist() == [6, 2, 2, 2]


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_run_that_spawns_more_than_can_be_numbered_adds_nobody(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("worldloom.core.")]
    for module in modules:
        if hasattr(module, "spawns_per_run"):
            monkeypatch.setattr(module, "spawns_per_run", lambda rows: 2)
    with wl.Simulation(bed("drop", batch=11), 2, device, seed=0) as sim:
        sow(sim, [1, 2])
        sow(sim, [3, 1])
        assert seeds(sim) == [[1], [1, 2]] and sim[Seed].dropped.numpy().tolist() == [3, 1]


def test_error_names_the_worlds_and_the_others_go_on() -> None:
    with wl.Simulation(bed("error"), 3, "cpu", seed=0) as sim:
        sow(sim, [4, 4, 3])
        with pytest.raises(CapacityError) as raised:
            sow(sim, [1, 2, 0])
        assert [f.world for f in raised.value.faults] == [1]
        assert "2 more Seed were spawned than there is room for (6 in a world and 12 in the batch)" in str(raised.value)
        sow(sim, [1, 0, 0])
        assert seeds(sim) == [[1, 2, 3, 4, 5, 6], [], [1, 2, 3]] and sim.world.episode.numpy().tolist() == [0, 1, 0]


def test_reset_starts_the_world_anew_and_goes_on() -> None:
    with wl.Simulation(bed("reset"), 3, "python", seed=0) as sim:
        sow(sim, [4, 4, 4])
        sow(sim, [0, 0, 1])
        assert [(f.world, f.message[:11]) for f in sim.errors()] == [(2, "1 more Seed")]
        sow(sim, [0, 0, 0])
        assert seeds(sim) == [[1, 2, 3, 4], [1, 2, 3, 4], []]


@pytest.mark.parametrize("where", ["cpu", "python", "lanes of cuda"])
def test_the_rows_of_a_world_that_was_cleared_are_used_again(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Without spawns and despawns, only the gap triggers the compaction."""
    if where == "lanes of cuda":
        monkeypatch.setattr(interpreter, "compact_pooled", OnLanes())
    with wl.Simulation(bed("drop"), 4, "cpu" if where == "cpu" else "python", seed=0) as sim:
        sow(sim, [2, 3, 1, 2])
        sim.reset(np.array([False, True, False, False]))
        assert seeds(sim) == [[1, 2], [], [1], [1, 2]] and sim[Seed].offsets.tolist() == [0, 2, 2, 3]
        sow(sim, [4, 3, 0, 0])
        assert seeds(sim) == [[1, 2, 3, 4, 5, 6], [1, 2, 3], [1], [1, 2]] and not sim[Seed].dropped.numpy().any()


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_stale_reference_of_an_empty_world_leads_to_nobody_elses_entities(device: str) -> None:
    """The first row of an empty world is the first of the next one that has any."""
    with wl.Simulation(STALE, 3, device, seed=0, autoreset="disabled") as sim:
        for _ in range(3):
            sim.step()
        assert sim[Ember].rows("heat").tolist() == [1.0, 1.0] and sim[Ember].counts.numpy().tolist() == [0, 1, 1]
        assert {f.world for f in sim.errors()} == {0}


# -- copies of worlds --------------------------------------------------------------------------------------------------


def test_worlds_are_copied_onto_others_in_both_layouts() -> None:
    """And they go on alike, though one layout has to move every row."""
    one, two = wl.Simulation(PER_WORLD, WORLDS, "cpu", seed=5), wl.Simulation(POOLED, WORLDS, "cpu", seed=5)
    numbers = np.random.default_rng(2)
    for step in range(60):
        one.step()
        two.step()
        if step % 3 == 0:
            targets = numbers.permutation(WORLDS)[:3]
            sources = numbers.integers(0, WORLDS, 3)
            one.copy_worlds(sources, targets)
            two.copy_worlds(sources, targets)
        assert_same_rows(one, two, f"after step {step}")


def test_copies_that_do_not_fit_change_nothing() -> None:
    with wl.Simulation(bed("drop"), 4, "python", seed=0) as sim:
        sow(sim, [0, 2, 4, 0])
        before = {name: tensor.clone() for name, tensor in snapshot.copy_columns(sim).items()}
        with pytest.raises(InputError, match="hold 14 Seed, and the batch has room for 12"):
            sim.copy_worlds(2, [0, 3])
        assert all(torch.equal(tensor, before[name]) for name, tensor in snapshot.copy_columns(sim).items())
        with pytest.raises(InputError, match="the worlds share the rows of Seed"):
            sim.snapshot([1])


def test_single_worlds_are_not_cut_out_where_there_are_as_many_rows_as_worlds() -> None:
    with (
        wl.Simulation(bed("drop"), 12, "python", seed=0) as sim,
        pytest.raises(InputError, match="the worlds share the rows of Seed"),
    ):
        sim.snapshot([1])


# -- resets, snapshots, and what else runs on it ---------------------------------------------------------------------


def test_a_reset_of_some_worlds_closes_the_gaps_and_leaves_the_others_alone() -> None:
    sim = wl.Simulation(POOLED, WORLDS, "cpu", seed=1)
    for _ in range(6):
        sim.step()
    table = sim[Mote]
    before = {
        w: table.rows("place")[at : at + n].clone()
        for w, (at, n) in enumerate(zip(table.offsets.tolist(), table.counts.numpy(), strict=True))
    }
    mask = np.arange(WORLDS) % 3 == 1
    sim.reset(mask)
    counts = table.counts.torch().long()
    assert torch.equal(table.offsets, counts.cumsum(0) - counts)
    for world, rows in before.items():
        now = table.rows("place")[table.offsets[world] : table.offsets[world] + counts[world]]
        assert torch.equal(now, rows) != mask[world]


def test_a_restored_simulation_goes_on_with_the_same_bits() -> None:
    sim = wl.Simulation(POOLED, WORLDS, "cpu", seed=1)
    for _ in range(7):
        sim.step()
    kept, played = snapshot.copy_columns(sim), []
    assert not any("scratch" in name for name in kept)
    for run in range(2):
        for step in range(20):
            sim.step()
            rows = [sim[kind].rows(name).clone() for kind in (Mote, Spark) for name in (SERIAL, *kind.fields)]
            if run == 0:
                played.append(rows)
            else:
                assert all(torch.equal(a, b) for a, b in zip(played[step], rows, strict=True))
        snapshot.restore(sim, kept)
    other = wl.Simulation(POOLED, WORLDS, "python", seed=8)
    snapshot.restore(other, kept)
    assert_same_rows(sim, other, "restored on another device")


def test_worlds_that_share_rows_run_in_one_thread() -> None:
    sim = wl.Simulation(POOLED, WORLDS, "cpu", seed=1, threads=2)
    assert sim.slices == [(0, WORLDS)]
    assert wl.Simulation(PER_WORLD, WORLDS, "cpu", seed=1, threads=2).slices == [(0, 4), (4, 9)]


def test_a_compaction_is_timed_as_one() -> None:
    sim = wl.Simulation(POOLED, WORLDS, "cpu", seed=1)
    for _ in range(3):
        sim.step()
    before = snapshot.copy_columns(sim)
    found = time_systems(sim, rounds=1)
    assert all(
        torch.equal(tensor.nan_to_num(), before[name].nan_to_num())
        for name, tensor in snapshot.copy_columns(sim).items()
    )
    names = [t.name for t in found]
    assert names.count("compact Mote") == names.count("compact Spark") == 1 and all(
        t.engine for t in found if t.name.startswith("compact")
    )


def test_a_compaction_of_several_kernels_begins_once() -> None:
    program = generate(plan(POOLED, "same_step", True), True, cuda=True)
    compactions = [k for k in program.step if isinstance(k, KernelSpec) and k.labels == ("compact Mote",)]
    assert len(compactions) % 5 == 0 and [k.first_of_entry for k in compactions] == [
        True,
        False,
        False,
        False,
        False,
    ] * (len(compactions) // 5)
    assert [k.launch_size(33) for k in compactions[:5]] == [64, 32, 33 * 32, 160, 160] and compactions[
        0
    ].active_threads(33) == 33


def test_rows_of_the_batch_are_laid_out_whatever_the_number_of_worlds() -> None:
    sim = wl.Simulation(pooled(motes=160, sparks=240), 500, "python", seed=0)
    assert (
        sim[Mote].place.shape == (160, 2)
        and sim["Mote__new"].place.shape == (160, 2)
        and sim[Nest].left.shape == (500, 2)
    )
