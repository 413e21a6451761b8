# Annotations are evaluated: systems refer to classes that are local to a function.
"""Hopper: a planar robot with one leg and three motors hops forward."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import fixed
from worldloom.envs.mujoco.shared.upright import ANGLE, HEIGHT, UprightSettings, define_upright
from worldloom.robots import Model


class Settings(UprightSettings, xml_file="hopper.xml", frame_skip=4):
    """The arguments of Gymnasium's Hopper-v5; see docs/worlds/mujoco.md."""

    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, float("inf"))
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True


SettingsV4 = fixed(Settings, "xml_file", "frame_skip")


def define(id: str, settings: Settings, version: int) -> Definition:
    """Hopper with ``settings``."""
    skipped = 1 if settings.exclude_current_positions_from_observation else 0
    return define_upright(id, "Hopper", settings, skipped=skipped, health=_health_system, version=version, doc=__doc__)


def _health_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """A hopper is healthy where its height and angle, and all states but x and height, are within their ranges."""
    nq, nv = model.nq, model.nv

    @wl.system
    def check_health(hopper: kind, state: world):
        hopper.healthy = (
            state.min_z < hopper.qpos[HEIGHT] < state.max_z and state.min_angle < hopper.qpos[ANGLE] < state.max_angle
        )
        for i in range(ANGLE, nq):
            hopper.healthy = hopper.healthy and state.min_state < hopper.qpos[i] < state.max_state
        for i in range(nv):
            hopper.healthy = hopper.healthy and state.min_state < hopper.qvel[i] < state.max_state

    return check_health
