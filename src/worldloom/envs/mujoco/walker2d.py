# Annotations are evaluated: systems refer to classes that are local to a function.
"""Walker2d: a planar robot with two legs and six motors walks forward."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.planar import Runner, forward_reward_system, remember_x_system
from worldloom.envs.mujoco.position_infos import report_height_system, report_x_system
from worldloom.envs.mujoco.task import (
    VELOCITY_BOUND,
    add_noise_systems,
    assemble,
    effort_system,
    load_model,
    observe_state_system,
    robot_of,
    step_seconds,
)
from worldloom.envs.mujoco.upright import Infos, InfosV4, reward_system
from worldloom.robots import Model, Physics

HEIGHT, ANGLE = 1, 2
"""Indices of the torso's height, in m, and pitch, in rad, in ``qpos``."""


@dataclass(frozen=True)
class Settings:
    """The arguments of Gymnasium's Walker2d-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "walker2d_v5.xml"
    frame_skip: int = 4
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """The arguments of Gymnasium's Walker2d-v4."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True


def define(id: str, settings: Settings) -> Definition:
    """Walker2d-v5 with ``settings``."""
    return _define(id, settings, version=5)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """Walker2d-v4 with ``settings``."""
    return _define(id, Settings(xml_file="walker2d.xml", **vars(settings)), version=4)


def _define(id: str, settings: Settings, version: int) -> Definition:
    model = load_model(settings.xml_file)
    skipped = 1 if settings.exclude_current_positions_from_observation else 0
    walker, world = _classes(model, settings, skipped, version)
    observe = [observe_state_system(walker, model, skipped, VELOCITY_BOUND), report_x_system(walker)]
    if version == 5:
        observe.append(report_height_system(walker, model, HEIGHT))
    return assemble(
        id,
        Physics(model, walker, settings.frame_skip),
        world,
        reset=add_noise_systems(walker, world, model, normal_velocity=False),
        before=[remember_x_system(walker)],
        after=[
            effort_system(walker, model),
            forward_reward_system(walker, world, step_seconds(model, settings.frame_skip)),
            _health_system(walker, world),
            reward_system(walker, world, settings.terminate_when_unhealthy, version),
        ],
        observe=observe,
        doc=__doc__,
    )


def _classes(model: Model, settings: Settings, skipped: int, version: int) -> tuple[type[wl.Entity], type[wl.World]]:
    infos = Infos if version == 5 else InfosV4

    class Walker2d(wl.Entity, robot_of(model, model.nq + model.nv - skipped), Runner, infos):
        pass

    class Walker2dWorld(wl.World):
        forward_reward_weight: wl.Config = wl.float64(settings.forward_reward_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        healthy_reward: wl.Config = wl.float64(settings.healthy_reward)
        min_z: wl.Config = wl.float64(settings.healthy_z_range[0])
        max_z: wl.Config = wl.float64(settings.healthy_z_range[1])
        min_angle: wl.Config = wl.float64(settings.healthy_angle_range[0])
        max_angle: wl.Config = wl.float64(settings.healthy_angle_range[1])
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return Walker2d, Walker2dWorld


def _health_system(kind: type[wl.Entity], world: type[wl.World]) -> System:
    """A walker is healthy where its height and angle are within their ranges."""

    @wl.system
    def check_health(walker: kind, state: world):
        walker.healthy = (
            state.min_z < walker.qpos[HEIGHT] < state.max_z and state.min_angle < walker.qpos[ANGLE] < state.max_angle
        )

    return check_health
