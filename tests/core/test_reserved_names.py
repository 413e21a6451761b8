"""Names of components: those that an attribute of a table would hide are refused, all others reach their column."""

import inspect

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model.entity import TABLE_ATTRIBUTES
from worldloom.core.model.population import POPULATION_ATTRIBUTES
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.runtime.table import PopulationTable, Table

NATURAL = [
    "count",
    "name",
    "columns",
    "world",
    "extra",
    "population",
    "batch",
    "first",
    "kind",
    "values",
    "shape",
    "line",
    "file",
    "reserved",
    "fields",
    "declared",
]
FIXED_ONLY = ["rows", "mask", "counts", "offsets", "dropped", "padded", "agent_rows"]


class Jar(wl.Entity):
    count: int
    name: int
    columns: int
    world: int
    extra: int
    population: int
    batch: int
    first: int
    kind: int
    values: int
    shape: int
    line: int = 500
    file: int
    reserved: int
    fields: int
    declared: int


class Board(wl.Entity):
    rows: int
    mask: int
    counts: int
    offsets: int
    dropped: int
    padded: int
    agent_rows: int
    count: int


class Shelf(wl.World):
    name: int
    columns: int
    extra: int
    rows: int
    mask: int


@wl.system
def fill(world: Shelf):
    world.spawn(Jar, count=5)


@wl.system
def add(jar: Jar):
    jar.count += 1
    jar.name += 2
    jar.world += 3


@wl.system
def draw(board: Board, world: Shelf):
    board.rows += 4
    board.count += 1
    board.mask = world.count(Jar)


@wl.system
def label(world: Shelf):
    world.name += 1
    world.mask += 2


def public_attributes(table: Table) -> set[str]:
    """What ``table.x`` finds before the columns."""
    names = {name for name, _member in inspect.getmembers_static(type(table))} | set(table.__dict__)
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("device", ["python", "cpu"])
@pytest.mark.parametrize("pool", [None, 8])
def test_natural_names_reach_the_components(device: str, pool: int | None) -> None:
    entities = {Jar: wl.UpTo(3, batch=pool), Board: 2}
    definition = wl.Definition("Shelf-v0", world=Shelf, entities=entities, reset=[fill], step=[add, draw, label])
    sim = wl.Simulation(definition, num_worlds=2, device=device, seed=0)
    sim.step()
    sim.step()
    rows = (slice(2),) if pool else (slice(None), 0)
    for table, names in (
        (sim[Jar], NATURAL),
        (sim[Board], [*FIXED_ONLY, "count"]),
        (sim.world, ["name", "mask", "rows"]),
    ):
        for name in names:
            assert isinstance(getattr(table, name), Column) and getattr(table, name) is table[name], name
    assert [sim[Jar][name].numpy()[rows].tolist() for name in ("count", "name", "world")] == [[7, 7], [4, 4], [6, 6]]
    assert (sim[Jar].line.numpy()[rows] == 500).all(), "and not the line of the class"
    assert sim[Board].rows.numpy().tolist() == [[8, 8], [8, 8]] and (sim[Board].mask.numpy() == 1).all()
    assert sim.world.name.numpy().tolist() == [2, 2] and sim.world.mask.numpy().tolist() == [4, 4]
    sim[Jar].count = np.full(sim[Jar].count.shape, 9, np.int32)
    assert (sim[Jar]["count"].numpy() == 9).all()
    assert sim[Jar].rows("count").tolist() == [9, 9] and sim[Jar].counts.numpy().tolist() == [1, 1]
    assert sim[Board].rows_per_world == 2, "the table's own attributes have other names"


def test_the_lists_of_reserved_names_are_the_attributes_of_tables() -> None:
    class Plain(wl.Entity):
        height: int

    class Agent(wl.Entity):
        move: wl.Action(wl.Discrete(2))

    definition = wl.Definition(
        "Names-v0",
        world=Shelf,
        entities={Board: 1, Jar: wl.UpTo(2), Plain: wl.UpTo(2, batch=2), Agent: wl.UpTo(1, agents=True)},
    )
    sim = wl.Simulation(definition, num_worlds=1, device="python", seed=0)
    kinds = {type(sim[kind]) for kind in (Board, Jar, Plain)}
    assert kinds == {Table, PopulationTable, PooledTable}
    for table in (sim.world, sim[Board], sim[Agent].agent_rows):
        assert public_attributes(table) == TABLE_ATTRIBUTES
    of_populations = public_attributes(sim[Jar]) | public_attributes(sim[Plain]) | public_attributes(sim[Agent])
    assert of_populations == TABLE_ATTRIBUTES | set(POPULATION_ATTRIBUTES)


@pytest.mark.parametrize("name", sorted(POPULATION_ATTRIBUTES))
def test_populations_have_no_component_of_a_name_of_their_table(name: str) -> None:
    kind = type("Lamp", (wl.Entity,), {"__annotations__": {name: int}})
    with pytest.raises(wl.DefinitionError, match=rf"can be named '{name}': sim\[Lamp\].{name} is") as caught:
        wl.register("Lamps-v0", world=Shelf, entities={kind: wl.UpTo(2)})
    assert caught.value.file == __file__ and "Fix: choose another name" in str(caught.value)


@pytest.mark.parametrize("base", [wl.Entity, wl.World, wl.Components])
@pytest.mark.parametrize("name", sorted(TABLE_ATTRIBUTES))
def test_no_class_has_a_component_of_a_name_of_every_table(base: type, name: str) -> None:
    with pytest.raises(wl.DefinitionError, match=f"'{name}' is a name reserved for the engine"):
        type("Lamp", (base,), {"__annotations__": {name: int}})


def test_the_error_names_the_line_of_the_component() -> None:
    class Marked(wl.Components):
        size: int
        mask: int  # here

    class Lamp(wl.Entity, Marked):
        light: float

    lines = inspect.getsource(test_the_error_names_the_line_of_the_component).splitlines()
    line = test_the_error_names_the_line_of_the_component.__code__.co_firstlineno + next(
        number for number, text in enumerate(lines) if "# here" in text
    )
    with pytest.raises(wl.DefinitionError) as caught:
        wl.register("Lamps-v0", world=Shelf, entities={Lamp: wl.UpTo(2)})
    assert (caught.value.file, caught.value.line) == (__file__, line)
    assert "class 'Marked'" in str(caught.value)
