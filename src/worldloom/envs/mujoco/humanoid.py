# Annotations are evaluated: systems refer to classes that are local to a function.
"""Humanoid: a robot with two legs, two arms and 17 motors walks forward."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.humanoid_body import (
    Layout,
    humanoid_of,
    impact_system,
    observation_layout,
    observe_systems,
    report_tendons_system,
    tendons_of,
)
from worldloom.envs.mujoco.position_infos import report_position_system
from worldloom.envs.mujoco.task import add_noise_systems, assemble, effort_system, load_model, step_seconds
from worldloom.robots import Model, Physics


@dataclass(frozen=True)
class Settings:
    """The arguments of Gymnasium's Humanoid-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "humanoid.xml"
    frame_skip: int = 5
    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-float("inf"), 10.0)
    healthy_reward: float = 5.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (1.0, 2.0)
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """The arguments of Gymnasium's Humanoid-v4."""

    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    healthy_reward: float = 5.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (1.0, 2.0)
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True


class Infos(Components):
    """The terms of the reward, all of them infos."""

    reward_survive: wl.Info(wl.float64)
    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)
    reward_contact: wl.Info(wl.float64)
    impact: wl.float64


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos. Contacts cost nothing."""

    reward_survive: wl.float64
    reward_forward: wl.float64
    reward_ctrl: wl.float64
    reward_linvel: wl.Info(wl.float64)
    reward_quadctrl: wl.Info(wl.float64)
    reward_alive: wl.Info(wl.float64)
    forward_reward: wl.Info(wl.float64)


def define(id: str, settings: Settings) -> Definition:
    """Humanoid-v5 with ``settings``."""
    model = load_model(settings.xml_file)
    layout = observation_layout(model, settings, version=5)
    humanoid, world = _classes(model, settings, layout, Infos, tendons_of(model))
    reward = _reward_system(humanoid, world, settings.terminate_when_unhealthy)
    return assemble(
        id,
        Physics(model, humanoid, settings.frame_skip),
        world,
        reset=add_noise_systems(humanoid, world, model, normal_velocity=False),
        before=[_locate_system(humanoid, model)],
        after=[*_forward_reward_systems(humanoid, world, model, settings), impact_system(humanoid, model), reward],
        observe=[
            *observe_systems(humanoid, model, layout),
            report_position_system(humanoid),
            report_tendons_system(humanoid, model),
        ],
        doc=__doc__,
    )


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """Humanoid-v4 with ``settings``."""
    same = Settings(**vars(settings))
    model = load_model(same.xml_file)
    layout = observation_layout(model, same, version=4)
    humanoid, world = _classes(model, same, layout, InfosV4)
    return assemble(
        id,
        Physics(model, humanoid, same.frame_skip),
        world,
        reset=add_noise_systems(humanoid, world, model, normal_velocity=False),
        before=[_locate_system(humanoid, model)],
        after=[
            *_forward_reward_systems(humanoid, world, model, same),
            _reward_v4_system(humanoid, world, same.terminate_when_unhealthy),
            _report_v4_system(humanoid),
        ],
        observe=observe_systems(humanoid, model, layout),
        doc=__doc__,
    )


def _classes(
    model: Model, settings: Settings, layout: Layout, *infos: type[Components]
) -> tuple[type[wl.Entity], type[wl.World]]:
    class Humanoid(wl.Entity, humanoid_of(model, layout), *infos):
        xipos: model.xipos
        before: wl.Array(wl.float64, 2)
        center: wl.Array(wl.float64, 2)
        x_position: wl.Info(wl.float64)
        y_position: wl.Info(wl.float64)
        distance_from_origin: wl.Info(wl.float64)
        x_velocity: wl.Info(wl.float64)
        y_velocity: wl.Info(wl.float64)

    class HumanoidWorld(wl.World):
        forward_reward_weight: wl.Config = wl.float64(settings.forward_reward_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        contact_cost_weight: wl.Config = wl.float64(settings.contact_cost_weight)
        min_contact_cost: wl.Config = wl.float64(settings.contact_cost_range[0])
        max_contact_cost: wl.Config = wl.float64(settings.contact_cost_range[1])
        healthy_reward: wl.Config = wl.float64(settings.healthy_reward)
        min_z: wl.Config = wl.float64(settings.healthy_z_range[0])
        max_z: wl.Config = wl.float64(settings.healthy_z_range[1])
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return Humanoid, HumanoidWorld


def _locate_system(kind: type[wl.Entity], model: Model) -> System:
    """Computes the center of mass, x and y in m, and stores the one computed before in ``before``."""
    num_bodies = model.nbody
    masses = wl.vec(num_bodies, wl.float64)(*model.mj_model.body_mass.tolist())
    total = wl.float64(model.mj_model.body_mass.sum())

    @wl.system
    def locate(humanoid: kind):
        for k in range(2):
            humanoid.before[k] = humanoid.center[k]
            moment = wl.float64(0.0)
            for b in range(num_bodies):
                moment += masses[b] * humanoid.xipos[b, k]
            humanoid.center[k] = moment / total

    return locate


def _forward_reward_systems(
    kind: type[wl.Entity], world: type[wl.World], model: Model, settings: Settings
) -> list[System]:
    """Compute the velocity of the center of mass, in m/s, the reward for it and the cost of the controls."""
    seconds = step_seconds(model, settings.frame_skip)

    @wl.system
    def forward_reward(humanoid: kind, state: world):
        humanoid.x_velocity = (humanoid.center[0] - humanoid.before[0]) / seconds
        humanoid.y_velocity = (humanoid.center[1] - humanoid.before[1]) / seconds
        humanoid.reward_forward = state.forward_reward_weight * humanoid.x_velocity
        humanoid.reward_ctrl = -state.ctrl_cost_weight * humanoid.effort

    return [_locate_system(kind, model), effort_system(kind, model), forward_reward]


def _reward_system(kind: type[wl.Entity], world: type[wl.World], terminates: bool) -> System:
    @wl.system
    def reward(humanoid: kind, state: world):
        cost = wl.clamp(state.contact_cost_weight * humanoid.impact, state.min_contact_cost, state.max_contact_cost)
        healthy = state.min_z < humanoid.qpos[2] < state.max_z
        humanoid.reward_contact = -cost
        humanoid.reward_survive = state.healthy_reward if healthy else wl.float64(0.0)
        costs = humanoid.reward_ctrl + humanoid.reward_contact
        humanoid.reward = (humanoid.reward_forward + humanoid.reward_survive) + costs
        if terminates and not healthy:
            state.terminate()

    return reward


def _reward_v4_system(kind: type[wl.Entity], world: type[wl.World], terminates: bool) -> System:
    """In v4 an unhealthy robot still gets the reward for being healthy in the step that ends its episode."""

    @wl.system
    def reward(humanoid: kind, state: world):
        healthy = state.min_z < humanoid.qpos[2] < state.max_z
        humanoid.reward_survive = state.healthy_reward if healthy or terminates else wl.float64(0.0)
        humanoid.reward = (humanoid.reward_forward + humanoid.reward_survive) + humanoid.reward_ctrl
        if terminates and not healthy:
            state.terminate()

    return reward


def _report_v4_system(kind: type[wl.Entity]) -> System:
    """Writes the infos of v4: the position is that of the center of mass."""

    @wl.system
    def report_v4(humanoid: kind):
        x, y = humanoid.center[0], humanoid.center[1]
        humanoid.x_position = x
        humanoid.y_position = y
        humanoid.distance_from_origin = wl.sqrt(x * x + y * y)
        humanoid.reward_linvel = humanoid.reward_forward
        humanoid.forward_reward = humanoid.reward_forward
        humanoid.reward_quadctrl = humanoid.reward_ctrl
        humanoid.reward_alive = humanoid.reward_survive

    return report_v4
