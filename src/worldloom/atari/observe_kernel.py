"""The kernel that shows pictures to agents; its C++ source is put together from two headers and the constants of a form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import warp as wp

from worldloom.atari import native
from worldloom.core.launch_kernels import picked

WIDTH = 160
"""Columns of a picture that the console makes."""
LANES = 256
"""Threads that work on a console together on a GPU."""


@dataclass(frozen=True)
class Form:
    """What the source of the kernel depends on: its constants."""

    rows: int
    out_height: int
    out_width: int
    across: int
    down: int
    stack: int
    channels: int
    interleaved: bool
    zeros: bool
    has_linear: bool

    def text(self) -> str:
        constants = {
            "WIDTH": WIDTH,
            "LANES": LANES,
            "ROWS": self.rows,
            "OUT_HEIGHT": self.out_height,
            "OUT_WIDTH": self.out_width,
            "ACROSS": self.across,
            "DOWN": self.down,
            "STACK": self.stack,
            "CHANNELS": self.channels,
            "INTERLEAVED": int(self.interleaved),
            "ZEROS": int(self.zeros),
            "HAS_LINEAR": int(self.has_linear),
        }
        plane = self.out_height * self.out_width * self.channels
        unit = "uint4" if plane % 16 == 0 else "unsigned int" if plane % 4 == 0 else "unsigned char"
        named = ", ".join(f"{name} = {value}" for name, value in constants.items())
        return f"enum : int {{ {named} }};\n#if defined(__CUDA_ARCH__)\ntypedef {unit} Unit;\n#endif\n"


def _observe_one(
    k: int,
    lane: int,
    pictures: wp.array4d(dtype=wp.uint8),
    game: wp.array(dtype=wp.int32),
    show: wp.array(dtype=wp.int32),
    fresh: wp.array(dtype=wp.bool),
    palettes: wp.array3d(dtype=wp.uint8),
    sizes: wp.array(dtype=wp.int32),
    plans: wp.array2d(dtype=wp.int32),
    shares: wp.array2d(dtype=wp.float32),
    screen: wp.array2d(dtype=wp.uint8),
): ...


@cache
def kernel(form: Form) -> wp.Kernel:
    """The kernel for pictures of this form, made when it is first asked for."""
    observe_one = wp.func_native(form.text() + native.header("resize") + native.header("observe"))(_observe_one)

    @wp.kernel(enable_backward=False, module="unique")
    def observe(
        first: int,
        lanes: int,
        mask: wp.array(dtype=wp.bool),
        value: bool,
        pictures: wp.array4d(dtype=wp.uint8),
        game: wp.array(dtype=wp.int32),
        show: wp.array(dtype=wp.int32),
        fresh: wp.array(dtype=wp.bool),
        palettes: wp.array3d(dtype=wp.uint8),
        sizes: wp.array(dtype=wp.int32),
        plans: wp.array2d(dtype=wp.int32),
        shares: wp.array2d(dtype=wp.float32),
        screen: wp.array2d(dtype=wp.uint8),
    ):
        console = wp.tid() // lanes
        lane = wp.tid() - console * lanes
        k = first + console
        if picked(mask, value, k):
            observe_one(k, lane, pictures, game, show, fresh, palettes, sizes, plans, shares, screen)

    return observe
