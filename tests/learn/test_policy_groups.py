"""Several policies in one world: who plays whom, each with its own settings, and agents that leave early."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from worlds import FARM, PARTY

import worldloom as wl
import worldloom.learn
from worldloom.core.base.errors import InputError
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import StopAt

SMALL = PPOConfig(
    num_envs=4,
    num_steps=8,
    minibatches=2,
    epochs=2,
    seed=1,
    device="cpu",
    total_steps=4 * 8 * 4,
    policy=PolicyConfig(hidden=(8,)),
)


def weights(trainer: PPO) -> dict[str, Tensor]:
    return {name: learner.optimizer.flat.clone() for name, learner in trainer.learners.items()}


def test_by_default_every_kind_has_its_own_policy() -> None:
    trainer = PPO(FARM, SMALL)
    assert {name: learner.agent_group.rows for name, learner in trainer.learners.items()} == {
        "Wolf": 8,
        "Sheep": 12,
        "Ram": 4,
    }
    before = weights(trainer)
    trainer.learn()
    assert all(not torch.equal(before[name], after) for name, after in weights(trainer).items())


def test_each_policy_has_its_own_network_optimiser_and_schedule() -> None:
    policy_groups = {
        "wolves": PolicyGroup(
            "Wolf",
            config=replace(SMALL, learning_rate=1e-3, schedule="linear", epochs=1, policy=PolicyConfig(hidden=(4, 4))),
        ),
        "first": PolicyGroup("Sheep[0]", config=replace(SMALL, learning_rate=2e-3)),
        "frozen": PolicyGroup("Sheep[1:3]", train=False),
        "ram": PolicyGroup("Ram"),
    }
    trainer = PPO(FARM, SMALL, policy_groups=policy_groups)
    before = weights(trainer)
    assert before["wolves"].shape != before["ram"].shape
    trainer.learn()
    after = weights(trainer)
    assert torch.equal(before["frozen"], after["frozen"])
    assert all(not torch.equal(before[name], after[name]) for name in ("wolves", "first", "ram"))
    rates = {name: learner.optimizer.learning_rate.item() for name, learner in trainer.learners.items()}
    assert rates == pytest.approx({"wolves": 1e-3 * 0.25, "first": 2e-3, "frozen": 3e-4, "ram": 3e-4})


def test_a_policy_that_does_not_learn_still_plays() -> None:
    trainer = PPO(
        FARM, SMALL, policy_groups={"wolves": PolicyGroup("Wolf", train=False), "flock": PolicyGroup("Sheep,Ram")}
    )
    trainer.learn()
    kept = trainer.learners["wolves"].actor.storage
    assert kept.actions.std() > 0.1
    torch.testing.assert_close(
        trainer.simulation["Wolf"]["leap"].torch().view(8, 2), (2.0 * kept.actions[-1]).clamp(-2.0, 2.0)
    )


def test_kinds_that_share_a_policy_share_its_parameters() -> None:
    trainer = PPO(
        FARM, SMALL, policy_groups={"wolves": PolicyGroup("Wolf", train=False), "flock": PolicyGroup("Ram,Sheep")}
    )
    learner = trainer.learners["flock"]
    assert learner.agent_group.rows == 16
    trainer._roll_out()
    actions = learner.actor.storage.actions[-1].view(4, 4)
    assert torch.equal(actions[:, :1], trainer.simulation["Ram"]["graze"].torch())
    assert torch.equal(actions[:, 1:], trainer.simulation["Sheep"]["graze"].torch())


def test_policies_draw_their_own_random_numbers() -> None:
    trainer = PPO(
        FARM,
        replace(SMALL, num_envs=64),
        policy_groups={
            "wolves": PolicyGroup("Wolf"),
            "a": PolicyGroup("Sheep[0]"),
            "b": PolicyGroup("Sheep[1]"),
            "c": PolicyGroup("Sheep[2],Ram"),
        },
    )
    a, b = trainer.learners["a"], trainer.learners["b"]
    assert not torch.equal(a.optimizer.flat, b.optimizer.flat)
    trainer._roll_out()
    assert not torch.equal(a.actor.storage.actions, b.actor.storage.actions)


@pytest.mark.parametrize(
    ("policy_groups", "match"),
    [
        ({"wolves": PolicyGroup("Wolf"), "sheep": PolicyGroup("Sheep")}, "no policy controls Ram 0"),
        ({"wolves": PolicyGroup("Wolf"), "flock": PolicyGroup("Sheep[1:3],Ram")}, "no policy controls Sheep 0"),
        (
            {"wolves": PolicyGroup("Wolf"), "sheep": PolicyGroup("Sheep"), "flock": PolicyGroup("Sheep[1],Ram")},
            "Sheep 1 is controlled by two policies, one of them 'flock'",
        ),
        ({"all": PolicyGroup("Wolf,Sheep,Ram")}, "Wolf and Sheep cannot share a policy"),
        ({"cows": PolicyGroup("Cow")}, "there are no agents 'Cow'"),
        (
            {"wolves": PolicyGroup("Wolf", config=A2CConfig()), "flock": PolicyGroup("Sheep,Ram")},
            "policy group 'wolves' has settings of the class A2CConfig, but this trainer takes PPOConfig",
        ),
    ],
)
def test_invalid_policy_groups_are_refused(policy_groups: dict[str, PolicyGroup], match: str) -> None:
    with pytest.raises(InputError, match=match):
        PPO(FARM, SMALL, policy_groups=policy_groups)


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 4)

    def forward(self, seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        found = self.layer(seen["smell"])
        return found[:, :3], found[:, 3]


def test_custom_networks_are_given_per_policy_group() -> None:
    module = Small()
    wolves = PolicyGroup("Wolf", train=False)
    with pytest.raises(InputError, match="give each a policy group with its network"):
        PPO(FARM, SMALL, network=module)
    with pytest.raises(InputError, match="network and policy_groups cannot both be given"):
        PPO(FARM, SMALL, network=module, policy_groups={"wolves": wolves, "flock": PolicyGroup("Sheep,Ram")})
    with pytest.raises(InputError, match="two policy groups cannot train the same parameters"):
        PPO(
            FARM,
            SMALL,
            policy_groups={
                "wolves": wolves,
                "sheep": PolicyGroup("Sheep", network=module),
                "ram": PolicyGroup("Ram", network=module),
            },
        )
    before = module.layer.weight.clone()
    PPO(FARM, SMALL, policy_groups={"wolves": wolves, "flock": PolicyGroup("Sheep,Ram", network=module)}).learn()
    assert not torch.equal(module.layer.weight, before)


def test_the_score_is_that_of_the_policies_that_learn() -> None:
    trainer = PPO(
        FARM,
        replace(SMALL, total_steps=4 * 8 * 50),
        policy_groups={"wolves": PolicyGroup("Wolf", train=False), "flock": PolicyGroup("Sheep,Ram")},
    )
    metrics = []

    class Note(StopAt):
        def on_iteration(self, trainer: PPO, progress: object) -> None:
            metrics.append(progress.metrics)
            super().on_iteration(trainer, progress)

    trainer.learn(callbacks=[Note(2.0)])  # 7 steps with a bounty of 1/4 and about a third of a reward in each
    assert len(metrics) == 1
    assert trainer.score == metrics[-1]["episode/return/flock"] >= 2.0 and "episode/return/wolves" in metrics[-1]


# -- agents that leave early -------------------------------------------------------------------------------------------

GONE = {"dies_at": 2, "over_at": 6}
"""Guest 0 is gone for two thirds of every party."""


def party(kind: type[PPO] | type[A2C], config: PPOConfig | A2CConfig) -> tuple[PPO | A2C, Learner]:
    trainer = kind(wl.Simulation(PARTY, 4, seed=0, config=GONE), config)
    trainer._roll_out()
    return trainer, trainer.learners["Guest"]


@pytest.mark.parametrize("memory", ["none", "gru"])
@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
def test_what_is_kept_of_those_who_left_changes_nothing(algorithm: str, memory: str) -> None:
    policy = PolicyConfig(hidden=(8,), memory=memory, memory_size=4, normalize_observations=True)

    def learned(spoilt: bool) -> dict[str, Tensor]:
        if algorithm == "ppo":
            trainer, learner = party(PPO, replace(SMALL, policy=policy, normalize_rewards=True, value_clip=0.2))
        else:
            trainer, learner = party(
                A2C, A2CConfig(num_steps=8, policy=policy, normalize_rewards=True, normalize_advantages=True)
            )
        kept = learner.actor.storage
        gone = kept.weights == 0.0
        assert gone.sum() == 4 * 4
        assert gone.view(8, 4, 3)[..., 1:].sum() == 0.0
        if spoilt:
            kept.rewards[gone] += 3.0
            kept.observations["sight"][gone] = 50.0
            kept.log_probs[gone] -= 1.0
            kept.actions[gone] = 1
        trainer._update()
        return {k: v.clone() for k, v in learner.tensors().items()}

    plain, spoilt = learned(False), learned(True)
    for name, tensor in plain.items():
        assert torch.equal(tensor, spoilt[name]), name


def test_statistics_are_those_of_agents_that_were_there() -> None:
    trainer, learner = party(
        PPO, replace(SMALL, policy=PolicyConfig(hidden=(8,), normalize_observations=True), normalize_rewards=True)
    )
    kept = learner.actor.storage
    seen = kept.observations["sight"][kept.weights > 0.0].double()
    returns = []
    for row in range(12):
        total = 0.0
        for t in range(8):
            total = SMALL.gamma * total + kept.rewards[t, row].item()
            if kept.weights[t, row]:
                returns.append(total)
            if kept.dones[t, row]:
                total = 0.0
    trainer._update()
    moments = learner.policy.normalizer.moments[0]
    torch.testing.assert_close(moments.mean.double(), seen.mean(0), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(moments.variance.double(), seen.var(0, unbiased=False), rtol=1e-5, atol=1e-6)
    assert moments.count.item() == len(seen) == len(returns)
    spread = torch.tensor(returns, dtype=torch.float64).var(unbiased=False).item()
    assert learner.scale.moments.variance.item() == pytest.approx(spread, rel=1e-5)


def test_returns_are_those_of_the_time_they_were_there() -> None:
    trainer = PPO(wl.Simulation(PARTY, 4, seed=0, config=GONE), replace(SMALL, num_steps=12, total_steps=4 * 12))
    metrics = []

    class Note(StopAt):
        def on_iteration(self, trainer: PPO, progress: object) -> None:
            metrics.append(progress.metrics)

    trainer.learn(callbacks=[Note(1e9)])
    assert (
        metrics[0]["episode/return"] == pytest.approx((2.0 + 6.0 + 6.0) / 3.0)
        and metrics[0]["episode/length"] == metrics[0]["episode/return"]
    )
    assert metrics[0]["episode/count"] == 4 * 3 * 2


@pytest.mark.parametrize("name", ["worlds", "window", "a/b", ""])
def test_a_policy_needs_a_name_that_files_can_hold(name):
    with pytest.raises(InputError, match="cannot be called"):
        PPO(FARM, PPOConfig(num_envs=4, device="cpu"), policy_groups={name: PolicyGroup("Sheep")})


def test_teams_is_the_deprecated_name_of_policy_groups() -> None:
    groups = {"all": PolicyGroup("Cart")}
    config = PPOConfig(num_envs=4, num_steps=8, device="cpu")
    with pytest.warns(DeprecationWarning, match="teams= is now called policy_groups=") as caught:
        trainer = PPO("CartPole-v1", config, teams=groups)
    assert list(trainer.learners) == ["all"] and caught[0].filename == __file__
    with pytest.raises(InputError, match="give policy_groups only"):
        PPO("CartPole-v1", config, teams=groups, policy_groups=groups)
    with pytest.warns(DeprecationWarning, match=r"worldloom\.learn\.Team is now called PolicyGroup"):
        assert worldloom.learn.Team is PolicyGroup


def test_two_policy_groups_cannot_train_shared_parameters() -> None:
    trunk = nn.Linear(1, 4)

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.out = trunk, nn.Linear(4, 1)

        def forward(self, seen: Tensor) -> tuple[Tensor, Tensor]:
            return self.out(self.trunk(seen)), self.out(self.trunk(seen))

    with pytest.raises(InputError, match="same parameters"):
        PPO(
            FARM,
            SMALL,
            policy_groups={
                "wolves": PolicyGroup("Wolf", network=Head()),
                "others": PolicyGroup("Sheep,Ram", network=Head()),
            },
        )
