"""Ids and settings of Gymnasium's MuJoCo tasks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model.families import family_of
from worldloom.envs.mujoco import family
from worldloom.envs.mujoco.family import IDS, MujocoFamily

PENDULUM = "InvertedDoublePendulum-v5"


def test_ids_are_known() -> None:
    assert set(IDS) < set(wl.list_all_envs())
    assert len(IDS) == 21
    assert all(f"worldloom/{id}" in gymnasium.registry for id in IDS)
    assert isinstance(family_of("Hopper-v3"), MujocoFamily)
    assert family_of("Hopper-v6") is None


@pytest.mark.parametrize(
    ("id", "settings", "canonical"),
    [
        ("Hopper-v5", {}, "Hopper-v5"),
        ("Hopper-v5", {"frame_skip": 4, "healthy_z_range": [0.7, np.inf]}, "Hopper-v5"),
        ("Hopper-v5", {"healthy_angle_range": (-1, 0.5)}, "Hopper-v5:healthy_angle_range=-1.0..0.5"),
        ("Ant-v5:main_body=torso", {"frame_skip": 2}, "Ant-v5:frame_skip=2,main_body=torso"),
        ("Ant-v5:main_body=2,healthy_reward=0.5", {}, "Ant-v5:healthy_reward=0.5,main_body=2"),
        ("Ant-v4:use_contact_forces=true", {}, "Ant-v4:use_contact_forces=true"),
        ("Humanoid-v5", {"contact_cost_range": (-np.inf, 2)}, "Humanoid-v5:contact_cost_range=-inf..2.0"),
    ],
)
def test_ids_and_settings_meet(id: str, settings: dict[str, object], canonical: str) -> None:
    definition = wl.definition(id, **settings)
    assert definition.id == canonical
    assert wl.definition(canonical) is definition


@pytest.mark.parametrize(
    ("id", "settings", "message"),
    [
        ("Ant-v3", {}, "v3 needs mujoco-py, which neither worldloom nor Gymnasium supports: use Ant-v5"),
        ("Swimmer-v2", {}, "v2 needs mujoco-py, .* use Swimmer-v5"),
        ("Pusher-v4", {}, "Pusher-v4 needs MuJoCo 2 and worldloom needs MuJoCo 3: use Pusher-v5"),
        ("Hopper-v4", {"frame_skip": 2}, "has no setting 'frame_skip'; its settings are forward_reward_weight,"),
        ("Reacher-v4", {"frame_skip": 2}, "has no setting 'frame_skip'; its settings are none"),
        ("Hopper-v5:frame_skip", {}, "'frame_skip' is no setting: write name=value"),
        ("Hopper-v5:frame_skip=2,frame_skip=3", {}, "'frame_skip' is given twice: give it once"),
        ("Hopper-v5:frame_skip=2", {"frame_skip": 3}, "'frame_skip' is both in the id and an argument"),
        ("Hopper-v5:frame_skip=many", {}, "'frame_skip' must be a whole number of 1 or more, not 'many'"),
        ("Hopper-v5", {"frame_skip": 0}, "'frame_skip' must be a whole number of 1 or more, not 0"),
        ("Hopper-v5", {"healthy_reward": "1"}, "'healthy_reward' must be a number, not '1'"),
        ("Hopper-v5", {"terminate_when_unhealthy": 1}, "'terminate_when_unhealthy' must be True or False, not 1"),
        ("Hopper-v5", {"healthy_z_range": (2, 1)}, "'healthy_z_range' must be two numbers, the lower one first"),
        ("Hopper-v5:healthy_z_range=1", {}, "'healthy_z_range' must be two numbers, the lower one first"),
        ("Hopper-v5", {"xml_file": 3}, "'xml_file' must be text, not 3"),
        ("Hopper-v5", {"xml_file": "no.xml"}, "there is no model 'no.xml', neither as a file nor in Gymnasium"),
        ("Ant-v5", {"main_body": 1.5}, "'main_body' must be a whole number or text, not 1.5"),
        ("Ant-v5", {"main_body": "head"}, "the model has no body 'head'; it has world, torso"),
    ],
)
def test_errors_are_one_sentence(id: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(wl.InputError, match=message) as error:
        wl.definition(id, **settings)
    assert "\n" not in str(error.value)


def test_without_mujoco_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    family._define.cache_clear()
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(wl.InputError, match=r"'Swimmer-v5' cannot be made: .* pip install 'worldloom\[robots\]'"):
        wl.definition("Swimmer-v5")


def test_a_model_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read again when it has changed. A name of one of Gymnasium's models never means a file."""
    monkeypatch.chdir(tmp_path)
    name = "inverted_pendulum.xml"
    text = (Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / name).read_text()

    def largest_control(file: str) -> float:
        ((_, action),) = wl.definition("InvertedPendulum-v5", xml_file=file).actions().values()
        return action.space.high[0]

    for time, limit in enumerate((5.0, 7.0)):
        Path(name).write_text(text.replace('ctrlrange="-3 3"', f'ctrlrange="-{limit} {limit}"'))
        os.utime(name, (time, time))
        assert largest_control(str(tmp_path / name)) == limit
        assert largest_control(name) == 3.0


def test_numbers_may_differ_per_world() -> None:
    env = wl.make(PENDULUM, 2, seed=0, healthy_reward=[10.0, 3.0])
    *_, infos = env.step(np.zeros((2, 1), np.float32))
    assert infos["reward_survive"].tolist() == [10.0, 3.0]
    env.simulation.set_config("healthy_reward", 1.0)
    *_, infos = env.step(np.zeros((2, 1), np.float32))
    assert infos["reward_survive"].tolist() == [1.0, 1.0]
    with pytest.raises(wl.InputError, match="did you mean healthy_reward"):
        wl.make(PENDULUM, healthy_rewards=3.0)


def test_gymnasium_makes_them() -> None:
    env = gymnasium.make_vec(f"worldloom/{PENDULUM}", num_envs=2, healthy_reward=5.0)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, 9) and observations.dtype == np.float64
    assert env.step(np.zeros((2, 1), np.float32))[4]["reward_survive"].tolist() == [5.0, 5.0]
    env.close()


def test_dm_env_makes_them() -> None:
    pytest.importorskip("dm_env", reason="needs pip install dm-env")
    timestep = wl.make(PENDULUM, 2, env_type="dm", healthy_reward=5.0).reset()
    assert timestep.observation.obs.shape == (2, 9)
