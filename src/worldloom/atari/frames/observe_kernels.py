"""The observation kernel; its C++ source is assembled from headers and the constants of a specification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import warp as wp

from worldloom.atari import native
from worldloom.atari.native import WIDTH
from worldloom.core.kernels.array_types import Bools, Bytes2D, Bytes3D, Bytes4D, Floats2D, Ints, Ints2D
from worldloom.core.kernels.launch_kernels import picked

LANES = 256
"""Approximate number of threads per console on a GPU."""
THREADS = 1536
"""Resident threads per multiprocessor to aim for."""

VECTOR, WINDOWS = 16, (32, 64)
"""Pixels per vector on a CPU, and the numbers of source columns that a vector may span."""

_ACROSS = """
struct Across {
    typedef unsigned short Window __attribute__((vector_size(2 * %(window)d)));
    typedef %(number)s Number;
    typedef Number Sums __attribute__((vector_size(sizeof(Number) * %(vector)d)));
    void add(const int* columns, const unsigned short* down, Number* sums) const {
%(body)s    }
};
"""
_ONE_BY_ONE = """
#pragma clang loop vectorize(disable)
        for (int x = 0; x < OUT_WIDTH; x++) {
            sums[x] = 0;
            for (int i = 0; i < ACROSS; i++) sums[x] += columns[(1 + i) * OUT_WIDTH + x] * down[columns[x] + i];
        }
"""


@dataclass(frozen=True)
class ObserveKernelSpec:
    """Constants of the kernel's source.

    Attributes:
        rows: Scanlines of the tallest picture.
        out_height, out_width: Size of an observed picture.
        across, down: Taps of the filters of columns and lines.
        stack, channels: Pictures of a stack, and channels of a picture.
        interleaved: Whether the channels are the last dimension.
        zeros: Whether a new stack starts with zeros.
        has_linear: Whether any picture is interpolated.
        narrow: Whether all weighted sums fit into 16 bits.
        columns: First column and weights of each pixel; empty if no picture is averaged.
    """

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
    narrow: bool
    columns: tuple[tuple[int, ...], ...]

    @property
    def lanes(self) -> int:
        """Threads of a block on a GPU: whole warps, about one column per thread."""
        if self.out_width > 2 * LANES:
            return LANES
        return -(-self.out_width * max(1, round(LANES / self.out_width)) // 32) * 32

    def source(self) -> str:
        """The body of the native function, in C++."""
        parts = [
            self._constants(),
            "#if !defined(__CUDA_ARCH__)",
            self._across(),
            "#endif",
            native.header("frames/resize"),
            native.header("frames/observe"),
        ]
        return "\n".join(
            [
                *parts,
                "#if defined(__CUDA_ARCH__)",
                native.header("frames/observe_cuda"),
                "#else",
                native.header("frames/observe_cpu"),
                "#endif\n",
            ]
        )

    def _constants(self) -> str:
        constants = {
            "WIDTH": WIDTH,
            "LANES": self.lanes,
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
            "NARROW": int(self.narrow),
        }
        plane = self.out_height * self.out_width * self.channels
        unit = "uint4" if plane % 16 == 0 else "unsigned int" if plane % 4 == 0 else "unsigned char"
        named = ", ".join(f"{name} = {value}" for name, value in constants.items())
        return f"enum : int {{ {named} }};\n#if defined(__CUDA_ARCH__)\ntypedef {unit} Unit;\n#endif"

    def _across(self) -> str:
        """C++ that sums columns on a CPU with vectors, ordered by shuffles: the columns of a pixel are constants."""
        blocks = [self.columns[n : n + VECTOR] for n in range(0, self.out_width, VECTOR)] if self.columns else []
        widest = max((block[-1][0] + self.across - block[0][0] for block in blocks), default=0)
        window = next((room for room in WINDOWS if 0 < widest <= room), 0)
        body = "".join(self._block(VECTOR * n, block) for n, block in enumerate(blocks)) if window else _ONE_BY_ONE
        return _ACROSS % {
            "number": "unsigned short" if self.narrow else "int",
            "vector": VECTOR,
            "window": window or VECTOR,
            "body": body,
        }

    def _block(self, place: int, columns: tuple[tuple[int, ...], ...]) -> str:
        """The sums of up to 16 pixels."""
        base = columns[0][0]
        full = columns + ((base, *(0,) * self.across),) * (VECTOR - len(columns))
        text = f"{{ Window window; __builtin_memcpy(&window, down + {base}, sizeof window); Sums made = {{}};\n"
        for tap in range(self.across):
            places, weights = (
                ", ".join(map(str, numbers))
                for numbers in ([c[0] - base + tap for c in full], [c[1 + tap] for c in full])
            )
            shuffled = f"__builtin_shufflevector(window, window, {places})"
            text += f"made += (Sums){{{weights}}} * __builtin_convertvector({shuffled}, Sums);\n"
        return f"{text}__builtin_memcpy(sums + {place}, &made, sizeof made); }}\n"


def _observe_one(
    k: int, lane: int, pictures: Bytes4D, game: Ints, show: Ints, fresh: Bools, palettes: Bytes3D, sizes: Ints,
    plans: Ints2D, shares: Floats2D, screen: Bytes2D,
): ...  # fmt: skip


@cache
def kernel(form: ObserveKernelSpec) -> wp.Kernel:
    """The kernel of a specification, built on the first call."""
    observe_one = wp.func_native(form.source())(_observe_one)

    @wp.kernel(enable_backward=False, module="unique", launch_bounds=(form.lanes, THREADS // form.lanes))
    def observe(
        first: int, lanes: int, mask: Bools, value: bool, pictures: Bytes4D, game: Ints, show: Ints, fresh: Bools,
        palettes: Bytes3D, sizes: Ints, plans: Ints2D, shares: Floats2D, screen: Bytes2D,
    ):  # fmt: skip
        console = wp.tid() // lanes
        lane = wp.tid() - console * lanes
        k = first + console
        if picked(mask, value, k):
            observe_one(k, lane, pictures, game, show, fresh, palettes, sizes, plans, shares, screen)

    return observe
