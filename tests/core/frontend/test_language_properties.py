"""Random programs have the same meaning interpreted and compiled: every column is equal bit for bit.

``WORLDLOOM_EXAMPLES=300 pytest tests/core/frontend/test_language_properties.py`` tries more programs; each is compiled.
"""

import functools
import importlib.util
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import worldloom as wl

EXAMPLES = int(os.environ.get("WORLDLOOM_EXAMPLES", "5"))
STEPS, WORLDS = 3, 2
HEAD = """
import worldloom as wl


class Cell(wl.Entity):
    i: int = 3
    j: int = -5
    k: wl.int64 = 7
    b: wl.uint8 = 200
    x: float = 0.75
    y: float = -2.5
    d: wl.float64 = 0.1
    p: bool
    v: wl.vec3 = (1.0, -2.0, 0.5)
    a: wl.Array(int, 4)
    seen: int
    noted: int


class Grid(wl.World):
    scale: wl.Config = 1.5
    total: int
    second_total: int
    weight: float
    second_weight: float


@wl.function
def blend(m: int, u: float):
    if m > 2:
        return u * 0.5
    return u + float(m)


@wl.system
def first(cell: Cell, world: Grid):
    n = cell.id
    r = cell.x
    q = cell.id > 1
{first}


@wl.system
def second(cell: Cell, world: Grid):
    n = cell.seen + world.total
    r = world.weight
    q = n > 3
{second}


DEFINITION = wl.Definition("Random-test", Grid, {{Cell: 3}}, step=(first, second))
"""

numbers = st.integers(-9, 9).map(str)
truths = st.sampled_from(["True", "False"])
reals = st.sampled_from(["0.0", "0.5", "-1.25", "2.0", "3.75", "0.1"])


def whole(inner: st.SearchStrategy[tuple[str, str, str]]) -> st.SearchStrategy[str]:
    """An expression of type int, from smaller ones (whole, real, truth)."""
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]), inner).map(
        lambda t: f"({t[0][0]} {t[1]} {t[2][0]})"
    )
    shift = st.tuples(inner, st.sampled_from(["<<", ">>"]), st.integers(0, 5)).map(
        lambda t: f"({t[0][0]} {t[1]} {t[2]})"
    )
    return st.one_of(
        binary,
        shift,
        inner.map(lambda t: f"(-{t[0]})"),
        inner.map(lambda t: f"(~{t[0]})"),
        inner.map(lambda t: f"abs({t[0]})"),
        inner.map(lambda t: f"(({t[0]}) % 7) ** 2"),
        inner.map(lambda t: f"int(wl.clamp({t[1]}, -100.0, 100.0))"),
        inner.map(lambda t: f"cell.a[({t[0]}) % 4]"),
        st.tuples(inner, truths).map(lambda t: f"int(cell.k + {t[1]} * ({t[0][0]}))"),
        st.tuples(inner, truths).map(lambda t: f"int(wl.uint64(({t[0][0]}) & 255) ^ {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0][0]}, {t[1][0]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0][0]} if {t[1][2]} else {t[2][0]})"),
        st.tuples(numbers, numbers).map(lambda t: f"world.integer({t[0]}, {t[1]})"),
    )


def real(inner: st.SearchStrategy[tuple[str, str, str]]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
        lambda t: f"({t[0][1]} {t[1]} {t[2][1]})"
    )
    return st.one_of(
        binary,
        inner.map(lambda t: f"(-{t[1]})"),
        inner.map(lambda t: f"float({t[0]})"),
        inner.map(lambda t: f"wl.sin({t[1]})"),
        inner.map(lambda t: f"wl.sqrt(abs({t[1]}))"),
        inner.map(lambda t: f"({t[1]}) ** 2"),
        inner.map(lambda t: f"cell.v[({t[0]}) % 3]"),
        inner.map(lambda t: f"wl.length(cell.v * {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"blend({t[0][0]}, {t[1][1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0][1]}, {t[1][0]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0][1]} if {t[1][2]} else {t[2][1]})"),
        st.just("world.random()"),
        st.just("world.normal(0.0, 2.0)"),
    )


def truth(inner: st.SearchStrategy[tuple[str, str, str]]) -> st.SearchStrategy[str]:
    comparison = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    return st.one_of(
        st.tuples(inner, comparison, inner).map(lambda t: f"({t[0][0]} {t[1]} {t[2][1]})"),
        st.tuples(inner, comparison, inner).map(lambda t: f"({t[0][1]} {t[1]} {t[2][1]})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0][2]} {t[1]} {t[2][2]})"),
        inner.map(lambda t: f"(not {t[2]})"),
        inner.map(lambda t: f"bool({t[0]})"),
    )


LEAVES = st.tuples(
    st.one_of(numbers, st.sampled_from(["cell.i", "cell.j", "n", "world.step", "world.id", "cell.id", "int(cell.b)"])),
    st.one_of(reals, st.sampled_from(["cell.x", "cell.y", "r", "world.scale", "cell.v.y", "float(cell.d)"])),
    st.sampled_from(["cell.p", "q", "True", "False"]),
)
EXPRESSIONS = st.recursive(LEAVES, lambda inner: st.tuples(whole(inner), real(inner), truth(inner)), max_leaves=6)
FILES = itertools.count()


def indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


@st.composite
def assignment(draw: st.DrawFn) -> list[str]:
    i, x, p = draw(EXPRESSIONS)
    lines: str = draw(
        st.sampled_from(
            [
                f"cell.i = {i}",
                f"cell.j -= {i}",
                f"cell.k = cell.k * 3 + {i}",
                f"cell.b = wl.uint8(({i}) & 255)",
                f"cell.b += wl.uint8(7 if {p} else 1)",
                f"cell.x = {x}",
                f"cell.y *= {x}",
                f"cell.d = cell.d / 3.0 + {x}",
                f"cell.p = {p}",
                f"cell.v.x = {x}",
                f"cell.v = cell.v * 0.5 + wl.vec3({x}, 1.0, cell.y)",
                f"cell.a[({i}) % 4] = n",
                f"cell.a[1] ^= {i}",
                f"n = {i}",
                f"r = {x}",
                f"q = {p}",
                f"cell.i, cell.j = cell.j, {i}",
                f"n, r = {i}, {x}",
                f"world.total += ({i}) % 1000",
                f"world.weight = max(world.weight, {x})",
                f"for other in world.all(Cell):\n    if other.id != {i}:\n        other.seen += ({i}) % 10",
            ]
        )
    )
    return lines.split("\n")


@st.composite
def statements(draw: st.DrawFn, depth: int = 2, loop: bool = False) -> list[str]:
    """A block of Python text."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        choice = draw(st.sampled_from(["assign", "assign", "if", "for", "while", "leave"])) if depth else "assign"
        i, _, p = draw(EXPRESSIONS)
        if choice == "assign":
            lines += draw(assignment())
        elif choice == "if":
            lines += [f"if {p}:", *indent(draw(statements(depth - 1, loop)))]
            if draw(st.booleans()):
                lines += ["else:", *indent(draw(statements(depth - 1, loop)))]
        elif choice == "for":
            bounds = draw(st.sampled_from([f"({i}) % 4", f"-1, ({i}) % 4", f"4, ({i}) % 5 - 3, -2"]))
            name = f"c{depth}"
            lines += [
                f"for {name} in range({bounds}):",
                f"    cell.j += {name}",
                *indent(draw(statements(depth - 1, True))),
            ]
        elif choice == "while":
            name = f"w{depth}"
            lines += [
                f"{name} = 0",
                f"while {name} < 3 and ({name} * 2 != n or cell.p):",
                f"    {name} += 1",
                *indent(draw(statements(depth - 1, True))),
            ]
        else:
            word = draw(st.sampled_from(["break", "continue", "return"])) if loop else "return"
            lines += [f"if {p}:", f"    {word}"]
    return lines


def elsewhere(lines: list[str]) -> list[str]:
    """The same statements, accumulating into components that the first system does not use."""
    moved = {"world.total": "world.second_total", "world.weight": "world.second_weight", "other.seen": "other.noted"}
    return [functools.reduce(lambda line, place: line.replace(*place), moved.items(), line) for line in lines]


def load(folder: Path, first: list[str], second: list[str]) -> wl.Definition:
    file = folder / f"random_world_{next(FILES)}.py"
    file.write_text(HEAD.format(first="\n".join(indent(first)), second="\n".join(indent(elsewhere(second)))))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DEFINITION


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random_worlds")


PHASES = [Phase.generate, Phase.shrink] if "WORLDLOOM_SHRINK" in os.environ else [Phase.generate]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="WORLDLOOM_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=PHASES,
)
@given(first=statements(), second=statements(depth=1))
def test_random_programs_agree(folder: Path, first: list[str], second: list[str]) -> None:
    definition = load(folder, first, second)
    interpreted = wl.Simulation(definition, WORLDS, "python", seed=3)
    compiled = wl.Simulation(definition, WORLDS, "cpu", seed=3)
    for step in range(1, STEPS + 1):
        interpreted.step()
        compiled.step()
        for table in interpreted.tables.values():
            for column in table:
                a, b = column.numpy(), compiled.tables[table.table_name][column.field.name].numpy()
                same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
                source = Path(definition.systems[0].source.file)
                difference = f"{a.tolist()} and {b.tolist()}"
                assert same, f"{column.name} differs in step {step}: {difference} in {source.read_text()}"
    assert [str(e) for e in interpreted.errors()] == [str(e) for e in compiled.errors()]
    compiled.close()
