"""Tasks of the DeepMind Control Suite on CUDA: the whole episode is recorded, and its arrays are those of the CPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.dm_suite.family import TASKS

pytest.importorskip("mujoco_warp")
pytest.importorskip("dm_control")

NUM_WORLDS, STEPS, EPISODE = 64, 25, 10
CPU_ONLY = "QuadrupedEscape-v1"
CHAOTIC = ("SwimmerSwimmer15-v1", "QuadrupedFetch-v1", "ManipulatorInsertBall-v1")
"""Tasks in which rounding may change a decision of the reset, or grows fast."""


def run(simulation: wl.Simulation, actions: np.ndarray, kind: type[wl.Entity]) -> list[np.ndarray]:
    """The positions at the beginning and after every step."""
    positions = [simulation[kind].qpos.numpy().astype(np.float64)]
    for action in actions:
        simulation.step(action)
        positions.append(simulation[kind].qpos.numpy().astype(np.float64))
    return positions


@pytest.mark.parametrize("id", [id for id in TASKS if id != CPU_ONLY])
def test_episodes_begin_and_continue_as_on_the_cpu(id: str) -> None:
    definition = replace(wl.definition(id), max_steps=EPISODE)
    (kind,) = definition.entities
    ((_, action),) = definition.actions().values()
    bounds = [np.nan_to_num(np.float32(b), neginf=-1.0, posinf=1.0) for b in (action.space.low, action.space.high)]
    shape = (STEPS, NUM_WORLDS, 1, *action.space.shape)
    actions = np.random.default_rng(0).uniform(*bounds, shape).astype(np.float32)
    cpu, cuda = (wl.Simulation(definition, NUM_WORLDS, device, seed=4) for device in ("cpu", "cuda:0"))
    expected, narrow = (run(simulation, actions, kind) for simulation in (cpu, cuda))
    assert not cuda.errors()
    for name, field in kind.fields.items():
        if field.dtype in (wl.float32, wl.float64):
            assert np.isfinite(getattr(cuda[kind], name).numpy()).all(), name
    if id in CHAOTIC:
        return
    for step in (0, 1, EPISODE, 2 * EPISODE):  # initial states, those after resets, and one step
        error = np.abs(narrow[step] - expected[step]).reshape(NUM_WORLDS, -1).max(axis=1)
        scale = np.abs(expected[step]).max()
        assert np.median(error) < 1e-4 * scale, f"positions after {step} steps: {np.sort(error)[-8:]}"
        assert (error < 1e-2 * scale).mean() > 0.9, f"positions after {step} steps: {np.sort(error)[-8:]}"


def test_a_height_field_per_world_is_refused() -> None:
    with pytest.raises(wl.InputError, match="'hfield_data' has one value for all worlds on a GPU: choose device='cpu'"):
        wl.Simulation(CPU_ONLY, num_worlds=1, device="cuda:0")
