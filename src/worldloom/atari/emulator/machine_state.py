"""The state of a console as named fields, and the valid range of each field of a restored state.

The layout is parsed from ``native/machine/state.h``. Every range is an invariant of the emulation, whatever a program
does. The native code also clamps the fields that address memory when it loads a state
(``native/machine/clamp_state.h``).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from worldloom.atari import native
from worldloom.atari.emulator.rom_bank import RECORD, Slot
from worldloom.atari.native import WIDTH
from worldloom.core.model.fields import Check

Array = np.ndarray[Any, Any]

MAX_INSTRUCTIONS = 25_000
"""Maximum number of instructions of a frame, as in ``native/machine/common.h``."""
HUNG = 0x2000_0000
"""Cycles after which a frame that was cut off repeatedly restarts, as in ``native/tia/display.h``."""
MAX_INSTRUCTION_CYCLES, CYCLES_IN_LINE = 8, 76
"""Cycles of the longest instruction, and of a scanline, which is the longest wait."""
LONG_AGO = -0x1000_0000
"""The earliest clock, as in ``native/machine/frame.h``."""

FLAGS = (
    "buffer", "partial", "faded", "fire", "timer_expired", "reflected", "delayed", "enam", "resmp", "enabl",
    "enabl_old", "delayed_ball", "over",
)  # fmt: skip
"""Fields that are 0 or 1."""
SHOWN_FLAGS = ("VBLANK", "MISSILE0", "MISSILE1", "BALL", "HIDE0", "HIDE1", "COMB", "REFLECT")
"""Bytes of ``kept`` that are 0 or 1."""


@cache
def layout() -> dict[str, tuple[str, int, int]]:
    """By field of the state: its type, its byte offset and its length, parsed from ``native/machine/state.h``."""
    types = {"s32": "<i4", "u32": "<u4", "u16": "<u2", "u8": "u1"}
    fields: dict[str, tuple[str, int, int]] = {}
    offset = 0
    for kind, names in re.findall(
        r"^(s32|u32|u16|u8) ([\w\[\], ]+);",
        native.header("machine/state").partition("is state:")[2],
        flags=re.MULTILINE,
    ):
        for name, count in re.findall(r"(\w+)(?:\[(\d+)\])?", names):
            fields[name] = types[kind], offset, int(count or 1)
            offset += np.dtype(types[kind]).itemsize * int(count or 1)
    return fields


@cache
def display_fields() -> list[str]:
    """Names of the bytes of the field ``kept``, parsed from ``native/tia/display.h``."""
    return re.findall(
        r"\w+", re.findall(r"enum Kind : u32 \{(.*?), KINDS", native.header("tia/display"), flags=re.DOTALL)[0]
    )


def fields(machine: Array) -> dict[str, Array]:
    """The state of N consoles, uint8 (N, record), by field: arrays of shape (N, count)."""
    values = {}
    for name, (kind, offset, count) in layout().items():
        values[name] = np.ascontiguousarray(machine[:, offset : offset + np.dtype(kind).itemsize * count]).view(kind)
    return values


def in_range(now: dict[str, Array], table: Array) -> dict[str, Array]:
    """Whether the numbers of a state lie in the range of their field.

    Args:
        now: The result of :func:`fields` for N consoles.
        table: int32 (N, len(Slot)): game rows of the consoles, or (1, len(Slot)) for all of them.

    Returns:
        By name of the field, or of the byte of ``kept``: bool of shape (N, ...).
    """
    display = {name: now["kept"][:, index] for index, name in enumerate(display_fields())}
    last_line = table[:, Slot.FIRST_LINE, None] + table[:, Slot.HEIGHT, None]
    last_clock, most_paddle = last_line * 3 * CYCLES_IN_LINE, table[:, Slot.PADDLE_MAX, None]
    most_cycles = HUNG + MAX_INSTRUCTIONS * (MAX_INSTRUCTION_CYCLES + CYCLES_IN_LINE)
    most_clock = 3 * (most_cycles + 2 * CYCLES_IN_LINE)
    return {
        "instructions": _between(now["instructions"], 0, MAX_INSTRUCTIONS),
        "cycles": _between(now["cycles"], 0, most_cycles),
        "slices": now["slices"].view(np.uint8) <= table[:, Slot.SLICES, None],
        "bank": now["bank"] < 4,
        "phase": _between(now["phase"], 1 - CYCLES_IN_LINE, 0),
        "seen": _between(now["seen"], 0, most_clock),
        "looked": _between(now["looked"], 0, last_clock),
        "marked_line": _between(now["marked_line"], 0, last_line),
        "vsync_end": now["vsync_end"] >= 0,
        "hmove_clock": _between(now["hmove_clock"], LONG_AGO, most_clock),
        "dump_cycle": _between(now["dump_cycle"], LONG_AGO, most_cycles),
        "collided": now["collided"] & 0x2000 == 0,
        "p": now["p"] & 0x30 == 0x30,
        "timer_shift": np.isin(now["timer_shift"], (0, 3, 6, 10)),
        "paddle": _between(now["paddle"], 0, most_paddle),
        "motion": now["motion"] < 16,
        "comb_due": now["comb_due"] < 4,
        **{name: now[name] < 2 for name in FLAGS},
        **{name: display[name] < WIDTH for name in display if name.startswith("X_")},
        **{name: display[name] < 2 for name in SHOWN_FLAGS},
        **{name: display[name] & 0xC8 == 0 for name in ("CTRLPF", "NUSIZ0", "NUSIZ1")},
        "PF0": display["PF0"] < 16,
        "STARS": (display["STARS"] == 0) | (display["STARS"] >= 128) & (display["STARS"] < 132),
    }


def state_check(table: Array) -> Check:
    """The validity check of states of consoles that play any of these games, int32 (games, len(Slot))."""
    widest = table.max(axis=0, keepdims=True)

    def check(machine: Array) -> dict[str, Array]:
        """By requirement: the consoles, uint8 (N, record), that meet it."""
        valid = in_range(fields(machine[:, :RECORD]), widest)
        return {
            f"a valid '{name}' of the console": np.asarray(values.reshape(len(machine), -1).all(axis=1))
            for name, values in valid.items()
        }

    return check


def _between(values: Array, low: Any, high: Any) -> Array:
    within: Array = (values >= low) & (values <= high)
    return within
