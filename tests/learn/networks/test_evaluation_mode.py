"""Custom modules act in evaluation mode, and learn in the mode that they were given in."""

import pytest
import torch
from torch import nn
from worlds import CLOCK

from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import Evaluation

SMALL = {"num_envs": 8, "device": "cpu"}
ROLLOUT = {**SMALL, "num_steps": 10, "total_steps": 400}
TRAININGS = {
    "ppo": (PPO, PPOConfig(**ROLLOUT)),
    "overlap": (PPO, PPOConfig(**ROLLOUT, overlap=True)),
    "a2c": (A2C, A2CConfig(**ROLLOUT)),
    "vtrace": (VTrace, VTraceConfig(**ROLLOUT)),
    "dqn": (DQN, DQNConfig(**SMALL, total_steps=400, learning_starts=40, batch_size=16, n_step=1)),
}


class Normalized(nn.Module):
    """Layers that differ between training and evaluation, one of them frozen. Notes the mode of every call."""

    def __init__(self, q_network: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.5))
        self.frozen = nn.BatchNorm1d(8).eval()
        self.actor, self.critic = nn.Linear(8, 2), None if q_network else nn.Linear(8, 1)
        self.modes = set()

    def forward(self, observations):
        self.modes.add((torch.is_grad_enabled(), self.training, self.frozen.training))
        features = self.frozen(self.body(observations))
        return self.actor(features) if self.critic is None else (self.actor(features), self.critic(features))


def train(name, **settings):
    trainer_class, config = TRAININGS[name]
    torch.manual_seed(0)
    network = Normalized(name == "dqn")
    config = type(config)(**{**vars(config), **settings})
    return trainer_class(CLOCK, config, network=network).learn(), network


@pytest.mark.parametrize("name", TRAININGS)
def test_rollouts_are_in_evaluation_mode_and_updates_in_training_mode(name):
    trainer, network = train(name)
    (learner,) = trainer.learners.values()
    seen = network.modes | (learner.actor.policy.network.module.modes if name == "overlap" else set())
    learning = {modes for modes in seen if modes[0]}
    assert learning == {(True, True, False)}
    assert seen - learning == {(False, False, False)}
    assert network.training and int(network.body[1].num_batches_tracked) > 0
    if name == "dqn":
        assert not learner.target.training


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_evaluations_change_no_statistics(name):
    plain, evaluated = (train(name, eval_every=every, eval_episodes=3)[0] for every in (0, 80))
    other = evaluated.tensors()
    for key, tensor in plain.tensors().items():
        assert torch.equal(tensor, other[key]) or bool(tensor.isnan().all()), key


def test_actors_are_deterministic():
    trainer, network = train("ppo")
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with torch.no_grad():
        ((group, actor),) = make_actors(trainer.learners, trainer.simulation).values()
        observed = group.observations()
        first, second = (actor.policy.act(observed, actor.initial_state(group.rows, "cpu"))[0] for _ in range(2))
        assert not torch.equal(first, second), "dropout is on outside of actors"
        network.load_state_dict(before)
        Evaluation(trainer.simulation, {"Ticker": (group, actor)}).step()
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


def test_worldlooms_networks_stay_as_they_are():
    (learner,) = PPO(CLOCK, TRAININGS["ppo"][1]).learners.values()
    with evaluation_mode(learner.policy):
        assert learner.policy.network.training
