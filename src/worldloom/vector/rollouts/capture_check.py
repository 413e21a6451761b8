"""Refusal of policies that a CUDA graph cannot hold, with the operation and the line of the policy.

A capture that fails leaves PyTorch's allocator and random generators in a state of their own, so the policy is examined
while it runs eagerly: :class:`CaptureCheck` sees every operation of PyTorch, and on a GPU PyTorch's synchronization
debug mode finds what bypasses it, such as ``print``.
"""

from __future__ import annotations

import linecache
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from worldloom.core.base.errors import InputError

LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parents[2]))
"""Folders of PyTorch and worldloom."""
NAMES = {
    "_local_scalar_dense": "reading a tensor as a Python number (.item(), float(), bool(), if)",
    "index": "indexing with a mask",
    "nonzero": "torch.nonzero",
    "_unique2": "torch.unique",
}
"""Descriptions of operations by their name in ATen."""
SYNCHRONIZES = "called a synchronizing CUDA operation"
"""PyTorch's message in the synchronization debug mode."""
FORBIDDEN = (
    "operation not permitted when stream is capturing",
    "operation failed due to a previous error during capture",
)
"""CUDA's messages where a capture fails."""


class CaptureCheck(TorchDispatchMode):
    """Raises InputError at the first operation that a CUDA graph cannot hold, and notes what a capture needs.

    Args:
        policy: The policy; None where only its operations are examined.
    """

    supports_higher_order_operators = True

    def __init__(self, policy: Any = None) -> None:
        super().__init__()
        self._generators: dict[int, torch.Generator] = {}
        self._modules: dict[int, nn.Module] = {}
        owner = getattr(policy, "__self__", policy)
        if isinstance(owner, nn.Module):
            self._note_module(owner)

    @property
    def generators(self) -> list[torch.Generator]:
        """Random generators that the policy passes to operations."""
        return list(self._generators.values())

    @property
    def modules(self) -> list[nn.Module]:
        """Modules that the policy calls, the policy itself or the module whose method it is, and their parts."""
        return list(self._modules.values())

    def __enter__(self) -> CaptureCheck:
        self._hook = register_module_forward_pre_hook(lambda module, _: self._note_module(module))
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.filterwarnings("ignore", "Using `torch.compile")  # that it calls the hook twice
        super().__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        super().__exit__(*details)
        self._warnings.__exit__(*details)
        self._hook.remove()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        operation = _uncapturable(func, args, kwargs)
        if operation is not None:
            raise refusal(operation, traceback.walk_stack(sys._getframe(1)))
        generator = kwargs.get("generator")
        if generator is not None:
            self._generators.setdefault(generator._cdata, generator)  # every operation has a wrapper of its own
        return func(*args, **kwargs)

    def _note_module(self, module: nn.Module) -> None:
        if id(module) not in self._modules:
            self._modules |= {id(part): part for part in module.modules()}


def _uncapturable(func: Any, args: Any, kwargs: dict[str, Any]) -> str | None:
    """What an operation does that a CUDA graph cannot hold; None where it can."""
    if not isinstance(func, OpOverload):
        return None
    name = func.overloadpacket.__name__
    tensors = list(_tensors((args, kwargs)))
    if name == "copy_":
        return _device_copy(args[1].device, args[0].device, asynchronous=len(args) > 2 and args[2])
    if name == "_to_copy":
        target = kwargs.get("device")
        return None if target is None else _device_copy(args[0].device, torch.device(target), asynchronous=False)
    if name == "index" and all(tensor.dtype not in (torch.bool, torch.uint8) for tensor in tensors[1:]):
        return None
    if torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags:
        return NAMES.get(name, f"torch.{name}")
    return None


def _device_copy(source: torch.device, target: torch.device, asynchronous: bool) -> str | None:
    """A copy to or from another kind of device; None for a copy that does not wait, between pinned memory and a GPU."""
    return None if source.type == target.type or asynchronous else f"a copy from {source} to {target}"


def _tensors(arguments: Any) -> Iterator[Tensor]:
    """The tensors of nested arguments."""
    if isinstance(arguments, Tensor):
        yield arguments
    elif isinstance(arguments, (tuple, list, dict)):
        for argument in arguments.values() if isinstance(arguments, dict) else arguments:
            yield from _tensors(argument)


@contextmanager
def refused_synchronization(device: torch.device) -> Iterator[None]:
    """On a GPU, raise InputError where the block synchronizes with the device."""
    if device.type != "cuda":
        yield
        return
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls the mode a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    except RuntimeError as problem:
        if SYNCHRONIZES not in str(problem):
            raise
        raise refusal("a device synchronization", _innermost_first(problem)) from problem
    finally:
        torch.cuda.set_sync_debug_mode(mode)


def refusal(operation: str, frames: Iterable[tuple[FrameType, int]]) -> InputError:
    """The error for an operation.

    Args:
        operation: What cannot be captured.
        frames: The frames that called it with their lines, the innermost first.
    """
    line, from_distribution = _policy_line(frames)
    fix = (
        "pass validate_args=False to the distribution"
        if from_distribution
        else "use operations on tensors of fixed shapes, such as torch.where"
    )
    return InputError(
        f"the policy cannot be captured in a CUDA graph because of {operation}{line}: {fix}, "
        "or run it eagerly with capture=False"
    )


def capture_refusal(problem: BaseException) -> InputError | None:
    """The error for a capture that CUDA refused; None for any other problem."""
    if not any(text in str(cause) for cause in _causes(problem) for text in FORBIDDEN):
        return None
    first = list(_causes(problem))[-1]
    summary = traceback.format_exception_only(first)[-1].strip().partition("\n")[0]
    return refusal(f"an operation that CUDA refused ({summary})", _innermost_first(first))


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """An exception, and those that it followed, the latest first."""
    current: BaseException | None = problem
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _innermost_first(problem: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of an exception with their lines."""
    return list(traceback.walk_tb(problem.__traceback__))[::-1]


def _policy_line(frames: Iterable[tuple[FrameType, int]]) -> tuple[str, bool]:
    """The innermost line outside of PyTorch and worldloom, and whether a distribution of PyTorch was called."""
    from_distribution = False
    for frame, number in frames:
        file = frame.f_code.co_filename
        if not file.startswith(LIBRARIES):
            text = linecache.getline(file, number).strip()
            return f" at {Path(file).name}:{number}{f', `{text}`' if text else ''}", from_distribution
        from_distribution |= "distributions" in Path(file).parts
    return "", from_distribution
