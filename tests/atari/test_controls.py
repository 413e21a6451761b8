"""Joysticks, paddles and switches: from actions to the values that a program reads."""

from __future__ import annotations

import pytest
from bare_machine import run_program

from worldloom.atari.cartridges.cartridge import cartridge

JOYSTICK, PADDLES, NOTHING = 0, 1, 2
READS_PORTS = bytes.fromhex("AD 80 02 85 80 AD 82 02 85 81")
STICKS = {
    0: "", 1: "fire", 2: "up", 3: "right", 4: "left", 5: "down", 6: "up right", 7: "up left", 8: "down right",
    9: "down left", 10: "up fire", 11: "right fire", 12: "left fire", 13: "down fire", 14: "up right fire",
    15: "up left fire", 16: "down right fire", 17: "down left fire",
}  # fmt: skip


def ports_with(
    actions: tuple[int, int], plugged: tuple[int, int, int, int, int] = (JOYSTICK, JOYSTICK, 0, 0, 8), frames: int = 1
) -> tuple[int, int, int, int]:
    """SWCHA, SWCHB and the resistances of the first two paddles after some frames of the same actions."""
    image = bytearray([0x02] * 4096)
    image[: len(READS_PORTS)] = READS_PORTS
    image[0xFFC:0xFFE] = bytes([0x00, 0xF0])
    machine = run_program(cartridge(bytes(image)), plugged=plugged, pressed=(actions,) * frames)
    return (*machine.memory[0, :2].tolist(), *machine.registers[0, 8:].tolist())


@pytest.mark.parametrize("action", STICKS)
def test_a_stick_closes_its_pins(action: int):
    closed = sum({"up": 1, "down": 2, "left": 4, "right": 8}.get(word, 0) for word in STICKS[action].split())
    assert ports_with((action, 0))[0] == 0xFF & ~(closed << 4)
    assert ports_with((0, action))[0] == 0xFF & ~closed
    assert ports_with((0, 18 + action))[0] == 0xFF & ~closed, "actions of player B are numbered on from 18"


def test_swapped_ports_swap_the_sticks():
    assert ports_with((2, 0), (JOYSTICK, JOYSTICK, 1, 0, 8))[0] == 0xFE


def test_numbers_that_are_no_actions_push_nothing():
    assert ports_with((36, 255))[0] == 0xFF


@pytest.mark.parametrize(
    ("action", "resistance"), [(4, 408823 + 23000), (3, 408823 - 23000), (12, 408823 + 23000), (2, 408823)]
)
def test_left_and_right_turn_a_paddle(action: int, resistance: int):
    assert ports_with((action, 0), (PADDLES, JOYSTICK, 0, 0, 8))[2:] == (resistance, 408823)
    assert ports_with((0, action), (PADDLES, JOYSTICK, 0, 0, 8))[2:] == (408823, resistance)


def test_paddles_stop_at_their_ends():
    assert ports_with((4, 3), (PADDLES, JOYSTICK, 0, 0, 8), frames=40)[2:] == (790196, 27450)


@pytest.mark.parametrize(
    ("actions", "swapped", "pins"),
    [((1, 0), 0, 0x7F), ((0, 1), 0, 0xBF), ((1, 0), 1, 0xBF), ((0, 1), 1, 0x7F), ((2, 2), 0, 0xFF)],
)
def test_buttons_of_paddles_are_pins_of_the_port(actions: tuple[int, int], swapped: int, pins: int):
    assert ports_with(actions, (PADDLES, JOYSTICK, 0, swapped, 8))[0] & 0xF0 == pins & 0xF0


def test_an_empty_port_has_open_pins():
    assert ports_with((2, 2), (JOYSTICK, NOTHING, 0, 0, 8))[0] == 0xEF


@pytest.mark.parametrize(("switches", "seen"), [(0x08, 0x3F), (0xC8, 0xFF), (0x48, 0x7F), (0x00, 0x37)])
def test_switches_of_the_console(switches: int, seen: int):
    assert ports_with((0, 0), (JOYSTICK, JOYSTICK, 0, 0, switches))[1] == seen
