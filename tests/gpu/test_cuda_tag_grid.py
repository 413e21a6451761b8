"""Tag on a grid on the GPU: equal to the CPU in every column, with one thread per player and with several."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.envs.tag.grid import Start, grid_tag


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


@pytest.mark.parametrize(
    ("taggers", "runners", "full", "steps"),
    [
        (4, 1, True, 200),
        (1, 1, True, 100),
        (30, 10, True, 100),
        (270, 10, True, 30),
        (3, 5, False, 200),
        (70, 1, False, 100),
        (70, 3, False, 100),
        (999, 1, False, 60),
        (1, 700, False, 60),
        (300, 300, False, 60),
    ],
)
def test_every_column_is_the_cpus(taggers: int, runners: int, full: bool, steps: int, close) -> None:
    """All state is whole numbers and every sum of rewards is a thread's own, so that nothing drifts apart."""
    worlds = 64
    rng = np.random.default_rng(taggers)
    config = {
        "grid_length": rng.integers(1, 30, worlds).astype(np.int32),
        "max_steps": rng.integers(1, 40, worlds).astype(np.int32),
        "start": rng.integers(0, len(Start), worlds).astype(np.int32),
    }
    made = grid_tag("Compared-v0", taggers=taggers, runners=runners, full_observation=full)
    cpu, gpu = (wl.Simulation(made, worlds, device, seed=1, config=config) for device in ("cpu", "cuda:0"))
    close(cpu, gpu, "after the first reset")
    for step in range(steps):
        actions = {
            "Tagger.move": rng.integers(0, 5, (worlds, taggers), dtype=np.int32),
            "Runner.move": rng.integers(0, 5, (worlds, runners), dtype=np.int32),
        }
        cpu.step(actions)
        gpu.step(actions)
        close(cpu, gpu, f"step {step}")
    assert (cpu.world.episode.numpy() > 0).any() and cpu.errors() == gpu.errors() == []


def test_a_thousand_players_in_many_worlds() -> None:
    made = grid_tag("Crowd-v0", taggers=999, runners=1, full_observation=False, grid_length=100)
    sim = wl.Simulation(made, 2000, "cuda:0", seed=0)
    for _ in range(20):
        sim.step({"Tagger.move": np.full((2000, 999), 2, np.int32), "Runner.move": np.zeros((2000, 1), np.int32)})
    assert sim.errors() == []
    x = sim["Tagger"].x.numpy()
    assert x.min() == 0 and x.max() <= 100
