"""A machine without a TIA: the 6507, the RIOT and a cartridge, driven directly. Reads of the TIA return nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import warp as wp

from worldloom.atari import native
from worldloom.atari.cartridges.cartridge import Cartridge
from worldloom.atari.native import opcode_table

JAM = 0x02
"""JAM, an opcode that halts the CPU: the end of a program."""
MAX_INSTRUCTIONS = 25_000

PARTS = native.MEMBERS[: native.MEMBERS.index("tia/player_overlap")]
CUDA_SHIMS = """
struct Gpu {
    static unsigned permute(unsigned one, unsigned other, unsigned selector) {
        const unsigned long long both = (unsigned long long)other << 32 | one;
        unsigned result = 0;
        for (int i = 0; i < 4; i++) result |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
        return result;
    }
    static bool any(bool own) {  // now and then the answer of somebody else
        static unsigned chance = 1;
        chance = chance * 1664525 + 1013904223;
        return own || chance < 0x50000000;
    }
};
#define __byte_perm Gpu::permute
#define __activemask() 1
#define __syncwarp(mask)
#define __ballot_sync(mask, condition) (Gpu::any(condition) ? 1 : 0)
#define __any_sync(mask, condition) Gpu::any(condition)
"""
"""C++ replacements of CUDA intrinsics, for one console in a warp whose other threads may be ahead."""
TIA_STUB = """
CUDA_CALLABLE s32 clock_of(s32 cycle) const { return 3 * cycle; }
CUDA_CALLABLE void end_frame() {}
CUDA_CALLABLE void sync_vertically(u32 value, s32 clock) {}
CUDA_CALLABLE void load_paddles(u32 value, s32 clock) {}
CUDA_CALLABLE void apply_command(u32 order) {}
CUDA_CALLABLE void apply_commands() {}
CUDA_CALLABLE s32 end_of_line(s32 cycle) const { return cycle + (76 - cycle % 76) % 76; }
CUDA_CALLABLE u32 tia_input(u32 number, u32 low, s32 cycle) const { return low; }
CUDA_CALLABLE u8 tia_peek(u32 address, s32 cycle) { return (u8)(bus & 0x3F); }
CUDA_CALLABLE bool is_redundant_write(u32 number, u32 value) const { return false; }
CUDA_CALLABLE s32 tia_poke(u32 address, u8 value, s32 cycle) {
    return (address & 0x3F) == 2 ? end_of_line(cycle) : cycle;
}
"""
BODY = """
Machine m;
m.rom = words.data;
m.cart_ram = (u8*)cart_ram.data + k * cart_ram.strides[0];
m.kind = kind;
m.rom_slices = slices;
m.left = plugged.data[0]; m.right = plugged.data[1];
m.swap_ports = plugged.data[2]; m.swap_paddles = plugged.data[3]; m.switches_on = plugged.data[4];
m.paddle_low = 27450;
m.paddle_high = 790196;
m.bus = 0;
m.line_phase = 0;
m.most_clocks = 0x7FFFFFFF;
m.stop = 0;
m.players = 1;
m.seen = 0;
int* r = registers.data + k * 10;
unsigned char* ram = (unsigned char*)memory.data + k * 128;
for (int i = 0; i < 128; i++) m.ram[i] = ram[i];
m.start_riot(50);
m.start_cartridge();
m.start_controls();
m.start_cpu();
if (r[0] >= 0) {
    m.pc = r[0]; m.a = r[1]; m.x = r[2]; m.y = r[3]; m.s = r[4]; m.p = r[5];
}
for (int frame = 0; frame < frames; frame++) {
    m.press(pressed.data[2 * frame], pressed.data[2 * frame + 1], 0, 0);
#if defined(__CUDA_ARCH__)
    m.warp_mask = __activemask();
    m.run();
#else
    m.instructions = 0;
    while (m.run_quantum()) {}
#endif
}
r[0] = m.pc; r[1] = m.a; r[2] = m.x; r[3] = m.y; r[4] = m.s; r[5] = m.p;
r[6] = m.cycles; r[7] = m.instructions; r[8] = m.paddle[0]; r[9] = m.paddle[1];
for (int i = 0; i < 128; i++) ram[i] = m.ram[i];
"""


def with_cuda_branches(source: str) -> str:
    """C++ source of the console with the CUDA branches enabled on every compiler."""
    return source.replace("defined(__CUDA_ARCH__)", "1")


def as_cuda_source(source: str) -> str:
    """The same with the replacements of CUDA intrinsics, for the start of a function body."""
    return CUDA_SHIMS + with_cuda_branches(source)


@cache
def kernel(by_lines: bool) -> wp.Kernel:
    """The kernel of bare machines; ``by_lines`` runs the GPU's loop, synchronized at every scanline, on the CPU."""
    members = ["struct Machine {", *map(native.header, PARTS), TIA_STUB, "};\n"]
    source = "\n".join(
        [native.header("machine/common"), native.header("tia/display"), opcode_table.source(), *members, BODY]
    )
    if by_lines:
        source = as_cuda_source(source)

    @wp.func_native(source)
    def run_one(
        k: int,
        kind: int,
        slices: int,
        frames: int,
        words: wp.array(dtype=wp.uint32),
        registers: wp.array2d(dtype=wp.int32),
        memory: wp.array2d(dtype=wp.uint8),
        cart_ram: wp.array2d(dtype=wp.uint8),
        plugged: wp.array(dtype=wp.int32),
        pressed: wp.array(dtype=wp.int32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def run_all(
        kind: int,
        slices: int,
        frames: int,
        words: wp.array(dtype=wp.uint32),
        registers: wp.array2d(dtype=wp.int32),
        memory: wp.array2d(dtype=wp.uint8),
        cart_ram: wp.array2d(dtype=wp.uint8),
        plugged: wp.array(dtype=wp.int32),
        pressed: wp.array(dtype=wp.int32),
    ):
        run_one(wp.tid(), kind, slices, frames, words, registers, memory, cart_ram, plugged, pressed)

    if by_lines:  # runs on the CPU only, in tests only: compiled with few optimizations
        run_all.module.options["optimization_level"] = 1
    return run_all


@dataclass
class Machines:
    """N machines with the same cartridge, which run until the program jams or for 25,000 instructions.

    Attributes:
        registers: int32 (N, 6): pc, A, X, Y, S and P; a pc below 0 begins at the reset vector.
        memory: uint8 (N, 128): RAM.
        cart_ram: uint8 (N, 2048): memory of the cartridge.
        plugged: Controllers of both ports, whether ports and paddles are swapped, difficulty and colour switches.
        pressed: The actions of both players in each frame.
    """

    cartridge: Cartridge
    registers: np.ndarray
    memory: np.ndarray
    cart_ram: np.ndarray = field(default_factory=lambda: np.zeros((1, 2048), np.uint8))
    plugged: tuple[int, int, int, int, int] = (0, 0, 0, 0, 8)
    pressed: tuple[tuple[int, int], ...] = ((0, 0),)
    words: np.ndarray | None = None

    def run(self, device: str = "cpu", by_lines: bool = False) -> Machines:
        """Run all machines; the registers get four more columns: cycles, instructions, resistances of two paddles."""
        count = len(self.registers)
        registers = np.zeros((count, 10), np.int32)
        registers[:, :6] = self.registers
        cart_ram = np.ascontiguousarray(np.broadcast_to(self.cart_ram, (count, 2048)))
        arrays = [
            wp.array(array, dtype=kind, device=device)
            for array, kind in (
                (self.cartridge.words if self.words is None else self.words, wp.uint32),
                (registers, wp.int32),
                (self.memory, wp.uint8),
                (cart_ram, wp.uint8),
                (np.array(self.plugged, np.int32), wp.int32),
                (np.array(self.pressed, np.int32).ravel(), wp.int32),
            )
        ]
        inputs = [int(self.cartridge.kind), self.cartridge.slices, len(self.pressed), *arrays]
        wp.launch(kernel(by_lines), count, inputs, device=device, record_tape=False)
        return Machines(
            self.cartridge,
            arrays[1].numpy(),
            arrays[2].numpy(),
            arrays[3].numpy(),
            self.plugged,
            self.pressed,
            self.words,
        )


def run_program(cartridge: Cartridge, by_lines: bool = False, **settings: Any) -> Machines:
    """Run one machine with zeroed RAM from its reset vector."""
    return Machines(cartridge, np.full((1, 6), -1), np.zeros((1, 128), np.uint8), **settings).run(by_lines=by_lines)


def assert_same(one: Machines, other: Machines) -> None:
    np.testing.assert_array_equal(one.registers, other.registers)
    np.testing.assert_array_equal(one.memory, other.memory)
    np.testing.assert_array_equal(one.cart_ram, other.cart_ram)
