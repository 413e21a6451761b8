"""Compiler flags of CPU kernels.

All modules use the same flags: a process compiles Warp's headers once per set of flags, which takes seconds.
"""

from __future__ import annotations

# fmt: off
_LIBM = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "exp", "log", "log2", "log10", "pow", "cbrt",
)
# fmt: on

FLAGS = ("-w", "-fwrapv", *(f"-fno-builtin-{name}{width}" for name in _LIBM for width in ("", "f")))
"""``-w`` hides warnings about generated code; errors are still shown. ``-fwrapv`` makes integers wrap in Warp's own
functions, such as sums into other rows; generated code wraps without it. ``-fno-builtin`` keeps clang from
evaluating elementary functions of constants, with other last bits than the library that kernels and the interpreter
call."""


def complete(configured: str | None) -> str:
    """The ``configured`` flags, None for Warp's default, with those of :data:`FLAGS` that they lack."""
    flags = "-march=native" if configured is None else configured
    return " ".join([*flags.split(), *(flag for flag in FLAGS if flag not in flags.split())])
