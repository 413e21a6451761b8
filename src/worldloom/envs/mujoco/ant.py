# Annotations are evaluated: systems refer to classes that are local to a function.
"""Ant: a robot with four legs and eight motors walks forward."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import ForwardSettings
from worldloom.envs.mujoco.shared.positions import ForwardInfos, PlaneInfos, report_position_system
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, effort_system, observe_state_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, step_seconds, world_of
from worldloom.robots import Model, Physics


class Settings(ForwardSettings, xml_file="ant.xml", frame_skip=5):
    """The arguments of Gymnasium's Ant-v5; see docs/worlds/mujoco.md."""

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

    def resolved(self) -> Settings:
        """These settings with the names of v5."""
        arguments = dict(vars(self))
        contacts = arguments.pop("use_contact_forces")
        return Settings(main_body="torso", include_cfrc_ext_in_observation=contacts, **arguments)


class Infos(ForwardInfos):
    """The terms of the reward, all of them infos."""

    reward_contact: wl.Info(wl.float64)
    reward_survive: wl.Info(wl.float64)


class InfosV4(ForwardInfos):
    """The terms of the reward, with v4's names of infos."""

    reward_contact: wl.float64
    reward_survive: wl.Info(wl.float64)
    forward_reward: wl.Info(wl.float64)


def define(id: str, settings: Settings, version: int) -> Definition:
    """Ant with ``settings``.

    In v4 contact forces cost reward only where they are observed, and those on the world are observed too.
    """
    model, world = load_model(settings.xml_file), world_of("AntWorld", settings)
    body = settings.main_body if isinstance(settings.main_body, int) else model.body(settings.main_body)
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    first_body = 1 if version == 5 else 0
    forces = settings.include_cfrc_ext_in_observation
    state_size, forces_size = model.nq + model.nv - skipped, 6 * (model.nbody - first_body)
    ant = _robot(model, state_size + (forces_size if forces else 0), version)
    score = [
        effort_system(ant, model),
        _forward_reward_system(ant, world, body, step_seconds(model, settings.frame_skip)),
        _contact_cost_system(ant, world, model),
        _health_system(ant, world, model),
        _reward_system(ant, world, settings.terminate_when_unhealthy, forces, version),
    ]
    observe = [observe_state_system(ant, model, skipped)]
    if forces:
        observe.append(_observe_forces_system(ant, world, model, state_size, first_body))
    if version == 5:
        observe.append(report_position_system(ant))
    else:
        score.append(_report_v4_system(ant, body, forces))
    physics = Physics(model, ant, settings.frame_skip)
    noise = add_noise_systems(ant, world, model, normal_velocity=True)
    before = [_remember_system(ant, body)]
    return assemble(id, physics, world, reset=noise, before=before, after=score, observe=observe, doc=__doc__)


def _robot(model: Model, size: int, version: int) -> type[wl.Entity]:
    infos = Infos if version == 5 else InfosV4

    class Body(robot_of(model, size), infos):
        xpos: model.xpos
        cfrc_ext: model.cfrc_ext
        before: wl.Array(wl.float64, 2)
        healthy: bool

    class Ant(wl.Entity, PlaneInfos, Body):
        pass

    return Ant


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
