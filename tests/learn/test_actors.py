"""Finished policies from a folder: they act as they did in the training."""

import json
from dataclasses import replace

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import mode
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.play.actors import PolicyActor, QActor, make_actors
from worldloom.learn.runs.run_folder import RunFolder
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_run import TrainingRequest, request_to_dict, run_training
from worldloom.learn.training.callbacks import StopAfter

PPO_SMALL = PPOConfig(num_envs=4, num_steps=8, device="cpu", total_steps=96)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "ppo"
    run_training(TrainingRequest("CartPole-v1", "ppo", PPO_SMALL, run_dir=folder, world_config={"force": 7.0}))
    return folder


def test_a_policy_acts_as_it_did(run):
    saved = open_run(run)
    trainer = PPO("CartPole-v1", PPO_SMALL)
    trainer.load_tensors({k: v for k, v in saved.checkpoint.tensors.items() if not k.startswith("worlds/")})
    with saved.worlds(5, "cpu", 3) as worlds:
        assert worlds.get_config("force") == 7.0
        ((name, (agent_group, actor)),) = saved.actors(worlds).items()
        seen = {"sight": torch.randn(5, 4)}
        actions, _ = actor.act(seen, actor.initial_state(5, "cpu"), None)
    policy = trainer.learners[name].policy
    assert torch.equal(actions, mode(agent_group.spec.action, policy(seen, policy.initial_state(5, "cpu"))[0]))


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_policies_of_a_training_play_elsewhere(algorithm):
    trainer_of, config = ALGORITHMS[algorithm]
    trainer = trainer_of("CartPole-v1", config(num_envs=4, device="cpu"))
    with Simulation("CartPole-v1", 3, "cpu", seed=5) as worlds:
        ((name, (agent_group, actor)),) = make_actors(trainer.learners, worlds).items()
        assert (name, agent_group.rows, agent_group.simulation) == ("Cart", 3, worlds)
        actions, _ = actor.act(agent_group.observations(), actor.initial_state(3, "cpu"), agent_group.mask())
        assert actions.shape == (3, 1) and actor.act(agent_group.observations(), actor.initial_state(3, "cpu"), None)[
            0
        ].equal(actions)
    assert type(actor) is (QActor if algorithm == "dqn" else PolicyActor)


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_a_wrong_name_of_an_observation_is_explained(algorithm):
    trainer_of, config = ALGORITHMS[algorithm]
    trainer = trainer_of("CartPole-v1", config(num_envs=4, device="cpu"))
    with Simulation("CartPole-v1", 3, "cpu", seed=5) as worlds:
        actor = make_actors(trainer.learners, worlds)["Cart"][1]
        with pytest.raises(InputError, match="needs the observation 'sight' and was given Cart: give sight by name"):
            actor.act({"Cart": torch.zeros(3, 4)}, actor.initial_state(3, "cpu"), None)


def test_a_training_ends_after_a_while():
    trainer = PPO("CartPole-v1", replace(PPO_SMALL, total_steps=10**9))
    trainer.learn(callbacks=[StopAfter(0.0)])
    assert trainer.iteration == 1


def test_drawn_actions_follow_the_seed(run):
    saved = open_run(run)

    def drawn(seed):
        with saved.worlds(64, "cpu", 3) as worlds:
            actor = saved.actors(worlds, stochastic=True, seed=seed)["Cart"][1]
            seen = {"sight": torch.zeros(64, 4)}
            return torch.cat([actor.act(seen, actor.initial_state(64, "cpu"), None)[0] for _ in range(2)], 1)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))
    assert not torch.equal(*drawn(1).unbind(1))  # every step draws new numbers
    assert set(drawn(1).unique().tolist()) == {0, 1}


@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_algorithms_for_real_numbers_leave_policies_that_can_be_read(tmp_path, algorithm):
    config = ALGORITHMS[algorithm][1](
        num_envs=4, device="cpu", total_steps=64, policy=PolicyConfig(hidden=(8,), normalize_observations=True)
    )
    run_training(TrainingRequest("Pendulum-v1", algorithm, config, run_dir=tmp_path / "run"))
    saved = open_run(tmp_path / "run", "last")
    with saved.worlds(2, "cpu", 0) as worlds:
        ((_, actor),) = saved.actors(worlds).values()
        assert isinstance(actor, PolicyActor)
        actions, _ = actor.act({"sight": torch.zeros(2, 3)}, actor.initial_state(2, "cpu"), None)
        assert actions.shape == (2, 1) and bool((actions.abs() <= 2.0).all())


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("sac", "td3")])
def test_every_algorithm_leaves_policies_that_can_be_read(tmp_path, algorithm):
    config = ALGORITHMS[algorithm][1](
        num_envs=4, device="cpu", total_steps=64, policy=PolicyConfig(hidden=(8,), normalize_observations=True)
    )
    run_training(TrainingRequest("CartPole-v1", algorithm, config, run_dir=tmp_path / "run"))
    saved = open_run(tmp_path / "run", "best" if algorithm == "a2c" else "last")
    with saved.worlds(2, "cpu", 0) as worlds:
        actor = saved.actors(worlds)["Cart"][1]
        assert isinstance(actor, QActor if algorithm == "dqn" else PolicyActor)
        actions, _ = actor.act(
            {"sight": torch.zeros(2, 4)}, actor.initial_state(2, "cpu"), torch.tensor([[True, False], [False, True]])
        )
        assert actions[:, 0].tolist() == [0, 1]  # what is forbidden is not done
        if algorithm == "dqn":
            with pytest.raises(InputError, match="no action probabilities to sample from"):
                saved.actors(worlds, stochastic=True)


def test_a_network_of_ones_own_cannot_be_rebuilt(tmp_path):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.both = torch.nn.Linear(4, 3)

        def forward(self, sight):
            return self.both(sight)[:, :2], self.both(sight)[:, 2]

    with RunFolder(tmp_path / "run", request_to_dict(TrainingRequest("CartPole-v1", "ppo", PPO_SMALL))) as folder:
        PPO("CartPole-v1", PPO_SMALL, network=Own()).learn(callbacks=[RunRecorder(folder)])
    saved = open_run(tmp_path / "run")
    with saved.worlds(2, "cpu", 0) as worlds, pytest.raises(InputError, match="cannot be rebuilt from a file"):
        saved.actors(worlds)


def test_checkpoints_are_found_by_name(run, tmp_path):
    assert open_run(run).checkpoint.iteration == 3
    assert open_run(run, "iteration_00000003").checkpoint.iteration == 3
    assert open_run(run, str(run / "checkpoints" / "iteration_00000003")).checkpoint.steps == 96
    with pytest.raises(InputError, match=r"there is no checkpoint 'first' in .*iteration_00000003"):
        open_run(run, "first")
    (tmp_path / "config.json").write_text(json.dumps(request_to_dict(TrainingRequest("CartPole-v1", "ppo", PPO_SMALL))))
    with pytest.raises(InputError, match="has no checkpoint yet"):
        open_run(tmp_path)
