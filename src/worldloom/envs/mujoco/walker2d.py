# Annotations are evaluated: systems refer to classes that are local to a function.
"""Walker2d: a planar robot with two legs and six motors walks forward."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import fixed
from worldloom.envs.mujoco.shared.upright import ANGLE, HEIGHT, UprightSettings, define_upright
from worldloom.robots import Model


class Settings(UprightSettings, xml_file="walker2d_v5.xml", frame_skip=4):
    """The arguments of Gymnasium's Walker2d-v5; see docs/worlds/mujoco.md."""

    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3
    exclude_current_positions_from_observation: bool = True


SettingsV4 = fixed(Settings, "frame_skip", xml_file="walker2d.xml")


def define(id: str, settings: Settings, version: int) -> Definition:
    """Walker2d with ``settings``."""
    skipped = 1 if settings.exclude_current_positions_from_observation else 0
    return define_upright(
        id, "Walker2d", settings, skipped=skipped, health=_health_system, version=version, doc=__doc__
    )


def _health_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """A walker is healthy where its height and angle are within their ranges."""

    @wl.system
    def check_health(walker: kind, state: world):
        walker.healthy = (
            state.min_z < walker.qpos[HEIGHT] < state.max_z and state.min_angle < walker.qpos[ANGLE] < state.max_angle
        )

    return check_health
