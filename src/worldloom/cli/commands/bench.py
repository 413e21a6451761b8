"""``worldloom bench``: the speed of steps, of systems, of trainings and of the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from worldloom.cli.bench.start import BenchStart
from worldloom.cli.bench.step import BenchStep
from worldloom.cli.bench.systems import BenchSystems
from worldloom.cli.commands.bench_train import BenchTrain


@dataclass
class Bench:
    """Measure steps per second (step), the time of each system (systems), of a training (train), or of the start."""

    what: (
        Annotated[BenchStep, tyro.conf.subcommand("step")]
        | Annotated[BenchSystems, tyro.conf.subcommand("systems")]
        | Annotated[BenchTrain, tyro.conf.subcommand("train")]
        | Annotated[BenchStart, tyro.conf.subcommand("start")]
    )

    def run(self) -> int:
        return self.what.run()
