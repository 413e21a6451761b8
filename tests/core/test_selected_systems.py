"""Systems for some entities, ``where=...``, and systems over the world with several threads."""

from __future__ import annotations

import numpy as np
import pytest
from jumping_worlds import JUMPING, results
from selected_worlds import GARDEN, Garden, Pot, Seed, Sprout, place

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.model.launch import LaunchNode
from worldloom.core.tools.compare import compare
from worldloom.testing.cuda_text import Machine


class Lamp(wl.Entity):
    lit: bool


def _select(where: object) -> None:
    @wl.system(where=where)  # type: ignore[arg-type]
    def one(seed: Seed):
        seed.value = 1


COLUMNS = {"Seed": ("value", "visits", "kind", "colour"), "Sprout": ("origin", "height")}


def rows(sim: wl.Simulation) -> list[np.ndarray]:
    fields = [getattr(sim.world, name).numpy() for name in ("sum", "breaks", "turns")]
    fields += [sim["Pot"].value.numpy(), sim["Cup"].level.numpy()]
    return [*fields, *(sim[table].rows(name).numpy() for table, names in COLUMNS.items() for name in names)]


def test_a_system_runs_for_the_entities_with_the_value() -> None:
    sim = wl.Simulation(wl.Definition("Kinds-test", Garden, GARDEN.entities, GARDEN.reset, GARDEN.step[:1]), 20)
    sim.step()
    kinds, visits = (sim[Seed].rows(name).numpy() for name in ("kind", "visits"))
    assert set(kinds) == {0, 1, 2} and np.array_equal(visits, np.where(kinds == 1, 1, 0))


def test_interpreted_and_compiled_worlds_agree() -> None:
    assert compare(GARDEN, ("python", "cpu"), num_worlds=5, steps=6) is None


def test_gathered_rows_and_shared_worlds_as_on_a_gpu() -> None:
    """Threads that overtake each other change nothing, and the last warp has fewer worlds than others."""
    cpu, machine_side = (wl.Simulation(GARDEN, 6, "cpu", seed=2) for _ in range(2))
    machine = Machine(machine_side)
    for _ in range(3):
        cpu.step()
        machine.step()
        for one, other in zip(rows(cpu), rows(machine_side), strict=True):
            assert np.array_equal(one, other)
    assert len(cpu[Sprout].rows("origin")) > 0


@pytest.mark.parametrize("definition", JUMPING, ids=lambda definition: definition.id)
def test_each_world_of_a_warp_leaves_its_own_loops(definition: wl.Definition) -> None:
    python, cpu, text = (wl.Simulation(definition, 9, device, seed=0) for device in ("python", "cpu", "cpu"))
    machine = Machine(text)
    for _ in range(2):
        python.step()
        cpu.step()
        machine.step()
        assert results(cpu) == results(python)
        assert results(text) == results(python)


def test_kernels_on_a_gpu() -> None:
    program = generate(wl.Simulation(GARDEN, 1, "python").schedule, True, True)
    found = {spec.labels: spec for spec in program.step if isinstance(spec, KernelSpec)}
    lists = [entry.name for entry in program.step if isinstance(entry, LaunchNode)]
    hands = "list Hand by colour"
    assert lists == ["list Seed by kind", "list Pot by kind", hands, hands], "until something changes"
    pours = [s for s in program.step if isinstance(s, KernelSpec) and s.labels == ("pour(Hand)",)]
    assert [spec.row_list for spec in pours] == [0, 1, 2] * 2 and len({spec.name for spec in pours}) == 1
    assert [found[name,].row_list for name in ("grow(Seed)", "wither(Seed)", "water(Pot)")] == [0, 1, 0]
    assert found["grow(Seed)",].active_threads(10) == 640 and found["grow(Seed)",].active_threads(2**20) == 2**17
    assert pours[0].active_threads(2**20) == 2**16, "of a system that changes other entities"
    assert found[("tend",)].rows == found[("tend",)].threads == 8
    assert "whose 'kind' is 2 have a kernel of their own" in found[("wither(Seed)",)].reason


def test_a_list_is_not_written_for_a_system_with_several_threads() -> None:
    """Its rows are not listed, and in exact mode those of the other system are not either, which adds in order."""

    @wl.system(where=("kind", (0, 1)))
    def weigh(pot: Pot, world: Garden):
        world.weight += 0.1 * float(pot.value)

    @wl.system(where=("kind", 1), threads=32)
    def fill(pot: Pot, world: Garden):
        for _ in wl.share(4):
            pot.value += 1

    definition = wl.Definition("Several-test", Garden, {Pot: 5}, (place,), (weigh, fill), max_steps=3)
    simulation = wl.Simulation(definition, 3, "cpu", exact=True)
    Machine(simulation, exact=True).step()
    program = generate(simulation.schedule, True, True, exact=True)
    assert not any(isinstance(entry, LaunchNode) for entry in program.step if "Pot" in str(entry))


def test_values_follow_each_other_in_the_order_given() -> None:
    """Against a model of a step in plain Python."""
    sim = wl.Simulation(GARDEN, 1, "cpu", seed=5)
    cups, colours = [0] * 12, [i // 3 for i in range(9)]
    for _ in range(5):
        sim.step()
        for turn in range(2):
            for colour in (2, 0, 1):
                for hand in range(9):
                    if colours[hand] == colour:
                        left = hand % 3 * 4 + hand // 3
                        cups[left + 1] = (3 * cups[left + 1] + cups[left] + hand) % 9973
                        cups[left] = max(cups[left] - cups[left + 1] // 2, colour)
            colours = [(c + 1) % 3 for c in colours] if turn == 0 else colours
        assert sim["Cup"].level.numpy().ravel().tolist() == cups
    assert max(cups) > 100


def test_every_value_has_random_numbers_of_its_own() -> None:
    """Also for an entity that runs twice in a step, since the first run gives it the next value."""

    @wl.system(where=("kind", (0, 1)))
    def draw(pot: Pot, world: Garden):
        pot.value = 1000 * (pot.value % 1000) + world.integer(1000)
        pot.kind += 1

    world = wl.Definition("Draws-test", Garden, {Pot: 50}, step=(draw,))
    assert compare(world, ("python", "cpu"), num_worlds=2, steps=1) is None
    sim = wl.Simulation(world, 1, "python", seed=1)
    sim.step()
    first, second = np.divmod(sim[Pot].value.numpy().ravel(), 1000)
    assert (sim[Pot].kind.numpy() == 2).all() and not np.array_equal(first, second)


def test_lists_where_kernels_do_not_take_them() -> None:
    """Sums in a fixed order have none in exact mode; systems that reset many rows work through theirs."""

    @wl.system(where=("kind", 1))
    def add(pot: Pot, world: Garden):
        world.weight += float(pot.value)

    @wl.system(where=("kind", (0, 1)))
    def mark(pot: Pot):
        pot.value = 1

    world = wl.Definition("Sums-test", Garden, {Pot: 600}, reset=(mark,), step=(add,))
    schedule = wl.Simulation(world, 1, "python").schedule
    exact, plain = (generate(schedule, True, True, exact) for exact in (True, False))
    assert [sum(isinstance(e, LaunchNode) for e in p.step) for p in (exact, plain)] == [1, 2], "and one for the reset"
    for program in (exact, plain):
        compile(program.text, "kernels", "exec")
        used = {
            column
            for spec in (*program.step, *program.reset)
            if isinstance(spec, KernelSpec)
            for column in spec.columns
        }
        listed = [e for e in (*program.step, *program.reset) if isinstance(e, LaunchNode)]
        assert all(set(map(entry.rows.column, ("rows", "sizes"))) <= used for entry in listed)


def test_what_is_refused() -> None:
    with pytest.raises(wl.DefinitionError, match="its own 'value', and that of another Seed, which may be itself"):

        @wl.system(disjoint=True)
        def itself(seed: Seed, world: Garden):
            world.at(Seed, seed.kind).value = 5
            seed.visits = seed.value

    for wrong in (("kind",), "kind", ("kind", 2**40), ("kind", ())):
        with pytest.raises(wl.DefinitionError, match="where="):
            _select(wrong)

    with pytest.raises(wl.DefinitionError, match="has a value twice"):

        @wl.system(where=("kind", (1, 2, 1)))
        def twice(seed: Seed):
            seed.value = 1

    with pytest.raises(wl.DefinitionError, match="with 'disjoint' runs over one entity"):

        @wl.system(disjoint=True)
        def alone(world: Garden):
            world.sum = 1

    with pytest.raises(wl.DefinitionError, match="every entity would store its own value"):

        @wl.system(disjoint=True)
        def stored(seed: Seed, world: Garden):
            world.sum = seed.value

    with pytest.raises(wl.DefinitionError, match="runs over one entity"):

        @wl.system(where=("kind", 1))
        def nobody(world: Garden):
            world.sum = 1

    with pytest.raises(wl.DefinitionError, match="unknown component 'sort'"):

        @wl.system(where=("sort", 1))
        def unknown(seed: Seed):
            seed.value = 1

    with pytest.raises(wl.DefinitionError, match="has no whole number"):

        @wl.system(where=("kind", 1.5))  # type: ignore[arg-type]
        def half(seed: Seed):
            seed.value = 1

    with pytest.raises(wl.DefinitionError, match="takes a component of type int, not bool"):

        @wl.system(where=("lit", 1))
        def truth(lamp: Lamp):
            lamp.lit = False

    with pytest.raises(wl.DefinitionError, match="an entity cannot have 8 threads"):

        @wl.system(threads=8)
        def few(seed: Seed):
            seed.value = 1

    with pytest.raises(wl.DefinitionError, match="over the world alone has no entity"):

        @wl.system(threads=64)
        def many(world: Garden):
            world.sum = 1

    with pytest.raises(wl.DefinitionError, match="cannot return early"):

        @wl.system(threads=8)
        def early(world: Garden):
            if world.sum > 3:
                return
            world.sum += 1

    with pytest.raises(wl.DefinitionError, match="every entity would store its own value"):

        @wl.system(threads=8)
        def raced(world: Garden):
            for k in wl.share(4, disjoint=True):
                world.sum = k
