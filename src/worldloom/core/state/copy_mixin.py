"""Copies of simulations: ``copy.deepcopy`` and ``pickle``.

A copy is a new simulation with the same arguments, restored from a snapshot. A pickle holds the id of the world, the
arguments as plain values, and the bytes of the snapshot, which the checked loader of snapshot files reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.not_copyable import NoShallowCopy
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime.simulation_part import SimulationPart
from worldloom.core.state.snapshot import Snapshot, snapshot

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

PICKLE = "the pickled simulation"
"""The name of the snapshot of a pickle in error messages."""


@dataclass(frozen=True)
class Origin:
    """What a simulation was made of: its world as it is registered, and arguments of its constructor."""

    world: Definition
    arguments: dict[str, Any]


class CopyMixin(NoShallowCopy, SimulationPart):
    """The part of a simulation that copies and pickles it.

    A copy continues with the same bits. It has memory of its own, also for columns in external memory, no recording,
    and none of the faults that ``errors`` has not returned yet.
    """

    _origin: Origin
    pristine: bool

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        simulation = self._simulation()
        copied = _rebuild(type(simulation), self._origin, snapshot(simulation), self.pristine)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        simulation = self._simulation()
        world, counts = self._origin.world, self._origin.arguments["counts"] or {}
        _require_registered(world)
        named = {kind if isinstance(kind, str) else kind.__name__: count for kind, count in counts.items()}
        arguments = {**self._origin.arguments, "counts": named}
        return _unpickle, (type(simulation), world.id, arguments, snapshot(simulation).to_bytes(), self.pristine)


def _unpickle(cls: type[Simulation], id: str, arguments: dict[str, Any], state: bytes, pristine: bool) -> Simulation:
    """The simulation of a pickle. InputError where its world is unknown or another, or its state is not valid."""
    return _rebuild(cls, Origin(definition(id), arguments), Snapshot.from_bytes(state, PICKLE), pristine)


def _rebuild(cls: type[Simulation], origin: Origin, saved: Snapshot, pristine: bool) -> Simulation:
    """A simulation with the arguments of ``origin`` and the state ``saved``."""
    simulation = cls(
        origin.world,
        saved.num_worlds,
        seed=0,
        autoreset=saved.autoreset,  # type: ignore[arg-type]
        config=_config(origin.world, saved),
        **origin.arguments,
    )
    simulation.restore(saved)
    simulation.pristine = pristine
    return simulation


def _config(world: Definition, saved: Snapshot) -> dict[str, Any]:
    """The configuration in a snapshot, by name: launches of the schedule may prepare their data from it."""
    names = [field.name for field in world.world.fields.values() if field.role is Role.CONFIG]
    values = {name: saved.tensors[f"{WORLD}.{name}"] for name in names if f"{WORLD}.{name}" in saved.tensors}
    return {name: (value[0] if len(value) == 1 else value).cpu().numpy() for name, value in values.items()}


def _require_registered(world: Definition) -> None:
    """InputError unless the id of ``world`` leads another process to the same world."""
    try:
        found = definition(world.id)
    except InputError as error:
        raise InputError(f"world '{world.id}' cannot be pickled, since its id does not lead to it: {error}") from None
    if found is not world and found.hash != world.hash:
        raise InputError(
            f"world '{world.id}' cannot be pickled, since another world is registered under its id: "
            "register it under an id of its own"
        )
