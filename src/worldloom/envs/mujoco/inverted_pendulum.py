# Annotations are evaluated: systems refer to classes that are local to a function.
"""InvertedPendulum: a cart with one motor balances a pole."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.task import add_noise_systems, assemble, load_model, observe_state_system, robot_of
from worldloom.robots import Model, Physics

MAX_ANGLE = 0.2
"""Largest angle of the pole, in rad."""


@dataclass(frozen=True)
class Settings:
    """The arguments of Gymnasium's InvertedPendulum-v5; see docs/worlds/mujoco.md."""

    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01


@dataclass(frozen=True)
class SettingsV4:
    """Gymnasium's InvertedPendulum-v4 has no arguments."""


def define(id: str, settings: Settings) -> Definition:
    """InvertedPendulum-v5 with ``settings``."""
    return _define(id, settings, version=5)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """InvertedPendulum-v4."""
    return _define(id, Settings(), version=4)


def _define(id: str, settings: Settings, version: int) -> Definition:
    model = load_model(settings.xml_file)
    pendulum, world = _classes(model, settings, version)
    return assemble(
        id,
        Physics(model, pendulum, settings.frame_skip),
        world,
        reset=add_noise_systems(pendulum, world, model, normal_velocity=False),
        after=[_balance_system(pendulum, world, model, version)],
        observe=[observe_state_system(pendulum, model, skipped=0)],
        doc=__doc__,
    )


def _classes(model: Model, settings: Settings, version: int) -> tuple[type[wl.Entity], type[wl.World]]:
    class InvertedPendulum(wl.Entity, robot_of(model, model.nq + model.nv)):
        reward_survive: wl.Info(wl.float64) if version == 5 else wl.float64

    class InvertedPendulumWorld(wl.World):
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return InvertedPendulum, InvertedPendulumWorld


def _balance_system(kind: type[wl.Entity], world: type[wl.World], model: Model, version: int) -> System:
    """Rewards an upright pole, and ends the episode of a fallen one. In v4 the last step is rewarded too."""
    nq, nv = model.nq, model.nv
    paid_at_end = version == 4

    @wl.system
    def balance(pendulum: kind, state: world):
        upright = abs(pendulum.qpos[1]) <= MAX_ANGLE
        for i in range(nq):
            upright = upright and wl.isfinite(pendulum.qpos[i])
        for i in range(nv):
            upright = upright and wl.isfinite(pendulum.qvel[i])
        pendulum.reward_survive = 1.0 if upright or paid_at_end else 0.0
        pendulum.reward = pendulum.reward_survive
        if not upright:
            state.terminate()

    return balance
