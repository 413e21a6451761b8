"""DQN: epsilon-greedy actions, masks and the exploration schedule."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from dqn_worlds import CANTEEN, CPU, SMALL, Diary, only, worlds
from torch import Tensor

from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.algorithms.dqn import DQN
from worldloom.learn.losses.td_loss import MASK


def test_the_best_choice_or_any() -> None:
    rows = 40_000
    values = torch.randn(1, 3, generator=torch.Generator().manual_seed(0)).expand(rows, 3).contiguous()
    best = int(values[0].argmax())
    explorer, action = EpsilonGreedy(rows, CPU, seed=5), torch.zeros(rows, 1, dtype=torch.int32)
    world_action = torch.zeros_like(action)
    explorer.epsilon.fill_(0.3)
    explorer.choose(values, action, world_action=world_action)
    shares = torch.bincount(action[:, 0].long(), minlength=3) / rows
    for choice, share_of in enumerate(shares.tolist()):
        expected = 0.1 + (0.7 if choice == best else 0.0)
        assert abs(share_of - expected) < 5.0 * math.sqrt(expected * (1.0 - expected) / rows)
    assert torch.equal(action, world_action)
    explorer.epsilon.fill_(0.0)
    explorer.choose(values, action)
    assert (action == best).all()


def test_choices_are_drawn_by_row_tick_and_stream() -> None:
    values, drawn = torch.zeros(64, 9), torch.zeros(64, 1, dtype=torch.int32)

    def draws(first_row: int = 0, stream: int = 0, tick: int = 0, offset: int = 0, seed: int = 5) -> Tensor:
        explorer = EpsilonGreedy(64, CPU, seed, first_row, stream)
        explorer.advance(tick)
        explorer.choose(values, drawn, offset=offset)
        return drawn.clone()

    assert torch.equal(draws(first_row=10)[:54], draws()[10:])
    assert torch.equal(draws(tick=3), draws(tick=1, offset=2))
    for other in (draws(stream=1), draws(tick=1), draws(seed=6)):
        assert (other == draws()).float().mean() < 0.5


def test_masks_bind_both_the_best_and_any() -> None:
    generator = torch.Generator().manual_seed(1)
    rows = 5_000
    values, mask = torch.randn(rows, 6, generator=generator), torch.rand(rows, 6, generator=generator) < 0.4
    mask[:100] = False
    explorer, action = EpsilonGreedy(rows, CPU, seed=5), torch.zeros(rows, 1, dtype=torch.int32)
    allowed = mask | ~mask.any(1, keepdim=True)
    for epsilon in (0.0, 1.0):
        explorer.epsilon.fill_(epsilon)
        explorer.choose(values, action, mask)
        assert allowed.gather(1, action.long()).all()
        best = values.masked_fill(~allowed, -math.inf).argmax(1, keepdim=True)
        assert (action == best).all() if epsilon == 0.0 else not (action == best).all()
    several = allowed[100:].sum(1) > 1
    assert (action[100:][several] != best[100:][several]).float().mean() > 0.3, "any of the allowed ones"


def test_what_is_not_allowed_is_never_done() -> None:
    config = replace(SMALL, epsilon_fraction=0.5, epsilon_end=0.1)
    trainer = DQN(worlds(CANTEEN, config), config)
    for _ in range(100):
        trainer.learn(trainer.steps + 4)
        assert not trainer.simulation["Eater"].refused.numpy().any()
    replay = only(trainer).replay
    assert replay is not None
    done = replay.frames[MASK][:100].gather(2, replay.actions[:100].long())[replay.valid[:100]]
    assert done.all() and len(done) == 4 * (100 - 100 // 8)


def test_random_actions_become_fewer() -> None:
    config = replace(SMALL, epsilon_start=0.9, epsilon_end=0.1, epsilon_fraction=0.5)
    assert [config.epsilon(f) for f in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.9, 0.5, 0.1, 0.1])
    assert replace(config, epsilon_fraction=0.0).epsilon(0.0) == pytest.approx(0.1)
    diary = Diary()
    DQN("CartPole-v1", config).learn(callbacks=[diary])
    assert [p.metrics["update/epsilon"] for p in diary.told] == pytest.approx(
        [config.epsilon(4 * k / 400) for k in range(100)]
    )
