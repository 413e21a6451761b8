"""Start states: inputs before an episode and the resulting states."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.emulator.inputs import BEGIN, RESET, WARM_UP
from worldloom.atari.env.boot import FIRE, NOOP, boot
from worldloom.atari.env.game_selection import game_specs
from worldloom.atari.env.settings import resolve_settings
from worldloom.atari.env.start_states import start_programs

pytest.importorskip("ale_py")


def pressed(game, **given):
    """Inputs after the boot, by number of no-ops and fire button."""
    settings = resolve_settings(given)
    programs = start_programs(game_specs([game], settings), settings)
    rests = [
        programs.pressed[programs.count + row, : programs.frames[programs.count + row], 0].tolist()
        for row in range(programs.count)
    ]
    assert programs.rests.tolist() == [len(rest) for rest in rests]
    return [rests[row : row + 2] for row in range(0, programs.count, 2)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"noop_max": 2},
            [[NOOP], [FIRE]],
        ),
        ({"noop_max": 0}, [[NOOP], [FIRE]]),
        ({"noop_max": 2, "use_fire_reset": False}, [[NOOP], [NOOP]]),
        ({"noop_max": 2, "like": "vector"}, [[NOOP], [FIRE]]),
        ({"noop_max": 0, "like": "gymnasium"}, [[], []]),
    ],
)
def test_the_first_start_has_the_fewest_no_ops(given, expected):
    assert pressed("breakout", **given)[0] == expected


def test_no_ops_and_the_button_come_in_the_order_of_each_environment():
    assert pressed("breakout", noop_max=3)[2] == [[NOOP] * 3, [NOOP, NOOP, FIRE]]
    assert pressed("breakout", noop_max=3, like="vector")[2] == [[NOOP, NOOP], [FIRE, NOOP]]
    assert pressed("ms_pacman", noop_max=3)[2] == [[NOOP] * 3] * 2  # it has no button
    assert pressed("ms_pacman", noop_max=3, like="vector")[2] == [[NOOP] * 2] * 2


def test_a_game_is_booted_before_it_is_judged():
    settings = resolve_settings({"noop_max": 2})
    (spec,) = game_specs(["kaboom"], settings)
    keys = boot(spec.game, spec.mode)
    assert keys[:64] == [NOOP] * 60 + [RESET] * 4 and keys[64] == RESET + BEGIN and keys[-1] == FIRE
    programs = start_programs((spec,), settings)
    row = programs.count - 1  # one no-op and the button
    assert programs.pressed[row, : len(keys), 0].tolist() == keys
    assert (programs.pressed[row, : len(keys), 1] == WARM_UP).all() and (
        programs.pressed[row, len(keys) :, 1] == 0
    ).all()
    assert programs.frames[row] == len(keys) + 2


@pytest.mark.parametrize("given", [{}, {"like": "vector"}, {"use_fire_reset": False}])
def test_kept_and_exact_starts_are_the_same(given):
    """Stored start states equal those of booting the console."""
    worlds = [
        wl.definition("Pong-v5+Breakout-v5+Qbert-v5", noop_max=6, exact_start=exact, **given) for exact in (False, True)
    ]
    copied, booted = (wl.Simulation(world, 12, "python", seed=5)["Console"] for world in worlds)
    for name in ("machine", "pictures", "newest", "lives", "frames", "held", "over", "show", "fresh"):
        assert np.array_equal(copied[name].numpy(), booted[name].numpy()), name
    assert len(np.unique(copied.start.numpy())) > 4
