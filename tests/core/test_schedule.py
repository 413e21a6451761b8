"""The schedule: systems share a kernel only where the results are those of separate kernels."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.schedule.entries import HostNode, SystemNode
from worldloom.core.schedule.schedule import plan


class Cell(wl.Entity):
    value: int = 1
    left: int
    sum: int
    seen: int
    late: int
    marks: wl.Array(int, 2)


class Gate(wl.Entity):
    level: int
    passed: int


class Row(wl.World):
    total: int
    highest: int
    echo: int


@wl.system
def grow(cell: Cell, world: Row):
    cell.value = cell.value * 3 + cell.id + world.step + world.id


@wl.system
def look_left(cell: Cell, world: Row):
    for other in world.all(Cell):
        if other.id == (cell.id + 3) % 4:
            cell.left = other.value


@wl.system
def overwrite(cell: Cell):
    """Writes what ``look_left`` reads of others."""
    cell.value = cell.value % 1000 + cell.left % 7


@wl.system
def give(cell: Cell, world: Row):
    for other in world.all(Cell):
        other.sum += cell.value


@wl.system
def use_sum(cell: Cell):
    """Reads what all others add to its own row."""
    cell.seen = cell.sum


@wl.system
def read_total(cell: Cell, world: Row):
    """Reads what ``add_total`` adds to."""
    cell.late = world.total


@wl.system
def add_total(cell: Cell, world: Row):
    world.total += cell.value
    world.highest = max(world.highest, cell.value)


@wl.system
def echo(world: Row):
    """Reads what all cells have added."""
    world.echo = world.total % 97


@wl.system
def mark(cell: Cell, world: Row):
    cell.marks[world.step % 2] = world.echo + cell.marks[0]


@wl.system
def open_gate(gate: Gate, world: Row):
    """One gate per world: it shares the world's thread, and reads other rows."""
    gate.level = world.echo
    for cell in world.all(Cell):
        gate.level += cell.seen % 5


@wl.system
def reset_cells(world: Row):
    """A system over the world that stores into rows."""
    for cell in world.all(Cell):
        cell.sum = cell.sum % 50
    for gate in world.all(Gate):
        gate.passed = gate.level


@wl.system
def clear_total(world: Row):
    world.total = world.total % 1000 + world.count(Cell)


STEP = (
    grow,
    look_left,
    overwrite,
    give,
    use_sum,
    read_total,
    add_total,
    echo,
    mark,
    open_gate,
    reset_cells,
    clear_total,
)
HAZARDS = wl.Definition("Hazards-test", Row, {Cell: 4, Gate: 1}, step=STEP, max_steps=7)


def groups(sim: wl.Simulation) -> list[tuple[str, ...]]:
    """The systems of each kernel of a step."""
    return [e.labels for e in sim.program.step if isinstance(e, KernelSpec)]


@pytest.fixture(scope="module")
def fused() -> wl.Simulation:
    return wl.Simulation(HAZARDS, 5, "cpu", seed=0)


def together(sim: wl.Simulation, one: str, two: str) -> bool:
    return any(one in kernel and two in kernel for kernel in groups(sim))


def test_cartpole_is_one_kernel() -> None:
    sim = wl.Simulation("CartPole-v1", 4, "cpu", seed=0)
    assert len(sim.program.step) == 1 and len(sim.program.reset) == 1
    mine = [label for label in groups(sim)[0] if label.endswith("(Cart)")]
    assert mine == ["swing(Cart)", "judge(Cart)", "look(Cart)", "place(Cart)", "look(Cart)"]


def test_without_fusing_every_system_is_a_kernel() -> None:
    sim = wl.Simulation(HAZARDS, 5, "cpu", seed=0, fuse=False)
    assert all(len(kernel) == 1 for kernel in groups(sim))
    assert [k for (k,) in groups(sim) if k in {f"{s.name}(Cell)" for s in STEP}] == [
        f"{s.name}(Cell)" for s in STEP if s.entity_parameter == "cell"
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("grow(Cell)", "look_left(Cell)"),  # one row writes what another reads
        ("look_left(Cell)", "overwrite(Cell)"),  # one row reads what another is about to write
        ("give(Cell)", "use_sum(Cell)"),  # a sum is read before all have added
        ("read_total(Cell)", "add_total(Cell)"),  # a row reads the world's sum while others add
        ("add_total(Cell)", "echo"),  # the world reads before all have added
        ("echo", "mark(Cell)"),  # rows read what the world's thread writes
        ("open_gate(Gate)", "reset_cells"),  # reads rows that the next stores into
    ],
)
def test_what_must_not_fuse_does_not(fused: wl.Simulation, one: str, two: str) -> None:
    labels = [label for kernel in groups(fused) for label in kernel]
    assert one in labels and two in labels and not together(fused, one, two)


def test_what_may_fuse_does(fused: wl.Simulation) -> None:
    assert together(fused, "overwrite(Cell)", "give(Cell)")
    assert together(fused, "use_sum(Cell)", "read_total(Cell)")


@pytest.mark.parametrize("options", [{"fuse": False}, {"threads": 2}, {"threads": 5}], ids=str)
def test_fused_as_unfused(options: dict, columns) -> None:
    sims = [wl.Simulation(HAZARDS, 5, "cpu", seed=0), wl.Simulation(HAZARDS, 5, "cpu", seed=0, **options)]
    compare(sims, columns)


def test_fused_as_interpreted(columns) -> None:
    compare([wl.Simulation(HAZARDS, 5, device, seed=0) for device in ("cpu", "python")], columns)


def compare(sims: list[wl.Simulation], columns) -> None:
    for step in range(20):
        for sim in sims:
            sim.step()
        one, two = (columns(sim) for sim in sims)
        for name in one:
            np.testing.assert_array_equal(one[name], two[name], err_msg=f"{name}, step {step}")
    assert len(np.unique(one["Cell.seen"])) > 3, "the numbers say something"


# -- the order of things ---------------------------------------------------------------------------------------------


def names(entries) -> list[str]:
    return [e.label if isinstance(e, SystemNode) else e.call.__name__ for e in entries]


def ordered(found: list[str], *wanted: str) -> bool:
    places = [found.index(name) for name in wanted]
    return places == sorted(places)


def test_the_order_of_a_step(race: wl.Definition) -> None:
    found = names(plan(race, "same_step", checks=True).step)
    assert ordered(
        found, "begin_step", "clear_reward_Runner", "run(Runner)", "arrive", "everyone_left", "end_step", "tell_Runner"
    )
    assert ordered(found, "tell_Runner", "watch(Runner)")
    assert ordered(found, "watch(Runner)", "keep_Runner", "begin_episode", "clear_Runner_state", "line_up(Runner)")
    assert found[-1] == "watch(Runner)" and found.count("watch(Runner)") == 2


def test_each_mode_has_its_own_masks(race: wl.Definition) -> None:
    def mask_of(mode: str, label: str) -> list:
        return [e.mask for e in plan(race, mode, checks=True).step if isinstance(e, SystemNode) and e.label == label]

    assert mask_of("same_step", "run(Runner)") == mask_of("disabled", "run(Runner)") == [None]
    assert mask_of("next_step", "run(Runner)") == [("resetting", False)]
    assert mask_of("same_step", "line_up(Runner)") == [("finished", True)]
    assert mask_of("next_step", "line_up(Runner)") == [("resetting", True)]
    assert mask_of("disabled", "line_up(Runner)") == []


def test_checks_can_be_left_out(race: wl.Definition) -> None:
    checked, bare = (names(plan(race, "same_step", checks=checks).step) for checks in (True, False))
    extra = [name for name in checked if name not in bare]
    assert extra and [name for name in checked if name not in extra] == bare
    assert ordered(checked, "begin_step", extra[0], "run(Runner)"), "actions are looked at before they are used"


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_every_system_has_random_numbers_of_its_own(crowd: wl.Definition, mode: str) -> None:
    schedule = plan(crowd, mode, checks=True)
    streams = {
        (e.system, e.table, e.ordinal)
        for e in (*schedule.step, *schedule.reset)
        if isinstance(e, SystemNode) and not e.system.engine
    }
    assert len({ordinal for *_, ordinal in streams}) == len(streams) == 8


# -- callables -------------------------------------------------------------------------------------------------------


class Drop(wl.Entity):
    height: float = 8.0
    noted: float
    sight: wl.Observation(1)


class Sky(wl.World):
    calls: int


@wl.system
def fall(drop: Drop):
    drop.height -= 1.0


@wl.system
def note(drop: Drop):
    drop.noted = drop.height


@wl.system
def peek(drop: Drop):
    drop.sight[0] = drop.noted


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_callables_of_observe_know_which_worlds_the_next_step_resets(device: str) -> None:
    """The mask of these resets is a column of one kernel alone, and no callable could read its registers."""
    seen: list[list[bool]] = []

    def in_observe(sim: wl.Simulation) -> None:
        seen.append(sim.starting.numpy().tolist())

    definition = wl.Definition("Drizzle-test", Sky, {Drop: 1}, step=(fall,), observe=(peek, in_observe), max_steps=2)
    sim = wl.Simulation(definition, 2, device, seed=0, autoreset="next_step")
    for _ in range(4):
        sim.step()
    assert seen == [[reset, reset] for reset in (True, False, False, True, False)]


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_callables_see_what_came_before_and_are_seen_by_what_comes_after(device: str) -> None:
    seen: dict[str, list] = {"reset": [], "step": [], "observe": []}

    def in_reset(sim: wl.Simulation) -> None:
        seen["reset"].append(sim.starting.numpy().tolist())

    def in_step(sim: wl.Simulation) -> None:
        seen["step"].append(sim["Drop"].height.numpy().ravel().tolist())
        sim["Drop"].height.torch().mul_(0.5)

    def in_observe(sim: wl.Simulation) -> None:
        seen["observe"].append(sim["Drop"].noted.numpy().ravel().tolist())

    definition = wl.Definition(
        "Rain-test",
        Sky,
        {Drop: 2},
        reset=(in_reset,),
        step=(fall, in_step, note),
        observe=(peek, in_observe),
        max_steps=2,
    )
    sim = wl.Simulation(definition, 2, device, seed=0, threads=2)
    assert seen["step"] == [] and seen["reset"] == [[True, True]]
    sim.step()
    assert seen["step"] == [[7.0] * 4]
    assert sim["Drop"].noted.numpy().ravel().tolist() == [3.5] * 4
    assert sim["Drop"].sight.numpy().ravel().tolist() == [3.5] * 4 and seen["observe"][-1] == [3.5] * 4
    sim.step()
    assert seen["step"][-1] == [2.5] * 4
    assert sim["Drop"].final_sight.numpy().ravel().tolist() == [1.25] * 4
    assert seen["reset"] == [[True, True], [False, False], [True, True]]
    assert sim["Drop"].height.numpy().ravel().tolist() == [8.0] * 4


def test_a_callable_parts_two_kernels() -> None:
    def nothing(sim: wl.Simulation) -> None:
        del sim

    definition = wl.Definition("Rain-test", Sky, {Drop: 2}, step=(fall, nothing, note), observe=(peek,))
    kinds = [type(e) for e in wl.Simulation(definition, 2, "cpu", seed=0, autoreset="disabled").program.step]
    assert kinds.count(HostNode) == 1 and 0 < kinds.index(HostNode) < len(kinds) - 1


def test_threads_hand_out_unless_a_callable_comes_after_them() -> None:
    def lift(sim: wl.Simulation) -> None:
        sim["Drop"].sight.numpy()[...] += 1.0

    plain, lifted = (
        wl.Definition("Rain-test", Sky, {Drop: 2}, step=(fall, note), observe=(peek, *last)) for last in ((), (lift,))
    )
    sim = wl.Simulation(plain, 4, "cpu", seed=0, autoreset="disabled", threads=2)
    assert sim.copies_in_step
    assert not wl.Simulation(plain, 4, "cpu", seed=0, autoreset="disabled", threads=1).copies_in_step
    assert not wl.Simulation(plain, 4, "python", seed=0).copies_in_step
    assert not wl.Simulation(lifted, 4, "cpu", seed=0, autoreset="disabled", threads=2).copies_in_step
    for each in (
        sim,
        wl.Simulation(lifted, 4, "cpu", seed=0, autoreset="disabled", threads=2),
        wl.Simulation(plain, 4, "python", seed=0),
    ):
        column = each["Drop"].sight.numpy()
        target = np.full_like(column, -1.0)
        each.step(output_copies=[(column, target)])
        assert np.array_equal(target, each["Drop"].sight.numpy())
        each.step()
        assert not np.array_equal(target, each["Drop"].sight.numpy())
    sim.close()
    with pytest.raises(InputError, match="closed"):
        _ = sim.copies_in_step


def test_an_error_in_a_callable_reaches_the_caller() -> None:
    def fail(sim: wl.Simulation) -> None:
        if (sim["Drop"].height.numpy() < 7.0).any():
            raise RuntimeError("too low")

    definition = wl.Definition("Rain-test", Sky, {Drop: 2}, step=(fall, fail, note), observe=(peek,))
    sim = wl.Simulation(definition, 2, "cpu", seed=0, autoreset="disabled")
    sim.step()
    with pytest.raises(RuntimeError, match="too low"):
        sim.step()


class Mark(wl.Entity):
    n: int
    m: int


class Page(wl.World):
    width: wl.Config = 1.0


@wl.system
def copy(mark: Mark):
    mark.m = mark.n


@wl.system
def bump(mark: Mark, world: Page):
    for other in world.all(Mark):
        other.n += 1


COPY_THEN_BUMP = wl.Definition("Marks-test", Page, {Mark: 3}, step=(copy, bump))


@pytest.mark.parametrize("fuse", [True, False])
def test_a_row_is_read_before_others_add_to_it(fuse: bool) -> None:
    sim = wl.Simulation(COPY_THEN_BUMP, 2, "cpu", seed=0, fuse=fuse)
    for step in range(3):
        sim.step()
        assert sim["Mark"].m.numpy().tolist() == [[3 * step] * 3] * 2


def test_a_reset_from_outside_leaves_pending_resets_alone() -> None:
    sim = wl.Simulation(COPY_THEN_BUMP, 3, "cpu", seed=0, autoreset="next_step", config={"max_steps": 2})
    sim.step()
    sim.step()
    assert sim.truncated.numpy().all()
    sim.reset(np.array([False, True, False]))
    sim.step()
    assert sim.world.episode.numpy().tolist() == [1, 1, 1] and sim.world.step.numpy().tolist() == [0, 1, 0]
