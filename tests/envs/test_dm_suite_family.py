"""Ids and models of the DeepMind Control Suite's tasks."""

import importlib
import subprocess
import sys

import mujoco
import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.dm_suite.family import id_of
from worldloom.envs.dm_suite.task import default_model


def test_ids_are_formed_as_in_envpool():
    assert id_of("humanoid_CMU", "run") == "HumanoidCMURun-v1"
    assert id_of("cartpole", "swingup_sparse") == "CartpoleSwingupSparse-v1"
    assert id_of("swimmer", "swimmer6") == "SwimmerSwimmer6-v1"
    assert "PendulumSwingup-v1" in wl.list_all_envs()


def test_a_compiled_model_serves_where_dm_control_is_missing(tmp_path, monkeypatch):
    file = tmp_path / "pendulum.mjb"
    mujoco.mj_saveModel(default_model("", "pendulum").mj_model, str(file))
    load = importlib.import_module

    def without_dm_control(name, *arguments):
        if name.startswith("dm_control"):
            raise ImportError(name)
        return load(name, *arguments)

    monkeypatch.setattr(importlib, "import_module", without_dm_control)
    envs = wl.make("PendulumSwingup-v1", num_envs=2, seed=0, model_file=str(file))
    observations, _ = envs.reset()
    assert {name: values.shape for name, values in observations.items()} == {"orientation": (2, 2), "velocity": (2, 1)}
    _, rewards, *_ = envs.step(np.zeros((2, 1), np.float32))
    assert np.isfinite(rewards).all()
    with pytest.raises(wl.InputError, match=r"dm_control, which has the model of this task, is not installed"):
        wl.make("WalkerRun-v1", num_envs=1)


def test_unknown_settings_are_refused():
    with pytest.raises(wl.InputError, match="has no setting 'gravity'"):
        wl.make("PendulumSwingup-v1", num_envs=1, gravity=1.0)


def test_another_model_is_refused_with_a_reason(tmp_path):
    file = tmp_path / "box.xml"
    file.write_text('<mujoco><worldbody><body name="box"><freejoint/><geom size="1"/></body></worldbody></mujoco>')
    with pytest.raises(wl.InputError, match="the model has no body 'pole'; it has world, box"):
        wl.make("PendulumSwingup-v1", num_envs=1, model_file=str(file))


def test_the_import_of_worldloom_loads_neither_engine_nor_suite():
    program = "import sys, worldloom; assert not {'mujoco', 'dm_control', 'mujoco_warp'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
