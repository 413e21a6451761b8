"""Runs the text of kernels for CUDA in plain Python, with a real thread for every thread of a warp or block.

Threads are made to overtake each other at random, so that a barrier too few shows. Native code of a GPU has a stand-in
in Python here; queries of neighbours have none.
"""

from __future__ import annotations

import ast
import collections
import functools
import math
import operator as operators
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.arithmetic.functions import python_math
from worldloom.core.arithmetic.scalars import max_real, min_real
from worldloom.core.arithmetic.values import composite_maker
from worldloom.core.base.errors import InputError
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import Entry, generate
from worldloom.core.codegen.resets.world_lists import NO_LISTS
from worldloom.core.codegen.stages import MAX_THREADS_PER_WORLD
from worldloom.core.codegen.tiles.tiled_kernel import SMALL_BATCH_LIMITS, TileLimits
from worldloom.core.kernels.exact import INTERPRETED
from worldloom.core.kernels.operators import HELPERS
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.dtypes import SCALARS, is_composite
from worldloom.core.model.launch import LaunchNode
from worldloom.core.model.population import serial_number
from worldloom.core.runtime import scratch
from worldloom.core.schedule.entries import GridNode, HostNode
from worldloom.core.simulation import Simulation
from worldloom.testing.cuda_text.memory import (
    Memory,
    Slot,
    clear_columns,
    copy_columns,
    fill_elements,
    get_element,
    move_row,
    put_element,
    put_part,
)
from worldloom.testing.cuda_text.numbers import NUMBERS
from worldloom.testing.cuda_text.text import ToPython

BLOCK = 64
"""Threads per block of joined kernels."""
ALONE = threading.Barrier(1)
"""The barrier of a thread without others."""


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operators.add,
    "sub": operators.sub,
    "min": min_real,
    "max": max_real,
    "or": operators.or_,
    "and": operators.and_,
    "xor": operators.xor,
}
"""The operators of reductions and of atomic functions."""


class Machine:
    """One simulation whose steps and resets are run by Python threads, from the text that CUDA would get.

    ``any_order`` runs warps and blocks in random order, for worlds in which no sum of real numbers depends on it.
    """

    def __init__(
        self,
        simulation: Simulation,
        exact: bool = False,
        uneven: int = MAX_THREADS_PER_WORLD,
        list_width: int = NO_LISTS,
        any_order: bool = False,
        tiles: TileLimits = SMALL_BATCH_LIMITS,
    ) -> None:
        self.simulation, self.any_order = simulation, any_order
        self.reports: list[tuple[int, int, int, int, int]] = []
        self.program = generate(simulation.schedule, True, True, exact, uneven, list_width, tiles)
        lists = simulation.schedule.lists.values()
        entries = [entry for entry in (*self.program.step, *self.program.reset) if isinstance(entry, KernelSpec)]
        used = {column for spec in entries for column in spec.columns}
        populations, known = simulation.definition.populations.values(), simulation.schedule.scratch
        noted = scratch.allocate(
            populations, known, used, simulation.num_worlds, simulation.device, lists, tiles.worlds
        )
        self.tables = {**simulation.tables, **noted}
        self.lock, self.here = threading.Lock(), threading.local()
        self.alarm = Memory(np.zeros(1, np.int32))
        if any(isinstance(entry, GridNode) for entry in (*simulation.schedule.step, *simulation.schedule.reset)):
            raise InputError(
                "queries of neighbours are native code, which needs a GPU: leave world.near and nearest out"
            )
        rewriter = ToPython()
        tree = rewriter.visit(ast.parse("from __future__ import annotations\n" + self.program.text))
        self.space = {
            "wp": _Warp(self),
            "modules": collections.defaultdict(lambda: None),
            **self._functions(),
            **{n: python for n, (_, python) in HELPERS.items()},
            **INTERPRETED,
            **rewriter.space,
            **{name: _value_of(kind) for name, kind in self.program.types.items()},
        }
        exec(compile(ast.fix_missing_locations(tree), "kernels", "exec"), self.space)  # noqa: S102 - generated text

    def take_over(self, seed: int) -> None:
        """Run all steps and resets of the simulation from now on, from a first reset with ``seed``."""
        self.simulation._run_step = self.step
        self.simulation._run_reset = lambda: self._run(self.program.reset)
        self.simulation.reset(seeds=seed)

    def step(self) -> None:
        self._run(self.program.step)

    def reset(self, mask: np.ndarray[Any, Any]) -> None:
        """Begin new episodes in the worlds of a mask, shape (num_worlds,)."""
        self.simulation.world.reset_mask = mask
        self._run(self.program.reset)

    def _run(self, entries: list[Entry]) -> None:
        with np.errstate(all="ignore"):
            for spec in entries:
                if isinstance(spec, HostNode):
                    spec.call(self.simulation)
                    continue
                if isinstance(spec, LaunchNode):  # compiled for the CPU
                    spec.start(
                        self.simulation.prepared,
                        self.tables,
                        (0, self.simulation.num_worlds),
                        self.simulation.device,
                        None,
                    )
                    continue
                assert isinstance(spec, KernelSpec)
                together = WARP_SIZE if spec.whole_warps else spec.threads
                block: int = (spec.block or 0) if spec.tile else max(together, BLOCK) if spec.stages else together
                size, arguments = spec.launch_size(self.simulation.num_worlds), self._arguments(spec, block)
                starts = range(0, size, block)
                for first in random.sample(starts, len(starts)) if self.any_order else starts:
                    self._group(spec.name, arguments, range(first, min(first + block, size)), block)

    def _arguments(self, spec: KernelSpec, block: int) -> list[Any]:
        """The arguments of a kernel, for blocks of so many threads."""
        used = [self.tables[t][f] for t, f in spec.columns]
        columns = [Memory(column.values, column.field.dtype, block == 1) for column in used]
        rows = np.int32(spec.rows_argument(self.simulation.num_worlds))
        extra = [None] * spec.takes_errors + [self.alarm] * spec.takes_alarm
        return [np.int32(spec.row_list or 0), rows, np.int32(0), *columns, *extra]

    def _group(self, kernel: str, arguments: list[Any], numbers: range, block: int) -> None:
        """Run the threads that share a row or a block, or a world in a compaction. The last block may have fewer."""
        votes, held = [False] * len(numbers), [None] * len(numbers)
        if len(numbers) == 1:
            self._enter(numbers[0], 0, block, ALONE, ALONE, votes, held, {})
            self.space[kernel](*arguments)
            return
        barrier = threading.Barrier(len(numbers), timeout=300)
        lanes = min(WARP_SIZE, len(numbers))
        warps = [threading.Barrier(lanes, timeout=300) for _ in range(0, len(numbers), WARP_SIZE)]
        failed: list[BaseException] = []
        rows_of_warps: list[dict[str, Slot]] = [{} for _ in warps]

        def run(number: int) -> None:
            lane = number - numbers[0]
            warp = lane // WARP_SIZE
            self._enter(number, lane, block, barrier, warps[warp], votes, held, rows_of_warps[warp])
            try:
                with np.errstate(all="ignore"):
                    self.space[kernel](*arguments)
            except BaseException as error:
                failed.append(error)
                for waiting in (barrier, *warps):
                    waiting.abort()

        threads = [threading.Thread(target=run, args=(n,)) for n in random.sample(numbers, len(numbers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not any(waiting.n_waiting for waiting in (barrier, *warps))
        if failed:
            raise failed[0]

    def _enter(
        self,
        number: int,
        lane: int,
        block: int,
        barrier: threading.Barrier,
        warp: threading.Barrier,
        votes: list[bool],
        held: list[Any],
        rows: dict[str, Slot],
    ) -> None:
        """Note which thread of which block and warp the current thread is."""
        here = self.here
        here.number, here.lane, here.block = np.int32(number), lane, np.int32(block)
        here.barrier, here.warp, here.votes, here.held, here.rows = barrier, warp, votes, held, rows

    def _wait(self) -> None:
        self.here.barrier.wait()

    def _wait_in_warp(self) -> None:
        self.here.warp.wait()

    def _vote(self, flag: Any) -> int:
        self.here.votes[self.here.lane] = bool(flag)
        self._wait_in_warp()
        found = sum(1 << lane for lane, vote in enumerate(self.here.votes) if vote)
        self._wait_in_warp()
        return found

    def _across(self, operator: str, value: Any) -> Any:
        """What the threads of a warp hold together."""
        return type(value)(functools.reduce(_COMBINE[operator], self._held(value)))

    def _sum_up_to(self, value: Any, lane: Any) -> Any:
        """The sum of what the threads of a warp hold, up to this one."""
        held = self._held(value)
        return sum(held[: int(lane) + 1], np.int32(0))

    def _of_last_lane(self, value: Any) -> Any:
        return self._held(value)[-1]

    def _held(self, value: Any) -> list[Any]:
        """What each thread of the warp holds."""
        first = self.here.lane // WARP_SIZE * WARP_SIZE
        self.here.held[self.here.lane] = value
        self._wait_in_warp()
        held = self.here.held[first : first + WARP_SIZE]
        self._wait_in_warp()
        return list(held)

    def _row_of_warp(self, name: str, verb: str, column: Memory, row: Any, lane: Any) -> Any:
        """The row of a column that the threads of a warp share."""
        with self.lock:
            slot = self.here.rows.get(name)
            if slot is None or slot.row != row:
                slot = self.here.rows[name] = Slot(column, row)
        if verb == "begin":
            move_row(slot, column, row, lane)
        return slot

    def _report(
        self,
        errors: Any,
        broken: Memory,
        steps: Memory,
        episodes: Memory,
        world: Any,
        offset: Any,
        site: int,
        value: Any,
    ) -> None:
        if world >= 0:
            broken.values[world, 0] = True
            self.reports.append((int(world), int(episodes[world]), int(steps[world]), site, int(value)))

    def _checked_index(self, index: Any, size: int, *where: Any) -> Any:
        place = index + size if index < 0 else index
        if 0 <= place < size:
            return place
        self._report(*where, index)  # type: ignore[call-arg]
        return 0

    def _checked_slot(self, slot: Any, size: int, *where: Any) -> Any:
        if 0 <= slot < size:
            return slot
        self._report(*where, slot)  # type: ignore[call-arg]
        return 0

    def _find(self, serials: Memory, first: Any, count: Any, serial: Any) -> int:
        return next((i for i in range(int(count)) if serials.values[int(first) + i] == serial), -1)

    def _birth(self, pending: Memory, world: Any) -> Any:
        with self.lock:
            place = pending.values[world]
            pending.values[world] = place + 1
        return place

    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {
            "thread_number": lambda: self.here.number,
            "sync_warp": self._wait_in_warp,
            "sync_block": self._wait,
            "thread_in_block": lambda: np.int32(self.here.lane),
            "threads_per_block": lambda: self.here.block,
            "used_lists": lambda sizes, first, count: np.uint32(
                sum(1 << k for k in range(count) if sizes[first + k] > 0)
            ).astype(np.int32),
            "warp_votes": self._vote,
            "votes_before": lambda votes, lane: (votes & ((1 << int(lane)) - 1)).bit_count(),
            "vote_count": lambda votes: votes.bit_count(),
            "report_fault": self._report,
            "clean_choice": lambda choice, count: choice if 0 <= choice < count else np.int32(0),
            "checked_index": self._checked_index,
            "checked_slot": self._checked_slot,
            "find_serial": self._find,
            "count_below": lambda serials, begin, end, bound: np.searchsorted(serials.values[begin:end], bound),
            "count_birth": self._birth,
            "later_of_pair": lambda number: np.int32((1 + math.isqrt(8 * int(number) + 1)) // 2),
            "serial_number": lambda step, system, slot, share, nth: np.int64(
                serial_number(int(step), int(system), int(slot), int(share), int(nth) - 1)
            ),
            **NUMBERS,
            "sum_up_to": self._sum_up_to,
            "of_last_lane": self._of_last_lane,
            "take_place": lambda state: self._birth(state, 0),
            "pooled_row": lambda first, count, slot, batch: batch if count == 0 else first + slot,
            "wl_rotation_matrix": python_math.quat_to_matrix,
        }


class _Warp:
    """Stands in for the module ``warp``."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __getattr__(self, name: str) -> Any:
        operator = name.removeprefix("atomic_")
        if operator != name:
            combine = _COMBINE[operator]
            return lambda memory, *place: self._atomic(memory, place[:-1], lambda now: combine(now, place[-1]))
        return getattr(python_math, name)

    def func(self, function: Any) -> Any:
        return function

    def kernel(self, **options: Any) -> Any:
        return lambda function: function

    def func_native(self, snippet: str) -> Any:
        def stand_in(function: Any) -> Any:
            what, operator, *_ = function.__name__.split("_")
            if what == "sequence":
                codes = [int(code) for code in snippet.split("{")[1].split("}")[0].split(",")]
                return lambda index: np.int32(codes[index])
            if what == "across":
                return functools.partial(self.machine._across, operator)
            if what == "meet":
                return {"min": self.atomic_min, "max": self.atomic_max}[operator]
            if operator in ("begin", "make"):
                return functools.partial(self.machine._row_of_warp, function.__name__.split("_row_")[1], operator)
            if operator == "end":
                return move_row
            if operator in ("collect", "store"):
                return Slot if operator == "collect" else Slot.store
            if operator == "view":
                return lambda column, row: column.values[int(row)]
            if operator == "differs":
                return lambda one, other: np.asarray(one).tobytes() != np.asarray(other).tobytes()
            if operator == "fill":
                return fill_elements
            if operator == "ahead":
                return lambda *arguments: None
            if operator == "part":
                return put_part
            if operator in ("copy", "clear"):
                return copy_columns if operator == "copy" else clear_columns
            return put_element if operator in ("put", "stream") else get_element

        return stand_in

    def where(self, test: Any, one: Any, two: Any) -> Any:
        return one if test else two

    def _atomic(self, memory: Memory, place: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
        with self.machine.lock:
            before = memory.values[place]
            memory.values[place] = change(before)
        return before


def _value_of(kind: Any) -> Any:
    """A type or a constant that the text names."""
    if is_composite(kind):
        return composite_maker(kind)
    return SCALARS[type(kind)](kind.value)
