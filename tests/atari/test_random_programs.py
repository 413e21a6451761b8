"""Random programs on every cartridge kind: frames end, memory stays in bounds, and all code paths give equal states."""

from __future__ import annotations

import numpy as np
import pytest
from bare_machine import MAX_INSTRUCTIONS, Machines, assert_same
from random_programs import random_cartridge

from worldloom.atari.cartridges.cartridge import POLL, CartridgeKind

CONSOLES, PROGRAMS = 4, 6
FRAMES = ((3, 0), (11, 7), (0, 17))


@pytest.mark.parametrize("kind", CartridgeKind)
def test_random_programs_end_alike_by_lines_and_without_skipped_waits(kind: CartridgeKind):
    generator = np.random.default_rng(int(kind))
    for _ in range(PROGRAMS):
        cart = random_cartridge(kind, generator)
        memory, cart_ram = (
            generator.integers(0, 256, (CONSOLES, 128), dtype=np.uint8),
            generator.integers(0, 256, (1, 2048), dtype=np.uint8),
        )
        machines = Machines(cart, np.full((CONSOLES, 6), -1), memory, cart_ram, pressed=FRAMES)
        ending = machines.run()
        assert (ending.registers[:, 7] == MAX_INSTRUCTIONS).all()
        assert (ending.cart_ram[:, cart.ram_bytes :] == cart_ram[:, cart.ram_bytes :]).all()
        assert_same(ending, machines.run(by_lines=True))
        machines.words = cart.words & ~np.uint32(POLL)
        assert_same(ending, machines.run())
