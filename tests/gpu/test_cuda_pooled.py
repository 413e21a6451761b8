"""Populations with rows for the whole batch on the GPU: each world's entities are those of the CPU, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pooled_worlds import PER_WORLD, STALE, Ember, Gnat, Mote, Seed, Spark, bed, gnats, pooled

import worldloom as wl
from worldloom.core.base.errors import CapacityError
from worldloom.core.measure.timing import time_systems
from worldloom.core.model.population import ROW_WORLD, SERIAL
from worldloom.core.state import snapshot

WHOLE = ("age", "orphan", "marks", "parent", SERIAL)
"""Components of a mote that nothing rounds."""


def assert_same_beds(one: wl.Simulation, two: wl.Simulation, when: str) -> None:
    for name in ("number", "sown", SERIAL, ROW_WORLD):
        np.testing.assert_array_equal(
            two[Seed].rows(name).cpu().numpy(), one[Seed].rows(name).cpu().numpy(), err_msg=f"{name} {when}"
        )
    for name in ("counts", "first_rows", "dropped"):
        np.testing.assert_array_equal(
            getattr(two[Seed], name).numpy(), getattr(one[Seed], name).numpy(), err_msg=f"{name} {when}"
        )
    np.testing.assert_array_equal(two.world.episode.numpy(), one.world.episode.numpy(), err_msg=when)


@pytest.mark.parametrize("worlds", [1, 31, 4096])
def test_churn_gives_what_the_cpu_gives(worlds: int) -> None:
    """Births, deaths and resets by chance, now and then more than there is room for. Nothing here rounds."""
    made = bed("drop", per_world=24, batch=3 * worlds + 2)
    cpu, gpu = (wl.Simulation(made, worlds, device, seed=6) for device in ("cpu", "cuda:0"))
    numbers, most = np.random.default_rng(3), 0
    for step in range(60):
        births = numbers.integers(0, 9 if step % 10 == 9 else 4, worlds).astype(np.int32)
        births *= numbers.random(worlds) < (0.0 if step % 7 == 6 else 0.7)
        oldest = numbers.integers(1, 9, worlds).astype(np.int32)
        mask = numbers.random(worlds) < 0.2
        for sim in (cpu, gpu):
            sim.set_config("births", births)
            sim.set_config("oldest", oldest)
            sim.step()
        assert_same_beds(cpu, gpu, f"after step {step}")
        if step % 5 == 4:
            cpu.reset(mask)
            gpu.reset(mask)
            assert_same_beds(cpu, gpu, f"after the reset behind step {step}")
        most = max(most, int(cpu[Seed].counts.numpy().sum()))
    assert most > 2 * worlds and cpu[Seed].dropped.numpy().any()


def test_more_worlds_than_one_warp_adds_up_at_a_time() -> None:
    """The sums of 32 worlds each are carried on in turns of 512 of them."""
    worlds = 3 * 512 * 32 + 17
    made = bed("drop", per_world=4, batch=2 * worlds)
    cpu, gpu = (wl.Simulation(made, worlds, device, seed=6) for device in ("cpu", "cuda:0"))
    numbers = np.random.default_rng(3)
    for step in range(6):
        births, oldest = (
            numbers.integers(0, 3, worlds).astype(np.int32),
            numbers.integers(1, 4, worlds).astype(np.int32),
        )
        for sim in (cpu, gpu):
            sim.set_config("births", births)
            sim.set_config("oldest", oldest)
            sim.step()
        assert_same_beds(cpu, gpu, f"after step {step}")


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
def test_both_layouts_hold_the_same_worlds(fuse: bool) -> None:
    """References, events, arrays, spawns by several systems and resets.

    Both run on the GPU, so that real numbers agree to the bit.
    """
    worlds = 300
    one = wl.Simulation(PER_WORLD, worlds, "cuda:0", seed=5, fuse=fuse)
    two = wl.Simulation(pooled(motes=24 * worlds, sparks=40 * worlds), worlds, "cuda:0", seed=5, fuse=fuse)
    for step in range(120):
        one.step()
        two.step()
        for kind in (Mote, Spark):
            assert torch.equal(two[kind].counts.torch(), one[kind].counts.torch()), (kind, step)
            for name in (SERIAL, *kind.fields):
                assert torch.equal(two[kind].rows(name), one[kind].rows(name)), (kind, name, step)
    assert int(two.world.episode.numpy().min()) > 0


def test_interacting_worlds_agree_with_the_cpu(synchronise) -> None:
    made = pooled(motes=600, sparks=900)
    cpu, gpu = (wl.Simulation(made, 64, device, seed=5) for device in ("cpu", "cuda:0"))
    for step in range(40):
        synchronise(cpu, gpu)
        cpu.step()
        gpu.step()
        assert torch.equal(gpu[Mote].counts.torch().cpu(), cpu[Mote].counts.torch()), step
        for name in WHOLE:
            assert torch.equal(gpu[Mote].rows(name).cpu(), cpu[Mote].rows(name)), (name, step)
        torch.testing.assert_close(gpu[Mote].rows("place").cpu(), cpu[Mote].rows("place"), atol=1e-5, rtol=1e-5)


def test_overflow_names_the_worlds() -> None:
    sim = wl.Simulation(bed("error"), 3, "cuda:0", seed=0)
    sim.set_config("births", np.array([4, 4, 3], np.int32))
    sim.step()
    sim.set_config("births", np.array([1, 2, 0], np.int32))
    with pytest.raises(CapacityError) as raised:
        for _ in range(2):  # the alarm of a step may only be heard at the next
            sim.step()
            torch.cuda.synchronize()
            sim.set_config("births", 0)
    assert [f.world for f in raised.value.faults] == [1]


def test_more_spawned_at_once_than_rows_adds_nobody() -> None:
    sim = wl.Simulation(bed("drop"), 40, "cuda:0", seed=0)
    sim.set_config("births", 1)
    sim.step()
    assert sim[Seed].counts.numpy().sum() == 0 and sim[Seed].dropped.numpy().tolist() == [1] * 40
    sim.set_config("births", np.array([1] * 5 + [0] * 35, np.int32))
    sim.step()
    assert sim[Seed].rows("number").tolist() == [2] * 5


def test_a_restored_simulation_goes_on_with_the_same_bits() -> None:
    sim = wl.Simulation(pooled(motes=600, sparks=900), 64, "cuda:0", seed=1)
    for _ in range(7):
        sim.step()
    kept = snapshot.copy_columns(sim)
    found = []
    for _ in range(2):
        for _ in range(20):
            sim.step()
        found.append([sim[kind].rows(name).clone() for kind in (Mote, Spark) for name in (SERIAL, *kind.fields)])
        snapshot.restore(sim, kept)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_exports_and_copies_of_worlds() -> None:
    sim = wl.Simulation(bed("drop"), 4, "cuda:0", seed=0)
    sim.set_config("births", np.array([2, 0, 3, 1], np.int32))
    sim.step()
    table = sim[Seed]
    assert (
        table.padded("number", fill=-1).tolist() == [[1, 2, -1], [-1, -1, -1], [1, 2, 3], [1, -1, -1]]
        and table.rows("number").is_cuda
    )
    table.copy_worlds(torch.tensor([2, 0, 2, 3], device="cuda:0"))
    sim.set_config("births", 0)
    sim.step()
    assert table.rows("number").tolist() == [1, 2, 3, 1, 2, 1, 2, 3, 1] and table.counts.numpy().tolist() == [
        3,
        2,
        3,
        1,
    ]


def test_systems_are_timed() -> None:
    """The kernels of a compaction run repeatedly here; they must not write out of bounds."""
    sim = wl.Simulation(pooled(motes=600, sparks=900), 64, "cuda:0", seed=1)
    for _ in range(5):
        sim.step()
    before = snapshot.copy_columns(sim)
    found = time_systems(sim, rounds=2)
    assert all(
        torch.equal(tensor.nan_to_num(), before[name].nan_to_num())
        for name, tensor in snapshot.copy_columns(sim).items()
    )
    assert [t.name for t in found].count("compact Mote") == 1


def test_neighbours_and_pairs_in_both_layouts() -> None:
    one, two = (wl.Simulation(gnats(batch), 200, "cuda:0", seed=1) for batch in (None, 4000))
    for step in range(40):
        one.step()
        two.step()
        for name in (SERIAL, *Gnat.fields):
            assert torch.equal(two[Gnat].rows(name), one[Gnat].rows(name)), (name, step)
        assert torch.equal(two.world.meetings.torch(), one.world.meetings.torch())


def test_a_stale_reference_of_an_empty_world_leads_to_nobody_elses_entities() -> None:
    sim = wl.Simulation(STALE, 3, "cuda:0", seed=0, autoreset="disabled")
    for _ in range(3):
        sim.step()
    assert sim[Ember].rows("heat").tolist() == [1.0, 1.0] and sim[Ember].counts.numpy().tolist() == [0, 1, 1]
    assert {f.world for f in sim.errors()} == {0}
