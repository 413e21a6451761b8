"""One world of a fuzzing campaign: generated, checked, run on the reference and on devices, and shrunk where it fails."""

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
from worldloom.testing.generate import generate
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
"""What the reference or the checker says of a shrunk text that is no world any more."""


@dataclass
class WorldReport:
    """What one generated world gave.

    Attributes:
        seed: Its seed.
        systems: How many systems were compared.
        refused: Why the others were refused when the file was loaded.
        differences: The first difference of each variant that differs; also how a variant failed to run.
        text: The world, without what was refused.
        seconds: How long each part took.
        constructs: In how many systems each construct occurred.
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
    """Keep what compilers write to standard error from the terminal."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for world files, and an empty kernel cache beside it, both gone afterwards."""
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
    """A world without the systems that are refused: its text, its module, and why they were."""
    import worldloom as wl

    refused: list[str] = []
    while True:
        try:
            module = load(text, folder)
            module.DEFINITION.checked
            return text, module, refused
        except wl.DefinitionError as error:
            tree = ast.parse(text)
            line = int(match.group(1)) if (match := re.search(r"\.py:(\d+)", str(error))) else 0
            bad = [
                f.name
                for f in tree.body
                if isinstance(f, ast.FunctionDef) and f.lineno - len(f.decorator_list) <= line <= (f.end_lineno or 0)
            ]
            if not bad:
                raise
            refused.append(f"{error} [{text.splitlines()[line - 1].strip()}]")
            gone = {bad[0]}
            while gone:
                unschedule(tree, gone)
                names = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
                calls = {
                    f.name: {n.func.id for n in ast.walk(f) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
                    for f in tree.body
                    if isinstance(f, ast.FunctionDef)
                }
                gone = {
                    f for f, used in calls.items() if any(re.fullmatch(r"h\d+", u) and u not in names for u in used)
                }
            text = ast.unparse(ast.fix_missing_locations(tree))


def _called(function: ast.FunctionDef) -> set[str]:
    """The names that a function calls."""
    return {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def without(text: str, avoid: Sequence[str]) -> str:
    """A world without the systems in which one of some constructs occurs, to look past a failure that is known."""
    gone = {name for name, constructs in by_system(text).items() if constructs & set(avoid)}
    if not gone:
        return text
    tree = ast.parse(text)
    unschedule(tree, gone)
    return ast.unparse(ast.fix_missing_locations(tree))


def chosen_variants(variants: Sequence[str], mode: str) -> list[str]:
    """Those of ``variants`` that a world can be held to: a GPU in fast mode rounds otherwise where numbers are not exact."""
    return [v for v in variants if not (v.startswith("cuda") and "exact" not in v and mode == "any")]


def fuzz_world(
    seed: int, systems: int, variants: Sequence[str], folder: Path, avoid: Sequence[str] = ()
) -> WorldReport:
    """Generate a world and compare it on all ``variants``; systems with one of the constructs to ``avoid`` are left out."""
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
        found = attempt(module.DEFINITION, trace, variant)
        if found is not None:
            report.differences.append(str(found))
            report.variants.append(variant)
        report.seconds[variant] = time.perf_counter() - start
    return report


def attempt(definition: Any, trace: Trace, variant: str) -> Difference | str | None:
    """The first difference on a variant, or how it failed to run."""
    import worldloom as wl

    try:
        with quiet():
            return run(definition, trace, variant)
    except wl.CapacityError:  # its first reset spawns more than there is room for, so it cannot be made
        return None
    except Exception as error:  # a world that was accepted must run
        return f"{variant}: {type(error).__name__}: {error}"


def differences(text: str, variants: Sequence[str], folder: Path) -> list[str]:
    """How a world fails on some variants."""
    with quiet():
        module, trace = load(text, folder), Trace(text)
    return [str(found) for variant in variants if (found := attempt(module.DEFINITION, trace, variant)) is not None]


def shrink_world(text: str, variant: str, folder: Path, seconds: float) -> str:
    """The smallest world that still fails on a variant, in the same way: by a difference, or by an error."""
    import worldloom as wl

    def failure(candidate: str) -> str | None:
        try:
            with quiet():
                module = load(candidate, folder)
                found = attempt(module.DEFINITION, Trace(candidate), variant)
        except (wl.WorldloomError, SyntaxError, *_INVALID):
            return None
        return None if found is None else "difference" if isinstance(found, Difference) else found.split(":")[1]

    wanted = failure(text)
    return Shrinker(text, lambda candidate: failure(candidate) == wanted, seconds).run() if wanted else text


RUNNABLE = """

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
"""


def runnable(text: str, differences: Sequence[str]) -> str:
    """A world as a file that runs by itself and shows what is expected and what is found; ``EXPECTED`` is what the reference gives."""
    tree = ast.parse(text)
    if tree.body and isinstance(tree.body[0], ast.Expr):
        tree.body.pop(0)
    trace = Trace(text)
    named = dict.fromkeys(match.group(1) for d in differences if (match := re.match(r"[\w-]+: (\w+\.\w+)[ \[]", d)))
    known = [c for c in named if tuple(c.split(".")) in trace.states[-1]]
    expected = f"\n\nEXPECTED = { {column: expected_values(trace, column) for column in known}!r}" if known else ""
    words = (
        "\n".join(("A world that does not run the same everywhere; run this file to see it.", "", *differences))
        .replace('"""', "'''")
        .replace("\\", "/")
    )
    return f'"""{words}\n"""\n\n' + ast.unparse(tree) + expected + RUNNABLE
