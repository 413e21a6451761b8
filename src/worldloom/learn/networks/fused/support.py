"""When networks are computed by Triton kernels on a GPU."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

_compiled: dict[Hashable, bool] = {}
"""Whether kernels compile and run, by what they compute."""


@cache
def kernel_module(name: str) -> Any:
    """The module ``name`` of kernels beside this one; None without Triton."""
    try:
        return importlib.import_module(f"{__package__}.{name}")
    except ImportError:
        return None


def padded(size: int) -> int:
    """The power of two from ``size`` on."""
    return 1 << (size - 1).bit_length()


def product_type(values: Tensor) -> torch.dtype:
    """The type of the products with ``values``: that of autocast on a GPU, else their own."""
    if values.is_cuda and torch.is_autocast_enabled("cuda"):
        return torch.get_autocast_dtype("cuda")
    return values.dtype


def note(module: nn.Module, part: str) -> None:
    """Record that kernels compute a ``part`` of a module, see :func:`fused_parts`."""
    module.__dict__["fused_part"] = part


def fused_parts(network: nn.Module) -> tuple[str, ...]:
    """The parts of a network that kernels have computed in a call so far, in alphabetical order."""
    return tuple(
        sorted({module.__dict__["fused_part"] for module in network.modules() if "fused_part" in module.__dict__})
    )


def may_run(values: Tensor) -> bool:
    """Whether kernels may compute with ``values``: on a GPU, and not while PyTorch compiles or traces the network."""
    return (
        values.is_cuda
        and values.dtype in (torch.float32, torch.bfloat16)
        and product_type(values) in (torch.float32, torch.bfloat16)
        and not torch.compiler.is_compiling()  # type: ignore[no-untyped-call]
        and not torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    )


def compiles(kind: tuple[Hashable, ...], run: Callable[[], None]) -> bool:
    """Whether kernels of this ``kind`` work; ``run`` compiles and runs all of them once.

    Where the compiler fails, such as for too little shared memory, the slower operations of PyTorch are used. A stream
    that is captured cannot try: kernels that were not tried before are then left out.
    """
    if kind not in _compiled:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            return False
        try:
            with torch.inference_mode(False), torch.enable_grad():
                run()
        except torch.OutOfMemoryError:
            return False
        except Exception as problem:  # a compiler may raise anything
            message = f"the fused kernels of {kind[0]} cannot be used on this GPU ({type(problem).__name__}: {problem})"
            warnings.warn(f"{message}; training is slower", stacklevel=2)
            _compiled[kind] = False
        else:
            _compiled[kind] = True
    return _compiled[kind]
