"""``gym_v21`` where gym is installed: pools are ``gym.Env`` with spaces of gym, as CleanRL's programs assert."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from cleanrl_folder import PROGRAMS

import worldloom.envpool.gym_v21 as envpool
from worldloom.envpool import old_gym

CLEANRL = os.environ.get("WORLDLOOM_CLEANRL", "")
GYM = '''
"""A stand-in for gym 0.21: its base classes and spaces, none of them Gymnasium's."""
from . import spaces
class Env: pass
class Wrapper(Env):
    def __init__(self, env):
        self.env = env
    def __getattr__(self, name):
        return getattr(self.env, name)
    def reset(self, **arguments):
        return self.env.reset(**arguments)
    def step(self, action):
        return self.env.step(action)
'''
SPACES = """
class Space: pass
class Discrete(Space):
    def __init__(self, n): self.n, self.shape = n, ()
class MultiDiscrete(Space):
    def __init__(self, nvec, dtype=None): self.nvec, self.shape = nvec, nvec.shape
class Box(Space):
    def __init__(self, low, high, dtype=None): self.low, self.high, self.shape, self.dtype = low, high, low.shape, dtype
class Dict(Space):
    def __init__(self, spaces): self.spaces = spaces
"""
PROGRAM = """
import gym, numpy as np, worldloom.envpool.gym_v21 as envpool

class RecordEpisodeStatistics(gym.Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.num_envs = env.num_envs
    def reset(self, **arguments):
        self.returns = np.zeros(self.num_envs, np.float32)
        return super().reset(**arguments)
    def step(self, action):
        observations, rewards, dones, infos = super().step(action)
        self.returns += rewards
        infos["r"] = self.returns.copy()
        self.returns *= 1 - dones
        return observations, rewards, dones, infos

envs = envpool.make("CartPole-v1", env_type="gym", num_envs=2, seed=1)
assert isinstance(envs, gym.Env) and isinstance(envs, envpool.GymnasiumEnvPool)
envs.num_envs = 2
envs.single_action_space, envs.single_observation_space = envs.action_space, envs.observation_space
envs.is_vector_env = True
envs = RecordEpisodeStatistics(envs)
assert isinstance(envs.action_space, gym.spaces.Discrete) and envs.single_action_space.n == 2
assert isinstance(envs.observation_space, gym.spaces.Box) and envs.single_observation_space.shape == (4,)
assert envs.reset().shape == (2, 4)
ends = 0
for _ in range(40):
    _, rewards, dones, infos = envs.step(np.zeros(2, int))
    ends += dones.sum()
assert ends > 2 and infos["r"].max() < 15
other = envpool.make("CartPole-v1", env_type="gymnasium")
assert not isinstance(other, gym.Env) and not isinstance(other.action_space, gym.spaces.Space)
print("passed")
"""


def run(command, folder, packages, timeout):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)])}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout
    )


def test_pools_are_those_of_the_installed_gym(tmp_path):
    (tmp_path / "gym").mkdir()
    (tmp_path / "gym" / "__init__.py").write_text(GYM)
    (tmp_path / "gym" / "spaces.py").write_text(SPACES)
    done = run(["-c", PROGRAM], tmp_path, tmp_path, 300)
    assert done.returncode == 0 and done.stdout.strip() == "passed", done.stderr


def test_a_gym_that_cannot_be_imported_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "gym.py").write_text("import numpy\nnumpy.bool8\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "gym", raising=False)
    with pytest.warns(UserWarning, match="spaces are Gymnasium's"):
        pool = envpool.make_gym("CartPole-v1")
    assert isinstance(pool.action_space, gymnasium.spaces.Discrete)
    pool.close()


def test_all_spaces_of_worlds_become_those_of_gym():
    spaces = gymnasium.spaces
    for space in (
        spaces.Discrete(3),
        spaces.Discrete(3, start=-1),
        spaces.Box(-1.0, 2.0, (2, 3), np.float64),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(4),
        spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0, 255, (3,), np.uint8)}),
    ):
        assert old_gym.to_gym_space(gymnasium, space) == space


@pytest.mark.skipif(not CLEANRL, reason="WORLDLOOM_CLEANRL names no folder made by cleanrl_folder.py")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_cleanrl(program, tmp_path):
    sizes = ["--total-timesteps=256", "--num-envs=4", "--num-steps=32", "--num-minibatches=2", "--update-epochs=1"]
    script = str(Path(__file__).with_name("cleanrl_folder.py"))
    folder = Path(CLEANRL).absolute()
    done = run([script, "run", f"{folder / program}.py", *sizes], tmp_path, folder / "packages", 1200)
    assert done.returncode == 0 and done.stdout.count("SPS:") == 2, done.stderr[-2000:]
