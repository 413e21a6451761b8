"""Pair systems: every pair once, for one kind or two, fixed numbers and populations, equal on every device."""

import itertools

import numpy as np
import pytest
import warp as wp
from thorough import covering, sample
from wide_worlds import PAIRS, Ball, Birth, Sheep, Table, Wolf, bump, roll, scatter

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.kernels.warp_reductions import later_of_pair
from worldloom.core.model.pairs import MAX_PAIRS, Pair
from worldloom.core.tools.compare import compare, first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")


def test_python_and_cpu_agree() -> None:
    assert compare(PAIRS, num_worlds=3, steps=35) is None


@pytest.mark.parametrize("exact", sample([False, True], 1))
def test_the_kernels_for_cuda_do_the_same(exact: bool) -> None:
    """Also where real numbers are added in a fixed order, by one thread per world."""
    cpu, machine_side = (wl.Simulation(PAIRS, 2, "cpu", seed=2) for _ in range(2))
    machine = Machine(machine_side, exact)
    rows = {
        stage.labels[0]: stage.rows
        for spec in machine.program.step
        if isinstance(spec, KernelSpec)
        for stage in spec.parts
    }
    assert (rows["bump(Ball, Ball)"], rows["hunt(Wolf, Sheep)"]) == (1 if exact else 36, 84)
    for step in range(7):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert cpu.world.births.numpy().any() and cpu.world.bumps.numpy().all()


@wl.system
def bump_in_loops(world: Table):
    """What ``bump`` does, in the same order, in one thread."""
    for b in world.all(Ball):
        for a in world.all(Ball):
            if a.id < b.id and abs(a.x - b.x) < world.reach:
                a.push += float(a.x - b.x)
                b.push -= float(a.x - b.x)
                a.touched += 1
                b.touched += 1
                b.best = max(b.best, a.id)
                world.bumps += 1
                world.last = max(world.last, 1000 * a.id + b.id)


@pytest.mark.parametrize(("balls", "device"), covering([1, 2, 13, 13], ["python", "cpu"]))
def test_pairs_of_one_kind_are_those_of_two_loops(balls: int, device: str) -> None:
    pairs, loops = (
        wl.Simulation(
            wl.Definition("Bump-test", Table, {Ball: 9}, reset=(scatter,), step=(rule, roll), max_steps=9),
            4,
            device,
            seed=7,
            counts={Ball: balls},
        )
        for rule in (bump, bump_in_loops)
    )
    bumps = 0
    for step in range(12):
        pairs.step()
        loops.step()
        bumps += int(pairs.world.bumps.numpy().sum())
        for name in ("push", "touched", "best"):
            np.testing.assert_array_equal(
                pairs[Ball][name].numpy(), loops[Ball][name].numpy(), err_msg=f"{name}, step {step}"
            )
        for name in ("bumps", "last"):
            np.testing.assert_array_equal(
                pairs.world[name].numpy(), loops.world[name].numpy(), err_msg=f"{name}, step {step}"
            )
    assert (bumps > 0) == (balls > 1)


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_populations_meet_as_they_are_settled(device: str) -> None:
    """Each pair of the entities that are there, in the order of pairs; those that left before are not among them."""

    @wl.system
    def come(world: Table):
        for i in range(world.integer(5)):
            world.spawn(Sheep, x=world.step)
        for i in range(world.integer(3)):
            world.spawn(Wolf)

    @wl.system
    def go(sheep: Sheep, world: Table):
        if world.random() < 0.4:
            sheep.despawn()

    @wl.system
    def greet(one: Sheep, two: Sheep, world: Table):
        world.spawn(Birth, one=one.ref, two=two.ref, number=one.id * 100 + two.id)

    @wl.system
    def stare(wolf: Wolf, sheep: Sheep, world: Table):
        world.meetings += 1
        sheep.seen += 1 + wolf.id
        wolf.eaten += 1

    herd = {Sheep: wl.UpTo(12, overflow="drop"), Wolf: wl.UpTo(4, overflow="drop"), Birth: wl.UpTo(66)}
    sim = wl.Simulation(wl.Definition("Herd-test", Table, herd, step=(come, go, greet, stare)), 3, device, seed=3)
    met = np.zeros(3, int)
    for _ in range(20):
        sim.step()
        sheep, wolves, births = (sim[k].counts.numpy() for k in (Sheep, Wolf, Birth))
        met += sheep * wolves
        np.testing.assert_array_equal(sim.world.meetings.numpy(), met)
        for world in range(3):
            expected = [i * 100 + j for j in range(sheep[world]) for i in range(j)]
            assert births[world] == len(expected)
            assert sim[Birth].number.numpy()[world, : births[world]].tolist() == expected
    assert met.all() and sim.errors() == []


def test_every_pair_has_the_number_of_its_place() -> None:
    same, two = Pair(Sheep, Sheep), Pair(Wolf, Sheep)
    assert [n for n, _, _ in same.places(6, 6, 8)] == list(range(15))
    assert {(i, j) for _, i, j in same.places(6, 6, 8)} == set(itertools.combinations(range(6), 2))
    assert list(two.places(2, 2, 5)) == [(0, 0, 0), (1, 0, 1), (5, 1, 0), (6, 1, 1)]
    rows = {"Sheep": 5, "Wolf": 3}
    assert (same.max_pairs(rows), two.max_pairs(rows), same.max_pairs({"Sheep": 1})) == (10, 15, 1)


@wp.kernel(enable_backward=False)
def later_of_each(numbers: wp.array(dtype=wp.int32), found: wp.array(dtype=wp.int32)):
    i = wp.tid()
    found[i] = later_of_pair(numbers[i])


def test_the_later_of_a_pair_is_found_up_to_the_last() -> None:
    edges = np.array([j * (j - 1) // 2 for j in (2, 3, 100, 4097, 5793, 30_000, 46_340, 46_341)])
    assert edges[-1] <= MAX_PAIRS < edges[-1] + 46_341
    numbers = np.unique(np.concatenate([np.arange(5000), *[edges + d for d in (-1, 0, 1)], [edges[-1] // 2]]))
    numbers = numbers[numbers < edges[-1]].astype(np.int32)  # all pairs of as many entities as there may be
    found = wp.zeros(len(numbers), dtype=wp.int32, device="cpu")
    wp.launch(
        later_of_each,
        len(numbers),
        inputs=[wp.array(numbers, dtype=wp.int32, device="cpu")],
        outputs=[found],
        device="cpu",
    )
    later, number = found.numpy().astype(np.int64), numbers.astype(np.int64)
    assert ((later * (later - 1) // 2 <= number) & (number < later * (later + 1) // 2)).all()


def test_a_thread_for_every_pair_on_cuda_and_loops_on_the_cpu() -> None:
    schedule = wl.Simulation(PAIRS, 1, "cpu").schedule
    for cuda, expected in ((True, [36, 6 * 14, 14 * 13 // 2]), (False, [1, 1, 1])):
        specs = [part for s in generate(schedule, True, cuda).step if isinstance(s, KernelSpec) for part in s.parts]
        rows = {s.labels[0]: s.rows for s in specs}
        assert [rows[f"{name}"] for name in ("bump(Ball, Ball)", "hunt(Wolf, Sheep)", "meet(Sheep, Sheep)")] == expected


def test_a_batch_of_pairs_is_any_other() -> None:
    """World k runs as world k of another batch, and shards make no difference."""
    one, two = wl.Simulation(PAIRS, 7, "cpu", seed=9, threads=1), wl.Simulation(PAIRS, 4, "cpu", seed=9, threads=2)
    for _ in range(30):
        one.step()
        two.step()
    for name in ("bumps", "births", "meetings"):
        np.testing.assert_array_equal(one.world[name].numpy()[:4], two.world[name].numpy())
