# Annotations are evaluated: systems refer to classes that are local to a function.
"""HumanoidStandup: a robot with two legs, two arms and 17 motors gets up from the floor."""

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
from worldloom.envs.mujoco.position_infos import report_height_system
from worldloom.envs.mujoco.task import add_noise_systems, assemble, effort_system, load_model
from worldloom.robots import Model, Physics

HEIGHT = 2
"""Index of the torso's height, in m, in ``qpos``."""


@dataclass(frozen=True)
class Settings:
    """The arguments of Gymnasium's HumanoidStandup-v5; see docs/worlds/mujoco.md.

    As in Gymnasium, ``uph_cost_weight`` has no effect.
    """

    xml_file: str = "humanoidstandup.xml"
    frame_skip: int = 5
    uph_cost_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    impact_cost_weight: float = 0.5e-6
    impact_cost_range: tuple[float, float] = (-float("inf"), 10.0)
    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True


@dataclass(frozen=True)
class SettingsV4:
    """Gymnasium's HumanoidStandup-v4 has no arguments."""


class PositionInfos(Components):
    """The position as infos, which v4 lacks."""

    x_position: wl.Info(wl.float64)
    y_position: wl.Info(wl.float64)
    z_distance_from_origin: wl.Info(wl.float64)


def define(id: str, settings: Settings) -> Definition:
    """HumanoidStandup-v5 with ``settings``."""
    model = load_model(settings.xml_file)
    layout = observation_layout(model, settings, version=5)
    humanoid, world = _classes(model, settings, layout, PositionInfos, tendons_of(model))
    infos = [
        _report_position_system(humanoid),
        report_height_system(humanoid, model, HEIGHT),
        report_tendons_system(humanoid, model),
    ]
    return _define(id, settings, Physics(model, humanoid, settings.frame_skip), world, layout, infos)


def define_v4(id: str, settings: SettingsV4) -> Definition:
    """HumanoidStandup-v4."""
    same = Settings()
    model = load_model(same.xml_file)
    layout = observation_layout(model, same, version=4)
    humanoid, world = _classes(model, same, layout)
    return _define(id, same, Physics(model, humanoid, same.frame_skip), world, layout, [])


def _define(
    id: str, settings: Settings, physics: Physics, world: type[wl.World], layout: Layout, infos: list[System]
) -> Definition:
    model, humanoid = physics.model, physics.kind
    return assemble(
        id,
        physics,
        world,
        reset=add_noise_systems(humanoid, world, model, normal_velocity=False),
        after=[effort_system(humanoid, model), impact_system(humanoid, model), _reward_system(humanoid, world, model)],
        observe=[*observe_systems(humanoid, model, layout), *infos],
        doc=__doc__,
    )


def _classes(
    model: Model, settings: Settings, layout: Layout, *infos: type[Components]
) -> tuple[type[wl.Entity], type[wl.World]]:
    class HumanoidStandup(wl.Entity, humanoid_of(model, layout), *infos):
        impact: wl.float64
        reward_linup: wl.Info(wl.float64)
        reward_quadctrl: wl.Info(wl.float64)
        reward_impact: wl.Info(wl.float64)

    class HumanoidStandupWorld(wl.World):
        uph_cost_weight: wl.Config = wl.float64(settings.uph_cost_weight)
        ctrl_cost_weight: wl.Config = wl.float64(settings.ctrl_cost_weight)
        impact_cost_weight: wl.Config = wl.float64(settings.impact_cost_weight)
        min_impact_cost: wl.Config = wl.float64(settings.impact_cost_range[0])
        max_impact_cost: wl.Config = wl.float64(settings.impact_cost_range[1])
        reset_noise_scale: wl.Config = wl.float64(settings.reset_noise_scale)

    return HumanoidStandup, HumanoidStandupWorld


def _reward_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """Rewards the height of the torso, divided by the seconds of one step of physics."""
    timestep = wl.float64(model.mj_model.opt.timestep)

    @wl.system
    def reward(humanoid: kind, state: world):
        cost = wl.clamp(state.impact_cost_weight * humanoid.impact, state.min_impact_cost, state.max_impact_cost)
        humanoid.reward_linup = humanoid.qpos[HEIGHT] / timestep
        humanoid.reward_quadctrl = -state.ctrl_cost_weight * humanoid.effort
        humanoid.reward_impact = -cost
        humanoid.reward = humanoid.reward_linup + humanoid.reward_quadctrl + humanoid.reward_impact + 1.0

    return reward


def _report_position_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def report_position(humanoid: kind):
        humanoid.x_position = humanoid.qpos[0]
        humanoid.y_position = humanoid.qpos[1]

    return report_position
