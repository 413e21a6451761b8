"""The physics of a model in a world: entries of its schedule that step a model, reset it and complete its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.model.entity import Components, Entity, World
from worldloom.core.model.launch import Launch, Shard
from worldloom.core.runtime.memory import require_bytes
from worldloom.robots.arrays import ALWAYS, ARRAYS, Kind
from worldloom.robots.c_engine import NUM_WARNINGS, DataPart, function_address
from worldloom.robots.c_engine_kernels import run_worlds
from worldloom.robots.faults import MEMORY_TEXT, fault_system, warp_memory_text
from worldloom.robots.initial_kernels import write_initial
from worldloom.robots.loading.messages import MESSAGES
from worldloom.robots.model import FAULTS, Model
from worldloom.robots.sizes import Sizes, measure, warp_bytes
from worldloom.robots.warp.engine import WarpEngine

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition
    from worldloom.core.runtime.table import Table
    from worldloom.core.simulation import Simulation

_LOADED = (Kind.PARAMETER, Kind.INPUT)
_WRITTEN = (Kind.STATE, Kind.DERIVED, Kind.FORCE)


class Physics:
    """The physics of ``model`` in the components of ``kind``.

    Components with the names of arrays of ``mjData`` or of parameters of ``mjModel`` are these arrays. Add its entries
    to the world:

    .. code-block:: python

        PHYSICS = robots.Physics(ANT, Ant, substeps=5)

        wl.register("Ant-v0", ..., reset=[PHYSICS.home, place, PHYSICS.forward], step=[drive, *PHYSICS.step, judge])

    Attributes:
        home: For ``reset``: the initial state, and the model's parameters. Systems after it may change them.
        forward: For ``reset``, after all changes of the state: computes the other arrays.
        step: For ``step``: takes ``substeps`` steps of physics, and reports its faults.
        renderer: Draws worlds that are registered without ``render``, a :class:`~worldloom.robots.Renderer`.

    Args:
        model: The model.
        kind: The kind of entity, with one entity per world, or the world's class. It inherits ``model.State``.
        substeps: Steps of physics per step of the world.
        keyframe: The initial state: a keyframe of the model by name or index; None for the default pose.
        sizes: Contacts and constraints per world on a GPU; None to measure them, see :mod:`worldloom.robots.sizes`.
        fresh: Whether derived arrays that depend on positions and velocities belong to the state after the step, as in
            dm_control, not to the state before its last substep. It costs one ``mj_step1`` per step.
        passive_forward: Whether ``forward`` leaves out the actuators, as dm_control's resets do.
    """

    default_renderer: ClassVar[Callable[[Any], Any] | None] = None
    """Makes the renderer of physics; the module of :class:`~worldloom.robots.Renderer` sets it."""

    def __init__(
        self,
        model: Model,
        kind: type[Entity] | type[World],
        substeps: int = 1,
        keyframe: str | int | None = None,
        sizes: Sizes | None = None,
        *,
        fresh: bool = False,
        passive_forward: bool = False,
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Components) and issubclass(kind, model.State)):
            name = getattr(kind, "__name__", repr(kind))
            raise InputError(f"'{name}' lacks the state of the model: let it inherit the model's State")
        if substeps < 1:
            raise InputError(f"substeps must be at least 1, not {substeps}")
        self.model, self.kind, self.substeps, self.keyframe = model, kind, substeps, keyframe
        self.fresh, self._sizes = fresh, sizes
        self._engines: WeakKeyDictionary[Simulation, WarpEngine] = WeakKeyDictionary()
        self.names = [name for name in ARRAYS if name in kind.fields]
        for name in self.names:
            wanted, declared = model.component(name), kind.fields[name]
            if (declared.dtype, declared.shape) != (wanted.dtype, wanted.shape):
                raise InputError(f"component '{name}' of '{kind.__name__}' must have the type model.{name}")
        forces = self.columns(Kind.FORCE)
        if forces and fresh:
            raise InputError(f"{forces[0]} is of the last substep: leave it out, or choose fresh=False")
        self.after = "mj_rnePostConstraint" if forces else "mj_step1" if fresh else ""
        MESSAGES.add_model(model)
        run = _Run(self, "physics", "mj_step", substeps, self.after)
        run.renderer = self.renderer = None if Physics.default_renderer is None else Physics.default_renderer(self)
        self.step = (run, fault_system(kind))
        self.forward = _Run(self, "forward", "mj_forward", 1, reset="mj_resetData", passive=passive_forward)
        self.home = _Home(self)

    @cached_property
    def sizes(self) -> Sizes:
        """Contacts and constraints per world on a GPU."""
        return self._sizes or measure(self.model).sizes

    def settle(self, steps: int) -> Launch:
        """For ``reset``, after all changes of the state: takes ``steps`` steps of physics.

        A GPU takes them in all worlds as soon as one begins an episode.
        """
        return _Run(self, "settle", "mj_step", steps, self.after, reset="mj_resetData")

    def columns(self, *kinds: Kind) -> tuple[str, ...]:
        """The names of the components whose arrays are of ``kinds``."""
        return tuple(name for name in self.names if ARRAYS[name].kind in kinds)

    def arrays(self, simulation: Simulation) -> dict[str, wp.array]:
        """The arrays of the components by name: those that are only loaded, then the state, then the others."""
        table = self.table(simulation)
        names = (*self.columns(*_LOADED), *self.columns(Kind.STATE), *self.columns(Kind.DERIVED, Kind.FORCE))
        return {name: table[name].array for name in names}

    def warp_engine(self, simulation: Simulation) -> WarpEngine:
        """MuJoCo Warp for a simulation; the same for its step and its reset."""
        engine = self._engines.get(simulation)
        if engine is None:
            engine = self._engines[simulation] = self._make_warp_engine(simulation)
            simulation.fault_texts[MEMORY_TEXT] = warp_memory_text(self.sizes.contacts, self.sizes.constraints)
        return engine

    def _make_warp_engine(self, simulation: Simulation) -> WarpEngine:
        """MuJoCo Warp for a simulation. InputError where the device has too little memory."""
        num_worlds, sizes, device = simulation.num_worlds, self.sizes, simulation.device
        what = (
            f"physics of {num_worlds:,} worlds with {sizes.contacts} contacts and {sizes.constraints} constraints each"
        )
        require_bytes(num_worlds * warp_bytes(self.model, sizes), device, what)
        try:
            faults = self.table(simulation)[FAULTS].array
            return WarpEngine(self.model, self.arrays(simulation), faults, num_worlds, sizes, device)
        except (RuntimeError, MemoryError) as error:
            if "alloc" not in str(error):
                raise
            raise InputError(f"{what} exceed the memory of {device.alias}: use fewer worlds") from None

    def table(self, simulation: Simulation) -> Table:
        """The table of the entities in a simulation."""
        name = WORLD if issubclass(self.kind, World) else self.kind.__name__
        table = simulation.tables[name]
        if name != WORLD and simulation.definition.rows[name] != 1:
            raise InputError(f"there must be one '{name}' per world: put several robots into one model")
        return table


@dataclass
class _CEngine:
    """What a launch of the C engine needs: the part of each thread by its first world, and the faults."""

    parts: dict[int, DataPart]
    faults: wp.array


class _Run(Launch):
    """Runs functions of the engine for all worlds."""

    def __init__(
        self,
        physics: Physics,
        label: str,
        function: str,
        steps: int,
        after: str = "",
        reset: str = "",
        passive: bool = False,
    ) -> None:
        self.physics, self.label, self.steps, self.passive = physics, label, steps, passive
        self.function, self.after, self.reset = function, after, reset
        self.loaded = physics.columns(*_LOADED, Kind.STATE)
        self.reads = {physics.kind: self.loaded}
        self.writes = {physics.kind: (*physics.columns(*_WRITTEN), FAULTS)}

    def prepare(self, simulation: Simulation) -> _CEngine | WarpEngine:
        if simulation.definition.narrow:
            engine = self.physics.warp_engine(simulation)
            if self.reset:
                engine.prepare_reset(self.passive or self.function == "mj_step")
            return engine
        if simulation.device.is_cuda:
            raise InputError(f"world '{simulation.definition.id}' has a robot: register it with cuda_float32=True")
        arguments = (self.physics.model, self.physics.arrays(simulation), len(self.loaded), self.passive)
        parts = {first: DataPart(*arguments) for first, _ in simulation.slices}
        return _CEngine(parts, self.physics.table(simulation)[FAULTS].array)

    def launch(self, prepared: _CEngine | WarpEngine, shard: Shard) -> None:
        if isinstance(prepared, WarpEngine):
            self._launch_warp(prepared, shard)
            return
        part = prepared.parts[shard.first]
        step, after, reset = (function_address(f) if f else 0 for f in (self.function, self.after, self.reset))
        worlds = [shard.first, shard.count, shard.mask, shard.value]
        engine = [part.model._address, part.data._address, reset, step, self.steps, after]
        first_out = len(self.physics.columns(*_LOADED))
        arrays = [part.warnings, NUM_WARNINGS, part.arrays, part.sizes, part.loaded, first_out]
        inputs = [*worlds, *engine, *arrays, prepared.faults]
        wp.launch(run_worlds, dim=1, inputs=inputs, device=shard.device, stream=shard.stream, record_tape=False)

    def _launch_warp(self, engine: WarpEngine, shard: Shard) -> None:
        if not self.reset:
            engine.step(self.steps, shard, self.physics.fresh)
        elif self.function == "mj_step":
            engine.settle(self.steps, shard, self.physics.fresh)
        elif self.passive:
            engine.forward(shard)
        else:
            engine.complete(shard)

    def digest(self) -> str:
        passive = " passive" if self.passive else ""
        return f"{self.function} {self.steps} {self.after} {self.reset}{passive} {model_digest(self.physics.model)}"


class _Home(Launch):
    """Writes the initial state and the parameters of the model."""

    label = "home"

    def __init__(self, physics: Physics) -> None:
        self.physics = physics
        initial = (*ALWAYS, *physics.columns(Kind.PARAMETER))
        self.names = tuple(name for name in initial if name in physics.names)
        self.writes = {physics.kind: self.names}

    def prepare(self, simulation: Simulation) -> list[tuple[wp.array, wp.array]]:
        table, model = self.physics.table(simulation), self.physics.model
        pairs = []
        for name in self.names:
            initial = model.initial(name, self.physics.keyframe)
            column, real = table[name].array, scalar_of(table[name].field.dtype)
            flat = wp.array(
                ptr=column.ptr, dtype=real, shape=(simulation.num_worlds, initial.size), device=column.device
            )
            pairs.append((wp.array(initial, dtype=real, device=column.device), flat))
        return pairs

    def launch(self, prepared: list[tuple[wp.array, wp.array]], shard: Shard) -> None:
        for initial, column in prepared:
            inputs: list[Any] = [shard.first, shard.mask, shard.value, initial, column]
            wp.launch(
                write_initial,
                dim=(shard.count, initial.shape[0]),
                inputs=inputs,
                device=shard.device,
                stream=shard.stream,
                record_tape=False,
            )

    def digest(self) -> str:
        return f"{self.physics.keyframe} {model_digest(self.physics.model)}"


def physics_of(definition: Definition) -> Physics:
    """The physics of a world.

    Raises:
        InputError: Where it has none.
    """
    for launch in definition.launches:
        if isinstance(launch, _Run):
            return launch.physics
    raise InputError(f"world '{definition.id}' has no robot")


def model_digest(model: Model) -> str:
    """A digest of a compiled model, wherever its files are."""
    return model.content_digest if model.mj_model.paths.strip(b"\0") else model.saved_digest


def portable_digest(self: Any) -> str:
    """The digest of a launch of robots without what machines round differently."""
    digest, content = str(self.digest()), self.physics.model.content_digest
    return digest if content in digest else digest.replace(self.physics.model.saved_digest, content)


# The texts of the classes, which worlds are recognized by, stay as they are.
_Run.portable_digest = _Home.portable_digest = portable_digest  # type: ignore[assignment]
