# Annotations are evaluated: systems refer to classes that are local to a function.
"""Ant: a robot with four legs and eight motors walks forward."""

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
    """The arguments of Gymnasium's Ant-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "ant.xml"
    frame_skip: int = 5
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    main_body: int | str = 1
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True
    include_cfrc_ext_in_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """The arguments of Gymnasium's Ant-v4."""

    xml_file: str = "ant.xml"
    ctrl_cost_weight: float = 0.5
    use_contact_forces: bool = False
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


class Infos(Components):
    """The terms of the reward, all of them infos."""

    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)
    reward_contact: wl.Info(wl.float64)
    reward_survive: wl.Info(wl.float64)


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos."""

    reward_forward: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)
    reward_contact: wl.float64
    reward_survive: wl.Info(wl.float64)
    forward_reward: wl.Info(wl.float64)


def define(id: str, settings: Settings) -> Definition:
    """Ant-v5 with ``settings``."""
    return _define(id, settings, version=5)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """Ant-v4 with ``settings``."""
    arguments = dict(vars(settings))
    contacts = arguments.pop("use_contact_forces")
    return _define(id, Settings(main_body="torso", include_cfrc_ext_in_observation=contacts, **arguments), version=4)


def _define(id: str, settings: Settings, version: int) -> Definition:
    """In v4 contact forces cost reward only where they are observed, and those on the world are observed too."""
    model = load_model(settings.xml_file)
    body = settings.main_body if isinstance(settings.main_body, int) else model.body(settings.main_body)
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    first_body = 1 if version == 5 else 0
    forces = settings.include_cfrc_ext_in_observation
    ant, world = _classes(
        model, settings, model.nq + model.nv - skipped + (6 * (model.nbody - first_body) if forces else 0), version
    )
    score = [
        effort_system(ant, model),
        _forward_reward_system(ant, world, body, step_seconds(model, settings.frame_skip)),
        _contact_cost_system(ant, world, model),
        _health_system(ant, world, model),
        _reward_system(ant, world, settings.terminate_when_unhealthy, forces, version),
    ]
    observe = [observe_state_system(ant, model, skipped)]
    if forces:
        observe.append(_observe_forces_system(ant, world, model, model.nq + model.nv - skipped, first_body))
    if version == 5:
        observe.append(report_position_system(ant))
    else:
        score.append(_report_v4_system(ant, body, forces))
    return assemble(
        id,
        Physics(model, ant, settings.frame_skip),
        world,
        reset=add_noise_systems(ant, world, model, normal_velocity=True),
        before=[_remember_system(ant, body)],
        after=score,
        observe=observe,
        doc=__doc__,
    )


def _classes(model: Model, settings: Settings, size: int, version: int) -> tuple[type[wl.Entity], type[wl.World]]:
    infos = Infos if version == 5 else InfosV4

    class Ant(wl.Entity, robot_of(model, size), infos):
        xpos: model.xpos
        cfrc_ext: model.cfrc_ext
        before: wl.Array(wl.float64, 2)
        healthy: bool
        x_position: wl.Info(wl.float64)
        y_position: wl.Info(wl.float64)
        distance_from_origin: wl.Info(wl.float64)
        x_velocity: wl.Info(wl.float64)
        y_velocity: wl.Info(wl.float64)

    class AntWorld(wl.World):
        forward_reward_weight: wl.Config = wl.float64(settings.forward_reward_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        contact_cost_weight: wl.Config = wl.float64(settings.contact_cost_weight)
        healthy_reward: wl.Config = wl.float64(settings.healthy_reward)
        min_z: wl.Config = wl.float64(settings.healthy_z_range[0])
        max_z: wl.Config = wl.float64(settings.healthy_z_range[1])
        min_force: wl.Config = wl.float64(settings.contact_force_range[0])
        max_force: wl.Config = wl.float64(settings.contact_force_range[1])
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return Ant, AntWorld


def _remember_system(kind: type[wl.Entity], body: int) -> System:
    @wl.system
    def remember_position(ant: kind):
        ant.before[0] = ant.xpos[body, 0]
        ant.before[1] = ant.xpos[body, 1]

    return remember_position


def _forward_reward_system(kind: type[wl.Entity], world: type[wl.World], body: int, seconds: wl.float64) -> System:
    """Computes the velocity of ``body``, in m/s, the reward for it and the cost of the controls."""

    @wl.system
    def forward_reward(ant: kind, state: world):
        ant.x_velocity = (ant.xpos[body, 0] - ant.before[0]) / seconds
        ant.y_velocity = (ant.xpos[body, 1] - ant.before[1]) / seconds
        ant.reward_forward = ant.x_velocity * state.forward_reward_weight
        ant.reward_ctrl = -state.ctrl_cost_weight * ant.effort

    return forward_reward


def _contact_cost_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """Computes the cost of the clipped contact forces on all bodies."""
    num_bodies = model.nbody

    @wl.system
    def contact_cost(ant: kind, state: world):
        impact = wl.float64(0.0)
        for b in range(num_bodies):
            for k in range(6):
                force = wl.clamp(ant.cfrc_ext[b, k], state.min_force, state.max_force)
                impact += force * force
        ant.reward_contact = -state.contact_cost_weight * impact

    return contact_cost


def _health_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """An ant is healthy where its state is finite and its height within its range."""
    nq, nv = model.nq, model.nv

    @wl.system
    def check_health(ant: kind, state: world):
        ant.healthy = state.min_z <= ant.qpos[2] <= state.max_z
        for i in range(nq):
            ant.healthy = ant.healthy and wl.isfinite(ant.qpos[i])
        for i in range(nv):
            ant.healthy = ant.healthy and wl.isfinite(ant.qvel[i])

    return check_health


def _reward_system(
    kind: type[wl.Entity], world: type[wl.World], terminates: bool, forces: bool, version: int
) -> System:
    """Sums the terms of the reward and ends the episode of an unhealthy ant.

    In v4 an unhealthy ant still gets the reward for being healthy in the step that ends its episode.
    """
    paid_at_end = version == 4 and terminates
    contacts_cost = version == 5 or forces

    @wl.system
    def reward(ant: kind, state: world):
        ant.reward_survive = state.healthy_reward if ant.healthy or paid_at_end else wl.float64(0.0)
        cost = ant.reward_ctrl + ant.reward_contact if contacts_cost else ant.reward_ctrl
        ant.reward = (ant.reward_forward + ant.reward_survive) + cost
        if terminates and not ant.healthy:
            state.terminate()

    return reward


def _report_v4_system(kind: type[wl.Entity], body: int, forces: bool) -> System:
    """Writes the infos of v4. Where contacts cost reward, the info ``reward_ctrl`` is that cost, as in Gymnasium."""

    @wl.system
    def report_v4(ant: kind):
        x, y = ant.xpos[body, 0], ant.xpos[body, 1]
        ant.x_position = x
        ant.y_position = y
        ant.distance_from_origin = wl.sqrt(x * x + y * y)
        ant.forward_reward = ant.reward_forward
        if forces:
            ant.reward_ctrl = ant.reward_contact

    return report_v4


def _observe_forces_system(
    kind: type[wl.Entity], world: type[wl.World], model: Model, start: int, first_body: int
) -> System:
    """Writes the clipped contact forces on the bodies from ``first_body`` on, from ``observation[start]`` on."""
    num_bodies = model.nbody

    @wl.system
    def observe_forces(ant: kind, state: world):
        for b in range(first_body, num_bodies):
            for k in range(6):
                force = wl.clamp(ant.cfrc_ext[b, k], state.min_force, state.max_force)
                ant.observation[start + 6 * (b - first_body) + k] = force

    return observe_forces
