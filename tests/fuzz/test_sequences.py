"""Generated sequences of systems that run together, with transient components, and systems beside the next one."""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Program
from worldloom.core.codegen.program import generate as generate_kernels
from worldloom.testing.campaign import drop_refused, reads_undefined, scratch, without
from worldloom.testing.compare import Trace, compare, load
from worldloom.testing.generator.accesses import (
    accesses,
    broken_promises,
    keep_promises,
    possible_promises,
    schedule,
)
from worldloom.testing.generator.worlds import generate

SEEDS = range(12)


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch() as path:
        yield path


def kernels(text: str, folder: Path) -> Program:
    """The kernels for CUDA."""
    return generate_kernels(wl.Simulation(load(text, folder).DEFINITION, 2, "python").schedule, True, True)


def test_worlds_have_transient_components_in_shared_memory_and_systems_at_the_same_time(folder: Path):
    programs = [kernels(generate(seed, 2, sequences=1), folder) for seed in SEEDS]
    tiled = [[s for s in program.step if isinstance(s, KernelSpec) and s.tile] for program in programs]
    assert sum(any(spec.shared_columns for spec in specs) for specs in tiled) >= 3
    assert sum("open_stage = index" in program.text for program in programs) >= 3


def test_they_run_the_same_everywhere(folder: Path):
    """The first two have columns in shared memory of a GPU and concurrent systems."""
    for seed, variants in ((3, ("python", "cpu")), (1, ("python", "cpu-exact")), (2, ("python",)), (6, ("python",))):
        assert [str(d) for d in compare(generate(seed, 2, sequences=1), variants, folder)] == []


def test_populations_have_transient_components(folder: Path):
    """Rows move between the systems of some of these sequences, and between the steps of all."""
    texts = [generate(seed, 24, sequences=2) for seed in range(8)]
    trees = [ast.parse(text) for text in texts]
    varying = [
        text
        for text, tree in zip(texts, trees, strict=True)
        if any(c.name == "C" and "wl.Transient" in ast.unparse(c) for c in tree.body if isinstance(c, ast.ClassDef))
    ]
    assert len(varying) >= 2
    text, _, refused = drop_refused(varying[0], folder)
    assert len(refused) <= 1 and compare(text, ["python"], folder) == []


def test_transient_components_are_written_before_they_are_read():
    for seed in range(6):
        text = generate(seed, 2, sequences=2)
        assert "wl.Transient" in text and not reads_undefined(Trace(text), text), seed


def test_sequences_leave_the_other_systems_of_a_seed_as_they_are():
    def systems(text: str) -> dict[str, str]:
        text = text.replace(", concurrent=True", "")
        return {f.name: ast.unparse(f) for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}

    for seed in (0, 1, 2):
        alone, more = (systems(generate(seed, 20, sequences=count)) for count in (0, 2))
        assert alone.items() < more.items()
        phases = schedule(ast.parse(generate(seed, 20, sequences=2)))
        runs = [run for names in phases for run, _ in itertools.groupby(names, lambda name: name[:2])]
        assert runs.count("q0") == runs.count("q1") == 1, "nothing in between may move rows or change colours"
    assert "wl.Transient" not in generate(0, 5)


def test_a_sequence_is_dropped_as_a_whole():
    text = generate(3, 2, sequences=1)
    assert "def q0_0(" in text and "def s0(" in text
    kept = without(text, ["transient component"])
    assert "def q0_" not in kept and "def s0(" in kept


PROMISES = """
import worldloom as wl
RUN = {"num_worlds": 2, "steps": 2, "seed": 0, "fill": 1}
class A(wl.Entity):
    colour: int
    n: int
    spare: wl.Transient(int)
    other: wl.Ref("A")
class Field(wl.World):
    total: int
    mean: int
@wl.system(where=("colour", (1, 2)), together=True, concurrent=True)
def odd(e: A, world: Field):
    e.n += world.mean
@wl.system(where=("colour", (0, 1)), disjoint=True, together=True)
def even(e: A, world: Field):
    o = world.at(A, e.id)
    o.n += 1
@wl.system(together=True, concurrent=True)
def sums(world: Field):
    for o in world.all(A):
        world.total += o.n
@wl.system(together=True)
def counts(world: Field):
    world.mean = 3
@wl.system(together=True)
def follows(e: A, world: Field):
    e.n = e.spare
    if e.other.alive:
        o = e.other.get()
        o.n += 1
@wl.system(together=True)
def leaves(e: A, world: Field):
    e.despawn()
DEFINITION = wl.Definition(id="p", world=Field, entities={A: wl.UpTo(3)}, step=(odd, even, sums, counts, SYSTEMS))
"""


def test_promises_are_checked():
    """Entities of other colours count as others, the ones of references as any."""
    text = PROMISES.replace("SYSTEMS", "leaves, counts")
    assert broken_promises(text) == [] and possible_promises(text) == ["odd", "sums"]
    known = accesses(text)
    assert known["odd"].where == ("A", "colour", (1, 2)) and not known["leaves"].known
    swapped = text.replace("odd, even", "even, odd")  # the sum follows odd
    assert broken_promises(swapped) == ["odd"]
    assert "concurrent=True)\ndef odd" not in keep_promises(swapped) and not broken_promises(keep_promises(swapped))
    every = text.replace('("colour", (0, 1))', '("colour", (1, 0))')  # odd also runs for 1
    assert broken_promises(every) == ["odd"]
    followed = PROMISES.replace("sums, counts, SYSTEMS", "sums, follows")
    assert broken_promises(followed) == ["sums"]


def test_reads_of_what_is_not_written_are_noticed():
    text = PROMISES.replace("wl.UpTo(3)", "3").replace("sums, counts, SYSTEMS", "follows")
    assert reads_undefined(Trace(text), text)
    written = text.replace("    e.n = e.spare", "    e.spare = 1\n    e.n = e.spare")
    assert not reads_undefined(Trace(written), written)
