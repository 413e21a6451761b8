"""Invalid states of consoles: rejected by restore, and harmless to the native code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from thorough import sample

import worldloom as wl
from worldloom.atari.emulator import machine_state
from worldloom.core.base.errors import InputError

GAMES = "ALE/Breakout-v5+ALE/Pong-v5"
SETTINGS: list[tuple[str, dict]] = [
    (GAMES, {}),
    ("ALE/Breakout-v5", {"exact_start": True}),
    ("Breakout-v5", {"episodic_life": True}),
    ("ALE/Breakout-v5", {"obs_type": "ram"}),
    ("ALE/Breakout-v5", {"continuous": True}),
    ("ALE/Pitfall2-v5", {}),
]


@pytest.fixture(scope="module")
def sim() -> wl.Simulation:
    simulation = wl.Simulation(wl.definition(GAMES), 4, "cpu", seed=0)
    simulation.step(np.ones((4, 1), np.int32))
    return simulation


@pytest.mark.parametrize("game", [2, 5000, -1, 2**31 - 1])
def test_a_game_that_is_not_there_is_refused(sim: wl.Simulation, game: int, tmp_path: Path) -> None:
    snapshot = sim.snapshot()
    games = snapshot.tensors["Console.game"].clone()
    games[3] = game
    replace(snapshot, tensors={**snapshot.tensors, "Console.game": games}).save(tmp_path / "crafted.safetensors")
    with pytest.raises(
        InputError,
        match=rf"crafted\.safetensors .* Console.game of world 3 holds {game:,}, and it must be between 0 and 1",
    ):
        sim.restore(wl.Snapshot.load(tmp_path / "crafted.safetensors"))


FIELDS = [
    ("slices", 0x01FF0000),
    ("bank", 4),
    ("buffer", 2),
    ("paddle", -1),
    ("phase", -80),
    ("enabl", 2),
    ("over", 2),
    ("timer_shift", 40),
    ("cycles", -5),
]


@pytest.mark.parametrize(("name", "value"), [*FIELDS, ("X_BALL", 160), ("MISSILE0", 255)])
def test_a_state_that_no_console_has_is_refused(sim: wl.Simulation, name: str, value: int) -> None:
    snapshot = sim.snapshot()
    machine = snapshot.tensors["Console.machine"].clone()
    state = machine.numpy()[2, 0]
    if name in machine_state.display_fields():
        state[machine_state.layout()["kept"][1] + machine_state.display_fields().index(name)] = value
    else:
        kind, offset, _ = machine_state.layout()[name]
        state[offset : offset + np.dtype(kind).itemsize] = np.frombuffer(
            np.array(value).astype(kind).tobytes(), np.uint8
        )
    with pytest.raises(InputError, match=f"Console.machine of world 2 must have a valid '{name}' of the console"):
        sim.restore(replace(snapshot, tensors={**snapshot.tensors, "Console.machine": machine}))
    sim.restore(snapshot)


@pytest.mark.parametrize(("id_", "settings"), sample(SETTINGS, 3))
def test_native_code_trusts_no_number(id_: str, settings: dict) -> None:
    """Columns written without checks: whatever their values, steps, resets and drawing stay in bounds."""
    numbers = np.random.default_rng(0)
    with wl.Simulation(wl.definition(id_, **settings), 8, "cpu", seed=0) as simulation:
        console = simulation["Console"]
        for _ in range(4):
            for column in console:
                if column.field.role.value in ("state", "info") and numbers.random() < 0.7:
                    tensor = column.torch()
                    random = torch.from_numpy(
                        numbers.integers(0, 256, (tensor.numel(), tensor.element_size()), dtype=np.uint8)
                    )
                    if tensor.dtype == torch.bool:
                        random &= 1
                    tensor.view(torch.uint8).reshape(-1).copy_(random.reshape(-1))
            simulation.step()
            simulation.reset(numbers.random(8) < 0.5)
        simulation.reset(seeds=1)
        fresh = wl.Simulation(simulation.definition, 8, "cpu", seed=1)
        for name in ("machine", "pictures", "lives", "newest"):  # nothing was written that an episode begins with
            assert np.array_equal(console[name].numpy(), fresh["Console"][name].numpy()), name
