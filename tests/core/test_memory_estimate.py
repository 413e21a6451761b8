"""Batches that do not fit are refused before anything is laid out."""

import re

import pytest
import warp as wp

import worldloom as wl
from worldloom.core.runtime import memory
from worldloom.core.schedule.schedule import plan


class Sheep(wl.Entity):
    place: wl.vec3
    age: int = 0
    wool: wl.Array(float, 4096) = 0.0  # so much that no machine has room for all the worlds below


class Meadow(wl.World):
    rain: wl.Config = 1.0


@wl.system
def grow(sheep: Sheep, world: Meadow):
    sheep.age += 1


MEADOW = wl.Definition("MemoryMeadow-v0", Meadow, {Sheep: 3}, step=(grow,))


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_billion_worlds_are_refused_at_once_with_both_numbers(device):
    with pytest.raises(wl.InputError) as raised:
        wl.Simulation(MEADOW, 500_000_000, device)
    assert re.fullmatch(
        r"500,000,000 worlds of 'MemoryMeadow-v0' need [\d,.]+ GiB of memory on cpu, "
        r"and [\d,.]+ [GM]iB are available: use fewer worlds",
        str(raised.value),
    )


def test_make_and_pools_refuse_them_too():
    with pytest.raises(wl.InputError, match="GiB of memory on cpu"):
        wl.make(MEADOW, 500_000_000)
    with pytest.raises(wl.InputError, match=r"more worlds of 'MemoryMeadow-v0' need .* GiB"):
        wl.make(MEADOW, 500_000_000, batch_size=1000, device="python")


def test_the_estimate_is_what_the_columns_take():
    simulation = wl.Simulation(MEADOW, 7, "python", seed=0)
    columns = [c for table in simulation.tables.values() for c in table.all_columns.values() if not c.field.batch_wide]
    assert memory.bytes_needed(plan(MEADOW, "same_step", True), 7) == sum(c.nbytes for c in columns)
    assert memory.bytes_needed(plan(MEADOW, "same_step", True), 7, ["Sheep.wool"]) == sum(
        c.nbytes for c in columns if c.name != "Sheep.wool"
    )


def test_what_a_machine_has(tmp_path):
    there = memory.bytes_available(wp.get_device("cpu"))
    assert there is None or there > 2**20
    limit, used = tmp_path / "memory.max", tmp_path / "memory.current"
    for most, expected in (("1000\n", 1000 - 700 + 200), ("max\n", None)):
        limit.write_text(most)
        used.write_text("700\n")
        (tmp_path / "memory.stat").write_text("anon 500\nfile 200\n")
        assert memory._cgroup_free(str(limit), str(used)) == expected
    assert memory._cgroup_free(str(tmp_path / "none"), str(used)) is None
