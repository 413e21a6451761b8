"""``worldloom robots size MODEL``: the contacts and constraints that a model needs per world on a GPU."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich import box
from rich.table import Table

from worldloom.core.registry.world_files import find
from worldloom.robots.model import Model
from worldloom.robots.physics import physics_of
from worldloom.robots.sizes import Measured, measure, warp_bytes
from worldloom.terminal import console
from worldloom.terminal.flags import Json, require_positive


@dataclass
class Robots:
    """Measure how many contacts and constraints a robot model needs per world on a GPU.

    The model is stepped by MuJoCo on the CPU with random controls. Give the sizes to the world's physics:
    robots.Physics(..., sizes=robots.Sizes(contacts, constraints)). Without them they are measured when the world is
    made.
    """

    action: Annotated[tyro.conf.Positional[Literal["size"]], tyro.conf.arg(metavar="size")]
    """What to do: size."""
    model: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MODEL")]
    """An MJCF file (.xml), a compiled model (.mjb), or a world with a robot."""
    episodes: int = 8
    """Number of episodes, each from the default pose."""
    steps: int = 400
    """Steps of physics in each episode."""
    seed: int = 0
    """Seed of the random controls."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, steps=self.steps)
        path = Path(self.model).expanduser()
        is_model = path.suffix in (".xml", ".mjb")
        model = Model(path) if is_model else physics_of(find(self.model)).model
        measured = measure(model, self.episodes, self.steps, self.seed)
        size = warp_bytes(model, measured.sizes) if importlib.util.find_spec("mujoco_warp") else None
        if self.json:
            console.print_json({**asdict(measured), **asdict(measured.sizes), "bytes_per_world": size})
            return 0
        console.out().print(_table(measured))
        if size is not None:
            console.out().print(f"MuJoCo Warp's data: {size / 2**10:,.1f} KiB per world", markup=False)
        return 0


def _table(measured: Measured) -> Table:
    sizes = measured.sizes
    table = Table("per world", "mean", "largest", "reserve", box=box.SIMPLE_HEAD)
    table.add_row("contacts", f"{measured.mean_contacts:.1f}", str(measured.max_contacts), str(sizes.contacts))
    table.add_row("candidate pairs", "", str(measured.max_candidates), "")
    table.add_row(
        "constraints", f"{measured.mean_constraints:.1f}", str(measured.max_constraints), str(sizes.constraints)
    )
    return table
