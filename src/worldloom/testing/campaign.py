"""One world of a fuzzing campaign: generated, compared with the reference, and shrunk where it fails."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldloom.testing.compare import Difference, Trace, expected_values, load, run
from worldloom.testing.coverage import by_system, coverage
from worldloom.testing.generator.accesses import broken_promises, keep_promises
from worldloom.testing.generator.sequences import with_whole_sequences
from worldloom.testing.generator.worlds import generate
from worldloom.testing.shrink import Shrinker, unschedule

_INVALID = (
    KeyError,
    AssertionError,
    AttributeError,
    TypeError,
    ValueError,
    StopIteration,
    IndexError,
    NameError,
    ZeroDivisionError,
)
"""Errors of the reference for a shrunk text that is no valid world."""


@dataclass
class WorldReport:
    """The result of one generated world.

    Attributes:
        seed: Its seed.
        systems: Number of systems that were compared.
        refused: The reasons for which the other systems were refused.
        differences: The first difference, or the error, of each variant that fails.
        variants: The variants that fail.
        text: The world, without the refused systems.
        seconds: The time of each part.
        constructs: The number of systems with each construct.
    """

    seed: int
    systems: int = 0
    refused: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    text: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    constructs: Counter[str] = field(default_factory=Counter)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discard the output of compilers to standard error."""
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def compile_quickly() -> None:
    """Compile without optimizations in this process: the same bits in two thirds of the time."""
    import warp as wp

    wp.config.optimization_level = 0


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for world files, with an empty kernel cache."""
    import warp as wp

    before = wp.config.kernel_cache_dir
    folder = Path(tempfile.mkdtemp(prefix="worldloom-fuzz-"))
    wp.config.kernel_cache_dir = str(folder / "kernels")
    (folder / "kernels").mkdir()
    try:
        yield folder
    finally:
        wp.config.kernel_cache_dir = before
        shutil.rmtree(folder, ignore_errors=True)


def drop_refused(text: str, folder: Path) -> tuple[str, Any, list[str]]:
    """A world without the systems that are refused: its text, its module, and the reasons."""
    import worldloom as wl

    refused: list[str] = []
    while True:
        try:
            module = load(text, folder)
            _ = module.DEFINITION.checked
            return text, module, refused
        except wl.DefinitionError as error:
            tree = ast.parse(text)
            line = int(match.group(1)) if (match := re.search(r"\.py:(\d+)", str(error))) else 0
            functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
            wrong = [f.name for f in functions if f.lineno - len(f.decorator_list) <= line <= (f.end_lineno or 0)]
            if not wrong:
                raise
            refused.append(f"{error} [{text.splitlines()[line - 1].strip()}]")
            _drop_with_callers(tree, wrong[0])
            text = keep_promises(ast.unparse(ast.fix_missing_locations(tree)))


def _drop_with_callers(tree: ast.Module, name: str) -> None:
    """Remove a system or helper, and all functions that call a removed helper."""
    dropped = {name}
    while dropped:
        functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
        unschedule(tree, with_whole_sequences(dropped, [f.name for f in functions]))
        names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
        dropped = {
            f.name for f in functions if any(re.fullmatch(r"h\d+", call) and call not in names for call in _called(f))
        }


def _called(function: ast.FunctionDef) -> set[str]:
    """The names that a function calls."""
    return {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def without(text: str, avoid: Sequence[str]) -> str:
    """A world without the systems that contain one of some constructs, to skip a known failure."""
    constructs_of = by_system(text)
    dropped = {name for name, constructs in constructs_of.items() if constructs & set(avoid)}
    if not dropped:
        return text
    tree = ast.parse(text)
    unschedule(tree, with_whole_sequences(dropped, constructs_of))
    return keep_promises(ast.unparse(ast.fix_missing_locations(tree)))


def chosen_variants(variants: Sequence[str], mode: str) -> list[str]:
    """The ``variants`` that can be compared: a GPU in fast mode rounds differently in worlds of mode ``any``."""
    return [v for v in variants if not (v.startswith("cuda") and "exact" not in v and mode == "any")]


def fuzz_world(
    seed: int, systems: int, variants: Sequence[str], folder: Path, avoid: Sequence[str] = ()
) -> WorldReport:
    """Generate a world and compare all ``variants``, without systems that contain a construct of ``avoid``."""
    report, start = WorldReport(seed), time.perf_counter()
    report.text, module, report.refused = drop_refused(without(generate(seed, systems), avoid), folder)
    report.constructs = coverage(report.text)
    report.systems = sum(report.constructs[f"{what} system"] for what in ("entity", "world", "pair"))
    report.seconds["load"] = time.perf_counter() - start
    start = time.perf_counter()
    trace = Trace(report.text)
    report.seconds["reference"] = time.perf_counter() - start
    for variant in chosen_variants(variants, trace.settings.mode):
        start = time.perf_counter()
        failure = attempt(module.DEFINITION, trace, variant)
        if failure is not None:
            report.differences.append(str(failure))
            report.variants.append(variant)
        report.seconds[variant] = time.perf_counter() - start
    return report


def attempt(definition: Any, trace: Trace, variant: str) -> Difference | str | None:
    """The first difference on a variant, or the error where it failed to run."""
    import worldloom as wl

    try:
        with quiet():
            return run(definition, trace, variant)
    except wl.CapacityError:  # the first reset exceeds the capacity of a population, so the world cannot be made
        return None
    except Exception as error:  # a world that was not refused must run
        return f"{variant}: {type(error).__name__}: {error}"


def differences(text: str, variants: Sequence[str], folder: Path) -> list[str]:
    """The failures of a world on some variants."""
    with quiet():
        module, trace = load(text, folder), Trace(text)
    failures = (attempt(module.DEFINITION, trace, variant) for variant in variants)
    return [str(failure) for failure in failures if failure is not None]


def shrink_world(text: str, variant: str, folder: Path, seconds: float) -> str:
    """The smallest world that still fails on a variant in the same way: with a difference, or with the same error."""
    import worldloom as wl

    def failure(candidate: str) -> str | None:
        try:
            with quiet():
                module, trace = load(candidate, folder), Trace(candidate)
                if broken_promises(candidate) or reads_undefined(trace, candidate):
                    return None
                result = attempt(module.DEFINITION, trace, variant)
        except (wl.WorldloomError, SyntaxError, *_INVALID):
            return None
        return None if result is None else "difference" if isinstance(result, Difference) else result.split(":")[1]

    original = failure(text)
    return Shrinker(text, lambda candidate: failure(candidate) == original, seconds).run() if original else text


def reads_undefined(trace: Trace, text: str) -> bool:
    """Whether a world reads a transient component that nothing has written: then another number there changes it."""
    if "wl.Transient" not in text:
        return False
    other = Trace(text, undefined=0.0)
    columns = ((one[key], two[key]) for one, two in zip(trace.states, other.states, strict=True) for key in one)
    return any(one.tobytes() != two.tobytes() for one, two in columns)


RUNNABLE = """

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
"""


def runnable(text: str, differences: Sequence[str]) -> str:
    """A world as a script that prints its differences. Its ``EXPECTED`` holds the columns of the reference."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr):
        tree.body.pop(0)
    trace = Trace(text)
    matches = (re.match(r"[\w-]+: (\w+\.\w+)[ \[]", difference) for difference in differences)
    columns = dict.fromkeys(match.group(1) for match in matches if match)
    known = [column for column in columns if tuple(column.split(".")) in trace.states[-1]]
    expected = f"\n\nEXPECTED = { {column: expected_values(trace, column) for column in known}!r}" if known else ""
    lines = ("A world that does not run the same everywhere; run this file to see it.", "", *differences)
    docstring = "\n".join(lines).replace('"""', "'''").replace("\\", "/")
    return f'"""{docstring}\n"""\n\n' + ast.unparse(tree) + expected + RUNNABLE
