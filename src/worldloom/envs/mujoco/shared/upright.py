# Annotations are evaluated: systems refer to classes that are local to a function.
"""Planar robots that must stay upright, Hopper and Walker2d: their settings, components, rewards and episode ends."""

from collections.abc import Callable

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import ForwardSettings
from worldloom.envs.mujoco.shared.positions import (
    Runner,
    forward_reward_system,
    remember_x_system,
    report_height_system,
    report_x_system,
)
from worldloom.envs.mujoco.shared.state_systems import (
    VELOCITY_BOUND,
    add_noise_systems,
    effort_system,
    observe_state_system,
)
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, step_seconds, world_of
from worldloom.robots import Model, Physics

HEIGHT, ANGLE = 1, 2
"""Indices of the torso's height, in m, and pitch, in rad, in ``qpos``."""


class UprightSettings(ForwardSettings):
    """The first settings of both tasks."""

    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True


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


def define_upright(
    id: str,
    name: str,
    settings: UprightSettings,
    *,
    skipped: int,
    health: Callable[[type[wl.Entity], type[wl.World], Model], System],
    version: int,
    doc: str | None,
) -> Definition:
    """The definition of a task.

    Args:
        id: The id of the world.
        name: The name of the class of the robot.
        settings: The settings of the task.
        skipped: Positions that the observation leaves out.
        health: Makes the system that writes ``healthy``.
        version: 4 or 5.
        doc: One sentence that describes the task.
    """
    model, world = load_model(settings.xml_file), world_of(f"{name}World", settings)
    components = (robot_of(model, model.nq + model.nv - skipped), Runner, Infos if version == 5 else InfosV4)
    robot = type(name, (wl.Entity, *components), {"__module__": __name__})
    observe = [observe_state_system(robot, model, skipped, VELOCITY_BOUND), report_x_system(robot)]
    if version == 5:
        observe.append(report_height_system(robot, model, HEIGHT))
    return assemble(
        id,
        Physics(model, robot, settings.frame_skip),
        world,
        reset=add_noise_systems(robot, world, model, normal_velocity=False),
        before=[remember_x_system(robot)],
        after=[
            effort_system(robot, model),
            forward_reward_system(robot, world, step_seconds(model, settings.frame_skip)),
            health(robot, world, model),
            _reward_system(robot, world, settings.terminate_when_unhealthy, version),
        ],
        observe=observe,
        doc=doc,
    )


def _reward_system(kind: type[wl.Entity], world: type[wl.World], terminates: bool, version: int) -> System:
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
