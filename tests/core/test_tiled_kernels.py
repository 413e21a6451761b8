"""Systems with ``together=True``: one kernel on a GPU takes tiles of worlds through all of them."""

from __future__ import annotations

import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.codegen.tiles.shared_columns import shared_tables, total_bytes
from worldloom.core.codegen.tiles.tiled_kernel import FEW_REGISTERS, RESIDENT_WORLDS, TileLimits, tile_limits
from worldloom.core.model.launch import LaunchNode
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")

LINKS = 7
PASSES = 3
TILE_WORLDS, TILE_BLOCK = TileLimits().worlds, TileLimits().block


class Ring(wl.Entity):
    place: float
    moves: int


class Link(wl.Entity):
    """Pulls two neighbours together. Links of one colour have no ring in common."""

    colour: int
    strain: float


class Chain(wl.World):
    pulls: int
    slack: float
    sum: float


@wl.system
def hang(world: Chain):
    for i in range(world.integer(LINKS + 1)):
        world.spawn(Link, colour=i % 2)
    for ring in world.all(Ring):
        ring.place = world.random()


@wl.system(where=("colour", range(2)), disjoint=True, together=True)
def pull(link: Link, world: Chain):
    left, right = world.at(Ring, link.id), world.at(Ring, link.id + 1)
    link.strain = right.place - left.place
    left.place, right.place = left.place + 0.25 * link.strain, right.place - 0.5 * link.strain
    left.moves, right.moves = left.moves + 1, right.moves + world.pulls


@wl.system(together=True)
def slacken(world: Chain):
    """Needs all rings, which the next system changes."""
    world.pulls += 1
    world.slack = world.at(Ring, 0).place - world.at(Ring, LINKS).place


@wl.system(together=True)
def drift(ring: Ring, world: Chain):
    """For all rows, without a list."""
    ring.place += 0.125 * world.slack


@wl.system
def total(world: Chain):
    world.sum = 0.0
    for ring in world.all(Ring):
        world.sum += ring.place


@wl.system(where=("colour", 1))
def swap(link: Link):
    """Not in a run, with a list by tile."""
    link.strain += 1.0


def chain() -> wl.Definition:
    step = (*(pull, slacken, drift) * PASSES, total, swap)
    return wl.Definition(
        "Chain-test", Chain, {Ring: LINKS + 1, Link: wl.UpTo(LINKS)}, reset=(hang,), step=step, max_steps=4
    )


def kernels(limits: TileLimits = TileLimits(), fuse: bool = True) -> list[KernelSpec]:
    program = generate(wl.Simulation(chain(), 2, "python").schedule, fuse, True, tiles=limits)
    return [spec for spec in program.step if isinstance(spec, KernelSpec) and spec.tile]


def run_beside_the_cpu(
    definition: wl.Definition, worlds: int, seed: int, steps: int, tiles: TileLimits = TileLimits()
) -> wl.Simulation:
    """Compare the kernels for CUDA, run by Python threads in any order, with the CPU after each step: the latter."""
    cpu, machine_side = (wl.Simulation(definition, worlds, "cpu", seed=seed) for _ in range(2))
    machine = Machine(machine_side, any_order=True, tiles=tiles)
    for step in range(steps):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    return cpu


def test_python_and_cpu_agree() -> None:
    assert compare(chain(), num_worlds=3, steps=10) is None


@pytest.mark.parametrize(
    ("worlds", "tile"), sample([(1, TILE_WORLDS), (TILE_WORLDS + 5, TILE_WORLDS), (40, 64), (70, 64)], 3)
)
def test_the_kernel_for_cuda_does_the_same_with_real_threads(worlds: int, tile: int) -> None:
    cpu = run_beside_the_cpu(chain(), worlds, 5, 5, TileLimits(tile))
    assert cpu.world.pulls.numpy().any() and cpu[Ring].moves.numpy().any()


def test_adjacent_systems_are_one_kernel() -> None:
    run, alone = kernels()
    assert run.labels == ("pull(Link)", "slacken", "drift(Ring)") and alone.labels == ("swap(Link)",)
    assert len(run.stages) == 3 and not alone.stages
    assert run.launch_size(TILE_WORLDS + 1) == 2 * TILE_BLOCK and run.rows_argument(TILE_WORLDS + 1) == TILE_WORLDS + 1
    assert run.block == TILE_BLOCK and not run.has_free_block
    assert run.sequence == 4 * PASSES and run.bytes_read < 100 * LINKS, "a column counts once"
    assert len(kernels(fuse=False)) == 2 * PASSES + 1, "without fusion only systems with lists have tiles"


def test_a_list_is_written_once_before_the_run() -> None:
    entries = generate(wl.Simulation(chain(), 2, "python").schedule, True, True).step
    names = [entry.name if isinstance(entry, LaunchNode) else entry.labels[0] for entry in entries]
    assert names.count("list Link by colour") == 1
    assert names.index("list Link by colour") == names.index("pull(Link)") - 1


def test_registers_are_those_that_all_systems_of_a_run_allow() -> None:
    def texts(registers: int | None) -> str:
        @wl.system(together=True, registers=registers)
        def first(ring: Ring):
            ring.moves += 1

        @wl.system(together=True, registers=64)
        def second(world: Chain):
            world.pulls += world.at(Ring, 0).moves

        definition = wl.Definition("Two-test", Chain, {Ring: 3}, reset=(), step=(first, second))
        schedule = wl.Simulation(definition, 1, "python").schedule
        return generate(schedule, True, True, tiles=TileLimits(registers=128)).text

    assert "cuda_max_registers=96" in texts(96) and "cuda_max_registers=128" in texts(None)


def test_limits_depend_on_the_number_of_worlds_and_on_the_gpu() -> None:
    few, many = tile_limits(RESIDENT_WORLDS, 10**6), tile_limits(RESIDENT_WORLDS + 1, 10**6)
    assert few.worlds == 128 and few.block == 256 and few.shared_bytes > 0 and few.registers is None
    assert many.worlds == 32 and many.block == 128 and many.shared_bytes == 0 and many.registers == FEW_REGISTERS
    assert [tile_limits(n, 10**6).worlds for n in (1, 4096, 8192, 16384)] == [32, 32, 64, 128]
    assert tile_limits(16384, 99_000).shared_bytes == 99_000 and tile_limits(64, 99_000) == TileLimits()


# -- systems at the same time ------------------------------------------------------------------------------------------


class Weight(wl.Entity):
    height: float


class Pan(wl.Entity):
    side: int
    height: float


class Scales(wl.World):
    tilt: float
    rounds: int


def scales(concurrent: bool = True, empty: bool = False) -> wl.Definition:
    """Weights rise while pans of the first side fall; pans of the other side then follow the weights."""

    @wl.system
    def set_up(world: Scales):
        for i in range(0 if empty else world.integer(5)):
            world.spawn(Pan, side=i % 2)

    @wl.system(together=True, concurrent=concurrent)
    def raise_weights(world: Scales):
        for weight in world.all(Weight):
            weight.height += 0.25 + 0.5 * world.tilt
        world.rounds += 1

    @wl.system(where=("side", range(2)), disjoint=True, together=True)
    def move_pans(pan: Pan, world: Scales):
        if pan.side == 0:
            pan.height -= 0.125
        else:
            pan.height += world.at(Weight, pan.id % 3).height

    @wl.system(together=True)
    def weigh(world: Scales):
        world.tilt = 0.0
        for weight in world.all(Weight):
            world.tilt += 0.0625 * weight.height
        for pan in world.all(Pan):
            world.tilt -= 0.03125 * pan.height

    step = (raise_weights, move_pans, weigh) * PASSES
    return wl.Definition("Scales-test", Scales, {Weight: 3, Pan: wl.UpTo(4)}, reset=(set_up,), step=step, max_steps=4)


def test_there_is_no_barrier_between_a_concurrent_system_and_the_next() -> None:
    def barriers(concurrent: bool) -> list[str]:
        text = generate(wl.Simulation(scales(concurrent), 2, "python").schedule, True, True).text
        body = text[text.index("for index in range") :].partition("@wp.")[0]
        return [line.strip() for line in body.splitlines() if "sync_block()" in line or "open_stage" in line]

    assert barriers(False) == ["sync_block()"] * 3
    assert barriers(True).count("sync_block()") == 2 + 3 and "open_stage = index" in barriers(True)


@pytest.mark.parametrize("empty", [False, True])
def test_concurrent_systems_do_the_same_with_real_threads(empty: bool) -> None:
    """Without pans the next system does not run: the one after it waits for the concurrent one nevertheless."""
    definition = scales(empty=empty)
    run_beside_the_cpu(definition, 37, 2, 5)
    assert compare(definition, num_worlds=3, steps=6) is None


@wl.system(together=True)
def weigh_all(world: Scales):
    for weight in world.all(Weight):
        world.tilt += 0.0625 * weight.height


@wl.system(together=True, concurrent=True)
def load(world: Scales):
    for _ in range(20):
        world.tilt = 0.5 * world.tilt + 0.125


@wl.system(together=True)
def lift(weight: Weight):
    """Independent of ``load``, so that fusion may move it."""
    weight.height = 0.5 * weight.height + 0.25


@wl.system(together=True)
def tip(weight: Weight, world: Scales):
    weight.height += world.tilt


@wl.system(together=True)
def follow(pan: Pan, world: Scales):
    pan.height += world.tilt


@wl.system
def shake(weight: Weight):
    """Not in the tiled kernel."""
    weight.height *= 0.75


STEPS = {
    "the next system is joined with one that depends on it": (load, lift, tip, weigh_all),
    "the next system joins an earlier one": (tip, load, lift, follow, weigh_all),
    "the next system has a kernel of its own": (tip, load, shake, follow, weigh_all),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_concurrent_system_promises_nothing_about_later_systems(case: str) -> None:
    @wl.system
    def set_up(world: Scales):
        world.tilt = world.random()
        for weight in world.all(Weight):
            weight.height = world.random()

    step = STEPS[case]
    definition = wl.Definition("Moved-test", Scales, {Weight: 4, Pan: 3}, reset=(set_up,), step=step, max_steps=9)
    run_beside_the_cpu(definition, 5, 1, 4)


def test_a_concurrent_system_has_a_kernel_with_others() -> None:
    with pytest.raises(wl.DefinitionError, match="only in the same kernel"):

        @wl.system(concurrent=True)
        def alone(world: Scales):
            world.rounds += 1


# -- columns in shared memory ------------------------------------------------------------------------------------------


class Cell(wl.Entity):
    colour: int
    level: float
    packed: wl.Transient(wl.vec(8))
    rare: wl.Transient(wl.vec(8))
    shown: wl.Transient(wl.vec(8))
    kept: wl.vec(8)


class Dish(wl.World):
    pass


def dish(cells: int = 6, accumulates: bool = False) -> wl.Definition:
    """Cells of two colours are filled, stirred three times and emptied; those of the third are left alone.

    ``accumulates`` adds into other cells while they are stirred.
    """

    @wl.system
    def sow(cell: Cell, world: Dish):
        cell.colour, cell.level = cell.id % 3, world.random()

    @wl.system(where=("colour", (0, 1)), disjoint=True, together=True)
    def fill(listed: Cell, world: Dish):
        cell = world.at(Cell, listed.id)
        for i in range(8):
            cell.packed[i] = cell.level + float(i)
            cell.rare[i], cell.shown[i], cell.kept[i] = cell.level, cell.level, cell.level

    def mix(place: int) -> wl.System:
        @wl.system(where=("colour", (0, 1)), disjoint=True, together=True)
        def stir(listed: Cell, world: Dish):
            cell = world.at(Cell, listed.id)
            cell.packed[place] += cell.kept[place] + cell.shown[place]

        return stir

    @wl.system(where=("colour", 1), disjoint=True, together=True)
    def empty(listed: Cell, world: Dish):
        cell = world.at(Cell, listed.id)
        cell.level = cell.packed[1] + cell.rare[0]

    @wl.system(where=("colour", (0, 1)), together=True)
    def spill(listed: Cell, world: Dish):
        world.at(Cell, (listed.id + 3) % cells).packed += listed.kept

    @wl.system
    def show(cell: Cell):
        cell.level += cell.shown[0]

    stirs = (mix(0), mix(1), *((spill,) if accumulates else ()), mix(2))
    return wl.Definition("Dish-test", Dish, {Cell: cells}, reset=(sow,), step=(fill, *stirs, empty, show))


def test_columns_of_one_kernel_are_in_shared_memory_where_enough_systems_use_them() -> None:
    """Not those that stay between steps, that other kernels read, or that two systems use."""
    simulation = wl.Simulation(dish(), 2, "python")
    text = generate(simulation.schedule, True, True).text
    assert "shared_put_Cell__packed__col(" in text and "wl_get_vec8_float32(Cell__packed__col" not in text
    assert not any(f"shared_get_Cell__{name}__col" in text for name in ("rare", "shown", "kept"))
    (run,) = [s for s in generate(simulation.schedule, True, True).step if isinstance(s, KernelSpec) and s.tile]
    assert run.shared_columns == (("Cell", "packed"),) and run.shared_bytes > 0
    assert "shared_get" not in generate(simulation.schedule, True, True, tiles=TileLimits(shared_bytes=0)).text
    assert compare(dish(), num_worlds=3, steps=3) is None


def test_columns_that_are_accumulated_into_stay_in_memory() -> None:
    """An atomic addition has the address of the column."""
    definition = dish(accumulates=True)
    program = generate(wl.Simulation(definition, 2, "python").schedule, True, True)
    (run,) = [spec for spec in program.step if isinstance(spec, KernelSpec) and spec.tile]
    assert "spill(Cell)" in run.labels and run.shared_columns == () and "shared_get" not in program.text
    assert compare(definition, num_worlds=3, steps=3) is None


def test_slots_do_not_overlap() -> None:
    schedule = wl.Simulation(dish(), 2, "python").schedule
    rows = schedule.lists["Cell", "colour"]
    columns = {("Cell", name): schedule.field_of(("Cell", name)) for name in ("packed", "rare", "shown")}
    (table,) = shared_tables(columns, {"Cell": (rows, 0b11)}, TILE_WORLDS)
    assert [offset for _, offset in table.columns.values()] == [0, 32, 64] and table.stride == 112
    assert table.stride // 16 % 2 == 1 and table.map_end >= 2 * TILE_WORLDS * 6 and table.map_end % 16 == 0
    assert total_bytes([table], 10_000) == 10_000 and total_bytes([], 10_000) == 0
    assert total_bytes([table], 10**6) == table.map_end + TILE_WORLDS * 6 * table.stride


# -- wrong systems -----------------------------------------------------------------------------------------------------


def test_systems_with_several_threads_are_refused() -> None:
    with pytest.raises(wl.DefinitionError, match="32 threads per entity cannot run together"):

        @wl.system(threads=32, together=True)
        def shared(ring: Ring):
            ring.moves += 1

    with pytest.raises(wl.DefinitionError, match="a kernel of its own and run together"):

        @wl.system(separate=True, together=True)
        def apart(world: Chain):
            world.pulls += 1

    with pytest.raises(wl.DefinitionError, match="over pairs cannot run together"):

        @wl.system(together=True)
        def meet(a: Ring, b: Ring):
            a.moves += 1
