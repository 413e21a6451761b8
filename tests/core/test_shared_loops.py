"""Shared loops: the same results with one thread per entity and with many, and threads never disturb each other."""

import numpy as np
import pytest
from thorough import THOROUGH, sample
from wide_worlds import RAYS, Echo, Robot, Strip, Strips, Yard, strips, yard

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.tools.compare import compare, copy_state, first_difference
from worldloom.testing.cuda_text import Machine

pytestmark = pytest.mark.usefixtures("quick_compilation")


def test_python_and_cpu_agree() -> None:
    assert compare(yard(32), num_worlds=2, steps=16) is None


def test_threads_make_no_difference_on_the_cpu() -> None:
    one, many = (wl.Simulation(yard(threads), 5, "cpu", seed=3) for threads in (1, 256))
    for step in range(30):
        one.step()
        many.step()
        assert first_difference(one, many, step) is None
    assert one.world.hits.numpy().any() and one[Robot].histogram.numpy().any() and (one.world.episode.numpy() > 0).any()


@pytest.mark.parametrize("threads", sample([64, 32], 1))
def test_the_kernels_for_cuda_do_the_same_with_real_threads(threads: int) -> None:
    """Everything that threads share: elements, sums, extremes, flags, random numbers, spawns, and early returns."""
    cpu, machine_side = (wl.Simulation(yard(threads, robots=2), 2, "cpu", seed=5) for _ in range(2))
    machine = Machine(machine_side)
    echoes = 0
    for step in range(7 if THOROUGH else 5):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
        echoes += int(cpu[Echo].counts.numpy().sum())
    assert echoes > 0 and cpu.world.hits.numpy().all()


def test_faults_are_reported_once() -> None:
    """Outside shared loops by one of the threads, inside by the thread of the iteration."""
    cpu, machine_side = (wl.Simulation(yard(32, faulty=True), 3, "cpu", seed=1) for _ in range(2))
    machine = Machine(machine_side)
    faults = []
    cpu[Robot].age = 2  # soon a robot looks beyond its path
    for _ in range(4):
        copy_state(cpu, machine_side)
        cpu.step()
        machine.step()
        faults += cpu.errors()
    words = machine.program.sites.messages
    seen = sorted((w, e, s, words[site].replace("{value}", str(value))) for w, e, s, site, value in machine.reports)
    assert seen == sorted((f.world, f.episode, f.step, f.message) for f in faults)
    assert any("path" in f.message for f in faults) and any("length 7" in f.message for f in faults)


def test_an_iteration_draws_its_own_numbers() -> None:
    """The third iteration draws the same of five iterations or forty, and later draws do not repeat theirs."""

    @wl.system(threads=32)
    def throw(robot: Robot, world: Yard):
        for ray in wl.share(robot.rays):
            robot.ranges[ray] = world.random()
            if ray % 2 == 0:
                robot.smooth[ray] = world.random()
        robot.dice = world.random()

    sim = wl.Simulation(wl.Definition("Throw-test", Yard, {Robot: 2}, step=(throw,)), 1, "cpu", seed=4)
    sim[Robot].rays = np.array([[5, RAYS]])
    sim.step()
    first, smooth, dice = (sim[Robot][n].numpy()[0] for n in ("ranges", "smooth", "dice"))
    assert len(np.unique(np.concatenate([first[1], smooth[1, ::2], dice]))) == RAYS + RAYS // 2 + 2
    again = wl.Simulation(wl.Definition("Throw-test", Yard, {Robot: 2}, step=(throw,)), 1, "cpu", seed=4)
    again[Robot].rays = np.array([[RAYS, RAYS]])
    again.step()
    np.testing.assert_array_equal(again[Robot].ranges.numpy()[0, 0, :5], first[0, :5])
    np.testing.assert_array_equal(again[Robot].smooth.numpy()[0, 0, :5], smooth[0, :5])


def test_kernels_with_several_threads_stand_alone() -> None:
    schedule = wl.Simulation(yard(64), 1, "cpu").schedule
    program = generate(schedule, True, True)
    wide = [spec for spec in program.step if isinstance(spec, KernelSpec) and spec.threads > 1]
    assert [(spec.labels, spec.rows, spec.threads) for spec in wide] == [(("look(Robot)",), 2 * 64, 64)]
    assert "64 threads share each of its entities" in wide[0].reason
    assert all(spec.threads == 1 for spec in generate(schedule, True, False).step if isinstance(spec, KernelSpec))


def test_what_must_be_added_in_order_is_not_shared() -> None:
    """In exact mode a sum of real numbers has an order, which threads would not keep."""

    @wl.system(threads=32)
    def pull(robot: Robot, world: Yard):
        for ray in wl.share(4):
            for other in world.all(Robot):
                other.total += 0.1

    schedule = wl.Simulation(wl.Definition("Pull-test", Yard, {Robot: 3}, step=(pull,)), 1, "cpu").schedule
    for exact, expected in ((False, (96, 32)), (True, (1, 1))):
        specs = [
            part
            for spec in generate(schedule, True, True, exact).step
            if isinstance(spec, KernelSpec)
            for part in spec.parts
        ]
        assert [(spec.rows, spec.threads) for spec in specs if spec.labels == ("pull(Robot)",)] == [expected]


@pytest.mark.parametrize("threads", sample([64, 32], 1))
def test_sums_that_are_added_to_and_taken_from(threads: int) -> None:
    @wl.system(threads=threads)
    def weigh(robot: Robot, world: Yard):
        for ray in wl.share(RAYS):
            if ray % 3 == 0:
                robot.hits -= ray
            else:
                robot.hits += 2 * ray

    made = wl.Definition("Weigh-test", Yard, {Robot: 2}, step=(weigh,))
    cpu, machine_side = (wl.Simulation(made, 1, "cpu", seed=0) for _ in range(2))
    machine = Machine(machine_side)
    for _ in range(2):
        cpu.step()
        machine.step()
    expected = 2 * sum(-ray if ray % 3 == 0 else 2 * ray for ray in range(RAYS))
    assert (cpu[Robot].hits.numpy() == expected).all() and (machine_side[Robot].hits.numpy() == expected).all()


class Panel(wl.Entity):
    lit: int
    dark: int
    flipped: wl.int64


class Hall(wl.World):
    pass


@pytest.mark.parametrize("threads", sample([64, 32], 1))
def test_bits_are_combined(threads: int) -> None:
    @wl.system(threads=threads)
    def switch(panel: Panel, world: Hall):
        panel.dark = -1 - panel.id
        for lamp in wl.share(40):
            if lamp % 7 == panel.id:
                panel.lit |= 1 << (lamp % 31)
                panel.dark &= ~(1 << (lamp % 31))
            panel.flipped ^= 3 << (lamp % 61)

    made = wl.Definition("Switch-test", Hall, {Panel: 2}, step=(switch,))
    cpu, machine_side = (wl.Simulation(made, 2, "cpu", seed=0) for _ in range(2))
    machine = Machine(machine_side)
    for step in range(2):
        cpu.step()
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    lit = [sum({1 << (lamp % 31) for lamp in range(40) if lamp % 7 == panel}) for panel in range(2)]
    assert cpu[Panel].lit.numpy().tolist() == [lit] * 2
    assert cpu[Panel].dark.numpy().tolist() == [[(-1 - panel) & ~bits for panel, bits in enumerate(lit)]] * 2
    assert "atomic" not in machine.program.text or threads > 32


def test_share_is_a_range_outside_of_systems() -> None:
    assert list(wl.share(3)) == [0, 1, 2]


def text_of(definition: wl.Definition, cuda: bool = False) -> str:
    return generate(wl.Simulation(definition, 1, "python").schedule, fuse=True, cuda=cuda).text


def asked(text: str) -> list[str]:
    """The calls that ask for memory early."""
    return [line.strip() for line in text.splitlines() if line.startswith(" ") and "wl_ahead" in line]


def test_a_cpu_is_asked_early_for_the_long_rows_that_are_stored() -> None:
    cpu, cuda = text_of(strips(32)), text_of(strips(32), cuda=True)
    assert asked(cpu) == [  # what is stored, where it is stored: not what is only read, and nothing short
        f"wl_ahead_float32_2(Strip__long__col, row, 270, {8 * 3}, {64 * 12})",
        f"wl_ahead_int32_1(Strip__deep__col, row, 144, 80, {64 * 4})",
    ]
    assert "__builtin_prefetch" in cpu and "__builtin_prefetch" not in cuda


class Scroll(wl.Entity):
    numbers: wl.Array(float, 64, 64)  # 16 KiB


@wl.system
def unroll(scroll: Scroll):
    for place in wl.share(64):
        scroll.numbers[place, 0] = 1.0


def test_nobody_is_asked_for_more_than_the_nearest_cache_holds() -> None:
    assert not asked(text_of(wl.Definition("Scroll-test", Strips, {Scroll: 1}, step=(unroll,))))


def test_asking_beyond_the_last_row_does_nothing() -> None:
    """A world of one row, whose memory ends behind it."""
    sim = wl.Simulation(strips(1, count=1), 1, "cpu")
    sim.step()
    expected = np.zeros((90, 3), np.float32)
    expected[8:72, 1] = np.arange(64)
    np.testing.assert_array_equal(sim[Strip].long.numpy()[0, 0], expected)
    assert (sim[Strip].short.numpy() == 1.0).all()


class Shelf(wl.World):
    turns: int


class Book(wl.Entity):
    lines: int
    pages: wl.Array(float, 16)


@wl.function
def write(world: Shelf, book: Book, start: float):
    for k in range(4):
        book.pages[k] = start + float(k)


@wl.system(threads=4)
def fill_shelf(world: Shelf):
    """Iterations store array elements of other entities, here and in a function of the world."""
    world.turns += 1
    for i in wl.share(6, disjoint=True):
        book = world.at(Book, i)
        write(world, book, float(10 * i + world.turns))
        book.pages[4 + i] = float(i)


SHELF = wl.Definition("Shelf-test", Shelf, {Book: 6}, step=(fill_shelf,))


def test_disjoint_iterations_store_array_elements() -> None:
    assert compare(SHELF, ("python", "cpu"), num_worlds=3, steps=2) is None
    simulation = wl.Simulation(SHELF, 9, "cpu", seed=0)
    machine = Machine(simulation)
    machine.step()
    pages = simulation[Book].pages.numpy()
    for i in range(6):
        expected = np.zeros(16, np.float32)
        expected[:4] = 10 * i + 1 + np.arange(4)
        expected[4 + i] = i
        assert (pages[:, i] == expected).all()


class Deck(wl.Entity):
    order: wl.Array(int, 6)
    places: wl.Array(int, 6)


@wl.system(threads=32)
def invert(deck: Deck, world: Shelf):
    """Iterations store elements at indices that are a permutation of theirs."""
    world.turns += 0
    for k in wl.share(6, disjoint=True):
        deck.order[(5 * k + 2) % 6] = k
    for k in wl.share(6, disjoint=True):
        deck.places[deck.order[k]] = k


DECKS = wl.Definition("Decks-test", Shelf, {Deck: 3}, step=(invert,))


def test_disjoint_iterations_of_an_entity_store_at_any_index() -> None:
    assert compare(DECKS, ("python", "cpu"), num_worlds=3, steps=2) is None
    simulation = wl.Simulation(DECKS, 2, "cpu", seed=0)
    Machine(simulation).step()
    assert (simulation[Deck].places.numpy() == [(5 * k + 2) % 6 for k in range(6)]).all()


def test_iterations_of_a_disjoint_system_are_reduced_as_in_others() -> None:
    """The promise is about entities: the threads of one entity all count in its row."""

    @wl.system(threads=32, disjoint=True)
    def count(book: Book):
        book.lines = 0
        for k in wl.share(50):
            if k % 3 == 0:
                book.lines += 1

    definition = wl.Definition("Count-test", Shelf, {Book: 2}, reset=(), step=(count,))
    cpu, machine_side = (wl.Simulation(definition, 3, "cpu", seed=1) for _ in range(2))
    cpu.step()
    Machine(machine_side).step()
    assert (cpu[Book].lines.numpy() == 17).all() and first_difference(cpu, machine_side, 0) is None
    with pytest.raises(wl.DefinitionError, match="all would store 'lines'"):

        @wl.system(threads=32, disjoint=True)
        def number(book: Book):
            for k in wl.share(50):
                book.lines = k
