"""The console's C++ source, which Warp compiles for the CPU and for CUDA.

The headers hold the members of one plain struct. They are pasted together into the body of a native function, so nothing of it is seen outside.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from worldloom.atari import deeds

MEMBERS = (
    "state", "dpc", "cartridge", "riot", "controls", "bus", "decimal", "undocumented", "polling",
    "m6507", "m6507_cpu", "quick_cpu", "instructions_cpu", "careful_cpu", "instructions_cpu", "run_cpu", "m6507_cuda", "careful_cuda", "waiting_cuda",
    "apart", "collisions", "orders", "tia", "frame", "confine", "record",
)  # fmt: skip
"""The headers inside of the struct, in the order of the text; members may name those that come after them. The instructions come twice, quick and with care."""


def header(name: str) -> str:
    """The text of one header, without its ending ``.h``."""
    return files(__package__).joinpath(f"{name}.h").read_text(encoding="utf-8")


@cache
def painter() -> str:
    """The struct ``Painter``, which draws pictures of logs, as C++ text for the body of a function."""
    ways = ["#if defined(__CUDA_ARCH__)", header("picture_cuda"), "#else", header("picture_cpu"), "#endif"]
    return "\n".join([header("tables"), header("display"), "struct Painter {", header("picture"), *ways, "};"])


@cache
def machine(rules: str) -> str:
    """The struct ``Machine`` as C++ text for the body of a function: tables, state and members.

    Args:
        rules: The members ``begin_rules`` and ``judge``.
    """
    return "\n".join([painter(), deeds.source(), "struct Machine {", *(header(name) for name in MEMBERS), rules, "};\n"])
