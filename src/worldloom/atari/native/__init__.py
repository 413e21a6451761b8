"""The console's C++ source, compiled by Warp for the CPU and for CUDA, and the Python that assembles it.

The headers hold the members of one plain struct. They are concatenated into the body of a native function, so none of
their names is visible outside. Imports nothing else of atari.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from worldloom.atari.native import opcode_table

WIDTH = 160
"""Pixels of a scanline."""

MEMBERS = (
    "machine/state", "cartridges/dpc", "cartridges/cartridge", "machine/riot", "machine/controls", "machine/bus",
    "m6507/decimal_mode", "m6507/undocumented_opcodes", "m6507/timer_polling", "m6507/m6507", "m6507/m6507_cpu",
    "m6507/fast_path_cpu", "m6507/instructions_cpu", "m6507/slow_path_cpu", "m6507/instructions_cpu",
    "m6507/dispatch_cpu", "m6507/m6507_cuda", "m6507/slow_path_cuda", "tia/tia_write_queue_cuda",
    "tia/player_overlap", "tia/collisions", "tia/tia_commands", "tia/tia", "machine/frame", "machine/clamp_state",
    "machine/state_record",
)  # fmt: skip
"""Headers inside the struct, in textual order; members may name later ones. The instructions occur twice: fast path and
slow path."""


def header(name: str) -> str:
    """The text of the header ``name``.h."""
    return files(__package__).joinpath(f"{name}.h").read_text(encoding="utf-8")


@cache
def rasterizer() -> str:
    """The struct ``Rasterizer``, which draws logged frames, as C++ text for the body of a function."""
    ways = [
        "#if defined(__CUDA_ARCH__)",
        header("frames/rasterizer_cuda"),
        "#else",
        header("frames/rasterizer_cpu"),
        "#endif",
    ]
    return "\n".join(
        [
            header("machine/common"),
            header("tia/display"),
            "struct Rasterizer {",
            header("frames/rasterizer"),
            *ways,
            "};",
        ]
    )


@cache
def machine(rules: str) -> str:
    """The struct ``Machine``, as C++ text for the body of a function: tables, state and members.

    Args:
        rules: The members ``begin_rules`` and ``score_frame``.
    """
    return "\n".join(
        [rasterizer(), opcode_table.source(), "struct Machine {", *(header(name) for name in MEMBERS), rules, "};\n"]
    )
