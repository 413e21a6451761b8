"""Flags for the compiler of CPU kernels, the same for all modules: for each set of flags a process compiles Warp's headers once more, which takes seconds."""

from __future__ import annotations

_LIBM = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "log",
    "log2",
    "log10",
    "pow",
    "cbrt",
)

FLAGS = ("-w", "-fwrapv", *(f"-fno-builtin-{name}{width}" for name in _LIBM for width in ("", "f")))
"""Warnings about generated code are of no use to anybody; errors are still shown. Generated code wraps by itself; ``-fwrapv`` covers Warp's own
functions, such as sums into other rows. Of elementary functions clang would compute those of constants itself, with other last bits than the
library that is called for the rest and by the interpreter."""


def complete(given: str | None) -> str:
    """The flags ``given``, None for Warp's default, with those of :data:`FLAGS` that it lacks."""
    flags = "-march=native" if given is None else given
    return " ".join([*flags.split(), *(flag for flag in FLAGS if flag not in flags.split())])
