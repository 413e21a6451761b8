"""The extent of players, by which a CPU finds that they are disjoint: it covers all of their pixels."""

from __future__ import annotations

import numpy as np
import warp as wp

from worldloom.atari import native
from worldloom.atari.emulator.console_kernels import CONSTANTS
from worldloom.atari.games.reward_rules_cpp import rules_source

BODY = """
Machine m;
m.view.now[NUSIZ0 + which] = mode;
m.view.now[X_PLAYER0 + which] = x;
m.view.now[SHAPE0 + which] = 255;
m.view.now[HIDE0 + which] = 0;
m.view.stale = 3;
m.view.build(1u << which);
unsigned* found = out.data + ((which * 8 + mode) * 160 + x) * 6;
for (int word = 0; word < 5; word++) found[word] = m.view.mask[which][word];
found[5] = m.player_extent(which);
"""


def test_a_player_is_nowhere_but_in_its_room() -> None:
    @wp.func_native(CONSTANTS + native.machine(rules_source()) + BODY)
    def look(which: int, mode: int, x: int, out: wp.array(dtype=wp.uint32)): ...

    @wp.kernel(enable_backward=False, module="unique")
    def look_at_all(out: wp.array(dtype=wp.uint32)):
        which, mode, x = wp.tid()
        look(which, mode, x, out)

    out = wp.zeros(2 * 8 * 160 * 6, dtype=wp.uint32, device="cpu")
    wp.launch(look_at_all, (2, 8, 160), [out], device="cpu")
    found = out.numpy().reshape(-1, 6)
    pixels = (
        np.unpackbits(np.ascontiguousarray(found[:, :5]).view(np.uint8), axis=1, bitorder="little")
        .reshape(-1, 20, 8)
        .any(2)
    )
    rooms = np.unpackbits(np.ascontiguousarray(found[:, 5]).view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")[
        :, :20
    ].astype(bool)
    assert pixels.any(1).all()
    assert not (pixels & ~rooms).any()
    assert rooms.sum(1).max() <= 6  # three copies over two eighths each
