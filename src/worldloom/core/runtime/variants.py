"""Variants of kernels: the same code with another block size or register limit, and which of them a GPU is known to run best."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import warp as wp
from warp._src.context import Module

from worldloom.core.base.console import compile_notice
from worldloom.core.codegen.kernel_spec import KernelSpec, block_dim
from worldloom.core.codegen.program import Program
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.runtime import tune_cache

LoadedKernel = tuple[Any, int]
"""A kernel that is compiled, and the threads per block to launch it with."""


@dataclass(frozen=True, order=True)
class KernelConfig:
    """How a kernel is compiled and launched.

    Attributes:
        block: Threads per block.
        registers: The most registers that a thread may have; None leaves it to the compiler.
    """

    block: int
    registers: int | None = None

    def __str__(self) -> str:
        return f"{self.block} threads, {'any' if self.registers is None else f'at most {self.registers}'} registers"


def default_config(device: wp.Device) -> KernelConfig:
    """What kernels get that nobody has tuned."""
    return KernelConfig(block_dim(device))


class VariantModule:
    """Kernels of one program compiled with one setting, in a module of their own, which is gone when nobody needs them any more."""

    def __init__(self, kernels: Mapping[str, Any], names: Iterable[str], setting: KernelConfig) -> None:
        self.setting = setting
        base = kernels[next(iter(kernels))].module
        limit = "" if setting.registers is None else f"_r{setting.registers}"
        self.module = Module(f"{base.name}_b{setting.block}{limit}", None)
        self.module.options.update(base.options, block_dim=setting.block)
        self.kernels = {name: self._copy(kernels[name]) for name in dict.fromkeys(names)}

    def _copy(self, kernel: Any) -> Any:
        limit = {} if self.setting.registers is None else {"cuda_max_registers": self.setting.registers}
        return wp.Kernel(kernel.func, key=kernel.key, module=self.module, options={**kernel.options, **limit})

    def ready(self, name: str) -> LoadedKernel:
        return self.kernels[name], self.setting.block

    def unload(self) -> None:
        """Let the module go: others must not remember it as one that depends on them."""
        self.module._detach_references()


def load(found: list[VariantModule], device: wp.Device, what: str) -> None:
    """Compile all of them, several at a time."""
    with compile_notice(f"{what} for {device.alias}"):
        wp.force_load(
            device, modules=[variants.module for variants in found], max_workers=min(len(found), os.cpu_count() or 1)
        )


_LOADED_VARIANTS: dict[tuple[str, KernelConfig, frozenset[str]], VariantModule] = {}
"""Variants in use. They stay, since graphs that others captured may hold their kernels."""


def prepare(
    kernels: Mapping[str, Any], settings: Mapping[str, KernelConfig], device: wp.Device
) -> dict[str, LoadedKernel]:
    """The kernels of ``settings``, compiled so, by name. Those that are as everybody's are left out."""
    wanted: dict[KernelConfig, list[str]] = {}
    for name, setting in settings.items():
        if setting != default_config(device):
            wanted.setdefault(setting, []).append(name)
    if not wanted:
        return {}
    title = kernels[next(iter(kernels))].module.name
    keys = {(title, setting, frozenset(names)): (names, setting) for setting, names in wanted.items()}
    for key, (names, setting) in keys.items():
        if key not in _LOADED_VARIANTS:
            _LOADED_VARIANTS[key] = VariantModule(kernels, names, setting)
    load([_LOADED_VARIANTS[key] for key in keys], device, "tuned kernels")
    return {name: _LOADED_VARIANTS[key].ready(name) for key, (names, _) in keys.items() for name in names}


def kernel_key(kernel: Any, device: wp.Device) -> str:
    """What the best setting of a kernel is remembered under: its code, the GPU and the compiler."""
    parts = (kernel.module.name, kernel.key, device.name, wp.config.version)  # the module is named after its text
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def load_tuned(
    program: Program, kernels: Mapping[str, Any], device: wp.Device, num_worlds: int
) -> dict[str, LoadedKernel]:
    """The kernels that were tuned on such a GPU before, for about as many threads; none on the CPU."""
    if not device.is_cuda:
        return {}
    settings = {}
    for spec in (*program.step, *program.reset):
        if isinstance(spec, KernelSpec) and spec.name not in settings:
            entry = tune_cache.find(kernel_key(kernels[spec.name], device), spec.active_threads(num_worlds))
            if entry is not None and entry.block % WARP_SIZE == 0:  # some kernels count on whole warps
                settings[spec.name] = KernelConfig(entry.block, entry.registers)
    return prepare(kernels, settings, device)
