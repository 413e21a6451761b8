# Annotations are evaluated: systems refer to classes that are local to a function.
"""Humanoid: a robot with two legs, two arms and 17 motors walks forward."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import ForwardSettings, fixed
from worldloom.envs.mujoco.shared.humanoid_body import humanoid_of, impact_system, report_tendons_system, tendons_of
from worldloom.envs.mujoco.shared.humanoid_observations import (
    Layout,
    ObservationSettings,
    observation_layout,
    observe_systems,
)
from worldloom.envs.mujoco.shared.positions import PlaneInfos, report_position_system
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, effort_system
from worldloom.envs.mujoco.task import assemble, load_model, step_seconds, world_of
from worldloom.robots import Model, Physics


class RewardSettings(ForwardSettings, xml_file="humanoid.xml", frame_skip=5):
    """The settings of the reward and of the end of episodes."""

    forward_reward_weight: float = 1.25
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-float("inf"), 10.0)
    healthy_reward: float = 5.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (1.0, 2.0)


class Settings(ObservationSettings, RewardSettings):
    """The arguments of Gymnasium's Humanoid-v5; see docs/worlds/mujoco.md."""


SettingsV4 = fixed(
    Settings,
    "xml_file",
    "frame_skip",
    "contact_cost_weight",
    "contact_cost_range",
    "include_cinert_in_observation",
    "include_cvel_in_observation",
    "include_qfrc_actuator_in_observation",
    "include_cfrc_ext_in_observation",
)


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


def define(id: str, settings: Settings, version: int) -> Definition:
    """Humanoid with ``settings``."""
    model, world = load_model(settings.xml_file), world_of("HumanoidWorld", settings)
    layout = observation_layout(model, settings, version)
    humanoid = _robot(model, layout, *((Infos, tendons_of(model)) if version == 5 else (InfosV4,)))
    score = _forward_reward_systems(humanoid, world, model, settings)
    observe = observe_systems(humanoid, model, layout)
    if version == 5:
        score += [impact_system(humanoid, model), _reward_system(humanoid, world, settings.terminate_when_unhealthy)]
        observe += [report_position_system(humanoid), report_tendons_system(humanoid, model)]
    else:
        score += [_reward_v4_system(humanoid, world, settings.terminate_when_unhealthy), _report_v4_system(humanoid)]
    return assemble(
        id,
        Physics(model, humanoid, settings.frame_skip),
        world,
        reset=add_noise_systems(humanoid, world, model, normal_velocity=False),
        before=[_locate_system(humanoid, model)],
        after=score,
        observe=observe,
        doc=__doc__,
    )


def _robot(model: Model, layout: Layout, *infos: type[Components]) -> type[wl.Entity]:
    class Body(humanoid_of(model, layout), *infos):
        xipos: model.xipos
        before: wl.Array(wl.float64, 2)
        center: wl.Array(wl.float64, 2)

    class Humanoid(wl.Entity, PlaneInfos, Body):
        pass

    return Humanoid


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
