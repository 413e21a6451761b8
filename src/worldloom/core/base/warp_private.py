"""Warp's private names. Every one that worldloom uses is imported or read here, and nowhere else.

They may change in any minor release of Warp. They are checked with Warp 1.19, so the requirement of the package is
``warp-lang>=1.19,<1.20``; raise :data:`WARP_BELOW` after the tests have passed with a later release.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import warp as wp
from warp._src import build, context
from warp._src.codegen import Adjoint, func_match_args
from warp._src.context import Module, builtin_functions, get_module
from warp._src.types import is_reference, strip_reference

__all__ = [
    "WARP_BELOW",
    "Adjoint",
    "Module",
    "bind_launch",
    "build",
    "builtin_functions",
    "composite_scalar",
    "composite_shape",
    "composite_type_name",
    "func_match_args",
    "get_module",
    "host_cpu",
    "is_composite",
    "is_reference",
    "meta_file_name",
    "output_file_name",
    "request_shared_memory",
    "strip_reference",
]

WARP_BELOW = "1.20"
"""The first release of Warp for which the names below are not checked."""


# -- vector, matrix, quaternion and transform types ------------------------------------------------------------------


def is_composite(dtype: Any) -> bool:
    """Whether ``dtype`` is a vector, matrix, quaternion or transform type."""
    return isinstance(dtype, type) and hasattr(dtype, "_wp_scalar_type_")


def composite_scalar(dtype: Any) -> Any:
    """The scalar type of a composite type."""
    return dtype._wp_scalar_type_


def composite_shape(dtype: Any) -> tuple[int, ...]:
    """The shape of a value of a composite type."""
    return tuple(dtype._shape_)


def composite_type_name(dtype: Any) -> str:
    """The name of the generic type that a composite type is an instance of, such as ``Vector``."""
    hint = dtype._wp_generic_type_hint_
    return getattr(hint, "__name__", str(hint))


# -- files of a compiled module --------------------------------------------------------------------------------------


def output_file_name(module: Any, device: wp.Device, block_dim: int) -> str:
    """The name of the binary of a module in its folder of the cache."""
    name: str = module._get_compile_output_name(device, block_dim=block_dim)
    return name


def meta_file_name(module: Any, block_dim: int) -> str:
    """The name of the metadata of a module in its folder of the cache."""
    name: str = module._get_meta_name(block_dim=block_dim)
    return name


# -- the compiler of CPU kernels -------------------------------------------------------------------------------------


def host_cpu() -> tuple[bytes, ...]:
    """The target, the name and the features of the processor that Warp compiles for. Warp must be initialised."""
    compiler = context.runtime.llvm
    return compiler.wp_get_cpu_target_triple(), compiler.wp_get_host_cpu_name(), compiler.wp_get_host_cpu_features()


# -- launches --------------------------------------------------------------------------------------------------------


def bind_launch(launch: Any) -> Callable[[wp.Stream | None], None]:
    """A function that repeats a recorded launch on a stream, with the current values of its parameters.

    On a GPU it calls the driver's wrapper with arguments that are converted once, which takes half the time of
    ``Launch.launch``. ``launch`` must not be resized afterwards.
    """
    repeat: Callable[[wp.Stream | None], None] = launch.launch
    if launch.device.is_cpu:
        return repeat
    runtime, submit = context.runtime, context.runtime.core.wp_cuda_launch_kernel
    values = (
        *(launch.device.context, launch.hooks.forward, launch.bounds.size, launch.max_blocks, launch.block_dim),
        *(int(launch.grid_stride), launch.cluster_dim, launch.hooks.forward_smem_bytes),
    )
    converted = tuple(convert(value) for convert, value in zip(submit.argtypes, values, strict=False))
    addresses = launch.params_addr

    def bound(stream: wp.Stream | None) -> None:
        if stream is None or runtime.captures or submit(*converted, addresses, stream.cuda_stream, None):
            repeat(stream)  # it retains the module for a capture; after an error it fails with a message

    return bound


# -- kernels -----------------------------------------------------------------------------------------------------------


def request_shared_memory(kernel: Any, size: int) -> None:
    """Launch ``kernel`` with ``size`` bytes of dynamic shared memory per block, which its native functions use."""
    kernel.adj.get_total_required_shared = lambda: size
