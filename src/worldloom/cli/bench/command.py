"""``worldloom bench``: how fast worlds run and start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from worldloom.cli.bench.start import BenchStart
from worldloom.cli.bench.step import BenchStep
from worldloom.cli.bench.systems import BenchSystems


@dataclass
class Bench:
    """Measure how fast a world steps (step), where the time goes (systems), or how soon it starts (start)."""

    what: (
        Annotated[BenchStep, tyro.conf.subcommand("step")]
        | Annotated[BenchSystems, tyro.conf.subcommand("systems")]
        | Annotated[BenchStart, tyro.conf.subcommand("start")]
    )

    def run(self) -> int:
        return self.what.run()
