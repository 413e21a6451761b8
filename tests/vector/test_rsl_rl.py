"""Worlds in rsl_rl: observation groups, truncation, episode lengths, and its PPO."""

import importlib
import statistics
import sys

import pytest
import torch
from meadow import MEADOW, SKY
from thorough import sample

import worldloom as wl
from worldloom.core.base.errors import InputError

pytest.importorskip("rsl_rl", reason="needs pip install rsl-rl-lib")

from worldloom.vector.adapters.rsl_rl import RslRlVectorEnv


def settings(steps: int) -> dict:
    """A small PPO; ``steps`` per world and iteration."""
    network = {"class_name": "MLPModel", "hidden_dims": [32], "activation": "tanh"}
    return {
        "num_steps_per_env": steps,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**network, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
        "critic": dict(network),
        "algorithm": {
            "class_name": "PPO",
            "learning_rate": 5e-3,
            "gamma": 0.98,
            "num_learning_epochs": 5,
            "num_mini_batches": 4,
            "entropy_coef": 0.0,
        },
    }


def test_real_actions_are_held_within_their_bounds():
    env = RslRlVectorEnv(SKY, 3, seed=0, device="python")
    assert env.num_actions == 1 and env.max_episode_length == 8
    before = env.get_observations()["policy"]
    after, rewards, dones, extras = env.step(torch.tensor([[-9.0], [0.25], [9.0]]))
    torch.testing.assert_close(after["policy"][1:] - before[1:], torch.tensor([[-0.25], [1.5]]))
    torch.testing.assert_close(rewards, torch.stack([before[0, 0] - 2.5, *after["policy"][1:, 0]]))
    assert dones.tolist() == [True, False, False]  # the first glider hit the ground
    assert not extras["time_outs"].any()


def test_episodes_that_are_cut_off_are_time_outs():
    env = RslRlVectorEnv(SKY, 3, seed=0, device="python")
    env.episode_length_buf = torch.tensor([0, 6, 7])
    lift = torch.full((3, 1), 0.5)
    assert env.step(lift)[3]["time_outs"].tolist() == [False, False, True]
    assert env.episode_length_buf.tolist() == [1, 7, 0]
    _, _, dones, extras = env.step(lift)
    assert dones.tolist() == extras["time_outs"].tolist() == [False, True, False]


def test_a_choice_is_the_highest_of_its_scores():
    env = RslRlVectorEnv("CartPole-v1", 2, seed=0)
    assert env.num_actions == 2
    before = env.get_observations()["policy"][:, 1]
    pushed = env.step(torch.tensor([[0.3, -2.0], [-0.5, -0.1]]))[0]["policy"][:, 1] - before
    assert pushed[0] < 0.0 < pushed[1]


def test_actions_that_are_neither_are_refused():
    with pytest.raises(InputError, match="real numbers or choose one of n"):
        RslRlVectorEnv(MEADOW, 2, device="python")


@pytest.mark.parametrize(("world", "gain"), sample([("CartPole-v1", 20.0), (SKY, 10.0)], 1))
def test_its_runner_trains(world: str | wl.Definition, gain: float, tmp_path, one_thread):
    torch.manual_seed(0)
    env = RslRlVectorEnv(world, 32, seed=0)
    from rsl_rl.runners import OnPolicyRunner  # takes seconds: it imports wandb

    runner = OnPolicyRunner(env, settings(32), log_dir=str(tmp_path), device="cpu")
    runner.logger.git_status_repos = []
    weights = [p.clone() for p in runner.alg.actor.parameters()]
    runner.learn(2, init_at_random_ep_len=True)
    first = statistics.mean(runner.logger.rewbuffer)
    assert any(not torch.equal(a, b) for a, b in zip(weights, runner.alg.actor.parameters(), strict=True))
    runner.learn(14)
    assert statistics.mean(runner.logger.rewbuffer) > first + gain
    env.step(torch.zeros(32, env.num_actions))  # the worlds go on outside of its inference mode
    env.close()


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rsl_rl.env", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.rsl_rl")
    with pytest.raises(InputError, match="pip install 'rsl-rl-lib"):
        importlib.import_module("worldloom.vector.adapters.rsl_rl")
