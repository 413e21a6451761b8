"""Simulations: a batch of worlds on one device, stepped, reset and looked into."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base import device as devices
from worldloom.core.base import nvtx_ranges, shards
from worldloom.core.base.arrays import checked_int, to_numpy
from worldloom.core.base.console import compile_notice
from worldloom.core.base.errors import CapacityError, InputError, WorldFault
from worldloom.core.base.not_copyable import NotCopyable
from worldloom.core.codegen.program import generate
from worldloom.core.interpreter.interpreter import Interpreter
from worldloom.core.kernels.guards import CAPACITY, WIDTH, Alarm
from worldloom.core.kernels.random import fold_seed
from worldloom.core.measure.profiling_mixin import ProfilingMixin
from worldloom.core.model.columns import WORLD
from worldloom.core.model.entity import Entity, World
from worldloom.core.model.families import closest_first, family_of
from worldloom.core.model.fields import Role
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.population import UpTo
from worldloom.core.registry.registry import Definition, definition
from worldloom.core.runtime import memory
from worldloom.core.runtime.action_range import OutOfRangeActions, out_of_range_actions, reported_value
from worldloom.core.runtime.config_values import check_limits, check_range
from worldloom.core.runtime.executor import Executor, OutputCopy
from worldloom.core.runtime.pooled_table import PooledTable
from worldloom.core.runtime.table import Column, PopulationTable, Table, castable
from worldloom.core.schedule.aliasing import aliased_components
from worldloom.core.schedule.schedule import Autoreset, HostNode, plan
from worldloom.core.state.replay import Replay
from worldloom.core.state.snapshot_mixin import SnapshotMixin

_NOT_EXTERNAL = (Role.ENGINE, Role.CONFIG)
_AUTORESETS = ("same_step", "next_step", "disabled")


class Simulation(NotCopyable, SnapshotMixin, ProfilingMixin):
    """``num_worlds`` copies of one world on one device.

    Args:
        world: The id of a registered world, or its definition.
        num_worlds: How many copies run side by side.
        device: ``cpu``, ``cuda:N``, ``auto``, or ``python`` to interpret the systems row by row.
        seed: Where random numbers start; None takes one from the operating system. World k of a seed is the same world
            whatever the batch size, the threads and the other worlds.
        autoreset: What follows the end of an episode. ``same_step``: the world is reset at once, and the last observation is
            kept in the ``final_`` columns. ``next_step``: the next step resets it and ignores its action. ``disabled``: nothing.
        threads: CPU threads; None takes every core that has enough to do. Worlds that share the rows of a population
            (``wl.UpTo(..., batch=...)``) run in one.
        config: Values for the world's configuration: one for the batch, or an array with one per world.
        counts: Numbers of entities by kind, other than those registered; for a varying number the most per world, or ``wl.UpTo``.
        external: Memory for columns that somebody else owns, by ``Table.name``.
        checks: Whether actions out of range and numbers that are not finite are looked for.
        fuse: Whether neighbouring systems become one kernel.
        exact: Whether the CPU, CUDA and the interpreter give the same bits, for which they are slower; see docs/exact.md.
        share: Whether, on a GPU, an observation that only repeats components lies in the same memory as they: writing into its
            column then changes the world.
        tuned: Whether kernels that :meth:`tune` has measured on such a GPU before run as it found best.
        world_offset: The id of the first world.
    """

    def __init__(
        self,
        world: str | os.PathLike[str] | Definition,
        num_worlds: int,
        device: str = "cpu",
        *,
        seed: int | None = None,
        autoreset: Autoreset = "same_step",
        threads: int | None = None,
        config: Mapping[str, Any] | None = None,
        counts: Mapping[Any, int | UpTo] | None = None,
        external: Mapping[str, Any] | None = None,
        checks: bool = True,
        fuse: bool = True,
        exact: bool = False,
        share: bool = True,
        tuned: bool = True,
        world_offset: int = 0,
    ) -> None:
        self._closed = self._resetting = False
        self.config_version = 0
        """How often a configuration was set: what was derived from one, or recorded with its memory, must be made anew when it changes."""
        self.checks = checks
        if not isinstance(world, (str, os.PathLike, Definition)):
            raise InputError(f"a simulation is made of a world's id or its definition, not of {type(world).__name__}")
        self.definition = (
            (world if isinstance(world, Definition) else definition(os.fspath(world))).with_counts(counts).checked
        )
        self._check_arguments(num_worlds, autoreset, threads, world_offset, {"config": config, "external": external})
        self.num_worlds, self.autoreset, self.world_offset = num_worlds, autoreset, world_offset
        self.exact = exact
        self.device, self.interpreted = devices.resolve(device)
        with shards.WARP_LOCK:
            self._build(dict(external or {}), dict(config or {}), threads, checks, fuse, share, tuned)
        self.reset(seeds=secrets.randbits(32) if seed is None else seed)
        self.pristine = True
        """Whether nothing has happened since the first episodes began."""

    def _build(
        self,
        external: dict[str, Any],
        config: dict[str, Any],
        threads: int | None,
        checks: bool,
        fuse: bool,
        share: bool,
        tuned: bool,
    ) -> None:
        """Lay out the memory, and make what runs on it."""
        num_worlds, world_offset = self.num_worlds, self.world_offset
        self.schedule = plan(self.definition, self.autoreset, checks)
        if share and self.device.is_cuda:
            kept_apart = {tuple(name.split(".", 1)) for name in external}
            shared = aliased_components(self.definition).items()
            apart = {whole for part, (whole, _) in shared if part in kept_apart or whole in kept_apart}
            self.schedule.aliases = {part: home for part, home in shared if home[0] not in apart}
        counts = self.schedule.counts
        if max(counts.pooled(table) or num_worlds * counts[table] for table in self.schedule.tables) >= 2**31:
            raise InputError(
                f"{num_worlds} worlds make more than 2^31 rows in one table: use fewer worlds per simulation"
            )
        memory.require_bytes(
            memory.bytes_needed(self.schedule, num_worlds, external),
            self.device,
            f"{num_worlds:,} worlds of '{self.definition.id}'",
        )
        self.tables = self._allocate(external)
        together = (
            self.interpreted or self.device.is_cuda or any(p.pooled for p in self.definition.populations.values())
        )
        self.threads = 1 if together else shards.thread_count(num_worlds, threads, self.definition.worlds_per_thread)
        self.slices = (
            [(0, num_worlds)] if together else shards.slices(num_worlds, threads, self.definition.worlds_per_thread)
        )
        self._actions = [self.tables[t][f.name] for t, f in self.definition.actions().values()]
        self._faults: list[WorldFault] = []
        self._out_of_range: OutOfRangeActions = {}
        self._fault_buffers = [wp.zeros((1 + CAPACITY, WIDTH), dtype=wp.int32, device=self.device) for _ in self.slices]
        self._alarm = Alarm(self.device)
        self._overflow_is_error = any(p.limit.overflow == "error" for p in self.definition.populations.values())
        self.faults_lost = self.faults_read = 0
        self._run_step: Callable[[], None]
        self._run_reset: Callable[[], None]
        self.tables[WORLD]["max_steps"].fill(self.definition.max_steps)
        for name, value in config.items():
            self.set_config(name, value)
        self.prepared = self._prepare()
        """What the launches of the schedule keep for this simulation, by their identity."""
        if self.interpreted:
            interpreter = Interpreter(
                self.schedule, self.tables, num_worlds, world_offset, self._note_fault, self._alarm, self.exact
            )
            self.program = None
            self._run_step = lambda: interpreter.run(self.schedule.step, self)
            self._run_reset = lambda: interpreter.run(self.schedule.reset, self)
        else:
            self.program = generate(self.schedule, fuse, self.device.is_cuda, self.exact)
            self.executor = Executor(self, self.program, tuned)
            self._run_step, self._run_reset = (
                nvtx_ranges.with_nvtx_range("worldloom step", self.executor.step),
                nvtx_ranges.with_nvtx_range("worldloom reset", self.executor.reset),
            )

    def _prepare(self) -> dict[int, Any]:
        """Let every launch of the schedule prepare itself, each once."""
        entries = (*self.schedule.step, *self.schedule.reset)
        found = {id(entry.launch): entry.launch for entry in entries if isinstance(entry, LaunchNode)}
        with compile_notice(f"the launches of {self.definition.id} for {self.device.alias}"):
            return {key: launch.prepare(self) for key, launch in found.items()}

    def _check_arguments(
        self, num_worlds: Any, autoreset: Any, threads: Any, world_offset: Any, mappings: Mapping[str, Any]
    ) -> None:
        checked_int("num_worlds", num_worlds, 1)
        checked_int("threads", 1 if threads is None else threads, 1)
        checked_int("world_offset", world_offset, 0, 2**31 - int(num_worlds))
        for name, given in mappings.items():
            if given is not None and not isinstance(given, Mapping):
                raise InputError(f"{name} is a mapping from names to values, not {given!r}")
        if autoreset not in _AUTORESETS:
            raise InputError(f"autoreset must be one of {', '.join(_AUTORESETS)}, not {autoreset!r}")

    def _allocate(self, external: dict[str, Any]) -> dict[str, Table]:
        tables: dict[str, Table] = {}
        for name, view in self.schedule.tables.items():
            count, total, population = (
                self.schedule.counts[name],
                self.schedule.counts.pooled(name),
                self.schedule.counts.populations.get(name),
            )
            out_of_range_actions = (
                1 if population is not None and population.pooled else 0
            )  # where a stale reference of an empty world leads
            columns: dict[str, Column] = {}
            for f in sorted(
                view.fields.values(), key=lambda f: (name, f.name) in self.schedule.aliases
            ):  # those that lie within others come last
                memory = external.pop(f"{name}.{f.name}", None) if f.role not in _NOT_EXTERNAL else None
                whole, place = self.schedule.aliases.get((name, f.name), (None, 0))
                view_of = None if whole is None else (columns[whole[1]], place)
                columns[f.name] = Column(
                    name, f, self.num_worlds, count, self.device, memory, total, view_of, out_of_range_actions
                )
            columns = {f.name: columns[f.name] for f in view.fields.values()}
            if population is None:
                tables[name] = Table(name, columns, count)
            else:
                kind = PooledTable if population.pooled else PopulationTable
                tables[name] = kind(population, columns, tables[WORLD].columns)
        if external:
            known = ", ".join(c.name for t in tables.values() for c in t if c.field.role not in _NOT_EXTERNAL)
            raise InputError(f"there is no column '{next(iter(external))}' to be external: there are {known}")
        return tables

    # -- running -----------------------------------------------------------------------------------------------------

    def step(self, actions: Any = None, output_copies: Sequence[OutputCopy] = ()) -> None:
        """Let every world take one step.

        Args:
            actions: An array or tensor of shape (num_worlds, count, ...) for a world with one action component; a mapping
                from ``Table.name``, or from the kind of entity, to such arrays for several. What is not handed in stays as it lies in
                the columns.
            outlets: The memory of columns, each with an array of its shape that it is copied to: slice by slice, by the threads that step the worlds, where
                the step :attr:`copies_in_step` anything, and after it otherwise.
        """
        self._check_open()
        self.pristine = False
        if actions is not None:
            self._assign_actions(actions)
        if output_copies and self.copies_in_step:
            self.executor.output_copies.extend(output_copies)
            try:
                self._run_step()
            finally:
                self.executor.output_copies.clear()
        else:
            self._run_step()
            for column, target in output_copies:
                np.copyto(target, column)
        if self._out_of_range:
            self._read_faults()
            self._out_of_range = {}
        self.check_capacity()

    @property
    def copies_in_step(self) -> bool:
        """Whether worlds are stepped slice by slice, and nothing comes after that."""
        self._check_open()
        return not self.interpreted and self.executor.copies_in_step

    def enqueue_step(self) -> None:
        """Take a step, with the actions that lie in the columns, as single kernels that a graph of PyTorch's may capture."""
        self._check_open()
        self.pristine = False
        if self.interpreted or self.recorder is not None:
            self._run_step()
        else:
            self.executor.enqueue_step()

    @property
    def has_host_calls(self) -> bool:
        """Whether its schedule holds callables, which a graph cannot repeat."""
        return any(isinstance(node, HostNode) for node in (*self.schedule.step, *self.schedule.reset))

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this simulation is closed: make a new one")

    def _assign_actions(self, actions: Any) -> None:
        if len(self._actions) == 1 and not isinstance(actions, Mapping):
            column = self._actions[0]
            if hasattr(actions, "data_ptr"):
                tensor = column.torch()
                if actions.dtype == tensor.dtype and actions.shape == tensor.shape:
                    tensor.copy_(actions.detach())
                    return
            self._assign(column, actions)
            return
        if not isinstance(actions, Mapping):
            names = ", ".join(c.name for c in self._actions)
            raise InputError(
                f"world '{self.definition.id}' takes actions for {names or 'nothing'}: hand in a mapping with one array for each"
            )
        named = {c.name: c for c in self._actions}
        for key, values in actions.items():
            name = key if isinstance(key, str) else self._action_of(key)
            if name not in named:
                raise InputError(f"there is no action '{name}': world '{self.definition.id}' takes {', '.join(named)}")
            self._assign(named[name], values)

    def _assign(self, column: Column, actions: Any) -> None:
        """Copy actions into their column, and remember those that do not fit until the faults that they cause are read."""
        values = _match(actions, column.shape)
        if outside := out_of_range_actions(values, column):
            self._read_faults()  # of earlier steps
            self._out_of_range.update(outside)
        column.assign(values)

    def _action_of(self, kind: Any) -> str:
        """The name of the one action of a kind of entity."""
        table = getattr(kind, "__name__", repr(kind))
        found = [c.name for c in self._actions if c.name.startswith(f"{table}.")]
        return found[0] if len(found) == 1 else table

    def reset(self, mask: Any = None, seeds: Any = None) -> None:
        """Start a new episode in all worlds, or in those that ``mask`` picks, without a step.

        Args:
            mask: A truth value per world, shape (num_worlds,); None for all.
            seeds: A new seed for the worlds that are reset, or one per world, shape (num_worlds,). With a seed the episodes
                are counted from 0 again, so that the same seed gives the same episodes.
        """
        self._check_open()
        self.pristine = False
        world = self.tables[WORLD]
        if (
            seeds is None
            and self.device.is_cuda
            and getattr(mask, "is_cuda", False)
            and str(mask.dtype) == "torch.bool"
            and tuple(mask.shape) == (self.num_worlds,)
        ):
            world["reset_mask"].torch().copy_(mask)  # nothing has to leave the device
            self._reset_chosen()
            return
        picked = np.ones(self.num_worlds, bool) if mask is None else to_numpy(mask, "a reset mask")
        if picked.shape != (self.num_worlds,) or picked.dtype != np.bool_:
            raise InputError(
                f"a reset mask holds one truth value per world, shape ({self.num_worlds},), not {picked.dtype.name} of shape {picked.shape}"
            )
        if seeds is not None:
            given = to_numpy(seeds, "the seeds")
            if given.dtype.kind not in "iu" or given.shape not in ((), (self.num_worlds,)):
                raise InputError(
                    f"seeds are one whole number, or one per world, shape ({self.num_worlds},), not {given.dtype.name} of shape {given.shape}"
                )
            if given.size and int(given.min()) < 0:
                raise InputError(f"seeds are 0 or more, not {int(given.min())}")
            folded = fold_seed(given.astype(np.uint64))
            for name, values in (("seed", folded), ("episode", np.int32(-1))):
                column = world[name]
                column.assign(np.where(picked, values, column.numpy()).astype(column.dtype))
        world["reset_mask"].assign(picked)
        self._reset_chosen()

    def _reset_chosen(self) -> None:
        self._resetting = True
        try:
            self._run_reset()
        finally:
            self._resetting = False
        self.check_capacity()

    # -- looking in --------------------------------------------------------------------------------------------------

    def __getitem__(self, kind: type[Entity] | type[World] | str) -> Table:
        self._check_open()
        name = (
            kind
            if isinstance(kind, str)
            else WORLD
            if isinstance(kind, type) and issubclass(kind, World)
            else getattr(kind, "__name__", repr(kind))
        )
        if name not in self.tables:
            raise InputError(f"world '{self.definition.id}' has no table '{name}': it has {', '.join(self.tables)}")
        return self.tables[name]

    @property
    def world(self) -> Table:
        """The columns of the world itself."""
        return self.tables[WORLD]

    @property
    def terminated(self) -> Column:
        """Whether each world's episode ended in the last step by its own rules, shape (num_worlds,)."""
        return self.tables[WORLD]["terminated"]

    @property
    def truncated(self) -> Column:
        """Whether each world's episode was cut off in the last step, shape (num_worlds,)."""
        return self.tables[WORLD]["truncated"]

    @property
    def starting(self) -> Column:
        """For callables of the schedule: which worlds start anew just now, shape (num_worlds,)."""
        name = "reset_mask" if self._resetting else "resetting" if self.autoreset == "next_step" else "finished"
        return self.tables[WORLD][name]

    def columns(self, role: Role) -> dict[str, Column]:
        """The columns of a role, as ``Table.name``."""
        return {c.name: c for t in self.tables.values() for c in t if c.field.role is role}

    @property
    def bytes_per_world(self) -> int:
        """Memory per world, in bytes."""
        return (
            sum(
                c.nbytes
                for t in self.tables.values()
                for c in t
                if c.field.role is not Role.CONFIG and c.view_of is None
            )
            // self.num_worlds
        )

    def get_config(self, name: str) -> Any:
        """The value of a configuration, or one per world where it was set so."""
        values = self._config(name).numpy()
        return values[0] if len(values) == 1 else values

    def _config(self, name: str) -> Column:
        if not isinstance(name, str):
            raise InputError(f"a configuration is named by a string such as 'max_steps', not by {name!r}")
        column = self.tables[WORLD].columns.get(name)
        if column is None or column.field.role is not Role.CONFIG:
            family = family_of(self.definition.id)
            if family is not None and name in family.settings:
                made = f"world '{self.definition.id}', which is made with it and keeps it"
                raise InputError(f"'{name}' is a setting of {made}: give it with the id, as in id:{name}=value")
            there = [c.field for c in self.tables[WORLD] if c.field.role is Role.CONFIG]
            plain = [
                field.name for field in there if family is None or not field.value_shape
            ]  # arrays are a family's own affair
            known = ", ".join(closest_first(name, plain))
            raise InputError(f"world '{self.definition.id}' has no configuration '{name}': it has {known}")
        return column

    def set_config(self, name: str, value: Any) -> None:
        """Change a configuration while the simulation runs: one value for the batch, or one per world. Nothing is compiled."""
        self._check_open()
        column, array = self._config(name), to_numpy(value, f"configuration '{name}'")
        if not castable(array.dtype.name, column.dtype):
            raise InputError(f"configuration '{name}' holds {column.dtype.name}, not {value!r}")
        per_world = array.shape == (self.num_worlds, *column.field.value_shape)
        if not per_world and array.shape != column.field.value_shape:
            raise InputError(
                f"configuration '{name}' is one value of shape {column.field.value_shape}, or {self.num_worlds} of them, not shape {array.shape}"
            )
        check_limits(self.definition, name, array)
        check_range(column, array)
        rows = self.num_worlds if per_world and array.ndim > len(column.field.value_shape) else 1
        if column.array.shape[0] != rows:
            with shards.WARP_LOCK:
                column.resize(rows)
            self._invalidate_graphs()
        column.assign(array.reshape(column.shape))
        self.config_version += 1

    def _invalidate_graphs(self) -> None:
        executor = getattr(self, "executor", None)
        if executor is not None:
            executor.invalidate()

    # -- faults ------------------------------------------------------------------------------------------------------

    def errors(self) -> list[WorldFault]:
        """What went wrong in single worlds since the last call. Those worlds were reset; the others went on.

        At most 256 faults are kept per CPU thread or GPU; ``faults_lost`` counts the rest.
        """
        self._read_faults()
        found, self._faults = sorted(self._faults, key=lambda f: (f.episode, f.step, f.world)), []
        return found

    def _read_faults(self) -> None:
        """Move the faults from the device into ``_faults``."""
        if self.device.is_cuda:
            wp.synchronize_device(self.device)  # whatever stream the last step ran on
        sites = self.program.sites.messages if self.program is not None else []
        for buffer in self._fault_buffers if self.program is not None else []:
            rows = buffer.numpy()
            seen = int(rows[0, 0])
            for site, world, episode, step, value in rows[1 : 1 + min(seen, CAPACITY)].tolist():
                self._note_fault(sites[site], world, episode, step, value)
            self.faults_lost += max(0, seen - CAPACITY)
            self.faults_read += seen
            if seen:
                buffer.assign(np.zeros_like(rows)) if self.device.is_cuda else rows.fill(0)

    def check_capacity(self) -> None:
        """Raise CapacityError where worlds spawned more than there is room for and that is an error; :meth:`step` and :meth:`reset` do it
        by themselves. Other faults are kept for :meth:`errors`.
        """
        if not (self._overflow_is_error and self._alarm.is_set):
            return
        self._alarm.clear()
        words = [
            p.overflow_message.partition("}")[2]
            for p in self.definition.populations.values()
            if p.limit.overflow == "error"
        ]
        lost = self.faults_lost
        found = self.errors()
        overflows = [f for f in found if f.message.endswith(tuple(words))]
        self._faults = [f for f in found if f not in overflows]
        if overflows or self.faults_lost > lost:
            raise CapacityError(overflows)

    def _note_fault(self, message: str, world: int, episode: int, step: int, value: int) -> None:
        number = reported_value(message, world - self.world_offset, value, self._out_of_range, self.device.is_cuda)
        self._faults.append(WorldFault(message.replace("{value}", number), world, episode, step))

    def close(self) -> None:
        """Give back the memory. Exports that are still in use keep theirs until they are gone."""
        if not self._closed:
            if self.recorder is not None:
                self.recorder.stop()
            self._closed = True
            self.__dict__.pop("executor", None)
            self._run_step = self._run_reset = lambda: None
            self.tables, self._actions, self._fault_buffers, self.prepared = {}, [], [], {}

    def __repr__(self) -> str:
        return f"<simulation of {self.num_worlds} {self.definition.id} on {devices.PYTHON if self.interpreted else self.device.alias}: {', '.join(self.tables)}>"

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *details: object) -> None:
        try:
            if details[0] is None and self._overflow_is_error and not self._closed:
                if self.device.is_cuda:
                    wp.synchronize_device(self.device)  # the last step may still be running
                self.check_capacity()
        finally:
            self.close()


def _match(values: Any, shape: tuple[int, ...]) -> Any:
    """``values`` with the axis of entities put in where it was left out and there is one entity."""
    if not hasattr(values, "shape"):
        values = to_numpy(values, "the actions")
    return (
        values.reshape(shape)
        if len(shape) > 1 and shape[1] == 1 and tuple(values.shape) == shape[:1] + shape[2:]
        else values
    )


Replay.simulation_class = Simulation
