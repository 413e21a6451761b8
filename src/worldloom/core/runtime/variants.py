"""Variants of kernels: the same code with another block size or register limit, and the tuned variants of a GPU."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.core.base.console import compile_notice
from worldloom.core.base.warp_private import Module
from worldloom.core.codegen.kernel_spec import KernelSpec, block_dim
from worldloom.core.codegen.program import Program
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.runtime import tune_cache

LoadedKernel = tuple[Any, int]
"""A compiled kernel, and the threads per block of its launch."""


@dataclass(frozen=True, order=True)
class KernelConfig:
    """How a kernel is compiled and launched.

    Attributes:
        block: Threads per block.
        registers: Maximum number of registers per thread; None for the compiler's choice.
    """

    block: int
    registers: int | None = None

    def __str__(self) -> str:
        return f"{self.block} threads, {'any' if self.registers is None else f'at most {self.registers}'} registers"


def default_config(device: wp.Device) -> KernelConfig:
    """The setting of kernels that were not tuned."""
    return KernelConfig(block_dim(device))


class VariantModule:
    """Kernels of one program compiled with one setting, in a module of their own, which is freed with them."""

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
        """Remove the references of other modules to this one as their dependent."""
        self.module._detach_references()


def load(variants: list[VariantModule], device: wp.Device, what: str) -> None:
    """Compile all variants in parallel."""
    workers = min(len(variants), os.cpu_count() or 1)
    with compile_notice(f"{what} for {device.alias}"):
        wp.force_load(device, modules=[variant.module for variant in variants], max_workers=workers)


_LOADED_VARIANTS: dict[tuple[str, KernelConfig, frozenset[str]], VariantModule] = {}
"""Variants in use. They are never freed, since graphs of other simulations may hold their kernels."""


def prepare(
    kernels: Mapping[str, Any], settings: Mapping[str, KernelConfig], device: wp.Device
) -> dict[str, LoadedKernel]:
    """The kernels of ``settings``, compiled with them, by name. Kernels with the default setting are left out."""
    names_of: dict[KernelConfig, list[str]] = {}
    for name, setting in settings.items():
        if setting != default_config(device):
            names_of.setdefault(setting, []).append(name)
    if not names_of:
        return {}
    module = kernels[next(iter(kernels))].module.name
    keys = {(module, setting, frozenset(names)): (names, setting) for setting, names in names_of.items()}
    for key, (names, setting) in keys.items():
        if key not in _LOADED_VARIANTS:
            _LOADED_VARIANTS[key] = VariantModule(kernels, names, setting)
    load([_LOADED_VARIANTS[key] for key in keys], device, "tuned kernels")
    return {name: _LOADED_VARIANTS[key].ready(name) for key, (names, _) in keys.items() for name in names}


def kernel_key(kernel: Any, device: wp.Device) -> str:
    """The key of a kernel's tuning result: a digest of its code, the GPU and the compiler."""
    parts = (kernel.module.name, kernel.key, device.name, wp.config.version)  # the module is named after its text
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def load_tuned(
    program: Program, kernels: Mapping[str, Any], device: wp.Device, num_worlds: int
) -> dict[str, LoadedKernel]:
    """The kernels that were tuned on this model of GPU for a similar number of threads; none on the CPU."""
    if not device.is_cuda:
        return {}
    settings = {}
    for spec in (*program.step, *program.reset):
        if isinstance(spec, KernelSpec) and spec.name not in settings:
            entry = tune_cache.find(kernel_key(kernels[spec.name], device), spec.active_threads(num_worlds))
            if entry is not None and entry.block % WARP_SIZE == 0:  # some kernels require whole warps
                settings[spec.name] = KernelConfig(entry.block, entry.registers)
    return prepare(kernels, settings, device)
