"""Gymnasium's MuJoCo tasks on CUDA: one step of physics from the states of roll-outs, against the C engine."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.envs.mujoco.family import TASKS

pytest.importorskip("mujoco_warp")

NUM_WORLDS, ROLLOUT, CHECKS = 250, 45, 4  # the episodes of Reacher have 50 steps
"""States are compared in CHECKS of the steps, each ROLLOUT steps after the one before: 1,000 states."""
ACCURACY, SHARE = 1e-4, 0.99
"""Largest error of a world, as a part of the largest number of its state, and the share of worlds within it."""
STATE = ("qpos", "qvel", "qacc_warmstart", "time")


def make_definition(task: str, folder: Path) -> wl.Definition:
    """A task with one step of physics per step.

    The models of humanoids ask for the PGS solver, which MuJoCo Warp lacks: they get Newton's.
    """
    if not task.startswith("Humanoid"):
        return wl.definition(f"{task}-v5", frame_skip=1)
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    text = (assets / f"{task.lower()}.xml").read_text()
    assert 'solver="PGS"' in text
    model = folder / f"{task}.xml"
    model.write_text(text.replace('solver="PGS"', 'solver="Newton"'))
    return wl.definition(f"{task}-v5", frame_skip=1, xml_file=str(model))


@pytest.mark.parametrize("task", TASKS)
def test_a_step_is_that_of_the_c_engine(task: str, tmp_path: Path) -> None:
    definition = make_definition(task, tmp_path)
    (kind,) = definition.entities
    cpu, cuda = (wl.Simulation(definition, NUM_WORLDS, device, seed=1) for device in ("cpu", "cuda:0"))
    ((_, action),) = definition.actions().values()
    low, high = np.float32(action.space.low), np.float32(action.space.high)
    generator = np.random.default_rng(2)
    errors = []
    for step in range(CHECKS * ROLLOUT):
        actions = generator.uniform(low, high, (NUM_WORLDS, 1, *action.space.shape)).astype(np.float32)
        if step % ROLLOUT < ROLLOUT - 1:
            cpu.step(actions)
            continue
        for name in STATE:
            state = getattr(cpu[kind], name).numpy().astype(np.float32)
            getattr(cuda[kind], name).torch()[:] = torch.as_tensor(state)
        for simulation in (cpu, cuda):
            simulation.step(actions)
        errors.append(relative_errors(cpu, cuda, kind))
    error = np.concatenate(errors)
    assert len(error) > NUM_WORLDS
    assert not cuda.errors()
    assert np.quantile(error, SHARE) < ACCURACY, f"largest errors: {np.sort(error)[-20:]}"


def relative_errors(cpu: wl.Simulation, cuda: wl.Simulation, kind: type[wl.Entity]) -> np.ndarray:
    """The largest error of the state of every world whose episode continues, relative to its largest number."""
    flags = [getattr(simulation, name).numpy() for simulation in (cpu, cuda) for name in ("terminated", "truncated")]
    running = ~np.logical_or.reduce(flags)
    expected, narrow = (
        np.concatenate([getattr(simulation[kind], name).numpy()[running, 0] for name in ("qpos", "qvel")], axis=1)
        for simulation in (cpu, cuda)
    )
    return np.abs(narrow - expected).max(axis=1) / np.abs(expected).max(axis=1)
