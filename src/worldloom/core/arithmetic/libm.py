"""The elementary functions of the C library: the functions that Warp's CPU compiler links kernels to.

Warp's compiler library (``warp-clang``) passes the addresses of ``sinf``, ``expf`` and so on to the kernels that it
compiles. It does not contain them: they are symbols of the C mathematics library of the process. Calling that library
gives interpreted systems the bits of compiled ones on every processor; ``tests/core/arithmetic/test_libm.py`` compares
the addresses.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

_LIBRARIES = {"linux": "libm.so.6", "darwin": "/usr/lib/libSystem.B.dylib", "win32": "ucrtbase"}
"""The library of each platform that Warp runs on."""

UNARY = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10", "cbrt")
BINARY = ("atan2", "pow")

_library = ctypes.CDLL(_LIBRARIES.get(sys.platform, _LIBRARIES["linux"]))


def symbol(name: str, width: int) -> str:
    """The C name of a function for floats of ``width`` bits, 32 or 64."""
    return f"{name}f" if width == 32 else name


def function(name: str, width: int) -> Callable[..., float]:
    """The C function ``name`` for floats of ``width`` bits, 32 or 64; it takes numbers and returns a Python float."""
    if name not in (*UNARY, *BINARY, "fma"):
        raise KeyError(name)
    function: Any = _library[symbol(name, width)]
    kind = ctypes.c_float if width == 32 else ctypes.c_double
    function.restype = kind
    function.argtypes = [kind] * (1 if name in UNARY else 2 if name in BINARY else 3)
    typed: Callable[..., float] = function
    return typed
