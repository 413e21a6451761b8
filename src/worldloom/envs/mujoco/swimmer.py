# Annotations are evaluated: systems refer to classes that are local to a function.
"""Swimmer: a chain of three links with two motors swims forward in a viscous fluid."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.position_infos import report_position_system
from worldloom.envs.mujoco.task import (
    add_noise_systems,
    assemble,
    effort_system,
    load_model,
    observe_state_system,
    robot_of,
    step_seconds,
)
from worldloom.robots import Model, Physics


@dataclass(frozen=True)
class Settings:
    """The arguments of Gymnasium's Swimmer-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "swimmer.xml"
    frame_skip: int = 4
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-4
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """The arguments of Gymnasium's Swimmer-v4."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-4
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


class Infos(Components):
    """The terms of the reward, all of them infos."""

    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos."""

    reward_forward: wl.float64
    reward_ctrl: wl.Info(wl.float64)
    reward_fwd: wl.Info(wl.float64)
    forward_reward: wl.Info(wl.float64)


def define(id: str, settings: Settings) -> Definition:
    """Swimmer-v5 with ``settings``."""
    return _define(id, settings, version=5)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """Swimmer-v4 with ``settings``."""
    return _define(id, Settings(**vars(settings)), version=4)


def _define(id: str, settings: Settings, version: int) -> Definition:
    model = load_model(settings.xml_file)
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    swimmer, world = _classes(model, settings, skipped, version)
    score = [
        effort_system(swimmer, model),
        _reward_system(swimmer, world, step_seconds(model, settings.frame_skip)),
    ]
    if version == 4:
        score.append(_report_v4_system(swimmer))
    return assemble(
        id,
        Physics(model, swimmer, settings.frame_skip),
        world,
        reset=add_noise_systems(swimmer, world, model, normal_velocity=False),
        before=[_remember_system(swimmer)],
        after=score,
        observe=[observe_state_system(swimmer, model, skipped), report_position_system(swimmer)],
        doc=__doc__,
    )


def _classes(model: Model, settings: Settings, skipped: int, version: int) -> tuple[type[wl.Entity], type[wl.World]]:
    infos = Infos if version == 5 else InfosV4

    class Swimmer(wl.Entity, robot_of(model, model.nq + model.nv - skipped), infos):
        before: wl.Array(wl.float64, 2)
        x_position: wl.Info(wl.float64)
        y_position: wl.Info(wl.float64)
        distance_from_origin: wl.Info(wl.float64)
        x_velocity: wl.Info(wl.float64)
        y_velocity: wl.Info(wl.float64)

    class SwimmerWorld(wl.World):
        forward_reward_weight: wl.Config = wl.float64(settings.forward_reward_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return Swimmer, SwimmerWorld


def _remember_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def remember_position(swimmer: kind):
        swimmer.before[0] = swimmer.qpos[0]
        swimmer.before[1] = swimmer.qpos[1]

    return remember_position


def _reward_system(kind: type[wl.Entity], world: type[wl.World], seconds: wl.float64) -> System:
    @wl.system
    def reward(swimmer: kind, state: world):
        swimmer.x_velocity = (swimmer.qpos[0] - swimmer.before[0]) / seconds
        swimmer.y_velocity = (swimmer.qpos[1] - swimmer.before[1]) / seconds
        swimmer.reward_forward = state.forward_reward_weight * swimmer.x_velocity
        swimmer.reward_ctrl = -state.ctrl_cost_weight * swimmer.effort
        swimmer.reward = swimmer.reward_forward + swimmer.reward_ctrl

    return reward


def _report_v4_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def report_v4(swimmer: kind):
        swimmer.reward_fwd = swimmer.reward_forward
        swimmer.forward_reward = swimmer.reward_forward

    return report_v4
