"""What the programs of this folder share: the import of a peer, and figures in JSON that other benchmarks show."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from datetime import date
from pathlib import Path
from typing import Any

Published = dict[str, dict[tuple[str, int], float]]
"""World steps per second by source, then by the world and its agents."""


def require(module: str, install: str) -> Any:
    """Import a peer's module; ends the program with one sentence where that fails.

    Args:
        module: The name to import.
        install: The command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        sys.exit(f"{module} cannot be imported ({problem}): install it with `{install}`, in an environment of its own.")


def describe(hardware: str, **versions: str) -> dict[str, Any]:
    """The machine of the figures: date, hardware, Python and the peer's versions."""
    return {"date": date.today().isoformat(), "hardware": hardware, "python": platform.python_version(), **versions}


def write_rates(out: Path | None, source: str, machine: dict[str, Any], rates: list[dict[str, Any]]) -> None:
    """Write figures, each with ``part``, ``world``, ``agents`` and ``steps_per_second``, to ``out``, if given."""
    if out is not None:
        out.write_text(json.dumps({"source": source, "machine": machine, "rates": rates}, indent=1) + "\n")


def read_rates(path: Path | None, part: str) -> Published:
    """The figures of one part that ``write_rates`` wrote, by their source; none without a file."""
    if path is None:
        return {}
    found = json.loads(path.read_text())
    source = f"{found['source']}, {found['machine']['hardware']}"
    return {
        source: {
            (row["world"], row["agents"]): row["steps_per_second"] for row in found["rates"] if row["part"] == part
        }
    }
