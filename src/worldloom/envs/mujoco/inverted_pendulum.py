# Annotations are evaluated: systems refer to classes that are local to a function.
"""InvertedPendulum: a cart with one motor balances a pole."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import TaskSettings, fixed
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, observe_state_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, world_of
from worldloom.robots import Model, Physics

MAX_ANGLE = 0.2
"""Largest angle of the pole, in rad."""


class Settings(TaskSettings, xml_file="inverted_pendulum.xml", frame_skip=2):
    """The arguments of Gymnasium's InvertedPendulum-v5; see docs/worlds/mujoco.md."""

    reset_noise_scale: float = 0.01


SettingsV4 = fixed(Settings, *vars(Settings()))
"""Gymnasium's InvertedPendulum-v4 has no arguments."""


def define(id: str, settings: Settings, version: int) -> Definition:
    """InvertedPendulum with ``settings``."""
    model = load_model(settings.xml_file)
    world = world_of("InvertedPendulumWorld", settings)

    class InvertedPendulum(wl.Entity, robot_of(model, model.nq + model.nv)):
        reward_survive: wl.Info(wl.float64) if version == 5 else wl.float64

    return assemble(
        id,
        Physics(model, InvertedPendulum, settings.frame_skip),
        world,
        reset=add_noise_systems(InvertedPendulum, world, model, normal_velocity=False),
        after=[_balance_system(InvertedPendulum, world, model, version)],
        observe=[observe_state_system(InvertedPendulum, model, skipped=0)],
        doc=__doc__,
    )


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
