"""DQN: targets and losses against NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from dqn_worlds import CANTEEN, SMALL, only, worlds
from thorough import covering
from torch import Tensor
from worlds import CLOCK

from worldloom.learn.algorithms.dqn import DQN
from worldloom.learn.losses.td_loss import MASK, huber, td_targets
from worldloom.learn.rollout.replay_buffer import TransitionBatch


def forward(state: dict[str, Tensor], x: np.ndarray) -> np.ndarray:
    """The Q network of one hidden layer in float64."""
    (w1, b1), (w2, b2) = [
        (state[k].double().numpy(), state[k.replace("weight", "bias")].double().numpy())
        for k in state
        if k.endswith("weight")
    ]
    return np.tanh(x @ w1.T + b1) @ w2.T + b2


@pytest.mark.parametrize(("n", "double"), covering([1, 4], [False, True]))
def test_targets_are_those_of_plain_loops_over_what_was_seen(n: int, double: bool) -> None:
    """Episodes of at most 12 steps: some terminate, the others are cut off."""
    config = replace(SMALL, n_step=n, double=double, gamma=0.9, tau=0.3, num_envs=8)
    trainer = DQN(worlds("CartPole-v1", config, max_steps=12), config)
    trainer.learn()
    learner = only(trainer)
    replay = learner.replay
    assert replay is not None and trainer.iteration == 50 < replay.capacity
    count = int(replay.cursor.item())
    frames, rewards = replay.frames["sight"].double().numpy(), replay.rewards.numpy()
    terminated, truncated, valid = replay.terminated.numpy(), replay.truncated.numpy(), replay.valid.numpy()
    online, target = learner.policy.state_dict(), learner.target.state_dict()
    assert not all(torch.equal(online[k], target[k]) for k in online)
    batch = replay.sample(512)
    found = td_targets(learner.policy, learner.target, batch, double)
    ends = set()
    for b in range(512):
        t, row = divmod(int(batch.indices[b]), 8)
        assert t < count - n and bool(batch.weights[b]) == valid[t, row]
        if not valid[t, row]:
            assert truncated[t - 1, row] or terminated[t - 1, row]
            continue
        total, k = 0.0, 0
        while True:
            total += 0.9**k * rewards[t + k, row]
            k += 1
            if k == n or terminated[t + k - 1, row] or truncated[t + k - 1, row]:
                break
        if not terminated[t + k - 1, row]:
            following = frames[t + k, row]
            values = forward(target, following)
            total += 0.9**k * values[np.argmax(forward(online, following) if double else values)]
        ends.add((bool(terminated[t + k - 1, row]), bool(truncated[t + k - 1, row])))
        assert found[b].item() == pytest.approx(total, abs=1e-4)
    assert {(False, False), (True, False), (False, True)} <= ends


@pytest.mark.parametrize("double", [False, True])
def test_targets_count_allowed_actions_only(double: bool) -> None:
    trainer = DQN(worlds(CANTEEN, SMALL), replace(SMALL, double=double))
    learner, generator = only(trainer), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in learner.target.parameters():
            parameter += torch.randn(parameter.shape, generator=generator)
    following = torch.randn(64, 2, generator=generator)
    mask = torch.rand(64, 4, generator=generator) < 0.5
    mask[:2] = torch.tensor([[False] * 4, [True] * 4])
    rewards, discounts = torch.randn(2, 64, generator=generator)
    batch = TransitionBatch(
        {}, torch.zeros(64, 1), rewards, {"sight": following, MASK: mask}, discounts, torch.ones(64), torch.arange(64)
    )
    with torch.no_grad():
        values, ranking = (
            learner.target({"sight": following}),
            learner.policy({"sight": following}) if double else learner.target({"sight": following}),
        )
    found, free = td_targets(learner.policy, learner.target, batch, double), 0
    for b in range(64):
        allowed = [a for a in range(4) if mask[b, a] or not mask[b].any()]
        best = max(allowed, key=lambda a: float(ranking[b, a]))
        free += best != int(ranking[b].argmax())
        assert found[b].item() == pytest.approx(float(rewards[b] + discounts[b] * values[b, best]), abs=1e-5)
    assert free > 10


def test_the_loss_of_errors() -> None:
    errors = torch.tensor([-3.0, -0.5, 0.0, 0.5, 2.0])
    torch.testing.assert_close(huber(errors, 1.0), torch.tensor([2.5, 0.125, 0.0, 0.125, 1.5]))
    torch.testing.assert_close(huber(errors, 0.0), errors.square() / 2.0)


@pytest.mark.parametrize(("ends", "n"), covering(["terminated", "truncated"], [1, 3]))
def test_a_time_limit_is_no_end(ends: str, n: int) -> None:
    """A clock of two hours gives 1 in each step for ever, and is cut off after 5: with a discount of 0.8 it is worth 5.

    One that ends then is worth less.
    """
    config = replace(
        SMALL, gamma=0.8, n_step=n, num_envs=8, total_steps=3_200, learning_rate=2e-2, batch_size=64, tau=0.3
    )
    settings = {"period": 2} if ends == "truncated" else {"period": 6, "ends_at": 5}
    trainer = DQN(worlds(CLOCK, config, **settings), config)
    trainer.learn()
    with torch.no_grad():
        found = only(trainer).policy({"sight": torch.eye(6)})
    expected = [5.0, 5.0] if ends == "truncated" else [sum(0.8**k for k in range(5 - hour)) for hour in range(5)]
    np.testing.assert_allclose(found[: len(expected)].numpy(), np.array(expected)[:, None].repeat(2, 1), atol=0.15)
