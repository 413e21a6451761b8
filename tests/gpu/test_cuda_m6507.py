"""The 6507, the RIOT and cartridges on a GPU: random programs end as on the CPU, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from bare_machine import Machines, assert_same
from random_programs import random_cartridge

from worldloom.atari.cartridges.cartridge import CartridgeKind

CONSOLES, PROGRAMS = 256, 4
FRAMES = ((3, 0), (11, 7), (0, 17))


@pytest.mark.parametrize("kind", CartridgeKind)
def test_random_programs_end_as_on_the_cpu(kind: CartridgeKind):
    generator = np.random.default_rng(100 + int(kind))
    for _ in range(PROGRAMS):
        cart = random_cartridge(kind, generator)
        memory, cart_ram = (
            generator.integers(0, 256, (CONSOLES, 128), dtype=np.uint8),
            generator.integers(0, 256, (1, 2048), dtype=np.uint8),
        )
        machines = Machines(cart, np.full((CONSOLES, 6), -1), memory, cart_ram, pressed=FRAMES)
        assert_same(machines.run(), machines.run("cuda:0"))
