"""Devices by name: ``python``, ``cpu`` and ``cuda:N``."""

from __future__ import annotations

import warp as wp

from worldloom.core.base.errors import DeviceError

PYTHON = "python"


def check_name(name: object) -> None:
    """DeviceError where ``name`` is not the name of a device, whether this machine has it or not."""
    if not isinstance(name, str):
        raise DeviceError(f"a device is named by a string such as 'cpu' or 'cuda:0', not by {name!r}")
    family, colon, number = name.partition(":")
    is_gpu = family == "cuda" and (not colon or (number.isascii() and number.isdigit()))
    if not is_gpu and name not in (PYTHON, "cpu", "auto"):
        raise DeviceError(f"there is no device '{name}': use 'python', 'cpu', 'cuda:0' or 'auto'")


def resolve(name: str) -> tuple[wp.Device, bool]:
    """The Warp device of ``name``, and whether systems are interpreted instead of compiled.

    ``auto`` selects the first GPU, or the CPU where there is none. Raises DeviceError if the device cannot be used.
    """
    check_name(name)
    if name == "auto":
        name = "cuda:0" if wp.is_cuda_available() else "cpu"
    if name == PYTHON:
        return wp.get_device("cpu"), True
    if name == "cpu":
        return wp.get_device("cpu"), False
    number = name.partition(":")[2]
    if not wp.is_cuda_available():
        raise DeviceError(
            f"device '{name}' needs an NVIDIA GPU with its driver, and this machine shows none: use device='cpu'; "
            "see `worldloom doctor`"
        )
    count = wp.get_cuda_device_count()
    if int(number or 0) >= count:
        raise DeviceError(
            f"there is no device '{name}': this machine has {count} GPU{'s' if count > 1 else ''}, "
            f"cuda:0 to cuda:{count - 1}"
        )
    return wp.get_device(f"cuda:{int(number or 0)}"), False
