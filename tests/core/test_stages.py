"""Joined kernels: which kernels become stages of one, with the results of separate kernels."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.codegen.row_loops import MANY_ROWS, ROWS_PER_RESET_THREAD
from worldloom.core.codegen.shared_programs import shared_program, shared_schedule
from worldloom.core.codegen.stages import (
    MAX_THREADS_PER_WORLD,
    MIN_UNEVEN_WIDTH,
    RESIDENT_THREADS,
    uneven_width,
)
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Bee(wl.Entity):
    fly: wl.Action(wl.Discrete(3))
    height: int
    lead: int  # of the highest, less its own
    sight: wl.Observation(wl.Discrete(100))
    reward: wl.Reward


class Queen(wl.Entity):
    court: int  # bees at her height
    height: int = 3


class Hive(wl.World):
    top: int
    turns: wl.Config = 5


@wl.system
def fly(bee: Bee, world: Hive):
    bee.height += bee.fly + world.integer(2)
    world.top = max(world.top, bee.height)


@wl.system
def rise(queen: Queen, world: Hive):
    queen.court = 0
    queen.height = world.top - 1


@wl.system
def attend(bee: Bee, world: Hive):
    bee.lead = world.top - bee.height
    for queen in world.all(Queen):
        if queen.height == bee.height:
            queen.court += 1


@wl.system
def praise(bee: Bee, world: Hive):
    for queen in world.all(Queen):
        bee.reward += float(queen.court * bee.lead)


@wl.system
def swarm(world: Hive):
    if world.step + 1 >= world.turns:
        world.terminate()


@wl.system
def look(bee: Bee, world: Hive):
    bee.sight = 2 * bee.height + world.top


class Map(wl.Entity):
    seen: wl.Observation(400)


@wl.system(threads=WARP_SIZE)
def draw(map: Map, world: Hive):
    for place in wl.share(400):
        map.seen[place] = float(world.top + place)


def hive(bees: int, queens: int) -> wl.Definition:
    return wl.Definition(
        "Hive-test", Hive, {Bee: bees, Queen: queens}, step=(fly, rise, attend, praise, swarm), observe=(look,)
    )


def kernels(definition: wl.Definition, fuse: bool = True, num_worlds: int = 1) -> list[KernelSpec]:
    schedule = wl.Simulation(definition, 1, "python").schedule
    program = generate(schedule, fuse, True, uneven=uneven_width(num_worlds))
    return [spec for spec in program.step if isinstance(spec, KernelSpec)]


@pytest.mark.parametrize(
    ("bees", "queens", "threads"),
    [(5, 2, 8), (32, 1, 32), (33, 1, 64), (4, MAX_THREADS_PER_WORLD, MAX_THREADS_PER_WORLD)],
)
def test_few_entities_make_one_kernel_in_stages(bees: int, queens: int, threads: int) -> None:
    (whole,) = kernels(hive(bees, queens))
    assert (whole.rows, whole.is_block, whole.whole_warps) == (threads, threads > 32, threads <= 32)
    assert len(whole.stages) > 3
    assert whole.labels == tuple(label for stage in whole.stages for label in stage.labels)
    assert whole.launch_size(3) % 32 == 0


def test_many_entities_keep_kernels_of_their_own() -> None:
    found = kernels(hive(MAX_THREADS_PER_WORLD + 1, 1))
    assert any(spec.rows == MAX_THREADS_PER_WORLD + 1 and not spec.stages for spec in found)


@pytest.mark.parametrize(("bees", "kernel_threads"), [(2, [1, WARP_SIZE, 1, WARP_SIZE]), (16, [1])])
def test_rows_that_threads_share_are_joined_with_enough_others(bees: int, kernel_threads: list[int]) -> None:
    definition = wl.Definition("Hive-map-test", Hive, {Bee: bees, Map: 1}, step=(fly, swarm), observe=(look, draw))
    assert [spec.threads for spec in kernels(definition)] == kernel_threads


@pytest.mark.parametrize(
    ("num_worlds", "width"),
    [
        (1, MAX_THREADS_PER_WORLD),
        (RESIDENT_THREADS // 64, 64),
        (RESIDENT_THREADS // 64 + 1, 32),
        (RESIDENT_THREADS, MIN_UNEVEN_WIDTH),
        (4 * RESIDENT_THREADS, MIN_UNEVEN_WIDTH),
    ],
)
def test_the_width_of_uneven_kernels_fits_the_batch(num_worlds: int, width: int) -> None:
    assert uneven_width(num_worlds) == width


def test_large_batches_join_stages_of_similar_widths() -> None:
    def widths(num_worlds: int) -> list[list[int]]:
        found = kernels(hive(40, 2), num_worlds=num_worlds)
        return [[stage.rows for stage in spec.parts] for spec in found]

    fitting = RESIDENT_THREADS // 64
    assert len(widths(fitting)) == 1
    *step, reset = widths(fitting + 1)
    assert all(len({rows > 2 for rows in kernel}) == 1 for kernel in step)
    assert set(reset) == {2, 40}  # few worlds are reset
    assert [rows for kernel in (*step, reset) for rows in kernel] == widths(1)[0]


def test_a_block_leaves_a_kernel_of_resets_before_its_barriers() -> None:
    schedule = wl.Simulation(hive(40, 2), 1, "python").schedule
    program = generate(schedule, True, True, uneven=MIN_UNEVEN_WIDTH)
    reset = program.step[-1]
    assert isinstance(reset, KernelSpec) and reset.stages
    lines = [line.strip() for line in program.text.split(f"def {reset.name}(")[1].splitlines()]
    (leave,) = [line for line in lines[: lines.index("sync_block()")] if line.endswith(": return")]
    assert "World__finished__col" in leave


def test_small_worlds_stay_joined_in_batches_of_any_size() -> None:
    assert len(kernels(hive(MIN_UNEVEN_WIDTH, 1), num_worlds=16 * RESIDENT_THREADS)) == 1


def test_rows_that_threads_share_are_not_joined_with_rules_in_large_batches() -> None:
    definition = wl.Definition("Hive-map-test", Hive, {Bee: 16, Map: 1}, step=(fly, swarm), observe=(look, draw))
    found = kernels(definition, num_worlds=RESIDENT_THREADS)
    alone = next(spec for spec in found if "draw(Map)" in spec.labels)
    assert (alone.threads, alone.stages) == (WARP_SIZE, ())
    assert len(found) > len(kernels(definition))


def test_simulations_of_similar_sizes_share_a_program() -> None:
    definition = hive(40, 2)
    schedule = shared_schedule(definition, "same_step", True)

    def program(num_worlds: int, cuda: bool) -> object:
        return shared_program(definition, schedule, "same_step", True, True, cuda, False, num_worlds)

    few, many = RESIDENT_THREADS // 64, RESIDENT_THREADS // 32
    assert program(1, cuda=False) is program(many, cuda=False)
    assert program(many - 1, cuda=True) is not program(few, cuda=True)
    assert program(many, cuda=True) is program(many - 1, cuda=True)


@wl.system(separate=True)
def count_courts(world: Hive):
    for bee in world.all(Bee):
        for queen in world.all(Queen):
            queen.court += bee.height


def test_a_separate_system_has_a_kernel_with_its_own_threads() -> None:
    definition = wl.Definition(
        "Hive-separate-test", Hive, {Bee: 20, Queen: 2}, step=(fly, count_courts, praise), observe=(look,)
    )
    (alone,) = [spec for spec in kernels(definition) if "count_courts" in spec.labels]
    assert (alone.rows, alone.stages) == (1, ())
    assert any(len(spec.stages) > 1 for spec in kernels(definition))


def test_nothing_is_joined_where_nothing_is_fused() -> None:
    assert not any(spec.stages for spec in kernels(hive(5, 2), fuse=False))


@pytest.mark.parametrize(
    ("bees", "worlds", "uneven", "num_kernels"),
    [(5, 3, 8, 1), (40, 2, 64, 1), (40, 2, MIN_UNEVEN_WIDTH, 5)],
    ids=["several worlds in a warp", "a block per world", "stages of similar widths"],
)
def test_stages_do_what_kernels_do(bees: int, worlds: int, uneven: int, num_kernels: int) -> None:
    definition = hive(bees, 2)
    plain, staged = (wl.Simulation(definition, worlds, "cpu", seed=4) for _ in range(2))
    machine = Machine(staged, uneven=uneven)
    assert len(machine.program.step) == num_kernels
    for sim in (plain, staged):
        sim.set_config("turns", np.arange(3, 3 + worlds, dtype=np.int32))  # worlds are reset in different steps
    rng = np.random.default_rng(0)
    for _ in range(7):
        moves = rng.integers(0, 3, (worlds, bees)).astype(np.int32)
        plain.step(moves)
        staged[Bee].fly = moves
        machine.step()
        for table in ("Bee", "Queen", "World"):
            for column in plain.tables[table]:
                np.testing.assert_array_equal(
                    column.numpy(), staged.tables[table][column.field.name].numpy(), column.name
                )


def test_threads_that_reset_many_entities_take_several_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "worldloom.testing.cuda_text.memory.dawdle", lambda: None
    )  # these threads never wait for each other
    bees = MANY_ROWS + 1
    plain, walked = (wl.Simulation(hive(bees, 1), 2, "cpu", seed=4) for _ in range(2))
    machine = Machine(walked)
    resets = [
        spec for spec in machine.program.step if isinstance(spec, KernelSpec) and "clear_Bee_state" in spec.labels
    ]
    assert [spec.rows for spec in resets] == [MANY_ROWS // ROWS_PER_RESET_THREAD + WARP_SIZE]
    for sim in (plain, walked):
        sim.set_config("turns", np.array([2, 3], np.int32))  # one world is reset while the other goes on
    for _ in range(3):
        moves = np.random.default_rng(0).integers(0, 3, (2, bees)).astype(np.int32)
        plain.step(moves)
        walked[Bee].fly = moves
        machine.step()
        for table in ("Bee", "Queen", "World"):
            for column in plain.tables[table]:
                np.testing.assert_array_equal(
                    column.numpy(), walked.tables[table][column.field.name].numpy(), column.name
                )


def test_an_explanation_tells_the_stages() -> None:
    schedule = wl.Simulation(hive(5, 2), 1, "python")
    kernel = next(k for k in schedule.explain().kernels if k.phase == "step")
    assert kernel.stages and len(kernel.waits) == len(kernel.stages) - 1
