"""The console's C++ source, which Warp compiles for the CPU and for CUDA.

The headers hold the members of one plain struct. They are pasted together into the body of a native function, so nothing of it is seen outside.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

MEMBERS = ("state", "dpc", "cartridge", "riot", "controls", "bus", "undocumented", "polling", "m6507")
"""The headers inside of the struct, in the order of the text; members may name those that come after them."""


def header(name: str) -> str:
    """The text of one header, without its ending ``.h``."""
    return files(__package__).joinpath(f"{name}.h").read_text(encoding="utf-8")


@cache
def source(*more: str) -> str:
    """The struct ``Machine`` as C++ text for the body of a function: tables, state and members.

    Args:
        more: Texts of further members, such as the rules of games or a stand-in for a part.
    """
    members = [header(name) for name in MEMBERS]
    return "\n".join([header("tables"), "struct Machine {", *members, *more, "};\n"])
