"""MuJoCo's C engine as native code: addresses of its functions, and one ``mjData`` per thread."""

from __future__ import annotations

import copy
import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.robots.arrays import ARRAYS, Kind
from worldloom.robots.model import Model, parameter

NUM_WARNINGS = 7
"""Kinds of warnings that are faults: ``mjtWarning`` without its count."""

SHORTCUTS = {"geom_pos": "geom_sameframe", "site_pos": "site_sameframe"}
"""Flags of ``mjModel`` for parts at the origin of their body, whose position MuJoCo does not read."""


@lru_cache
def library() -> ctypes.CDLL:
    """The shared library that the package ``mujoco`` has loaded."""
    import mujoco

    files = sorted(
        file for file in Path(mujoco.__file__).parent.iterdir() if file.name.startswith(("libmujoco", "mujoco.dll"))
    )
    if not files:
        raise InputError("the installed package mujoco has no library libmujoco: install it from PyPI")
    return ctypes.CDLL(str(files[0]))


def function_address(name: str) -> int:
    """The address of a function of MuJoCo."""
    address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
    assert address is not None
    return address


class DataPart:
    """The ``mjData`` of one thread, and the pairs of addresses between which its worlds are copied.

    It has a model of its own where some parameters have a value per world.

    Args:
        model: The model.
        columns: The columns by the name of their array, one row per world. Those of ``loaded`` come first.
        loaded: The number of columns that are loaded into ``mjData``.
        passive: Whether actuation is disabled.
    """

    def __init__(self, model: Model, columns: dict[str, wp.array], loaded: int, passive: bool = False) -> None:
        self.loaded = loaded
        parameters = any(ARRAYS[name].kind is Kind.PARAMETER for name in columns)
        compiled = model.without_actuation if passive else model.mj_model
        self.model = copy.copy(compiled) if parameters else compiled
        for name, flags in SHORTCUTS.items():
            if name in columns:
                getattr(self.model, flags)[:] = 0
        try:
            self.data = model.mujoco.MjData(self.model)
        except (MemoryError, model.mujoco.FatalError):
            size = self.model.narena / 2**20
            raise InputError(
                f"a thread of physics needs {size:,.0f} MiB of memory, and there is less: lower 'memory' in <size> of "
                "the model, or give the simulation fewer threads"
            ) from None
        numbers = [_memory(self.model, self.data, name) for name in columns]
        pairs = [(column.ptr, address) for column, (address, _) in zip(columns.values(), numbers, strict=True)]
        self.arrays = wp.array(np.array(pairs, dtype=np.uint64).reshape(-1), dtype=wp.uint64, device="cpu")
        self.sizes = wp.array([size for _, size in numbers], dtype=wp.int32, device="cpu")
        self.warnings = int(self.data.warning.number.ctypes.data)


def _memory(model: Any, data: Any, name: str) -> tuple[int, int]:
    """Address and bytes of an array of ``mjData`` or ``mjModel``."""
    if name == "time":
        return _time_address(data), ctypes.sizeof(ctypes.c_double)
    array = parameter(model, name) if ARRAYS[name].kind is Kind.PARAMETER else getattr(data, name)
    return int(array.ctypes.data), int(array.nbytes)


def _time_address(data: Any) -> int:
    """The address of ``time``, which lies before ``energy`` in ``mjData``."""
    address = int(data.energy.ctypes.data) - ctypes.sizeof(ctypes.c_double)
    before, data.time = data.time, 1.2345678912345678e-123
    found = ctypes.c_double.from_address(address).value == data.time
    data.time = before
    if not found:
        raise InputError("this version of MuJoCo stores the time elsewhere in mjData: install mujoco 3.17")
    return address


def contact_count_address(data: Any) -> int:
    """The address of ``ncon``, found by a change of its value."""
    size = int(data.energy.ctypes.data) - int(data._address)
    fields = (ctypes.c_int * (size // ctypes.sizeof(ctypes.c_int))).from_address(data._address)
    before, data.ncon = data.ncon, 1_234_567_891
    offsets = [offset for offset, field in enumerate(fields) if field == data.ncon]
    data.ncon = before
    if len(offsets) != 1:
        raise InputError("this version of MuJoCo stores the number of contacts elsewhere: install mujoco 3.17")
    return int(data._address) + offsets[0] * ctypes.sizeof(ctypes.c_int)
