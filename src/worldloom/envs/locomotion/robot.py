"""Where the numbers of one robot lie in the arrays of a model with several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from worldloom.robots import Model

ROOT = 7
"""Numbers of the root in ``qpos``: position and quaternion."""
ROOT_VELOCITY = 6
"""Numbers of the root in ``qvel``: linear velocity in the world's frame, angular velocity in the torso's."""


@dataclass(frozen=True)
class Robot:
    """Sizes of one robot.

    Attributes:
        model: The model, with ``agents`` equal robots.
        agents: Number of robots.
    """

    model: Model
    agents: int

    @property
    def positions(self) -> int:
        """Numbers of ``qpos``."""
        return int(self.model.nq) // self.agents

    @property
    def velocities(self) -> int:
        """Numbers of ``qvel``."""
        return int(self.model.nv) // self.agents

    @property
    def motors(self) -> int:
        """Motors, one per joint."""
        return int(self.model.nu) // self.agents

    @property
    def joints(self) -> int:
        """Joints without the root."""
        return self.positions - ROOT

    @property
    def feet(self) -> int:
        """Feet, each with a touch sensor."""
        return int(self.model.nsensordata) // self.agents

    @property
    def bodies(self) -> int:
        """Bodies; the first is the torso."""
        return (int(self.model.nbody) - 1) // self.agents

    @property
    def observation_size(self) -> int:
        """Height, roll and pitch, velocities, direction of the target, joints, forces of motors, feet."""
        return 1 + 2 + ROOT_VELOCITY + 2 + 2 * self.joints + self.motors + self.feet

    @cached_property
    def max_torque(self) -> float:
        """The largest torque of any motor, in N m."""
        return float(np.abs(self.model.mj_model.actuator_gear[:, 0]).max())

    @cached_property
    def joint_ranges(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Middle and half of the range of each joint, in radians."""
        low, high = self.model.mj_model.jnt_range[1 : 1 + self.joints].T
        return 0.5 * (low + high), 0.5 * (high - low)
