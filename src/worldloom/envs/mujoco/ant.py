# Annotations are evaluated: systems refer to classes that are local to a function.
"""Ant: a robot with four legs and eight motors walks forward."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.task import (
    MAX_STEPS,
    action_of,
    add_noise_systems,
    drive_system,
    load_model,
    observe_state_system,
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


def define(id: str, settings: Settings) -> Definition:
    """The world of ``id`` with ``settings``."""
    model = load_model(settings.xml_file)
    ant, world = _classes(model, settings)
    physics = Physics(model, ant, settings.frame_skip)
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    step = [_remember_system(ant, model, settings), drive_system(ant, model), *physics.step]
    observe = [observe_state_system(ant, model, skipped), _info_system(ant)]
    if settings.include_cfrc_ext_in_observation:
        observe.append(_observe_forces_system(ant, world, model, skipped))
    return Definition(
        id,
        world,
        {ant: 1},
        reset=(physics.home, *add_noise_systems(ant, world, model, normal_velocity=True), physics.forward),
        step=(*step, *_reward_systems(ant, world, model, settings)),
        observe=tuple(observe),
        max_steps=MAX_STEPS,
        doc=__doc__ or "",
        worlds_per_thread=1,
    ).checked


def _classes(model: Model, settings: Settings) -> tuple[type[wl.Entity], type[wl.World]]:
    excluded = 2 if settings.exclude_current_positions_from_observation else 0
    forces = 6 * (model.nbody - 1) if settings.include_cfrc_ext_in_observation else 0
    size = model.nq + model.nv - excluded + forces

    class Ant(wl.Entity, model.State):
        xpos: model.xpos
        cfrc_ext: model.cfrc_ext
        action: action_of(model)
        observation: wl.Observation(size, dtype=wl.float64)
        reward: wl.Reward(wl.float64)
        before: wl.Array(wl.float64, 2)
        x_position: wl.Info(wl.float64)
        y_position: wl.Info(wl.float64)
        distance_from_origin: wl.Info(wl.float64)
        x_velocity: wl.Info(wl.float64)
        y_velocity: wl.Info(wl.float64)
        reward_forward: wl.Info(wl.float64)
        reward_ctrl: wl.Info(wl.float64)
        reward_contact: wl.Info(wl.float64)
        reward_survive: wl.Info(wl.float64)

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


def _main_body(model: Model, settings: Settings) -> int:
    return settings.main_body if isinstance(settings.main_body, int) else model.body(settings.main_body)


def _remember_system(kind: type[wl.Entity], model: Model, settings: Settings) -> System:
    body = _main_body(model, settings)

    @wl.system
    def remember_position(ant: kind):
        ant.before[0] = ant.xpos[body, 0]
        ant.before[1] = ant.xpos[body, 1]

    return remember_position


def _reward_systems(
    kind: type[wl.Entity], world: type[wl.World], model: Model, settings: Settings
) -> tuple[System, System]:
    body, num_bodies, num_motors, nq, nv = _main_body(model, settings), model.nbody, model.nu, model.nq, model.nv
    seconds = wl.float64(model.mj_model.opt.timestep * settings.frame_skip)
    ends = settings.terminate_when_unhealthy

    @wl.system
    def reward(ant: kind, state: world):
        ant.x_velocity = (ant.xpos[body, 0] - ant.before[0]) / seconds
        ant.y_velocity = (ant.xpos[body, 1] - ant.before[1]) / seconds
        effort = wl.float64(0.0)
        for i in range(num_motors):
            effort += wl.float64(ant.action[i]) * wl.float64(ant.action[i])
        impact = wl.float64(0.0)
        for b in range(num_bodies):
            for k in range(6):
                force = wl.clamp(ant.cfrc_ext[b, k], state.min_force, state.max_force)
                impact += force * force
        ant.reward_forward = ant.x_velocity * state.forward_reward_weight
        ant.reward_ctrl = -state.ctrl_cost_weight * effort
        ant.reward_contact = -state.contact_cost_weight * impact

    @wl.system
    def judge(ant: kind, state: world):
        healthy = ant.qpos[2] >= state.min_z and ant.qpos[2] <= state.max_z
        for i in range(nq):
            healthy = healthy and wl.isfinite(ant.qpos[i])
        for i in range(nv):
            healthy = healthy and wl.isfinite(ant.qvel[i])
        ant.reward_survive = state.healthy_reward if healthy else wl.float64(0.0)
        ant.reward = (ant.reward_forward + ant.reward_survive) + (ant.reward_ctrl + ant.reward_contact)
        if ends and not healthy:
            state.terminate()

    return reward, judge


def _info_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def report_position(ant: kind):
        ant.x_position = ant.qpos[0]
        ant.y_position = ant.qpos[1]
        ant.distance_from_origin = wl.sqrt(ant.qpos[0] * ant.qpos[0] + ant.qpos[1] * ant.qpos[1])

    return report_position


def _observe_forces_system(kind: type[wl.Entity], world: type[wl.World], model: Model, skipped: int) -> System:
    first, num_bodies = model.nq + model.nv - skipped, model.nbody

    @wl.system
    def observe_forces(ant: kind, state: world):
        for b in range(1, num_bodies):
            for k in range(6):
                force = wl.clamp(ant.cfrc_ext[b, k], state.min_force, state.max_force)
                ant.observation[first + 6 * (b - 1) + k] = force

    return observe_forces
