"""Worlds in skrl: flat observations, episode ends, resets, and its PPO."""

import importlib
import sys

import pytest
import torch
from meadow import MEADOW, SKY

from worldloom.core.base.errors import InputError

pytest.importorskip("skrl", reason="needs pip install skrl")

from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer

from worldloom.vector.adapters.skrl import SkrlVectorEnv


class Policy(CategoricalMixin, Model):
    def __init__(self, env: SkrlVectorEnv) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device=env.device)
        CategoricalMixin.__init__(self)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))

    def compute(self, inputs: dict, role: str = "") -> tuple:
        return self.net(inputs["observations"]), {}


class Value(DeterministicMixin, Model):
    def __init__(self, env: SkrlVectorEnv) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space, device=env.device)
        DeterministicMixin.__init__(self)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))

    def compute(self, inputs: dict, role: str = "") -> tuple:
        return self.net(inputs["observations"]), {}


def test_flat_observations_and_flags_in_columns():
    env = SkrlVectorEnv(MEADOW, 3, seed=0, device="python")
    observations, _ = env.reset()
    assert env.num_envs == 3 and env.num_agents == 1 and env.state() is None and env.device == torch.device("cpu")
    assert observations.shape[0] == 3 and observations.ndim == 2
    actions = torch.tensor([[0.0, 0.0, 0.0, 0.0, 2.0, 0.0]] * 3)  # thrust of two bees, then their turns
    _, rewards, terminations, truncations, infos = env.step(actions)
    assert rewards.tolist() == [[1.5]] * 3
    assert terminations.shape == truncations.shape == (3, 1) and terminations.dtype == torch.bool
    assert infos["nectar"].tolist() == env.worlds.simulation["Bee"].nectar.numpy().tolist()


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_what_follows_the_last_step_of_an_episode(autoreset: str):
    env = SkrlVectorEnv(SKY, 2, seed=0, autoreset=autoreset, device="python")
    before, _ = env.reset()
    shown, rewards, terminations, _, infos = env.step(torch.tensor([[-2.0], [0.5]]))
    assert terminations.tolist() == [[True], [False]]
    torch.testing.assert_close(rewards, before - torch.tensor([[2.5], [0.0]]))
    if autoreset == "same_step":
        assert shown[0] >= 1.0
        torch.testing.assert_close(infos["final_obs"][0], rewards[0])
    else:
        torch.testing.assert_close(shown, rewards)


def test_only_the_first_reset_starts_episodes():
    env = SkrlVectorEnv(SKY, 1, seed=0, device="python")
    env.reset()
    shown, *_ = env.step(torch.tensor([[0.5]]))
    again, _ = env.reset()  # skrl's trainers call it at the end of every episode of a single world
    torch.testing.assert_close(again, shown)


def test_worlds_that_are_never_reset_are_refused():
    with pytest.raises(InputError, match="'same_step' or 'next_step'"):
        SkrlVectorEnv(SKY, 1, autoreset="disabled", device="python")


def test_its_ppo_trains(tmp_path, one_thread):
    torch.manual_seed(0)
    env = SkrlVectorEnv("CartPole-v1", 32, seed=0)
    config = PPO_CFG(
        rollouts=32, learning_epochs=6, mini_batches=4, discount_factor=0.98, gae_lambda=0.9, learning_rate=5e-3
    )
    config.experiment.directory, config.experiment.write_interval, config.experiment.checkpoint_interval = (
        str(tmp_path),
        0,
        0,
    )
    agent = PPO(
        models={"policy": Policy(env), "value": Value(env)},
        memory=RandomMemory(memory_size=32, num_envs=32, device=env.device),
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=env.device,
        cfg=config,
    )
    ends = []
    step = env.step
    env.step = lambda actions: (outcome := step(actions), ends.append(int((outcome[2] | outcome[3]).sum())))[0]
    trainer = SequentialTrainer(
        env=env,
        agents=agent,
        cfg={"timesteps": 32 * 14, "headless": True, "disable_progressbar": True, "close_environment_at_exit": False},
    )
    trainer.train()
    assert len(ends) == 32 * 14
    assert sum(ends[-64:]) < 0.6 * sum(ends[:64])  # longer episodes, fewer ends
    env.close()


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "skrl.envs.wrappers.torch", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.skrl")
    with pytest.raises(InputError, match="pip install 'skrl"):
        importlib.import_module("worldloom.vector.adapters.skrl")
