"""Programs: the text of one Warp module for a schedule, compiled once and shared by all simulations that need it."""

from __future__ import annotations

import ast
import hashlib
import linecache
import os
import threading
import types as python_types
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base import cpu_flags
from worldloom.core.base.console import compile_notice
from worldloom.core.base.errors import CompileError
from worldloom.core.base.warp_branches import OPTION
from worldloom.core.base.warp_private import get_module, request_shared_memory
from worldloom.core.codegen.blocks import register_only
from worldloom.core.codegen.fusion import KernelFunctions, KernelGroup, fuse_systems
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_writer import KernelWriter
from worldloom.core.codegen.modules import partition
from worldloom.core.codegen.resets.world_lists import NO_LISTS
from worldloom.core.codegen.stages import MAX_THREADS_PER_WORLD
from worldloom.core.codegen.tiles.tiled_kernel import SMALL_BATCH_LIMITS, TileLimits
from worldloom.core.frontend.analysis.in_place import columns_read_in_place, helpers_that_index
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import register_name
from worldloom.core.kernels import (
    exact,
    grid_kernels,
    guards,
    population_kernels,
    random,
    rotations,
    row_list_kernels,
    warp_reductions,
    wrapping,
)
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.model.columns import ColumnKey, FaultSites
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule.entries import HostNode, Schedule
from worldloom.core.schedule.row_lists import with_lists

_NAMESPACE: dict[str, Any] = {
    "wp": wp,
    "uniform": random.uniform,
    "integer": random.integer,
    "normal": random.normal,
    f"{exact.PREFIX}normal": random.exact_normal,
    "world_key": random.world_key,
    "episode_key": random.episode_key,
    "step_key": random.step_key,
    **exact.SPACE,
    **wrapping.SPACE,
    **rotations.SPACE,
    "report_fault": guards.report_fault,
    "checked_index": guards.checked_index,
    "checked_slot": guards.checked_slot,
    "clean_choice": guards.clean_choice,
    "thread_number": guards.thread_number,
    "serial_number": population_kernels.serial_number,
    "find_serial": population_kernels.find_serial,
    "count_below": population_kernels.count_below,
    "warp_votes": population_kernels.warp_votes,
    "votes_before": population_kernels.votes_before,
    "vote_count": population_kernels.vote_count,
    "sync_warp": population_kernels.sync_warp,
    "used_lists": row_list_kernels.used_lists,
    "sync_block": warp_reductions.sync_block,
    "thread_in_block": warp_reductions.thread_in_block,
    "threads_per_block": warp_reductions.threads_per_block,
    "later_of_pair": warp_reductions.later_of_pair,
    **grid_kernels.FUNCTIONS,
    "sum_up_to": population_kernels.sum_up_to,
    "of_last_lane": population_kernels.of_last_lane,
    "take_place": population_kernels.take_place,
    "pooled_row": population_kernels.pooled_row,
    "count_birth": population_kernels.count_birth,
    **{name: compiled for name, (compiled, _) in HELPERS.items()},
}
_CACHE: dict[tuple[str, bool, bool], dict[str, Any]] = {}
_LOCK = threading.Lock()


Entry = KernelSpec | LaunchNode | HostNode
"""An entry of a program: a kernel, a launch of Warp kernels, or a callable."""


@dataclass
class Program:
    """The generated source of a schedule."""

    text: str
    types: dict[str, Any]
    step: list[Entry]
    reset: list[Entry]
    sites: FaultSites
    exact: bool = False

    def load(self, device: wp.Device, name: str) -> dict[str, Any]:
        """Every kernel by name, compiled for ``device``, or from the cache."""
        cuda = device.is_cuda
        key = (hashlib.sha256(self.text.encode()).hexdigest()[:16], cuda, self.exact)
        with _LOCK:
            if key not in _CACHE:
                _CACHE[key] = self._build(key[0], cuda)
            kernels = _CACHE[key]
            self._compile(kernels, device, name)
        return kernels

    def _build(self, digest: str, cuda: bool) -> dict[str, Any]:
        title = f"worldloom_{'exact_' if self.exact else ''}{'cuda' if cuda else 'cpu'}_{digest}"
        file = f"<{title}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        blocks = {spec.name: spec.threads if spec.is_block else spec.block for spec in self._specs}
        numbers = partition(self.text, blocks) if cuda else dict.fromkeys(blocks, 0)
        # Functions belong to the module ``title``, which is not compiled where kernels have modules of their own.
        titles = {
            name: f"{title}_{number}" if max(numbers.values(), default=0) else title for name, number in numbers.items()
        }
        modules = {name: self._module(titles[name], cuda) for name in titles}
        namespace = python_types.ModuleType(title).__dict__
        namespace.update(_NAMESPACE, modules=modules, **self.types)
        exec(compile(self.text, file, "exec"), namespace)  # noqa: S102 - generated above from checked systems
        kernels = {name: namespace[name] for name in blocks}
        for spec in self._specs:
            if cuda and spec.shared_bytes:
                request_shared_memory(kernels[spec.name], spec.shared_bytes)
        return kernels

    @property
    def _specs(self) -> list[KernelSpec]:
        """Its kernels."""
        return [spec for spec in (*self.step, *self.reset) if isinstance(spec, KernelSpec)]

    def _module(self, title: str, cuda: bool) -> Any:
        """A module for kernels of this program."""
        module = get_module(title)
        # No fused multiply-add on the CPU: it gains nothing, and interpreted runs agree bit for bit without it.
        module.options.update(
            {"enable_backward": False, "fuse_fp": cuda and not self.exact, "max_unroll": 0, OPTION: True}
        )
        module.options["cpu_compiler_flags"] = cpu_flags.complete(wp.config.cpu_compiler_flags)
        return module

    def _compile(self, kernels: dict[str, Any], device: wp.Device, name: str) -> None:
        """Compile the modules of all kernels for their block sizes, on CUDA at the same time."""
        needed: dict[int, dict[Any, None]] = {}
        for spec in self._specs:
            needed.setdefault(spec.block_dim(device), {})[kernels[spec.name].module] = None
        workers = (os.cpu_count() or 1) if device.is_cuda else 0
        try:
            with compile_notice(f"{name} for {device.alias}"):
                for threads, modules in needed.items():
                    wp.force_load(device, list(modules), threads, workers if len(modules) > 1 else 0)
        except Exception as error:
            if isinstance(error, CompileError):  # the kernel cache cannot be used
                raise
            title = next(iter(kernels.values())).module.name
            source_file = Path(wp.config.kernel_cache_dir or ".") / f"{title}.py"
            try:
                source_file.write_text(self.text)
                report = f"please report it with {source_file}"
            except OSError as write_error:
                report = f"please report it (its text cannot be written to {source_file}: {write_error.strerror})"
            raise CompileError(
                f"the generated code of '{name}' does not compile for {device.alias}: {error}. "
                f"This is a fault of worldloom; {report}."
            ) from error


def generate(
    schedule: Schedule,
    fuse: bool,
    cuda: bool,
    exact: bool = False,
    uneven: int = MAX_THREADS_PER_WORLD,
    list_width: int = NO_LISTS,
    tiles: TileLimits = SMALL_BATCH_LIMITS,
) -> Program:
    """Write the module for a schedule: a thread per row on CUDA, a loop over all rows of a shard on the CPU.

    ``exact`` calls the functions of :mod:`worldloom.core.kernels.exact`. A CUDA thread then runs all rows of its world
    in the order of the CPU, where these add real numbers into the same rows. ``uneven``, ``list_width`` and ``tiles``
    are the results of :func:`worldloom.core.codegen.stages.uneven_width`,
    :func:`worldloom.core.codegen.resets.world_lists.list_width` and
    :func:`worldloom.core.codegen.tiles.tiled_kernel.tile_limits` for the number of worlds; without them, kernels are
    joined as for a few worlds, and have threads for all worlds.
    """
    if not tiles.by_workload:  # adjacent worlds then share tiles, and nothing orders them
        schedule = replace(schedule, lists={key: replace(rows, workload="") for key, rows in schedule.lists.items()})
    sites, types = FaultSites(), dict[str, Any]()
    functions = KernelFunctions(schedule, sites, types, exact, cuda)
    lists = schedule.lists if cuda else {}
    step_parts, reset_parts = (
        fuse_systems(
            with_lists(entries, lists, lambda node: not functions.of(node).target.in_order), schedule, functions, fuse
        )
        for entries in (schedule.step, schedule.reset)
    )
    in_place = columns_read_in_place(functions.by_system.values()) if cuda else frozenset[ColumnKey]()
    for function in functions.by_system.values():
        function.in_place = in_place & set(function.target.inputs)
    writer = KernelWriter(schedule, types, cuda, sites, register_only([*step_parts, *reset_parts], schedule))
    writer.columns.in_place, writer.list_width = in_place, list_width
    writer.tiles.limits, writer.tiles.all_parts = tiles, [*step_parts, *reset_parts]
    for part in step_parts:
        if isinstance(part, KernelGroup):
            writer.note_reads(part)
    step = writer.parts("step", step_parts, fuse, uneven)
    reset = writer.parts("reset", reset_parts, fuse, uneven)
    texts = _function_texts(list(functions.by_system.values()), types, exact, schedule.narrow)
    tables = [*(view.fields for view in schedule.tables.values()), *schedule.scratch.values()]
    fields = [field for table in tables for field in table.values()]
    views = dict.fromkeys(accessors.view_definition(schedule.field_of(c), types) for c in sorted(in_place))
    text = "\n".join(
        [accessors.definitions(fields, types, cuda), *views, *writer.tiles.shared_texts, *texts, *writer.texts]
    )
    return Program(text, types, step, reset, sites, exact)


def _function_texts(functions: list[KernelFunction], types: dict[str, Any], exact: bool, narrow: bool) -> list[str]:
    """The texts of systems, each after the helpers that it calls, and of the reductions that they use."""
    helpers: dict[str, Any] = {}
    written: set[Any] = set()

    def helper_texts(used: dict[str, Any]) -> list[str]:
        texts: list[str] = []
        for name, helper in used.items():
            if helpers.setdefault(name, helper) is not helper:
                raise helper.source.error(
                    f"another helper is called '{helper.name}' too", "give one of them another name"
                )
            if helper in written:
                continue
            written.add(helper)
            text, inner = helper.kernel_code(types, exact, narrow)
            texts += [*helper_texts(inner), text]
        return texts

    def indexing_texts(body: list[ast.stmt], names: frozenset[str], used: dict[str, Any]) -> list[str]:
        """The helpers that index arrays in the place of vectors, as overloads."""
        texts: list[str] = []
        for name, arrays in sorted(helpers_that_index(body, names, used), key=str):
            if (helpers[name], arrays) in written:
                continue
            written.add((helpers[name], arrays))
            target, flow = helpers[name].translated({}, exact, narrow)
            inner = indexing_texts(flow.body, frozenset(f"v_{p}" for p in arrays), target.helpers)
            texts += [*inner, helpers[name].kernel_code(types, exact, narrow, arrays)[0]]
        return texts

    reductions = dict.fromkeys(reduction for f in functions for reduction in f.target.warp_reductions)
    extremes = dict.fromkeys(extreme for f in functions for extreme in f.target.atomic_extremes)
    texts = [warp_reductions.warp_reduce_text(*reduction) for reduction in reductions]
    texts += [warp_reductions.atomic_extreme_text(*extreme) for extreme in extremes]
    texts += [copy.text() for copy in dict.fromkeys(copy for f in functions for copy in f.target.row_copies)]
    for function in functions:
        texts += helper_texts(function.target.helpers)
        names = frozenset(map(register_name, function.in_place))
        texts += [*indexing_texts(function.flow.body, names, function.target.helpers), function.code(types)]
    return texts
