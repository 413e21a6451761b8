"""A2C with V-trace: whose turn it is, the window that slides, and one update against a plain version."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from worlds import FARM, KITCHEN, PARTY

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig

SMALL = VTraceConfig(
    num_steps=6, steps_per_update=2, batches=2, gamma=0.9, seed=3, device="cpu", policy=PolicyConfig(hidden=(8,))
)


def test_the_window_slides_and_groups_take_turns() -> None:
    trainer = VTrace("CartPole-v1", replace(SMALL, num_envs=4))
    kept = trainer.learners["Cart"].actor.storage
    assert kept.weights.sum() == 0.0
    seen: list[Tensor] = []
    for update in range(5):
        assert trainer.turn.item() == update
        assert trainer.iterate() == 2
        seen = [*seen, *kept.newest(2)["sight"]]
        filled = min(2 * (update + 1), 6)
        assert torch.equal(kept.weights.sum(1), torch.tensor([0.0] * (6 - filled) + [4.0] * filled))
        assert torch.equal(kept.newest(filled)["sight"], torch.stack(seen[-filled:]))


def test_an_update_learns_from_the_rows_of_its_group_only() -> None:
    """What another group did has no part in the step, and what the group did has."""

    def stepped(spoilt: int | None) -> Tensor:
        trainer = VTrace("CartPole-v1", replace(SMALL, num_envs=4))
        for _ in range(2):
            trainer.iterate()
        trainer._roll_out()
        learner = trainer.learners["Cart"]
        if spoilt is not None:
            learner.actor.storage.rewards[:, spoilt] += 5.0
        trainer._update()
        return learner.optimizer.flat.clone()

    untouched = stepped(None)  # the third update: the turn of the first group, rows 0 and 2
    assert torch.equal(untouched, stepped(1)) and torch.equal(untouched, stepped(3))
    assert not torch.equal(untouched, stepped(0)) and not torch.equal(untouched, stepped(2))


@pytest.mark.parametrize("memory", ["none", "lstm"])
@pytest.mark.parametrize(
    ("world", "config"),
    [
        ("CartPole-v1", {}),
        ("Pendulum-v1", {"max_steps": 3}),
        (KITCHEN, {"max_steps": 4}),
        (PARTY, {"dies_at": 2, "leaves_at": 3, "over_at": 5}),
    ],
    ids=["choice", "numbers", "masks", "leaving"],
)
@pytest.mark.parametrize("updates", [1, 4], ids=["window not full", "full window"])
def test_an_update_is_the_plain_one(world: object, config: dict[str, int], memory: str, updates: int) -> None:
    chosen = replace(SMALL, entropy_weight=0.02, rho_clip=1.1, c_clip=0.9, lam=0.95, max_gradient_norm=0.0)
    chosen = replace(chosen, policy=PolicyConfig(hidden=(8,), memory=memory, memory_size=4))
    trainer = VTrace(wl.Simulation(world, 4, seed=1, config=config), chosen)
    (learner,) = trainer.learners.values()
    for _ in range(updates - 1):
        trainer.iterate()
    policy = copy.deepcopy(learner.policy)
    turn = int(trainer.turn)
    trainer.iterate()
    kept = learner.actor.storage
    agents = learner.agent_group.agents
    rows = torch.tensor([row for row in range(kept.rows) if row // agents % 2 == turn % 2])
    here = kept.weights[:, rows] > 0.0
    state = kept.states[0, rows]
    log_probs, entropies, values = [], [], []
    for t in range(6):
        parameters, value, state = policy({k: v[t, rows] for k, v in kept.newest(kept.steps).items()}, state)
        mask = None if kept.masks is None else kept.masks[t, rows]
        log_prob, entropy = log_prob_entropy(
            policy.spec.action, parameters, kept.actions[t, rows], mask, policy.log_std
        )
        log_probs.append(log_prob)
        entropies.append(entropy)
        values.append(value)
        state = state * ~kept.dones[t, rows][:, None]
    last = policy.value(
        {k: v[rows] for k, v in learner.agent_group.observations().items()}, learner.actor.state[rows]
    ).detach()
    known = torch.stack([*[v.detach() for v in values], last]).double()
    ratios = torch.exp(torch.stack(log_probs).detach() - kept.log_probs[:, rows]).double()
    targets, advantages = known.clone(), torch.zeros(6, len(rows), dtype=torch.float64)
    for t in reversed(range(6)):
        gamma = 0.9 * ~kept.dones[t, rows]
        rho, c = ratios[t].clamp(max=1.1), 0.95 * ratios[t].clamp(max=0.9)
        advantages[t] = rho * (kept.rewards[t, rows] + gamma * targets[t + 1] - known[t])
        targets[t] = (
            known[t]
            + rho * (kept.rewards[t, rows] + gamma * known[t + 1] - known[t])
            + gamma * c * (targets[t + 1] - known[t + 1])
        )
    terms = (
        -torch.stack(log_probs) * advantages
        + 0.25 * (torch.stack(values) - targets[:-1]) ** 2
        - 0.02 * torch.stack(entropies)
    )
    wanted = torch.autograd.grad(terms[here].mean(), list(policy.parameters()))
    flat = torch.cat([g.flatten() for g in wanted])
    torch.testing.assert_close(learner.optimizer.gradient, flat.float(), rtol=1e-3, atol=2e-5)


def test_a_policy_group_is_trained_with_its_own_settings() -> None:
    policy_groups = {
        "wolves": PolicyGroup("Wolf", config=replace(SMALL, value_weight=0.0, entropy_weight=0.0)),
        "flock": PolicyGroup("Sheep,Ram"),
    }
    trainer = VTrace(wl.Simulation(FARM, 2, seed=0), SMALL, policy_groups=policy_groups)
    before = {
        name: {k: v.clone() for k, v in learner.policy.state_dict().items()}
        for name, learner in trainer.learners.items()
    }
    for _ in range(3):
        trainer.iterate()
    for name, learner in trainer.learners.items():
        moved = {k for k, v in learner.policy.state_dict().items() if not torch.equal(v, before[name][k])}
        assert any("actor" in k for k in moved)
        assert any("critic" in k for k in moved) == (name == "flock")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"schedule": "kl"}, "schedule kl does not apply"),
        ({"steps_per_update": 7}, "steps_per_update"),
        ({"steps_per_update": 0}, "steps_per_update"),
        ({"batches": 0}, "batches"),
        ({"c_clip": 2.0}, "c_clip"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        replace(SMALL, **settings)


def test_agents_that_make_no_equal_batches_are_refused() -> None:
    with pytest.raises(InputError, match="5 worlds cannot be divided into 2 equal batches"):
        VTrace("CartPole-v1", replace(SMALL, num_envs=5))
