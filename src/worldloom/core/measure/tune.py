"""Tuning: the block size and the register limit of each kernel, chosen by measurement on the device."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.kernel_timer import KernelTimer, PreservedState
from worldloom.core.measure.report import Report, format_seconds
from worldloom.core.measure.tune_options import TunedAlternatives, tune_options
from worldloom.core.measure.tune_search import BLOCKS, LIMITS, Choice, Samples, search
from worldloom.core.model.columns import WORLD
from worldloom.core.model.launch import LaunchNode
from worldloom.core.runtime import tune_cache
from worldloom.core.runtime.variants import (
    KernelConfig,
    LoadedKernel,
    VariantModule,
    default_config,
    kernel_key,
    load,
    prepare,
)
from worldloom.core.schedule.entries import HostNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

ROUNDS = 9
PROGRESS_TOTAL = 2 * (ROUNDS + 1) + 1
"""Number of progress reports: two searches, each compiled and then measured in rounds, and the whole step."""
REGISTERS_PER_BLOCK = 65_536
MIN_SAMPLE_S = 2e-3
"""Approximate time of a measurement of consecutive steps, so that the launch overhead is small."""


@dataclass(frozen=True)
class TunedKernel:
    """The tuning result of one kernel.

    Attributes:
        phase: ``step`` or ``reset``.
        name: Its name in the generated code.
        systems: The systems that it runs.
        seconds_before, seconds_after: Time of a launch with the default setting, and with the new one.
        gain: Fraction of the time saved; 0 where no gain exceeded the noise.
        block, registers: The new setting; registers None for the compiler's choice.
    """

    phase: str
    name: str
    systems: tuple[str, ...]
    seconds_before: float
    seconds_after: float
    gain: float
    block: int
    registers: int | None


@dataclass(frozen=True)
class Tuning(Report):
    """The result of tuning.

    Attributes:
        env, device, num_worlds: The world, the device and the number of worlds.
        kernels: Each kernel, those of a step first.
        seconds_before, seconds_after: Time of all kernels of a step with the default settings and with the new ones,
            measured in alternation. None where nothing was measured.
        gain: Fraction of the time of a step saved; None where nothing was measured.
        note: Why nothing was tuned, or which kernels kept their settings.
        alternatives: The fastest option of each of the world's alternatives; block sizes were tuned with these.
    """

    env: str
    device: str
    num_worlds: int
    kernels: tuple[TunedKernel, ...]
    seconds_before: float | None
    seconds_after: float | None
    gain: float | None
    note: str = ""
    alternatives: tuple[TunedAlternatives, ...] = ()

    def __rich__(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        title = f"{self.env}: {self.num_worlds:,} worlds on {self.device}"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("kernel", no_wrap=True)
        table.add_column("systems", overflow="fold")
        for heading in ("before", "after", "gain", "block", "registers"):
            table.add_column(heading, justify="right", no_wrap=True)
        for k in self.kernels:
            limit = "any" if k.registers is None else str(k.registers)
            systems = ", ".join(k.systems[:3]) + (f" and {len(k.systems) - 3} more" if len(k.systems) > 3 else "")
            times = (format_seconds(k.seconds_before), format_seconds(k.seconds_after))
            style = None if k.gain > 0 else "dim"
            table.add_row(k.name, systems, *times, f"{k.gain:.1%}", str(k.block), limit, style=style)
        parts: list[Any] = [table] if self.kernels else []
        for a in self.alternatives:
            steps = ", ".join(f"{option} {format_seconds(seconds)}" for option, seconds in a.seconds.items())
            parts.append(Text(f"{a.name}: {a.option} is the fastest option. Time of a step: {steps}."))
        if self.seconds_before is not None and self.seconds_after is not None:
            before, after = format_seconds(self.seconds_before), format_seconds(self.seconds_after)
            parts.append(Text(f"A whole step: {before} before, {after} after, {self.gain or 0.0:.1%} less."))
        return Group(*parts, *([Text(self.note)] if self.note else []))


class KernelBenchmark:
    """Measures variants of the kernels of one simulation in rotation, from a preserved state."""

    def __init__(self, simulation: Simulation, state: PreservedState, on_progress: Callable[[], None]) -> None:
        assert simulation.program is not None
        self.simulation, self.state, self.on_progress = simulation, state, on_progress
        self.device, self.executor = simulation.device, simulation.executor
        self.default = default_config(self.device)
        entries = {"step": simulation.program.step, "reset": simulation.program.reset}
        self.launchables = {
            phase: [entry for entry in program if not isinstance(entry, HostNode)] for phase, program in entries.items()
        }
        self.specs = {
            spec.name: spec
            for phase in ("reset", "step")
            for spec in self.launchables[phase]
            if isinstance(spec, KernelSpec)
        }
        self.phases = {spec.name: phase for phase in ("reset", "step") for spec in self.launchables[phase]}
        self.default_kernels = {
            name: (self.executor.kernels[name], spec.block_dim(self.device)) for name, spec in self.specs.items()
        }
        self.registers: dict[tuple[str, int], int] = {}

    @property
    def tunable(self) -> list[str]:
        """The kernels whose block size is free."""
        return [name for name, spec in self.specs.items() if spec.has_free_block]

    def count_registers(self, name: str, block: int) -> int:
        return self.registers.get((name, block), 0)

    def measure(self, candidates: Mapping[str, Sequence[KernelConfig]]) -> Samples:
        names_of: dict[KernelConfig, list[str]] = {}
        for name, settings in candidates.items():
            for setting in settings:
                names_of.setdefault(setting, []).append(name)
        names_of.pop(self.default, None)
        modules = {setting: VariantModule(self.executor.kernels, names, setting) for setting, names in names_of.items()}
        load(list(modules.values()), self.device, f"variants of {self.simulation.definition.id}")
        self.on_progress()
        variants: dict[str, dict[KernelConfig, LoadedKernel]] = {}
        for name, settings in candidates.items():
            ready = {
                setting: modules[setting].ready(name) if setting in modules else self.default_kernels[name]
                for setting in settings
            }
            variants[name] = {
                setting: kernel
                for setting, kernel in ready.items()
                if self._fits(name, setting, kernel) or setting == self.default
            }
        samples: Samples = {name: {setting: [] for setting in settings} for name, settings in variants.items()}
        timer = KernelTimer(self.simulation, self.executor)
        for _ in range(ROUNDS):
            self.state.restore()
            self._measure_round(timer, variants, samples)
            self.on_progress()
        for module in modules.values():
            module.unload()
        return samples

    def _measure_round(
        self, timer: KernelTimer, variants: Mapping[str, Mapping[KernelConfig, LoadedKernel]], samples: Samples
    ) -> None:
        """One sample of every variant at the first launch of its kernel: the step, then a reset of all worlds."""
        remaining = dict(variants)
        for phase, specs in self.launchables.items():
            first = None if phase == "step" else self._select_all_worlds
            for spec in specs:
                if isinstance(spec, LaunchNode):  # not tuned, but later kernels depend on what it writes
                    timer.time_kernel(spec, (), first)
                    continue
                kernels = remaining.pop(spec.name, {}) if self.phases[spec.name] == phase else {}
                times = timer.time_kernel(spec, list(kernels.values()), first)
                for setting, seconds in zip(kernels, times, strict=True):
                    samples[spec.name][setting].append(seconds)

    def _select_all_worlds(self) -> None:
        """Select every world for a reset, since a reset clears the mask."""
        self.simulation.tables[WORLD]["reset_mask"].array.fill_(True)

    def _fits(self, name: str, setting: KernelConfig, kernel: LoadedKernel) -> bool:
        """Whether a GPU has the registers for a whole block."""
        if not self.device.is_cuda:
            return True
        registers = wp.get_cuda_kernel_properties(kernel[0], self.device, setting.block)["register_count"]
        if setting.registers is None:
            self.registers[name, setting.block] = registers
        return bool(-(-registers // 8) * 8 * setting.block <= REGISTERS_PER_BLOCK)

    def whole_step(self, tuned: dict[str, LoadedKernel]) -> tuple[float, float]:
        """Seconds of all launches of a step with default and with tuned kernels, in alternation, without callables."""
        timer, specs = KernelTimer(self.simulation, self.executor), self.launchables["step"]
        once = min(timer.time_steps(specs, self.default_kernels, 1) for _ in range(2))
        steps = max(1, min(16, round(MIN_SAMPLE_S / once)))
        samples: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for times, kernels in zip(samples, (self.default_kernels, {**self.default_kernels, **tuned}), strict=True):
                self.state.restore()
                times.append(timer.time_steps(specs, kernels, steps))
        before, after = (statistics.median(times) for times in samples)
        return before, after


def tune(simulation: Simulation, progress: Callable[[int, int], None] | None = None) -> Tuning:
    """Tune the kernels of a simulation, use the best settings, and store them on disk."""
    if not simulation.device.is_cuda:
        device = "python" if simulation.interpreted else "cpu"
        return nothing_to_tune(simulation.definition.id, device, simulation.num_worlds)
    return tune_with(simulation, BLOCKS, LIMITS, progress)


def progress_total(simulation: Simulation) -> int:
    """Number of progress reports for a simulation."""
    return PROGRESS_TOTAL + sum(len(a.options) for a in simulation.definition.alternatives.values())


def nothing_to_tune(env: str, where: str, num_worlds: int) -> Tuning:
    """The result on a device other than a GPU."""
    reason = "every thread runs one loop over its worlds, and block sizes and register limits exist only on a GPU"
    note = f"There is nothing to tune on {where}: {reason}."
    return Tuning(env, where, num_worlds, (), None, None, None, note)


def tune_with(
    simulation: Simulation,
    blocks: Sequence[int],
    limits: Sequence[int],
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Tune with the given candidates instead of the default ones."""
    done = 0

    def on_progress() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    total = progress_total(simulation)
    alternatives = tune_options(simulation, on_progress)
    device, executor, default = simulation.device, simulation.executor, default_config(simulation.device)
    with PreservedState(simulation) as state:
        bench = KernelBenchmark(simulation, state, on_progress)
        choices = search(bench.tunable, default, bench.measure, bench.count_registers, blocks, limits)
        tuned = prepare(executor.kernels, {name: choice.setting for name, choice in choices.items()}, device)
        before, after = bench.whole_step(tuned)
    note = ""
    if tuned and after >= before:
        note = "The settings that were faster one by one did not make a whole step faster: its kernels keep theirs."
        steps = {name for name, phase in bench.phases.items() if phase == "step"}
        choices = {name: Choice(default, c.before, c.before) if name in steps else c for name, c in choices.items()}
        tuned = {name: ready for name, ready in tuned.items() if name not in steps}
    if not any(bench.phases[name] == "step" for name in tuned):
        after = before
    executor.use(tuned)
    on_progress()
    try:
        for name, choice in choices.items():
            _store(simulation, bench.specs[name], choice)
    except InputError as error:
        warnings.warn(f"the settings hold for this simulation only, since they cannot be stored: {error}", stacklevel=2)
    gain = Choice(default, before, after).gain
    world, num_worlds = simulation.definition.id, simulation.num_worlds
    kernels = _tuned_kernels(bench, choices)
    return Tuning(world, device.name, num_worlds, kernels, before, after, gain, note, alternatives)


def _tuned_kernels(bench: KernelBenchmark, choices: Mapping[str, Choice]) -> tuple[TunedKernel, ...]:
    """The results of the kernels, those of a step first."""
    return tuple(
        TunedKernel(
            phase, name, bench.specs[name].labels, c.before, c.after, c.gain, c.setting.block, c.setting.registers
        )
        for phase in ("step", "reset")
        for name, c in choices.items()
        if bench.phases[name] == phase
    )


def _store(simulation: Simulation, spec: KernelSpec, choice: Choice) -> None:
    """Store the result of a kernel on disk, also without a gain: it replaces an earlier one."""
    device, setting = simulation.device, choice.setting
    entry = tune_cache.TunedConfig(
        spec.active_threads(simulation.num_worlds), setting.block, setting.registers, choice.before, choice.after
    )
    about = {
        "env": simulation.definition.id,
        "kernel": spec.name,
        "systems": list(spec.labels),
        "gpu": device.name,
        "warp": wp.config.version,
    }
    tune_cache.store(kernel_key(simulation.executor.kernels[spec.name], device), entry, about)
