# Annotations are evaluated: systems refer to classes that are local to a function.
"""HumanoidStandup: a robot with two legs, two arms and 17 motors gets up from the floor."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import TaskSettings, fixed
from worldloom.envs.mujoco.shared.humanoid_body import humanoid_of, impact_system, report_tendons_system, tendons_of
from worldloom.envs.mujoco.shared.humanoid_observations import ObservationSettings, observation_layout, observe_systems
from worldloom.envs.mujoco.shared.positions import report_height_system
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, effort_system
from worldloom.envs.mujoco.task import assemble, load_model, world_of
from worldloom.robots import Model, Physics

HEIGHT = 2
"""Index of the torso's height, in m, in ``qpos``."""


class PositionInfos(Components):
    """The position as infos, which v4 lacks."""

    x_position: wl.Info(wl.float64)
    y_position: wl.Info(wl.float64)
    z_distance_from_origin: wl.Info(wl.float64)


class RewardSettings(TaskSettings, xml_file="humanoidstandup.xml", frame_skip=5):
    """The settings of the reward. As in Gymnasium, ``uph_cost_weight`` has no effect."""

    uph_cost_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    impact_cost_weight: float = 0.5e-6
    impact_cost_range: tuple[float, float] = (-float("inf"), 10.0)


class Settings(ObservationSettings, RewardSettings):
    """The arguments of Gymnasium's HumanoidStandup-v5; see docs/worlds/mujoco.md."""


SettingsV4 = fixed(Settings, *vars(Settings()))
"""Gymnasium's HumanoidStandup-v4 has no arguments."""


def define(id: str, settings: Settings, version: int) -> Definition:
    """HumanoidStandup with ``settings``."""
    model, world = load_model(settings.xml_file), world_of("HumanoidStandupWorld", settings)
    layout = observation_layout(model, settings, version)
    infos = (PositionInfos, tendons_of(model)) if version == 5 else ()

    class HumanoidStandup(wl.Entity, humanoid_of(model, layout), *infos):
        impact: wl.float64
        reward_linup: wl.Info(wl.float64)
        reward_quadctrl: wl.Info(wl.float64)
        reward_impact: wl.Info(wl.float64)

    observe = observe_systems(HumanoidStandup, model, layout)
    if version == 5:

        @wl.system
        def report_position(humanoid: HumanoidStandup):
            humanoid.x_position = humanoid.qpos[0]
            humanoid.y_position = humanoid.qpos[1]

        observe += [report_position, report_height_system(HumanoidStandup, model, HEIGHT)]
        observe.append(report_tendons_system(HumanoidStandup, model))
    return assemble(
        id,
        Physics(model, HumanoidStandup, settings.frame_skip),
        world,
        reset=add_noise_systems(HumanoidStandup, world, model, normal_velocity=False),
        after=[
            effort_system(HumanoidStandup, model),
            impact_system(HumanoidStandup, model),
            _reward_system(HumanoidStandup, world, model),
        ],
        observe=observe,
        doc=__doc__,
    )


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
