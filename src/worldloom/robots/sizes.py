"""How many contacts and constraints a model needs per world: measured by stepping it with random controls."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import warp as wp

from worldloom.robots.candidate_pairs import CandidatePairs
from worldloom.robots.model import Model

CONTACT_MARGIN, CONSTRAINT_MARGIN = 1.5, 2.0
"""Reserved, relative to what was seen. Worlds share the memory of contacts, but not that of constraints."""
LEAST_CONTACTS, LEAST_CONSTRAINTS = 16, 32


@dataclass(frozen=True)
class Sizes:
    """Memory per world.

    Attributes:
        contacts: Contacts per world on average, candidate pairs of the broad phase included.
        constraints: Rows of constraints of any world, at most.
    """

    contacts: int
    constraints: int


@dataclass(frozen=True)
class Measured:
    """What was seen, and the sizes that follow.

    Attributes:
        mean_contacts, max_contacts: Contacts of a world.
        max_candidates: Pairs of geoms of a world that the broad phase passes on.
        mean_constraints, max_constraints: Rows of constraints of a world.
    """

    mean_contacts: float
    max_contacts: int
    max_candidates: int
    mean_constraints: float
    max_constraints: int

    @property
    def sizes(self) -> Sizes:
        contacts = max(LEAST_CONTACTS, int(CONTACT_MARGIN * self.max_contacts) + 1, self.max_candidates)
        return Sizes(contacts, max(LEAST_CONSTRAINTS, int(CONSTRAINT_MARGIN * self.max_constraints) + 1))


def measure(model: Model, episodes: int = 8, steps: int = 400, seed: int = 0) -> Measured:
    """Step a model in the C engine from its default pose with random controls, and count.

    Args:
        model: The model.
        episodes: Number of episodes.
        steps: Steps of physics of each; controls change every ten.
        seed: Seed of the controls.
    """
    mujoco, mj_model = model.mujoco, model.mj_model
    data, generator = mujoco.MjData(mj_model), np.random.default_rng(seed)
    limited = mj_model.actuator_ctrllimited.astype(bool)
    low, high = np.where(limited, mj_model.actuator_ctrlrange.T, [[-1.0], [1.0]])
    pairs = CandidatePairs(mujoco, mj_model)
    counts, candidates = [], 0
    for _ in range(episodes):
        mujoco.mj_resetData(mj_model, data)
        for step in range(steps):
            if step % 10 == 0:
                data.ctrl[:] = generator.uniform(low, high)
            mujoco.mj_step(mj_model, data)
            if step % 10 == 0:
                candidates = max(candidates, int(pairs.touching(data).sum()))
            counts.append((data.ncon, data.nefc))
    contacts, constraints = np.array(counts).T
    return Measured(
        float(contacts.mean()), int(contacts.max()), candidates, float(constraints.mean()), int(constraints.max())
    )


def warp_bytes(model: Model, sizes: Sizes) -> int:
    """Bytes of MuJoCo Warp's data per world, without the scratch memory of its solver."""
    import mujoco_warp

    with wp.ScopedDevice("cpu"):
        data = mujoco_warp.make_data(model.mj_model, 1, nconmax=sizes.contacts, njmax=sizes.constraints)
    return _array_bytes(data)


def _array_bytes(data: Any) -> int:
    """Bytes of the arrays of a dataclass, those of dataclasses in it included."""
    if isinstance(data, wp.array):
        return int(data.capacity)
    return sum(_array_bytes(getattr(data, field.name)) for field in fields(data)) if is_dataclass(data) else 0
