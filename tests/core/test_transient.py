"""Components with a meaning only within a step: populations, snapshots and comparisons leave them out."""

from collections.abc import Callable

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.tools.compare import first_difference


class Grain(wl.Entity):
    weight: float = 1.0
    doubled: wl.Transient(float)
    corners: wl.Transient(wl.Array(float, 3))


class Heap(wl.World):
    total: float


@wl.system
def pour(world: Heap):
    for k in range(4):
        world.spawn(Grain, weight=float(k + 1))


@wl.system
def double(grain: Grain):
    grain.doubled = 2.0 * grain.weight
    for k in range(3):
        grain.corners[k] = grain.doubled + float(k)


@wl.system
def change(grain: Grain, world: Heap):
    """Every grain of even weight is replaced by a lighter one."""
    world.total += grain.doubled + grain.corners[2]
    if int(grain.weight) % 2 == 0:
        world.spawn(Grain, weight=0.5 * grain.weight)
        grain.despawn()


def heap(limit: wl.UpTo) -> wl.Definition:
    return wl.Definition("Heap", Heap, {Grain: limit}, reset=(pour,), step=(double, change))


LIMITS = {"per world": wl.UpTo(8), "of the batch": wl.UpTo(8, batch=24)}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
def test_interpreter_and_cpu_agree(limit: wl.UpTo) -> None:
    interpreted, compiled = sims = [wl.Simulation(heap(limit), 3, device, seed=0) for device in ("python", "cpu")]
    for number in range(4):
        for sim in sims:
            sim.step()
        assert first_difference(interpreted, compiled, number) is None
    # 1, 2, 3, 4 weigh 2 w + (2 w + 2) each; then 1, 3, 1, 2; then 1, 3, 1, 1; and no more changes
    assert compiled.world.total.numpy().tolist() == [4 * (10 + 7 + 6 + 6) + 4 * 8] * 3


class Kernel(wl.Entity):
    sort: wl.Transient(int)
    popped: int


class Pan(wl.World):
    pops: int


@wl.system
def fill(world: Pan):
    for _ in range(3):
        world.spawn(Kernel)


@wl.system
def sort(kernel: Kernel):
    kernel.sort = kernel.id % 3


@wl.system(where=("sort", (2, 1)))
def pop(kernel: Kernel, world: Pan):
    kernel.popped = kernel.popped * 2 + kernel.id
    world.pops += 1


@pytest.mark.parametrize("count", [3, wl.UpTo(8), wl.UpTo(8, batch=24)], ids=["fixed", *LIMITS])
def test_a_condition_reads_them(count: int | wl.UpTo) -> None:
    """A component that one system writes, and by which another one chooses entities."""
    reset = () if count == 3 else (fill,)
    definition = wl.Definition("Pan", Pan, {Kernel: count}, reset=reset, step=(sort, pop))
    for device in ("python", "cpu"):
        sim = wl.Simulation(definition, 3, device, seed=0)
        sim.step()
        popped = sim[Kernel].popped if count == 3 else sim[Kernel].rows("popped")
        assert popped.numpy().ravel().tolist() == [0, 1, 2] * 3
        assert sim.world.pops.numpy().tolist() == [2] * 3


def test_compactions_do_not_access_them() -> None:
    sim = wl.Simulation(heap(wl.UpTo(8)), 2, "cpu", seed=0)
    compactions = [s for s in sim.program.step if isinstance(s, KernelSpec) and s.labels == ("compact Grain",)]
    accessed = {name for spec in compactions for table, name in spec.columns if table == "Grain"}
    assert "weight" in accessed and not accessed & {"doubled", "corners"}


def test_snapshots_leave_them_out() -> None:
    sim = wl.Simulation(heap(wl.UpTo(8)), 2, "cpu", seed=0)
    sim.step()
    assert sim[Grain].rows("corners").numpy().any()
    saved, fresh = sim.snapshot(), wl.Simulation(heap(wl.UpTo(8)), 2, "cpu", seed=1)
    fresh.step()
    sim.step()
    fresh.restore(saved)
    assert not fresh[Grain].rows("corners").numpy().any()
    fresh.step()
    assert np.array_equal(fresh.world.total.numpy(), sim.world.total.numpy())


def test_a_spawn_cannot_set_them() -> None:
    @wl.system
    def wrong(world: Heap):
        world.spawn(Grain, doubled=1.0)

    with pytest.raises(wl.DefinitionError, match="'doubled', which is transient"):
        wl.Simulation(wl.Definition("Wrong", Heap, {Grain: wl.UpTo(8)}, reset=(pour,), step=(wrong,)), 1, "cpu")


@pytest.mark.parametrize("component", [wl.Observation(2), wl.Persistent(int), wl.Finite(float)], ids=str)
def test_what_others_read_is_not_transient(component: object) -> None:
    with pytest.raises(wl.DefinitionError, match="Transient takes"):
        wl.Transient(component)


@pytest.mark.parametrize("declaration", [wl.Persistent, wl.Finite])
def test_what_lasts_is_not_transient(declaration: Callable[..., object]) -> None:
    with pytest.raises(wl.DefinitionError, match="takes no transient component"):
        declaration(wl.Transient(float))
