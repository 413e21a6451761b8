# Annotations are evaluated: systems refer to classes that are local to a function.
"""InvertedDoublePendulum: a cart with one motor balances two poles, one on top of the other."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import TaskSettings, fixed
from worldloom.envs.mujoco.shared.state_systems import VELOCITY_BOUND, add_noise_systems
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, world_of
from worldloom.robots import Model, Physics

TIP = 0
"""The site at the tip of the upper pole."""


class Settings(TaskSettings, xml_file="inverted_double_pendulum.xml", frame_skip=5):
    """The arguments of Gymnasium's InvertedDoublePendulum-v5; see docs/worlds/mujoco.md."""

    healthy_reward: float = 10.0
    reset_noise_scale: float = 0.1


SettingsV4 = fixed(Settings, *vars(Settings()))
"""Gymnasium's InvertedDoublePendulum-v4 has no arguments."""


class Infos(Components):
    """The terms of the reward, all of them infos."""

    reward_survive: wl.Info(wl.float64)
    distance_penalty: wl.Info(wl.float64)
    velocity_penalty: wl.Info(wl.float64)


class InfosV4(Components):
    """The terms of the reward, none of them an info."""

    reward_survive: wl.float64
    distance_penalty: wl.float64
    velocity_penalty: wl.float64


def define(id: str, settings: Settings, version: int) -> Definition:
    """InvertedDoublePendulum with ``settings``."""
    model = load_model(settings.xml_file)
    observed_forces = 1 if version == 5 else model.nv
    pendulum, world = _robot(model, observed_forces, version), world_of("InvertedDoublePendulumWorld", settings)
    return assemble(
        id,
        Physics(model, pendulum, settings.frame_skip),
        world,
        reset=add_noise_systems(pendulum, world, model, normal_velocity=True),
        after=[_balance_system(pendulum, world, version)],
        observe=[_observe_system(pendulum, model, observed_forces)],
        doc=__doc__,
    )


def _robot(model: Model, observed_forces: int, version: int) -> type[wl.Entity]:
    size = 1 + 2 * (model.nq - 1) + model.nv + observed_forces
    infos = Infos if version == 5 else InfosV4

    class InvertedDoublePendulum(wl.Entity, robot_of(model, size), infos):
        site_xpos: model.site_xpos
        qfrc_constraint: model.qfrc_constraint

    return InvertedDoublePendulum


def _balance_system(kind: type[wl.Entity], world: type[wl.World], version: int) -> System:
    """Rewards a tip that is high and at rest, and ends the episode below 1 m. In v4 the last step is rewarded too."""
    paid_at_end = version == 4

    @wl.system
    def balance(pendulum: kind, state: world):
        x, y = pendulum.site_xpos[TIP, 0], pendulum.site_xpos[TIP, 2]
        pendulum.distance_penalty = -(0.01 * x**2 + (y - 2.0) ** 2)
        pendulum.velocity_penalty = -(0.001 * pendulum.qvel[1] ** 2 + 0.005 * pendulum.qvel[2] ** 2)
        upright = not y <= 1.0
        pendulum.reward_survive = state.healthy_reward if upright or paid_at_end else wl.float64(0.0)
        pendulum.reward = pendulum.reward_survive + pendulum.distance_penalty + pendulum.velocity_penalty
        if not upright:
            state.terminate()

    return balance


def _observe_system(kind: type[wl.Entity], model: Model, observed_forces: int) -> System:
    """Position of the cart, sines and cosines of the poles, clipped velocities and clipped constraint forces."""
    nq, nv = model.nq, model.nv
    cosines, velocities, forces = nq, 2 * nq - 1, 2 * nq - 1 + nv

    @wl.system
    def observe(pendulum: kind):
        pendulum.observation[0] = pendulum.qpos[0]
        for i in range(1, nq):
            pendulum.observation[i] = wl.sin(pendulum.qpos[i])
            pendulum.observation[cosines + i - 1] = wl.cos(pendulum.qpos[i])
        for i in range(nv):
            pendulum.observation[velocities + i] = wl.clamp(pendulum.qvel[i], -VELOCITY_BOUND, VELOCITY_BOUND)
        for i in range(observed_forces):
            pendulum.observation[forces + i] = wl.clamp(pendulum.qfrc_constraint[i], -VELOCITY_BOUND, VELOCITY_BOUND)

    return observe
