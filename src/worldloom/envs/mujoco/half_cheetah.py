# Annotations are evaluated: systems refer to classes that are local to a function.
"""HalfCheetah: a planar robot with two legs and six motors runs forward."""

import worldloom as wl
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import ForwardSettings, fixed
from worldloom.envs.mujoco.shared.positions import (
    ForwardInfos,
    Runner,
    forward_reward_system,
    remember_x_system,
    report_x_system,
)
from worldloom.envs.mujoco.shared.state_systems import add_noise_systems, effort_system, observe_state_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, step_seconds, world_of
from worldloom.robots import Physics


class InfosV4(Components):
    """The terms of the reward, with v4's names of infos."""

    reward_forward: wl.float64
    reward_run: wl.Info(wl.float64)
    reward_ctrl: wl.Info(wl.float64)


class Settings(ForwardSettings, xml_file="half_cheetah.xml", frame_skip=5):
    """The arguments of Gymnasium's HalfCheetah-v5; see docs/worlds/mujoco.md."""

    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True


SettingsV4 = fixed(Settings, "xml_file", "frame_skip")


def define(id: str, settings: Settings, version: int) -> Definition:
    """HalfCheetah with ``settings``."""
    model, world = load_model(settings.xml_file), world_of("HalfCheetahWorld", settings)
    skipped = 1 if settings.exclude_current_positions_from_observation else 0
    infos = ForwardInfos if version == 5 else InfosV4

    class HalfCheetah(wl.Entity, robot_of(model, model.nq + model.nv - skipped), Runner, infos):
        pass

    @wl.system
    def reward(cheetah: HalfCheetah):
        cheetah.reward = cheetah.reward_forward + cheetah.reward_ctrl

    seconds = step_seconds(model, settings.frame_skip)
    score = [effort_system(HalfCheetah, model), forward_reward_system(HalfCheetah, world, seconds), reward]
    if version == 4:

        @wl.system
        def report_v4(cheetah: HalfCheetah):
            cheetah.reward_run = cheetah.reward_forward

        score.append(report_v4)
    physics = Physics(model, HalfCheetah, settings.frame_skip)
    noise = add_noise_systems(HalfCheetah, world, model, normal_velocity=True)
    observe = [observe_state_system(HalfCheetah, model, skipped), report_x_system(HalfCheetah)]
    before = [remember_x_system(HalfCheetah)]
    return assemble(id, physics, world, reset=noise, before=before, after=score, observe=observe, doc=__doc__)
