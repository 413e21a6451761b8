"""Alternatives: several ways to compute the same, of which a simulation runs the fastest on its device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Choose = Callable[[bool, int], str]
"""Names the option for a device, whether it is a GPU, and a number of worlds."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """An entry of a phase that stands for one of several lists of entries with the same results.

    Results are the same bits on the CPU, and on a GPU in exact mode. A simulation chooses by what
    :meth:`~worldloom.Simulation.tune` has measured on its GPU, else by ``choose``; ``alternatives={"name": "option"}``
    gives the choice to the caller. The entries must not spawn entities, nor draw random numbers.

    Attributes:
        name: What it computes, such as ``solver``.
        options: The entries of each option, by its name. The first one defines the world.
        choose: The option without a measurement; None for the first one.
    """

    name: str
    options: Mapping[str, Sequence[Any]]
    choose: Choose | None = field(default=None)

    @property
    def default(self) -> str:
        """The name of the first option."""
        return next(iter(self.options), "")

    def entries(self, option: str) -> tuple[Any, ...]:
        return tuple(self.options.get(option, ()))

    def chosen(self, cuda: bool, num_worlds: int) -> str:
        """The option for a device and a number of worlds without a measurement."""
        return self.default if self.choose is None else self.choose(cuda, num_worlds)


def expand(phase: Sequence[Any], options: Mapping[str, str]) -> tuple[Any, ...]:
    """A phase with the entries of ``options`` in the place of alternatives; the first option where none is named."""
    expanded: list[Any] = []
    for entry in phase:
        if isinstance(entry, Alternatives):
            expanded += entry.entries(options.get(entry.name, entry.default))
        else:
            expanded.append(entry)
    return tuple(expanded)
