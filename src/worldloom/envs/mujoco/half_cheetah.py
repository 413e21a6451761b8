# Annotations are evaluated: systems refer to classes that are local to a function.
"""HalfCheetah: a planar robot with two legs and six motors runs forward."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.planar import Runner, forward_reward_system, remember_x_system
from worldloom.envs.mujoco.position_infos import report_x_system
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
    """The arguments of Gymnasium's HalfCheetah-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "half_cheetah.xml"
    frame_skip: int = 5
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """The arguments of Gymnasium's HalfCheetah-v4."""

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


class Infos(Components):
    """The terms of the reward, all of them infos."""

    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos."""

    reward_forward: wl.float64
    reward_run: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)


def define(id: str, settings: Settings) -> Definition:
    """HalfCheetah-v5 with ``settings``."""
    return _define(id, settings, version=5)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """HalfCheetah-v4 with ``settings``."""
    return _define(id, Settings(**vars(settings)), version=4)


def _define(id: str, settings: Settings, version: int) -> Definition:
    model = load_model(settings.xml_file)
    skipped = 1 if settings.exclude_current_positions_from_observation else 0
    cheetah, world = _classes(model, settings, skipped, version)
    score = [
        effort_system(cheetah, model),
        forward_reward_system(cheetah, world, step_seconds(model, settings.frame_skip)),
        _reward_system(cheetah),
    ]
    if version == 4:
        score.append(_report_v4_system(cheetah))
    return assemble(
        id,
        Physics(model, cheetah, settings.frame_skip),
        world,
        reset=add_noise_systems(cheetah, world, model, normal_velocity=True),
        before=[remember_x_system(cheetah)],
        after=score,
        observe=[observe_state_system(cheetah, model, skipped), report_x_system(cheetah)],
        doc=__doc__,
    )


def _classes(model: Model, settings: Settings, skipped: int, version: int) -> tuple[type[wl.Entity], type[wl.World]]:
    infos = Infos if version == 5 else InfosV4

    class HalfCheetah(wl.Entity, robot_of(model, model.nq + model.nv - skipped), Runner, infos):
        pass

    class HalfCheetahWorld(wl.World):
        forward_reward_weight: wl.Config = wl.float64(settings.forward_reward_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return HalfCheetah, HalfCheetahWorld


def _reward_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def reward(cheetah: kind):
        cheetah.reward = cheetah.reward_forward + cheetah.reward_ctrl

    return reward


def _report_v4_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def report_v4(cheetah: kind):
        cheetah.reward_run = cheetah.reward_forward

    return report_v4
