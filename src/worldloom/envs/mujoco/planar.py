# Annotations are evaluated: systems refer to classes that are local to a function.
"""Robots that run along the x axis: their velocity, and the reward for it."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components


class Runner(Components):
    """A robot whose first position is its x coordinate, in m."""

    x_before: wl.float64
    x_position: wl.Info(wl.float64)
    x_velocity: wl.Info(wl.float64)


def remember_x_system(kind: type[wl.Entity]) -> System:
    """Stores the x coordinate, for before the physics of a step."""

    @wl.system
    def remember_x(runner: kind):
        runner.x_before = runner.qpos[0]

    return remember_x


def forward_reward_system(kind: type[wl.Entity], world: type[wl.World], seconds: wl.float64) -> System:
    """Computes the x velocity, in m/s, the reward for it and the cost of the controls."""

    @wl.system
    def forward_reward(runner: kind, state: world):
        runner.x_velocity = (runner.qpos[0] - runner.x_before) / seconds
        runner.reward_forward = state.forward_reward_weight * runner.x_velocity
        runner.reward_ctrl = -state.ctrl_cost_weight * runner.effort

    return forward_reward
