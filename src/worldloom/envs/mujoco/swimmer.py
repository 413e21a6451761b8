# Annotations are evaluated: systems refer to classes that are local to a function.
"""Swimmer: a chain of three links with two motors swims forward in a viscous fluid."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import ForwardSettings, fixed
from worldloom.envs.mujoco.shared.positions import ForwardInfos, PlaneInfos, report_position_system
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, effort_system, observe_state_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, step_seconds, world_of
from worldloom.robots import Model, Physics


class Settings(ForwardSettings, xml_file="swimmer.xml", frame_skip=4):
    """The arguments of Gymnasium's Swimmer-v5; see docs/worlds/mujoco.md."""

    ctrl_cost_weight: float = 1e-4
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


SettingsV4 = fixed(Settings, "xml_file", "frame_skip")


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos."""

    reward_forward: wl.float64
    reward_ctrl: wl.Info(wl.float64)
    reward_fwd: wl.Info(wl.float64)
    forward_reward: wl.Info(wl.float64)


def define(id: str, settings: Settings, version: int) -> Definition:
    """Swimmer with ``settings``."""
    model, world = load_model(settings.xml_file), world_of("SwimmerWorld", settings)
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    swimmer = _robot(model, skipped, version)
    score = [
        effort_system(swimmer, model),
        _reward_system(swimmer, world, step_seconds(model, settings.frame_skip)),
    ]
    if version == 4:
        score.append(_report_v4_system(swimmer))
    physics = Physics(model, swimmer, settings.frame_skip)
    noise = add_noise_systems(swimmer, world, model, normal_velocity=False)
    observe = [observe_state_system(swimmer, model, skipped), report_position_system(swimmer)]
    before = [_remember_system(swimmer)]
    return assemble(id, physics, world, reset=noise, before=before, after=score, observe=observe, doc=__doc__)


def _robot(model: Model, skipped: int, version: int) -> type[wl.Entity]:
    infos = ForwardInfos if version == 5 else InfosV4

    class Body(robot_of(model, model.nq + model.nv - skipped), infos):
        before: wl.Array(wl.float64, 2)

    class Swimmer(wl.Entity, PlaneInfos, Body):
        pass

    return Swimmer


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
