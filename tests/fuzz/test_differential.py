"""A small sample of the fuzzer on fixed seeds, and every world that it failed on. ``make fuzz`` runs a campaign."""

import ast
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import tyro
from thorough import covering, sample

from worldloom.testing.campaign import drop_refused, fuzz_world, runnable, scratch, shrink_world, without
from worldloom.testing.compare import Trace, compare, expected_values
from worldloom.testing.coverage import CONSTRUCTS, by_system, coverage
from worldloom.testing.fuzz import Fuzz, rotated
from worldloom.testing.generator.worlds import generate

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


def name_of(value: Path | str) -> str:
    return value.stem if isinstance(value, Path) else value


@pytest.mark.parametrize(
    ("seed", "systems", "variants"),
    [
        (1, 5, ("cpu", "cpu-threads")),  # dyadic
        (2, 5, ("cpu-unfused",)),  # smooth
        (4, 5, ("cpu-exact",)),  # any
        *sample([(5, 20, ("python",)), (6, 20, ("python-exact", "python")), (8, 40, ("python",))], 2),
    ],
)
def test_fixed_seeds_run_the_same_everywhere(seed: int, systems: int, variants: tuple[str, ...]):
    """Compiled worlds of each mode have few systems, since the time goes to the compiler."""
    with scratch() as folder:
        report = fuzz_world(seed, systems, variants, folder)
    assert report.differences == []
    written = sum(coverage(generate(seed, systems))[f"{what} system"] for what in ("entity", "world", "pair"))
    assert report.systems + len(report.refused) == written >= systems
    assert len(report.refused) <= 2, report.refused


@pytest.mark.parametrize(("path", "variant"), covering(CASES, ["cpu", "cpu-exact", "cpu-unfused"]), ids=name_of)
def test_every_find_stays_fixed(path: Path, variant: str):
    """``EXPECTED`` of each file holds the column that was wrong, as on the reference."""
    text = path.read_text()
    expected = next(
        ast.literal_eval(n.value)
        for n in ast.parse(text).body
        if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "EXPECTED"
    )
    trace = Trace(text)
    for column, values in expected.items():
        assert expected_values(trace, column) == values
    with scratch() as folder:
        assert [str(d) for d in compare(text, ("python", variant, "cuda-text"), folder)] == []


def test_the_same_seed_gives_the_same_world():
    assert generate(7, 12) == generate(7, 12) != generate(8, 12)


def test_every_construct_occurs():
    """A few worlds contain every construct of the report."""
    missing = set(CONSTRUCTS)
    for seed in range(12):
        missing -= set(coverage(generate(seed, 60)))
        if not missing:
            break
    assert missing == set()


def test_few_systems_are_refused():
    with scratch() as folder:
        refused = [reason for seed in range(2) for reason in drop_refused(generate(seed, 30), folder)[2]]
    assert len(refused) <= 1, refused


def test_constructs_can_be_avoided():
    text = without(generate(0, 40), ["while"])
    assert all("while" not in constructs for constructs in by_system(text).values())


WRONG = """
import worldloom as wl
RUN = {"num_worlds": 2, "steps": 2, "seed": 0, "fill": 1}

class A(wl.Entity):
    n: int
    k: int
    spare: float

class Field(wl.World):
    total: int

@wl.system
def count(e: A, world: Field):
    e.n += 1
    if e.k > -100:
        e.k = e.k + 2
        e.spare = 1.0

@wl.system
def other(e: A):
    e.spare = 2.0

DEFINITION = wl.Definition(id="wrong", world=Field, entities={A: 2}, step=(count, other))
"""


def test_a_failure_is_seen_shrunk_and_printed_as_a_file_that_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The reference is changed to make sums of ints one too large."""
    from worldloom.testing.reference import operators

    right = operators.operation

    def wrong(name: str, a: Any, b: Any, scalar: str) -> Any:
        return (lambda e: a(e) + b(e) + 1) if name == "Add" and scalar == "int32" else right(name, a, b, scalar)

    monkeypatch.setattr(operators, "operation", wrong)
    with scratch() as folder:
        found = compare(WRONG, ["python"], folder)
        assert found[0].column == "A.n" and found[0].expected != found[0].found
        small = shrink_world(WRONG, "python", folder, 60.0)
    monkeypatch.undo()
    assert "other" not in small and "spare" not in small
    assert small.count("\n") < 16
    path = tmp_path / "small.py"
    path.write_text(runnable(small, [str(found[0])]))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert (ended.value.code, capsys.readouterr().out) == (0, "no difference\n")


def test_the_command_rotates_variants_and_reports_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("WARP_CACHE_PATH", str(tmp_path))  # the command sets it for its worker processes
    options = "--worlds 2 --seed 4 --systems-per-world 4 --variants python,python-exact --rotate --json"
    code = tyro.cli(Fuzz, args=options.split()).run()
    report = json.loads(capsys.readouterr().out)
    assert (code, report["worlds"], report["systems"], report["finds"]) == (0, 2, 8, [])
    assert rotated(("cpu", "cpu-threads", "cpu-unfused", "cpu-exact"), 0) == ("cpu", "cpu-threads", "cpu-unfused")
    assert rotated(("cpu", "cpu-threads", "cpu-unfused", "cpu-exact"), 1) == ("cpu", "cpu-threads", "cpu-exact")
