"""Sequences of operations: drawn from a seed, compared on several variants, and shrunk where they differ."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.core.schedule.entries import Autoreset
from worldloom.testing.campaign import drop_refused, quiet, without
from worldloom.testing.coverage import NEAR
from worldloom.testing.generator.values import MODES
from worldloom.testing.generator.worlds import generate
from worldloom.testing.operations.operation import OPERATIONS
from worldloom.testing.operations.subject import Setting, Subject, UnmakeableError, difference, dropped, plain
from worldloom.testing.operations.worlds import BUNDLED, WORLDS

RANDOM_SYSTEMS = 8
"""Systems of a random world."""


@dataclass(frozen=True)
class Sequence:
    """Operations on one world.

    Attributes:
        seed: The seed that it was drawn from.
        world: The id of a world; ``random`` for the fuzzer's world with this seed.
        num_worlds, autoreset: Arguments of the simulations.
        operations: The names and seeds of the operations.
    """

    seed: int
    world: str
    num_worlds: int
    autoreset: Autoreset
    operations: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Failure:
    """The first difference of a sequence.

    Attributes:
        sequence: The operations up to the one that differs.
        variant: The variant that differs from the first.
        text: What differs.
        lines: What each operation did.
    """

    sequence: Sequence
    variant: str
    text: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        known = self.sequence
        head = f"{known.num_worlds} worlds of {known.world} with seed {known.seed}, autoreset '{known.autoreset}':"
        return "\n".join([head, *(f"  {line}" for line in self.lines), self.text])


def draw(seed: int, operations: int, world: str = "") -> Sequence:
    """The sequence of a seed.

    Args:
        seed: The same seed gives the same sequence.
        operations: Number of operations.
        world: The id of its world; "" draws one.
    """
    rng = random.Random(f"operations {seed}")  # noqa: S311
    kinds = {"random": 9, **dict.fromkeys(WORLDS, 2), "yard": 1, **dict.fromkeys(BUNDLED, 1)}
    drawn = rng.choices(list(kinds), list(kinds.values()))[0]
    names = list(OPERATIONS)
    weights = [OPERATIONS[name].weight for name in names]
    chosen = tuple((rng.choices(names, weights)[0], rng.randrange(2**32)) for _ in range(operations))
    return Sequence(seed, world or drawn, rng.randint(2, 7), rng.choice(get_args(Autoreset)), chosen)


def setting_of(sequence: Sequence, folder: Path, avoid: Many[str] = ()) -> Setting:
    """The world of a sequence and the arguments of its simulations."""
    arguments = (sequence.num_worlds, sequence.seed, sequence.autoreset)
    if sequence.world == "random":
        text = without(generate(sequence.seed, RANDOM_SYSTEMS), avoid)
        mode = MODES[sequence.seed % 4] if sequence.seed % 4 < 3 else "any"
        return Setting(drop_refused(text, folder)[1].DEFINITION, *arguments, mode)
    known = WORLDS.get(sequence.world)
    return Setting(known if known is not None else wl.definition(sequence.world), *arguments)


def run(sequence: Sequence, variants: Many[str], folder: Path) -> Failure | None:
    """Apply the operations to one subject for each variant, and compare all with the first after every one of them."""
    avoid = NEAR if any(variant.startswith("cuda-text") for variant in variants) else ()
    return run_in(setting_of(sequence, folder, avoid), sequence, variants, folder)


def run_in(setting: Setting, sequence: Sequence, variants: Many[str], folder: Path) -> Failure | None:
    """As :func:`run`, with the world at hand."""
    lines: list[str] = []

    def failure(variant: str, text: str) -> Failure:
        kept = replace(sequence, operations=sequence.operations[: len(lines)])
        return Failure(kept, variant, text, tuple(lines))

    with ExitStack() as stack:
        stack.enter_context(quiet())
        stack.enter_context(_registered(setting.definition))
        subjects = list[Subject]()
        for variant in variants:
            try:
                subjects.append(Subject(setting, variant, folder))
            except UnmakeableError:
                return None
            stack.callback(subjects[-1].close)
        reference = subjects[0]
        for other in subjects[1:]:
            if (text := difference(reference, other, 0)) is not None:
                return failure(other.variant, f"after the first reset, {text}")
        overflows = dropped(reference)
        for number, (name, seed) in enumerate(sequence.operations):
            results = [perform(subject, name, seed) for subject in subjects]
            lines.append(f"{number} {name}: {'; '.join(reference.log) or '-'}")
            for subject, result in zip(subjects, results, strict=True):
                if isinstance(result, BaseException):
                    return failure(subject.variant, f"{subject.variant}: {type(result).__name__}: {result}")
            before, overflows = overflows, dropped(reference)
            overflow = (overflows > before).any() and name not in ("restore", "copy_worlds")
            open_ends = [s for s in subjects if overflow and s.variant.startswith("cuda")]
            for other, result in zip(subjects[1:], results[1:], strict=True):
                if other in open_ends:  # which entities a GPU drops is not fixed
                    other.simulation.restore(reference.simulation.snapshot())
                elif result != results[0]:
                    shown = f"returned {_shown(result)}, expected {_shown(results[0])}"
                    return failure(other.variant, f"{other.variant}: {name} {shown}")
                elif (text := difference(reference, other, number + 1)) is not None:
                    return failure(other.variant, f"after {name}, {text}")
            for subject in subjects if open_ends else ():
                subject.forget()
    return None


def perform(subject: Subject, name: str, seed: int) -> Any:
    """The result of an operation, comparable; or an exception that is no error of worldloom."""
    subject.log.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = OPERATIONS[name].apply(subject, np.random.default_rng(seed))
            subject.finish()
            return plain(value)
    except wl.WorldloomError as error:
        return f"{type(error).__name__}: {error}"
    except UnmakeableError:
        return "no simulation"
    except Exception as error:
        return error


def _shown(result: Any) -> str:
    text = repr(result)
    return text if len(text) < 300 else f"{text[:300]}..."


@contextmanager
def _registered(definition: wl.Definition) -> Iterator[None]:
    """A world under its id, so that its simulations can be pickled."""
    if registry.is_registered(definition.id):
        yield
        return
    with patch.dict(registry._REGISTRY, {definition.id: definition}):
        yield


def shrink(failure: Failure, reference: str, folder: Path, seconds: float) -> Failure:
    """A failure with fewer operations, and with one other variant than the reference."""
    deadline = time.monotonic() + seconds
    avoid = NEAR if failure.variant.startswith("cuda-text") else ()
    setting = setting_of(failure.sequence, folder, avoid)
    variants = tuple(dict.fromkeys((reference, failure.variant)))

    def again(operations: Many[tuple[str, int]]) -> Failure | None:
        return run_in(setting, replace(failure.sequence, operations=tuple(operations)), variants, folder)

    smallest = again(failure.sequence.operations) or failure
    if smallest is failure:  # it takes another variant
        return failure
    return _without_parts(smallest, again, deadline)


def _without_parts(
    smallest: Failure, again: Callable[[Many[tuple[str, int]]], Failure | None], deadline: float
) -> Failure:
    """Leave out halves, quarters and single operations as long as a difference remains."""
    size = max(1, len(smallest.sequence.operations) // 2)
    while time.monotonic() < deadline:
        start, shorter = 0, False
        while start < len(smallest.sequence.operations) and time.monotonic() < deadline:
            known = smallest.sequence.operations
            found = again(known[:start] + known[start + size :])
            if found is not None:
                smallest, shorter = found, True
            else:
                start += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return smallest
