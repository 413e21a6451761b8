"""Training agents with choices and numbers: every algorithm, resumption, saved runs, and several policies."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from thorough import covering, sample
from worlds import MINE, YARD

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry
from worldloom.learn import (
    A2C,
    DQN,
    PPO,
    A2CConfig,
    DQNConfig,
    PolicyConfig,
    PolicyGroup,
    PPOConfig,
    TrainingRequest,
    VTrace,
    VTraceConfig,
    evaluate,
    make_actors,
    open_run,
    run_training,
)
from worldloom.learn.actions.distributions import log_prob_entropy, to_env_action
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.runs.saved_policies import load_policy

PLAIN = PolicyConfig(hidden=(16,))
POLICIES = {
    "plain": PLAIN,
    "squashed": replace(PLAIN, action_distribution="squashed_gaussian"),
    "state std": replace(PLAIN, action_std="state", initial_std=0.5),
    "all": replace(
        PLAIN,
        action_distribution="squashed_gaussian",
        action_std="state",
        memory="gru",
        memory_size=8,
        normalize_observations=True,
    ),
}
COMMON = {"num_envs": 8, "seed": 2, "device": "cpu", "total_steps": 10**6}
CONFIGS = {
    "ppo": (PPO, PPOConfig(**COMMON, num_steps=12, minibatches=2, epochs=2, entropy_weight=0.01)),
    "a2c": (A2C, A2CConfig(**COMMON, num_steps=6, entropy_weight=0.01)),
    "vtrace": (VTrace, VTraceConfig(**COMMON, num_steps=8, steps_per_update=4, batches=2, entropy_weight=0.01)),
}
POLICY = pytest.mark.parametrize("policy", POLICIES)


def trainer_of(algorithm: str, policy: str, definition: wl.Definition = YARD) -> OnPolicyTrainer:
    kind, config = CONFIGS[algorithm]
    return kind(wl.Simulation(definition, config.num_envs, "cpu", seed=2), replace(config, policy=POLICIES[policy]))


def flat(trainer: OnPolicyTrainer) -> torch.Tensor:
    return torch.cat([learner.optimizer.flat for learner in trainer.learners.values()]).clone()


@pytest.mark.parametrize(("algorithm", "policy"), covering(CONFIGS, POLICIES))
def test_what_is_stored_is_what_the_world_got(algorithm: str, policy: str) -> None:
    trainer = trainer_of(algorithm, policy)
    (learner,) = trainer.learners.values()
    before = flat(trainer)
    for _ in range(3):
        trainer.iterate()
    storage, spec = learner.actor.storage, learner.agent_group.spec.action
    tool, lever, other, x, y, force = to_env_action(spec, storage.actions[-trainer.new_steps :]).unbind(-1)
    expected = 100.0 * tool + 10.0 * lever + other + x - 2.0 * y + 0.1 * force
    went_on = ~storage.dones[-trainer.new_steps :]  # the others have a bootstrap value in their reward
    torch.testing.assert_close(storage.rewards[-trainer.new_steps :][went_on], expected[went_on], rtol=1e-5, atol=1e-4)
    assert force.min() >= 0.0 and force.max() <= 10.0
    refused = trainer.simulation["Crane"].refused.numpy()
    assert not refused.any() and tool.unique().numel() == 3
    assert torch.isfinite(flat(trainer)).all() and not torch.equal(before, flat(trainer))


@POLICY
def test_log_probabilities_of_a_rollout_are_those_of_the_policy(policy: str) -> None:
    trainer = trainer_of("ppo", policy)
    (learner,) = trainer.learners.values()
    initial = {k: v.clone() for k, v in learner.policy.state_dict().items()}
    trainer.iterate()
    trained = learner.policy.state_dict()
    for name, tensor in initial.items():
        trained[name].copy_(tensor)
    storage = learner.actor.storage
    batch = storage.gather_rows(torch.arange(storage.rows), storage.rewards, storage.rewards)
    if not learner.policy.recurrent:
        batch = storage.all_steps(storage.rewards, storage.rewards)
    with torch.no_grad():
        parameters, _ = batch.evaluate(learner.policy)
        spec = learner.agent_group.spec.action
        log_probs, _ = log_prob_entropy(spec, parameters, batch.actions, batch.masks, learner.policy.log_std)
    torch.testing.assert_close(log_probs, batch.log_probs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("algorithm", "policy"), covering(CONFIGS, ["all", "plain"]))
def test_a_resumed_training_is_equal_bit_for_bit(algorithm: str, policy: str) -> None:
    trainer = trainer_of(algorithm, policy)
    for _ in range(3):
        trainer.iterate()
    tensors, plain = trainer.state()
    saved = {name: tensor.clone() for name, tensor in tensors.items()}
    for _ in range(2):
        trainer.iterate()
    resumed = trainer_of(algorithm, policy)
    resumed.load_state(saved, plain)
    for _ in range(2):
        resumed.iterate()
    assert torch.equal(flat(trainer), flat(resumed))
    for learner, other in zip(trainer.learners.values(), resumed.learners.values(), strict=True):
        assert torch.equal(learner.actor.storage.actions, other.actor.storage.actions)


def test_dqn_refuses_both_with_one_sentence() -> None:
    with pytest.raises(InputError, match="'Yard-test' act with choices and real numbers, and DQN takes one choice"):
        DQN(YARD, DQNConfig(num_envs=8, device="cpu"))


def test_an_altered_window_with_choices_out_of_range_is_refused() -> None:
    trainer = trainer_of("vtrace", "plain")
    trainer.iterate()
    tensors, plain = trainer.state()
    saved = {name: tensor.clone() for name, tensor in tensors.items()}
    saved["window/Crane/actions"][0, 0, 2] = 4.0
    with pytest.raises(InputError, match="'actions' in the saved window of policy 'Crane' is not between 0 and 3"):
        trainer_of("vtrace", "plain").load_state(saved, plain)


def test_several_policies_each_with_its_own_distribution() -> None:
    kind, config = CONFIGS["ppo"]
    groups = {
        "first": PolicyGroup("Crane[0]", replace(config, policy=POLICIES["squashed"])),
        "second": PolicyGroup("Crane[1]", replace(config, policy=POLICIES["state std"])),
    }
    trainer = kind(wl.Simulation(YARD, 8, "cpu", seed=2), config, policy_groups=groups)
    trainer.iterate()
    first, second = (learner.agent_group.spec.action for learner in trainer.learners.values())
    assert first.squashed and not first.state_std and second.state_std and not second.squashed
    worlds = wl.Simulation(YARD, 4, "cpu", seed=5)
    assert evaluate(worlds, make_actors(trainer.learners, worlds), 4).mean_return > 0.0


@pytest.mark.parametrize("policy", sample(reversed(POLICIES), 2))
def test_a_saved_run_plays_as_its_trainer_does(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._REGISTRY, YARD.id, YARD)
    config = replace(CONFIGS["ppo"][1], policy=POLICIES[policy], total_steps=8 * 2 * 12 * 3)
    run_training(TrainingRequest(env=YARD.id, algorithm="ppo", config=config, run_dir=tmp_path / "run"))
    run = open_run(tmp_path / "run")
    returns = []
    for stochastic in (False, True):
        worlds = run.worlds(8, "cpu", seed=3)
        result = evaluate(worlds, run.actors(worlds, stochastic=stochastic, seed=4), 8)
        again = run.worlds(8, "cpu", seed=3)
        same = evaluate(again, run.actors(again, stochastic=stochastic, seed=4), 8)
        assert result.mean_return == same.mean_return and math.isfinite(result.mean_return)
        returns.append(result.mean_return)
    assert returns[0] != returns[1]


def test_a_saved_policy_and_past_selves_act_with_their_own_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry._REGISTRY, YARD.id, YARD)
    config = replace(CONFIGS["ppo"][1], policy=POLICIES["all"], total_steps=8 * 2 * 12)
    run_training(TrainingRequest(env=YARD.id, algorithm="ppo", config=config, run_dir=tmp_path / "run"))
    saved = load_policy(tmp_path / "run", "Crane")
    groups = {
        "saved": PolicyGroup("Crane[0]", train=False, saved=saved),
        "learns": PolicyGroup("Crane[1]", replace(config, policy=POLICIES["squashed"]), pool=OpponentPool()),
    }
    trainer = PPO(wl.Simulation(YARD, 8, "cpu", seed=2), replace(config, policy=PLAIN), policy_groups=groups)
    for _ in range(2):
        trainer.iterate()
    assert trainer.learners["saved"].agent_group.spec.action.state_std
    force = trainer.simulation["Crane"].force.numpy()
    assert (force > 0.0).all() and (force < 10.0).all(), "both are squashed, so that no number is at its bound"


def test_the_network_starts_at_the_given_standard_deviation() -> None:
    (learner,) = trainer_of("ppo", "state std").learners.values()
    policy = learner.policy
    assert policy.log_std is None
    parameters, _, _ = policy({"sight": torch.zeros(1, 2)}, policy.initial_state(1, "cpu"))
    torch.testing.assert_close(parameters[0, -3:].exp(), torch.full((3,), 0.5), rtol=0.1, atol=0.0)


@pytest.mark.parametrize("policy", ["plain", "squashed", "state std"])
def test_both_kinds_are_learned_together(policy: str) -> None:
    """Of 10: the right side with the best constant depth brings 7.5, the right depth with a random side 5."""
    config = PPOConfig(
        num_envs=32, num_steps=20, epochs=6, gamma=0.0, learning_rate=3e-3, seed=1, device="cpu", total_steps=10**6
    )
    config = replace(config, policy=replace(POLICIES[policy], hidden=(32, 32)))
    trainer = PPO(wl.Simulation(MINE, 32, "cpu", seed=1), config)
    for _ in range(10):
        trainer.iterate()
    worlds = wl.Simulation(MINE, 64, "cpu", seed=7)
    assert evaluate(worlds, make_actors(trainer.learners, worlds), 64).mean_return > 8.5
