"""A2C: one update against a plain version, and what its settings refuse."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from worlds import KITCHEN, PARTY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import Storage


def returns_of(kept: Storage, gamma: float, n: int) -> Tensor:
    """Up to n rewards, and the value after them; forwards and in float64."""
    found = torch.zeros(kept.steps, kept.rows, dtype=torch.float64)
    for row in range(kept.rows):
        for start in range(kept.steps):
            discount = 1.0
            for t in range(start, min(start + n, kept.steps)):
                found[start, row] += discount * kept.rewards[t, row].double()
                discount *= gamma
                if kept.dones[t, row]:
                    break
            else:
                found[start, row] += discount * kept.values[min(start + n, kept.steps), row].double()
    return found


def plain_step(policy: Policy, kept: Storage, config: A2CConfig) -> None:
    """One step of Adam from sums over single steps; those who were gone are left out."""
    adam = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)
    returns = returns_of(kept, config.gamma, config.n_steps or kept.steps)
    advantages = returns - kept.values[:-1]
    here = torch.ones(kept.steps, kept.rows, dtype=torch.bool) if kept.weights is None else kept.weights > 0.0
    if config.normalize_advantages:
        advantages = (advantages - advantages[here].mean()) / advantages[here].std(unbiased=False)
    state, loss = policy.initial_state(kept.rows, "cpu"), torch.zeros((), dtype=torch.float64)
    if policy.recurrent:
        state = kept.states[0]
    for t in range(kept.steps):
        parameters, values, state = policy({k: v[t] for k, v in kept.observations.items()}, state)
        mask = None if kept.masks is None else kept.masks[t]
        log_probs, entropies = log_prob_entropy(
            policy.spec.action, parameters.double(), kept.actions[t], mask, policy.log_std
        )
        terms = (
            -log_probs * advantages[t]
            + config.value_weight * 0.5 * (values - returns[t]) ** 2
            - config.entropy_weight * entropies
        )
        loss = loss + terms[here[t]].sum() / here.sum()
        state = state * ~kept.dones[t][:, None]
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), config.max_gradient_norm)
    adam.step()


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize(
    ("world", "config", "settings"),
    [
        ("CartPole-v1", {}, {"n_steps": 3}),
        ("Pendulum-v1", {"max_steps": 4}, {"normalize_advantages": True}),
        (KITCHEN, {"max_steps": 3}, {"n_steps": 1}),
        (PARTY, {"dies_at": 2, "leaves_at": 3, "over_at": 4}, {"normalize_advantages": True}),
        (PARTY, {"dies_at": 1, "over_at": 5}, {}),
    ],
    ids=["choice", "numbers", "masks", "leaving", "leaving, not normalised"],
)
def test_an_update_is_the_plain_one(
    world: object, config: dict[str, int], settings: dict[str, object], memory: str
) -> None:
    chosen = A2CConfig(num_steps=9, entropy_weight=0.02, max_gradient_norm=0.3, gamma=0.9, seed=3, **settings)
    chosen = replace(chosen, policy=PolicyConfig(hidden=(8,), memory=memory, memory_size=4))
    trainer = A2C(wl.Simulation(world, 4, seed=1, config=config), chosen)
    (learner,) = trainer.learners.values()
    fresh = {k: v.clone() for k, v in learner.optimizer.tensors().items()}
    for _ in range(2):
        trainer.iterate()
    learner.optimizer.load({**learner.optimizer.tensors(), **{k: v for k, v in fresh.items() if k != "learning_rate"}})
    policy = copy.deepcopy(learner.policy)
    before = learner.optimizer.flat.clone()
    trainer.iterate()
    plain_step(policy, learner.actor.storage, chosen)
    assert not torch.equal(before, learner.optimizer.flat)
    for (name, have), want in zip(learner.policy.named_parameters(), policy.parameters(), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize(
    ("settings", "match"),
    [({"schedule": "kl"}, "divergence"), ({"n_steps": 17}, "n_steps"), ({"n_steps": -1}, "n_steps")],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        A2CConfig(**settings)
