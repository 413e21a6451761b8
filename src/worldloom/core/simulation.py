"""Simulations: a batch of worlds on one device that can be stepped, reset and inspected."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base import device as devices
from worldloom.core.base import nvtx_ranges, shards
from worldloom.core.base.arrays import check_flags, checked_int, to_numpy
from worldloom.core.base.console import compile_notice
from worldloom.core.base.errors import InputError
from worldloom.core.codegen.shared_programs import shared_program, shared_schedule
from worldloom.core.interpreter.interpreter import Interpreter
from worldloom.core.measure.profiling_mixin import ProfilingMixin
from worldloom.core.model.columns import WORLD
from worldloom.core.model.entity import Entity, World
from worldloom.core.model.fields import Role
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.population import UpTo
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime.action_mixin import ActionMixin
from worldloom.core.runtime.allocation import allocate_tables, check_size, set_aliases
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.config_mixin import ConfigMixin
from worldloom.core.runtime.executor import Executor, OutputCopy
from worldloom.core.runtime.options import choose_options
from worldloom.core.runtime.seeds import SeedMixin, check_seeds
from worldloom.core.runtime.table import Table
from worldloom.core.schedule.entries import Autoreset, HostNode
from worldloom.core.schedule.lasting_agents import lasting_agents
from worldloom.core.state.copy_mixin import CopyMixin, Origin
from worldloom.core.state.replay import Replay
from worldloom.core.state.snapshot_mixin import SnapshotMixin

_AUTORESETS = ("same_step", "next_step", "disabled")


class Simulation(SeedMixin, CopyMixin, ActionMixin, ConfigMixin, SnapshotMixin, ProfilingMixin):
    """``num_worlds`` copies of one world on one device.

    Args:
        world: The id of a registered world, or its definition.
        num_worlds: Number of copies in the batch.
        device: ``cpu``, ``cuda:N``, ``auto``, or ``python`` to interpret the systems row by row.
        seed: Seed of the random numbers, from 0 to 2**64 - 1, or one per world; None takes one from the operating
            system. World k of a seed is the same world for every batch size and number of threads.
        autoreset: Reset mode at the end of an episode. ``same_step``: the world is reset in the same step, and the
            final observation is kept in the ``final_`` columns. ``next_step``: the next step resets it and ignores its
            action. ``disabled``: no reset.
        threads: Maximum number of CPU threads; None takes every core that has enough work. Worlds that share the rows
            of a population (``wl.UpTo(..., batch=...)``) run in one thread.
        config: Values for the world's configuration: one for the batch, or an array with one per world.
        counts: Numbers of entities by kind that replace the registered ones; for a population, the capacity per world,
            or ``wl.UpTo``.
        external: Memory owned by the caller for columns, by ``Table.name``.
        checks: Whether actions out of range and numbers that are not finite are faults.
        fuse: Whether adjacent systems are fused into one kernel.
        exact: Whether the CPU, CUDA and the interpreter give the same bits, at a lower speed; see docs/exact.md.
        share: Whether, on a GPU, an observation that only repeats components shares their memory. Writing into its
            column then changes the world.
        tuned: Whether kernels use the settings that :meth:`tune` has stored for this model of GPU.
        world_offset: The id of the first world.
        alternatives: The options of the world's :class:`~worldloom.Alternatives`, by name, instead of those that
            :meth:`tune` has measured, or that the world names for the device.
        kernels_for: Number of worlds that alternatives and kernels are chosen for, instead of ``num_worlds``: a world
            alone then has the bits that it has in such a batch.
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
        alternatives: Mapping[str, str] | None = None,
        kernels_for: int | None = None,
    ) -> None:
        self._closed = self._resetting = False
        self.checks = checks
        if not isinstance(world, (str, os.PathLike, Definition)):
            raise InputError(f"a simulation is made of a world's id or its definition, not of {type(world).__name__}")
        registered = world if isinstance(world, Definition) else definition(os.fspath(world))
        self.definition = registered.with_counts(counts).checked
        mappings = {"config": config, "external": external}
        _check_arguments(num_worlds, autoreset, threads, world_offset, kernels_for, mappings)
        check_flags(checks=checks, fuse=fuse, exact=exact, share=share, tuned=tuned)
        self.num_worlds, self.autoreset, self.world_offset = num_worlds, autoreset, world_offset
        self.exact, self.kernels_for = exact, kernels_for or num_worlds
        self.device, self.interpreted = devices.resolve(device)
        if self.device.is_cuda:
            self.definition = self.definition.for_cuda()
        self.definition = choose_options(self.definition, self.device, self.kernels_for, alternatives, tuned)
        self._origin = Origin(
            registered,
            {
                "device": device,
                "threads": threads,
                "counts": counts,
                "checks": checks,
                "fuse": fuse,
                "exact": exact,
                "share": share,
                "tuned": tuned,
                "world_offset": world_offset,
                "alternatives": dict(self.definition.options),  # a copy chooses none
                "kernels_for": kernels_for,
            },
        )
        with shards.WARP_LOCK:
            self._allocate(external or {}, share, threads)
            for name, value in (config or {}).items():
                self._assign_config(name, value)
            fields = self.definition.world.fields
            self._warn_of_config([name for name in fields if fields[name].role is Role.CONFIG])
            self._compile(fuse, tuned)
        self.reset(seeds=secrets.randbits(32) if seed is None else seed)
        self.pristine = True
        """Whether no step, reset or change of the state has followed the construction."""

    def _allocate(self, external: Mapping[str, Any], share: bool, threads: int | None) -> None:
        """Plan the schedule, allocate the memory and divide the worlds among the threads."""
        num_worlds = self.num_worlds
        lasting = frozenset[str]() if self.interpreted else lasting_agents(self.definition, external)
        self.schedule = shared_schedule(self.definition, self.autoreset, self.checks, lasting)
        if share and self.device.is_cuda:
            set_aliases(self.schedule, self.definition, external)
        check_size(self.schedule, self.definition.id, num_worlds, self.device, external)
        self.tables = allocate_tables(self.schedule, num_worlds, self.device, external)
        pooled = any(population.pooled for population in self.definition.populations.values())
        if self.interpreted or self.device.is_cuda or pooled:
            self.threads, self.slices = 1, [(0, num_worlds)]
        else:
            self.threads = shards.thread_count(num_worlds, threads, self.definition.worlds_per_thread)
            self.slices = shards.slices(num_worlds, threads, self.definition.worlds_per_thread)
        self._actions = [self.tables[table][field.name] for table, field in self.definition.actions().values()]
        self._allocate_faults(len(self.slices))
        self.tables[WORLD]["max_steps"].fill(self.definition.max_steps)

    def _compile(self, fuse: bool, tuned: bool) -> None:
        """Make what runs the schedule: the interpreter, or compiled kernels."""
        self.prepared = self._prepare()
        """The data that each launch of the schedule prepared for this simulation, by the launch's ``id()``."""
        self._run_step: Callable[[], None]
        self._run_reset: Callable[[], None]
        if self.interpreted:
            worlds = (self.num_worlds, self.world_offset)
            interpreter = Interpreter(self.schedule, self.tables, *worlds, self._note_fault, self._alarm, self.exact)
            self.program = None
            self._run_step = lambda: interpreter.run(self.schedule.step, self)
            self._run_reset = lambda: interpreter.run(self.schedule.reset, self)
        else:
            settings = (self.autoreset, self.checks, fuse, self.device.is_cuda, self.exact)
            batch = (self.kernels_for, self.device.max_shared_memory_per_block)
            self.program = shared_program(self.definition, self.schedule, *settings, *batch)
            self.executor = Executor(self, self.program, tuned)
            self._run_step = nvtx_ranges.with_nvtx_range("worldloom step", self.executor.step)
            self._run_reset = nvtx_ranges.with_nvtx_range("worldloom reset", self.executor.reset)

    def _prepare(self) -> dict[int, Any]:
        """Call ``prepare`` of every launch of the schedule once."""
        entries = (*self.schedule.step, *self.schedule.reset)
        launches = {id(entry.launch): entry.launch for entry in entries if isinstance(entry, LaunchNode)}
        with compile_notice(f"the launches of {self.definition.id} for {self.device.alias}"):
            return {key: launch.prepare(self) for key, launch in launches.items()}

    def use_options(self, options: Mapping[str, str]) -> None:
        """Go on with other options of the world's alternatives, from the same state."""
        self._check_open()
        self._check_not_recorded("given other options")
        arguments = self._origin.arguments
        self.definition = choose_options(self.definition, self.device, self.kernels_for, options, False)
        arguments["alternatives"] = dict(self.definition.options)
        wp.synchronize_device(self.device)  # the last step may still use the memory of the executor
        with shards.WARP_LOCK:
            lasting = self.schedule.lasting_agents
            self.schedule = shared_schedule(self.definition, self.autoreset, self.checks, lasting)
            self._compile(arguments["fuse"], arguments["tuned"])

    # -- running -----------------------------------------------------------------------------------------------------

    def step(self, actions: Any = None, output_copies: Sequence[OutputCopy] = ()) -> None:
        """Step every world.

        Args:
            actions: An array or tensor of shape (num_worlds, count, ...) for a world with one action component, by
                agent row for a population; a mapping from ``Kind.name``, or from the kind of entity, to such arrays for
                several. Actions that are not given keep the values in their columns.
            output_copies: Pairs of a column's memory and a target array of its shape. Where :attr:`copies_in_step`
                holds, the threads that step the worlds copy their slices; otherwise the copies follow the step.
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
        self._check_step()

    def run_step(self, run: Callable[[], None]) -> None:
        """As :meth:`step` with the actions in the columns, or in a place of which ``run`` knows.

        Args:
            run: Launches the kernels of one step, as a graph of :meth:`Executor.record_step`.
        """
        self._check_open()
        self.pristine = False
        run()
        self._check_step()

    def _check_step(self) -> None:
        """Collect the faults of a step, and raise those that are errors."""
        if self._out_of_range:
            self._read_faults()
            self._out_of_range = {}
        self.check_capacity()

    @property
    def copies_in_step(self) -> bool:
        """Whether the threads that step the worlds also copy outputs: several slices, and no callable after them."""
        self._check_open()
        return not self.interpreted and self.executor.copies_in_step

    def enqueue_step(self) -> None:
        """Launch the kernels of one step one by one, with the actions in the columns, for capture in a CUDA graph."""
        self._check_open()
        self.pristine = False
        if self.interpreted or self.recorder is not None:
            self._run_step()
        else:
            self.executor.enqueue_step()

    @property
    def has_host_calls(self) -> bool:
        """Whether the schedule contains Python callables, which a graph cannot capture."""
        return any(isinstance(node, HostNode) for node in (*self.schedule.step, *self.schedule.reset))

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("this simulation is closed: make a new one")

    def reset(self, mask: Any = None, seeds: Any = None) -> None:
        """Start a new episode in all worlds, or in those that ``mask`` selects, without a step.

        Args:
            mask: A truth value per world, shape (num_worlds,); None for all.
            seeds: A new seed for the worlds that are reset, or one per world, shape (num_worlds,). A seed restarts the
                episode count at 0, so that the same seed gives the same episodes.
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
            world["reset_mask"].torch().copy_(mask)  # no copy to the host
            self._reset_masked()
            return
        selected = np.ones(self.num_worlds, bool) if mask is None else to_numpy(mask, "a reset mask")
        if selected.shape != (self.num_worlds,) or selected.dtype != np.bool_:
            expected = f"a reset mask holds one truth value per world, shape ({self.num_worlds},)"
            raise InputError(f"{expected}, not {selected.dtype.name} of shape {selected.shape}")
        if seeds is not None:
            self._assign_seeds(selected, check_seeds(seeds, self.num_worlds))
        world["reset_mask"].assign(selected)
        self._reset_masked()

    def _reset_masked(self) -> None:
        self._resetting = True
        try:
            self._run_reset()
        finally:
            self._resetting = False
        self.check_capacity()

    # -- inspection --------------------------------------------------------------------------------------------------

    def __getitem__(self, kind: type[Entity] | type[World] | str) -> Table:
        self._check_open()
        if isinstance(kind, str):
            name = kind
        elif isinstance(kind, type) and issubclass(kind, World):
            name = WORLD
        else:
            name = getattr(kind, "__name__", repr(kind))
        if name not in self.tables:
            raise InputError(f"world '{self.definition.id}' has no table '{name}': it has {', '.join(self.tables)}")
        return self.tables[name]

    @property
    def world(self) -> Table:
        """The columns of the world itself."""
        self._check_open()
        return self.tables[WORLD]

    @property
    def terminated(self) -> Column:
        """Whether each world's episode terminated in the last step, shape (num_worlds,)."""
        return self.world["terminated"]

    @property
    def truncated(self) -> Column:
        """Whether each world's episode was truncated in the last step, shape (num_worlds,)."""
        return self.world["truncated"]

    @property
    def starting(self) -> Column:
        """For callables of the schedule: which worlds are being reset, shape (num_worlds,)."""
        name = "reset_mask" if self._resetting else "resetting" if self.autoreset == "next_step" else "finished"
        return self.world[name]

    def columns(self, role: Role) -> dict[str, Column]:
        """The columns of a role, as ``Table.name``."""
        self._check_open()
        return {c.name: c for t in self.tables.values() for c in t if c.field.role is role}

    @property
    def bytes_per_world(self) -> int:
        """Memory per world, in bytes."""
        self._check_open()
        columns = (c for table in self.tables.values() for c in table.all_columns.values() if c.owns_memory)
        return sum(c.nbytes for c in columns if not c.field.batch_wide) // self.num_worlds

    def close(self) -> None:
        """Free the memory. Exports that are still in use keep their memory alive."""
        if not self._closed:
            if self.recorder is not None:
                self.recorder.stop()
            self._closed = True
            self.__dict__.pop("executor", None)
            self._run_step = self._run_reset = lambda: None
            self.tables, self._actions, self._fault_buffers, self.prepared = {}, [], [], {}

    def __repr__(self) -> str:
        device = devices.PYTHON if self.interpreted else self.device.alias
        return f"<simulation of {self.num_worlds} {self.definition.id} on {device}: {', '.join(self.tables)}>"

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


def _check_arguments(
    num_worlds: Any,
    autoreset: Any,
    threads: Any,
    world_offset: Any,
    kernels_for: Any,
    mappings: Mapping[str, Any],
) -> None:
    checked_int("num_worlds", num_worlds, 1)
    checked_int("threads", 1 if threads is None else threads, 1)
    checked_int("world_offset", world_offset, 0, 2**31 - int(num_worlds))
    checked_int("kernels_for", 1 if kernels_for is None else kernels_for, 1)
    for name, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise InputError(f"{name} is a mapping from names to values, not {value!r}")
    if autoreset not in _AUTORESETS:
        raise InputError(f"autoreset must be one of {', '.join(_AUTORESETS)}, not {autoreset!r}")


Replay.simulation_class = Simulation
