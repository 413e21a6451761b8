# Annotations are evaluated: systems refer to classes that are local to a function.
"""Planar robots that must stay upright, Hopper and Walker2d: their reward and the end of their episodes."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components


class Infos(Components):
    """The terms of the reward, all of them infos. ``healthy`` is written by the task."""

    healthy: bool
    z_distance_from_origin: wl.Info(wl.float64)
    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)
    reward_survive: wl.Info(wl.float64)


class InfosV4(Components):
    """The terms of the reward, none of them an info."""

    healthy: bool
    reward_forward: wl.float64
    reward_ctrl: wl.float64
    reward_survive: wl.float64


def reward_system(kind: type[wl.Entity], world: type[wl.World], terminates: bool, version: int) -> System:
    """Sums the terms of the reward and ends the episode of an unhealthy robot.

    In v4 an unhealthy robot still gets the reward for being healthy in the step that ends its episode.
    """
    paid_at_end = version == 4 and terminates

    @wl.system
    def reward(robot: kind, state: world):
        robot.reward_survive = state.healthy_reward if robot.healthy or paid_at_end else wl.float64(0.0)
        robot.reward = (robot.reward_forward + robot.reward_survive) + robot.reward_ctrl
        if terminates and not robot.healthy:
            state.terminate()

    return reward
