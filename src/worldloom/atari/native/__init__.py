"""The console's C++ source, which Warp compiles for the CPU and for CUDA.

The headers hold the members of one plain struct. They are pasted together into the body of a native function, so nothing of it is seen outside.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from worldloom.atari.native import opcode_table

MEMBERS = (
    "machine/state", "cartridges/dpc", "cartridges/cartridge", "machine/riot", "machine/controls", "machine/bus", "m6507/decimal_mode", "m6507/undocumented_opcodes", "m6507/timer_polling",
    "m6507/m6507", "m6507/m6507_cpu", "m6507/fast_path_cpu", "m6507/instructions_cpu", "m6507/slow_path_cpu", "m6507/instructions_cpu", "m6507/dispatch_cpu", "m6507/m6507_cuda", "m6507/slow_path_cuda", "tia/tia_write_queue_cuda",
    "tia/player_overlap", "tia/collisions", "tia/tia_commands", "tia/tia", "machine/frame", "machine/clamp_state", "machine/state_record",
)  # fmt: skip
"""The headers inside of the struct, in the order of the text; members may name those that come after them. The instructions come twice, quick and with care."""


def header(name: str) -> str:
    """The text of one header, without its ending ``.h``."""
    return files(__package__).joinpath(f"{name}.h").read_text(encoding="utf-8")


@cache
def rasterizer() -> str:
    """The struct ``Rasterizer``, which draws pictures of logs, as C++ text for the body of a function."""
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
    """The struct ``Machine`` as C++ text for the body of a function: tables, state and members.

    Args:
        rules: The members ``begin_rules`` and ``judge``.
    """
    return "\n".join(
        [rasterizer(), opcode_table.source(), "struct Machine {", *(header(name) for name in MEMBERS), rules, "};\n"]
    )
