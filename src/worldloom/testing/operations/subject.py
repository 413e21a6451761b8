"""Subjects: simulations that operations are applied to, one for each variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

import worldloom as wl
from worldloom.core.codegen.tiles.tiled_kernel import TileLimits
from worldloom.core.runtime.column import Column
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.tools.compare import first_difference
from worldloom.testing.compare import VARIANTS
from worldloom.testing.cuda_text import Machine
from worldloom.testing.operations.equality import Values


@dataclass(frozen=True)
class Setting:
    """What all subjects of a sequence are made of."""

    definition: wl.Definition
    num_worlds: int
    seed: int
    autoreset: Autoreset
    mode: str = ""
    """The real numbers of a random world; "" where columns only take values that the world has computed."""


class UnmakeableError(Exception):
    """A simulation whose first reset exceeds the capacity of a population, so that there is none."""


@dataclass(eq=False)
class Subject:
    """One simulation, the snapshots that were taken of it, and its recording.

    Attributes:
        setting: The world and its arguments.
        variant: A key of :data:`~worldloom.testing.compare.VARIANTS`. All run in exact mode.
        folder: A folder for files.
    """

    setting: Setting
    variant: str
    folder: Path
    simulation: wl.Simulation = field(init=False)
    snapshots: dict[int, tuple[wl.Snapshot, list[Values]]] = field(default_factory=dict)
    """What was taken, with the values of its worlds."""
    log: list[str] = field(default_factory=list)
    """What the current operation did, in words."""

    def __post_init__(self) -> None:
        self.simulation = self.adopted(self.make({"seed": self.setting.seed}))

    @property
    def device(self) -> str:
        """The device of its simulations, as the constructor takes it."""
        return str(VARIANTS[self.variant]["device"])

    def make(self, arguments: Mapping[str, Any]) -> wl.Simulation:
        """A new simulation of the same worlds."""
        known = {"autoreset": self.setting.autoreset, **VARIANTS[self.variant], "exact": True, **arguments}
        return self.made(lambda: wl.Simulation(self.setting.definition, self.setting.num_worlds, **known))

    def made(self, make: Callable[[], wl.Simulation]) -> wl.Simulation:
        """A new simulation after its first reset; UnmakeableError where that exceeds the capacity of a population."""
        try:
            simulation = make()
            self.finish(simulation)
        except wl.CapacityError as error:
            raise UnmakeableError from error
        return simulation

    def adopted(self, simulation: wl.Simulation) -> wl.Simulation:
        """A simulation as this variant runs it."""
        if self.variant.startswith("cuda-text"):
            _run_text(simulation)
        return simulation

    def replace(self, simulation: wl.Simulation) -> None:
        """Close the simulation and go on with another one."""
        self.simulation.close()
        self.simulation = self.adopted(simulation)

    def forget(self) -> None:
        """Drop the faults and the recording of steps whose results are not fixed."""
        self.simulation.errors()
        if self.simulation.recorder is not None:
            self.simulation.recorder.stop()

    def say(self, text: str) -> None:
        """Describe what the current operation does."""
        self.log.append(text)

    def step(self, actions: Any = None, simulation: wl.Simulation | None = None) -> None:
        """Step the simulation, or another one, until its overflows are known."""
        simulation = simulation or self.simulation
        simulation.step(actions)
        self.finish(simulation)

    def finish(self, simulation: wl.Simulation | None = None) -> None:
        """Wait for a GPU, and raise the overflow of a population that is known only then."""
        simulation = simulation or self.simulation
        if simulation.device.is_cuda and not simulation._closed:
            wp.synchronize_device(simulation.device)
            simulation.check_capacity()

    def tensor(self, values: Any) -> Any:
        """Values as a PyTorch tensor on the device of the simulation."""
        import torch

        return torch.as_tensor(values, device=str(self.simulation.device.alias))

    def close(self) -> None:
        self.simulation.close()
        self.snapshots.clear()


def _run_text(simulation: wl.Simulation) -> None:
    """Let Python threads run the steps and resets of an interpreted simulation from the text of CUDA's kernels."""
    machine = Machine(simulation, exact=True, tiles=TileLimits(shared_bytes=0))

    def run(entries: Any) -> None:
        machine._run(entries)
        for world, episode, step, site, value in machine.reports:
            message = machine.program.sites.messages[site]
            simulation._note_fault(message, world + simulation.world_offset, episode, step, value)
        machine.reports.clear()
        if machine.alarm.values.any():
            machine.alarm.values[...] = 0
            simulation._alarm.set()

    simulation._run_step = lambda: run(machine.program.step)
    simulation._run_reset = lambda: run(machine.program.reset)


def difference(reference: Subject, other: Subject, number: int) -> str | None:
    """The first difference of the state after an operation, in words."""
    found = first_difference(reference.simulation, other.simulation, number)
    if found is None:
        return None
    place = f"{found.column}{list(found.place) if found.place else ''} of world {found.world}"
    more = f" (and {len(found.elsewhere)} other columns)" if found.elsewhere else ""
    return f"{other.variant}: {place} is {found.found!r}, expected {found.expected!r}{more}"


def dropped(subject: Subject) -> Any:
    """Number of entities of each population that did not fit, by world."""
    world = subject.simulation.world
    return np.array([world[f"{name}__dropped"].numpy() for name in subject.simulation.definition.populations])


def plain(value: Any) -> Any:
    """A result with arrays, tensors and columns as bytes, so that results of two subjects can be compared.

    All NaNs are equal.
    """
    if isinstance(value, wl.Snapshot):
        value = {
            **value.tensors,
            "": [value.world, value.hash, value.autoreset, value.num_worlds, sorted(value.shared)],
        }
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, wl.WorldFault):
        return str(value)
    if isinstance(value, Column):
        value = value.numpy()
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), value.dtype.type(np.nan), value)
        return value.dtype.name, value.shape, value.tobytes()
    return value.item() if isinstance(value, np.generic) else value
