"""Accuracy of MuJoCo Warp: one step of physics from states of roll-outs, against MuJoCo's C engine with float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.model.launch import Shard
from worldloom.robots.arrays import ALWAYS
from worldloom.robots.model import Model, supported_model
from worldloom.robots.sizes import Sizes
from worldloom.robots.warp.engine import WarpEngine

Numbers = np.ndarray[Any, np.dtype[np.float64]]
State = dict[str, np.ndarray[Any, np.dtype[np.float32]]]
"""The arrays of a state by name, rounded to float32, as both engines get them."""

TOLERANCE = 1e-4
"""Largest error of an accurate state, relative to the largest number of its positions and velocities."""
LONGEST = 5
"""Steps of the world between two states, at most."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of states after one step.

    Attributes:
        errors: The largest error of each state, relative to its largest number.
        contacts, constraints: Contacts and rows of constraints of each state, by the C engine.
        roundoff: The largest error of the C engine itself in each state, if positions and velocities change by up to
            half a unit in the last place of float32.
        num_faults: States with an overflow of contacts or constraints in MuJoCo Warp, or numbers that are not finite.
    """

    errors: Numbers
    contacts: np.ndarray[Any, np.dtype[np.int64]]
    constraints: np.ndarray[Any, np.dtype[np.int64]]
    roundoff: Numbers
    num_faults: int

    @property
    def share(self) -> float:
        """The share of accurate states."""
        return float((self.errors < TOLERANCE).mean())

    @property
    def limit(self) -> float:
        """The share of states that the C engine computes accurately from positions and velocities within roundoff."""
        return float((self.roundoff < TOLERANCE).mean())

    def outliers(self, count: int = 10) -> list[str]:
        """The states that are not accurate, the worst first, at most ``count``, one line each."""
        order = [k for k in np.argsort(-self.errors) if self.errors[k] >= TOLERANCE][:count]
        return [
            f"error {self.errors[k]:.1e}: {self.contacts[k]} contacts, {self.constraints[k]} constraints" for k in order
        ]


def measure_accuracy(
    model: Model, substeps: int, sizes: Sizes, device: str, num_states: int = 1000, episodes: int = 20, seed: int = 0
) -> Accuracy:
    """Compare one step of both engines.

    Args:
        model: The model. Where it asks for the PGS solver, which MuJoCo Warp lacks, both engines use Newton's.
        substeps: Steps of physics with the same random controls.
        sizes: Contacts and constraints per world.
        device: The device of MuJoCo Warp.
        num_states: Number of states.
        episodes: Number of roll-outs that they come from.
        seed: Seed of the controls.
    """
    compiled = supported_model(model)
    states = _roll_out(model, compiled, substeps, num_states, episodes, seed)
    references = [_step(model, compiled, state) for state in states]
    expected = _motion(references)
    generator = np.random.default_rng(seed)
    perturbed = _motion([_step(model, compiled, _perturbed(state, generator)) for state in states])
    columns = {name: _column(states, name, device) for name in ALWAYS if states[0][name].size}
    faults = wp.zeros(len(states), dtype=wp.int32, device=device)
    engine = WarpEngine(model, columns, faults, len(states), sizes, wp.get_device(device))
    engine.step(1, Shard(0, len(states), None, True, wp.get_device(device), None))
    actual = np.concatenate([engine.data.qpos.numpy(), engine.data.qvel.numpy()], axis=1)
    contacts, constraints = np.array([(data.ncon, data.nefc) for data in references]).T
    errors, roundoff = _relative(actual, expected), _relative(perturbed, expected)
    return Accuracy(errors, contacts, constraints, roundoff, int((faults.numpy() != 0).sum()))


def _motion(states: list[Any]) -> Numbers:
    """Positions and velocities, shape (num_states, nq + nv)."""
    return np.stack([np.concatenate([data.qpos, data.qvel]) for data in states])


def _relative(actual: Numbers, expected: Numbers) -> Numbers:
    """The largest error of each state, relative to its largest number."""
    return np.asarray(np.abs(actual - expected).max(axis=1) / np.abs(expected).max(axis=1))


def _perturbed(state: State, generator: np.random.Generator) -> dict[str, Any]:
    """A state with positions and velocities that round to the same float32 numbers."""
    moved: dict[str, Any] = dict(state)
    for name in ("qpos", "qvel"):
        exact = state[name].astype(np.float64)
        moved[name] = exact + np.spacing(np.abs(state[name])) * generator.uniform(-0.5, 0.5, exact.shape)
    return moved


def _roll_out(model: Model, compiled: Any, substeps: int, num_states: int, episodes: int, seed: int) -> list[State]:
    """States of roll-outs from the default pose with random controls and small random velocities."""
    mujoco, generator = model.mujoco, np.random.default_rng(seed)
    data = mujoco.MjData(compiled)
    limited = compiled.actuator_ctrllimited.astype(bool)
    low, high = np.where(limited, compiled.actuator_ctrlrange.T, [[-1.0], [1.0]])
    states: list[State] = []
    for episode in range(episodes):
        mujoco.mj_resetData(compiled, data)
        data.qvel[:] = generator.normal(0.0, 0.1, compiled.nv)
        for _ in range((num_states * (episode + 1)) // episodes - len(states)):
            for _ in range(int(generator.integers(1, LONGEST + 1))):
                data.ctrl[:] = generator.uniform(low, high)
                mujoco.mj_step(compiled, data, nstep=substeps)
            states.append({name: np.array(getattr(data, name), dtype=np.float32).reshape(-1) for name in ALWAYS})
    return states


def _step(model: Model, compiled: Any, state: dict[str, Any]) -> Any:
    """The ``MjData`` one step of the C engine after a state."""
    data = model.mujoco.MjData(compiled)
    data.time = float(state["time"][0])
    for name in ALWAYS[1:]:
        getattr(data, name).reshape(-1)[:] = state[name]
    model.mujoco.mj_step(compiled, data)
    return data


def _column(states: list[State], name: str, device: str) -> wp.array:
    """A column with one row of numbers per state; a single number for ``time``."""
    numbers = np.stack([state[name] for state in states])
    return wp.array(numbers[:, 0] if name == "time" else numbers, dtype=wp.float32, device=device)
