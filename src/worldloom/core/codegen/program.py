"""From a schedule to kernels: the text of one Warp module, compiled once and shared by all simulations that need it."""

from __future__ import annotations

import hashlib
import linecache
import threading
import types as python_types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warp as wp
from warp._src.context import get_module

from worldloom.core.base import cpu_flags
from worldloom.core.base.console import compile_notice
from worldloom.core.base.errors import CompileError
from worldloom.core.codegen.fusion import KernelFunctions, KernelGroup, group
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.kernel_writer import KernelWriter, register_only
from worldloom.core.frontend.targets import accessors
from worldloom.core.kernels import exact, grid_kernels, guards, population_kernels, random, wrapping
from worldloom.core.kernels import warp_reductions as wide_kernels
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.model.columns import FaultSites
from worldloom.core.model.launch import LaunchNode
from worldloom.core.schedule.schedule import HostNode, Schedule

_NAMESPACE: dict[str, Any] = {
    "wp": wp,
    "uniform": random.uniform,
    "integer": random.integer,
    "normal": random.normal,
    f"{exact.PREFIX}normal": random.exact_normal,
    **exact.SPACE,
    **wrapping.SPACE,
    "report_fault": guards.report_fault,
    "checked_index": guards.checked_index,
    "checked_slot": guards.checked_slot,
    "clean_choice": guards.clean_choice,
    "thread_number": guards.thread_number,
    "serial_number": population_kernels.serial_number,
    "find_serial": population_kernels.find_serial,
    "warp_votes": population_kernels.warp_votes,
    "votes_before": population_kernels.votes_before,
    "vote_count": population_kernels.vote_count,
    "sync_warp": population_kernels.sync_warp,
    "sync_block": wide_kernels.sync_block,
    "later_of_pair": wide_kernels.later_of_pair,
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
"""What a schedule has become: kernels, what launches kernels of its own, and callables."""


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
        """Every kernel by name, compiled for ``device``; from the cache where the same text was compiled before."""
        cuda = device.is_cuda
        key = (hashlib.sha256(self.text.encode()).hexdigest()[:16], cuda, self.exact)
        with _LOCK:
            if key not in _CACHE:
                _CACHE[key] = self._build(key[0], cuda)
            kernels = _CACHE[key]
            self._compile(next(iter(kernels.values())).module, device, name)
        return kernels

    def _build(self, digest: str, cuda: bool) -> dict[str, Any]:
        title = f"worldloom_{'exact_' if self.exact else ''}{'cuda' if cuda else 'cpu'}_{digest}"
        file = f"<{title}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        module = get_module(title)
        # Fused multiply-add only on the GPU: on the CPU it gains nothing here, and without it interpreted runs agree bit for bit.
        module.options.update({"enable_backward": False, "fuse_fp": cuda and not self.exact, "max_unroll": 0})
        module.options["cpu_compiler_flags"] = cpu_flags.complete(wp.config.cpu_compiler_flags)
        made = python_types.ModuleType(title)
        made.__dict__.update(_NAMESPACE, module=module, **self.types)
        exec(compile(self.text, file, "exec"), made.__dict__)
        names = [spec.name for spec in (*self.step, *self.reset) if isinstance(spec, KernelSpec)]
        return {n: made.__dict__[n] for n in names}

    def _compile(self, module: Any, device: wp.Device, name: str) -> None:
        try:
            with compile_notice(f"{name} for {device.alias}"):
                for threads in {
                    spec.block_dim(device): None for spec in (*self.step, *self.reset) if isinstance(spec, KernelSpec)
                }:
                    module.load(device, threads)
        except Exception as error:
            if isinstance(error, CompileError):  # the cache, which says itself what is wrong
                raise
            kept = Path(wp.config.kernel_cache_dir or ".") / f"{module.name}.py"
            try:
                kept.write_text(self.text)
                report = f"please report it with {kept}"
            except OSError as unwritten:
                report = f"please report it (its text cannot be written to {kept}: {unwritten.strerror})"
            raise CompileError(
                f"the generated code of '{name}' does not compile for {device.alias}: {error}. This is a fault of worldloom; {report}."
            ) from error


def generate(schedule: Schedule, fuse: bool, cuda: bool, exact: bool = False) -> Program:
    """Write the module for a schedule: a thread per row on CUDA, a loop over all rows of a shard on the CPU.

    ``exact`` calls the functions of :mod:`worldloom.core.kernels.exact`, and lets a thread of CUDA run all rows of its world one after the
    other where they add real numbers into the same rows, in the order of the CPU.
    """
    sites, types = FaultSites(), dict[str, Any]()
    functions = KernelFunctions(schedule, sites, types, exact, cuda)
    groups = {
        phase: group(entries, schedule, functions, fuse)
        for phase, entries in (("step", schedule.step), ("reset", schedule.reset))
    }
    writer = KernelWriter(
        schedule, types, cuda, sites, register_only([part for found in groups.values() for part in found], schedule)
    )
    for part in groups["step"]:
        if isinstance(part, KernelGroup):
            writer.note_reads(part)
    step, reset = (writer.parts(phase, found, fuse) for phase, found in groups.items())
    helpers: dict[str, Any] = {}
    texts: list[str] = []

    def add(found: dict[str, Any]) -> None:
        for name, helper in found.items():
            if helpers.setdefault(name, helper) is not helper:
                raise helper.source.error(f"another helper is called '{name}' too", "give one of them another name")
            if helper in done:
                continue
            done.add(helper)
            text, inner = helper.kernel_code(types, exact)
            add(inner)
            texts.append(text)

    done: set[Any] = set()
    warp_reductions = dict.fromkeys(
        gathered for function in functions.by_system.values() for gathered in function.target.warp_reductions
    )
    texts += [wide_kernels.warp_reduce_text(*gathered) for gathered in warp_reductions]
    atomic_extremes = dict.fromkeys(
        extreme for function in functions.by_system.values() for extreme in function.target.atomic_extremes
    )
    texts += [wide_kernels.atomic_extreme_text(*extreme) for extreme in atomic_extremes]
    for function in functions.by_system.values():
        add(function.target.helpers)
        texts.append(function.code(types))
    known = [*(view.fields for view in schedule.tables.values()), *schedule.scratch.values()]
    reached = accessors.definitions([f for fields in known for f in fields.values()], types, cuda)
    return Program("\n".join([reached, *texts, *writer.texts]), types, step, reset, sites, exact)
