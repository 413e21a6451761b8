"""The modules of a program: kernels of a large world are divided among several, which are compiled at the same time."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

MAX_MODULES = 12
"""Modules of one program at most; each costs a second or two of its own."""
MIN_LINES = 1500
"""Lines of code per module at least."""

_DEFINITION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_NAME = re.compile(r"\w+")


def partition(text: str, kernels: Mapping[str, Hashable]) -> dict[str, int]:
    """The number of the module of each kernel, from 0, so that modules have about the same amount of code.

    The code of a kernel is its own and that of all functions that it calls. ``kernels`` gives what the kernels of one
    module have in common: a module is compiled again for every block size that it is launched with.
    """
    sizes = _lines_with_calls(text)
    chosen: dict[str, int] = {}
    for common in dict.fromkeys(kernels.values()):
        names = [name for name in kernels if kernels[name] == common]
        count = max(1, min(MAX_MODULES, sum(sizes[name] for name in names) // MIN_LINES))
        first, loads = len(set(chosen.values())), [0] * count
        for name in sorted(names, key=lambda name: (-sizes[name], name)):
            smallest = loads.index(min(loads))
            chosen[name] = first + smallest
            loads[smallest] += sizes[name]
    return chosen


def _lines_with_calls(text: str) -> dict[str, int]:
    """By function: its lines, and those of the functions that it calls."""
    starts = list(_DEFINITION.finditer(text))
    ends = [following.start() for following in starts[1:]] + [len(text)]
    bodies = {found.group(1): text[found.start() : end] for found, end in zip(starts, ends, strict=True)}
    calls = {name: (set(_NAME.findall(body)) & bodies.keys()) - {name} for name, body in bodies.items()}
    lines = {name: body.count("\n") for name, body in bodies.items()}

    def reached(name: str) -> set[str]:
        seen, waiting = set[str](), [name]
        while waiting:
            now = waiting.pop()
            if now not in seen:
                seen.add(now)
                waiting += calls[now]
        return seen

    return {name: sum(lines[n] for n in reached(name)) for name in bodies}
