"""How often finished policies of DQN act at random."""

import pytest
import torch

import worldloom as wl
from worldloom.core.model import families
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.play.actors import ATARI_EVALUATION_EPSILON, QActor, default_epsilon, make_actors


@pytest.fixture
def trainer():
    return DQN("CartPole-v1", DQNConfig(num_envs=4, total_steps=64, device="cpu"))


def test_atari_is_played_at_random_now_and_then(trainer):
    assert default_epsilon(wl.definition("CartPole-v1")) == 0.0
    pytest.importorskip("ale_py")
    assert default_epsilon(wl.definition("Pong-v5")) == ATARI_EVALUATION_EPSILON == 0.05


def test_worlds_of_other_families_are_not_atari(trainer, monkeypatch):
    class Ponds:
        def owns(self, id):
            return True

    monkeypatch.setattr(families, "_FAMILIES", [Ponds()])
    assert default_epsilon(wl.definition("CartPole-v1")) == 0.0


def test_epsilon_says_how_often(trainer):
    ((_, greedy),) = make_actors(trainer.learners, trainer.simulation).values()
    ((agent_group, drawn),) = make_actors(trainer.learners, trainer.simulation, epsilon=0.5).values()
    assert isinstance(greedy, QActor) and isinstance(drawn, QActor)
    seen, state = (
        {k: v.clone() for k, v in agent_group.observations().items()},
        drawn.initial_state(agent_group.rows, "cpu"),
    )
    with torch.no_grad():
        best = greedy.act(seen, state, None)[0]
        others = torch.stack([drawn.act(seen, state, None)[0] != best for _ in range(200)]).float().mean()
        assert (greedy.act(seen, state, None)[0] == best).all() and best.shape == (4, 1)
    assert 0.15 < others < 0.35  # half of the random ones are the best
