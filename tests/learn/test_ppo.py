"""PPO: loss and gradients against a plain version, minibatches and step size."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace

import pytest
import torch
from thorough import covering
from torch import Tensor, nn
from torch.distributions import Categorical, Normal
from worlds import CLOCK, CORRIDOR, KITCHEN

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.algorithms.ppo import PPO, PPOConfig, ppo_gradients, ppo_loss
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import Schedule
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch, Storage

ACTIONS = {
    "choice": ActionSpec("categorical", sizes=(3,)),
    "choices": ActionSpec("categorical", sizes=(4, 2, 3)),
    "numbers": ActionSpec("gaussian", low=(-1.0, -2.0), high=(1.0, 2.0)),
}
STEPS, ROWS = 6, 5


@torch.no_grad()
def rolled_out(action: ActionSpec, masked: bool, weighted: bool) -> tuple[Policy, Storage, Tensor, Tensor]:
    """A policy, a roll-out by a slightly different one, and random advantages and returns [T, N]."""
    spec = PolicySpec({"sight": ObservationSpec((4,))}, action)
    policy = Policy(spec, PolicyConfig(hidden=(8,)))
    for parameter in policy.parameters():
        parameter += 0.3 * torch.randn(parameter.shape)
    kept = Storage(spec, ROWS, STEPS, torch.device("cpu"), masked=masked, may_leave=weighted)
    kept.observations["sight"].normal_()
    if kept.masks is not None:
        kept.masks.copy_(torch.rand(kept.masks.shape) < 0.6)
        for start in itertools.accumulate((0, *action.sizes[:-1])):
            kept.masks[..., start] = True  # something is always allowed
    if kept.weights is not None:
        kept.weights.copy_((torch.rand(STEPS, ROWS) < 0.7).float())
    kept.values.normal_()
    for t, n in itertools.product(range(STEPS), range(ROWS)):
        parameters, _, _ = policy({"sight": kept.observations["sight"][t, n][None]}, torch.zeros(1, 0))
        mask = None if kept.masks is None else kept.masks[t, n]
        parts = distributions(policy, parameters[0] + 0.4 * torch.randn(action.parameters), mask)
        drawn = [part.sample() for part in parts]
        kept.actions[t, n] = torch.stack(drawn).to(action.dtype)
        kept.log_probs[t, n] = sum(part.log_prob(a) for part, a in zip(parts, drawn, strict=True))
    return policy, kept, torch.randn(STEPS, ROWS), 2.0 * torch.randn(STEPS, ROWS)


def distributions(policy: Policy, parameters: Tensor, mask: Tensor | None) -> list[Categorical] | list[Normal]:
    """One distribution for each part of one row's action, in float64."""
    spec, parameters = policy.spec.action, parameters.double()
    if spec.kind == "gaussian":
        assert policy.log_std is not None
        return [Normal(mean, log_std.exp()) for mean, log_std in zip(parameters, policy.log_std.double(), strict=True)]
    if mask is not None:
        parameters = parameters.masked_fill(~mask, -torch.inf)
    return [Categorical(logits=logits) for logits in parameters.split(spec.sizes)]


def plain_loss(policy: Policy, batch: RolloutBatch, config: PPOConfig) -> Tensor:
    """PPO's loss sample by sample, in float64, as the paper has it."""
    total, count = torch.zeros((), dtype=torch.float64), 0
    for i in range(len(batch.actions)):
        if batch.weights is not None and batch.weights[i] == 0:
            continue
        count += 1
        parameters, value, _ = policy({"sight": batch.observations["sight"][i : i + 1]}, torch.zeros(1, 0))
        parts = distributions(policy, parameters[0], None if batch.masks is None else batch.masks[i])
        log_prob = sum(part.log_prob(a.double()) for part, a in zip(parts, batch.actions[i], strict=True))
        entropy = sum(part.entropy() for part in parts)
        ratio = torch.exp(log_prob - batch.log_probs[i].double())
        advantage, target, old = batch.advantages[i].double(), batch.returns[i].double(), batch.values[i].double()
        clipped = torch.clamp(ratio, 1.0 - config.clip, 1.0 + config.clip)
        gain = torch.minimum(ratio * advantage, clipped * advantage)
        error = (value[0].double() - target) ** 2
        if config.value_clip > 0.0:
            near = old + torch.clamp(value[0].double() - old, -config.value_clip, config.value_clip)
            error = torch.maximum(error, (near - target) ** 2)
        total = total - gain + config.value_weight * 0.5 * error - config.entropy_weight * entropy
    return total / count


@pytest.mark.parametrize("fused", [False, True], ids=["torch", "kernel"])
@pytest.mark.parametrize(
    ("action", "loss"),
    covering(
        [("choice", False), ("choice", True), ("choices", False), ("choices", True), ("numbers", False)],
        [(False, 0.0), (True, 0.3), (False, 0.3), (True, 0.0)],
    ),
)
def test_the_loss_and_its_gradient_are_those_of_the_paper(
    action: tuple[str, bool], loss: tuple[bool, float], fused: bool
) -> None:
    """Actions are a kind and whether it is masked; losses are whether samples are weighted, and the value clip."""
    (kind, masked), (weighted, value_clip) = action, loss
    torch.manual_seed(3)
    policy, kept, advantages, returns = rolled_out(ACTIONS[kind], masked, weighted)
    config = PPOConfig(clip=0.15, value_clip=value_clip, value_weight=0.7, entropy_weight=0.05)
    places = torch.randperm(STEPS * ROWS)[:20]
    batch = kept.gather_steps(places, advantages, returns)
    expected = plain_loss(policy, batch, config)
    wanted = torch.autograd.grad(expected, list(policy.parameters()))
    mean = WeightedMean(batch.weights, Ranks())
    if fused:
        parameters, values, _ = policy(batch.observations, torch.zeros(len(places), 0))
        gradients = ppo_gradients(
            policy, config, kept, places, batch.advantages, returns, parameters, values, mean.count
        )
        told = gradients.statistics.sum(1)
        total = told[0] + config.value_weight * told[1] - config.entropy_weight * told[2]
        outputs, by_outputs = gradients.with_outputs(parameters, values, policy.log_std)
        found = torch.autograd.grad(outputs, list(policy.parameters()), by_outputs)
    else:
        total = ppo_loss(policy, batch, config, mean).total
        found = torch.autograd.grad(total, list(policy.parameters()))
    assert total.item() == pytest.approx(expected.item(), rel=1e-5)
    for have, want in zip(found, wanted, strict=True):
        torch.testing.assert_close(have, want, rtol=1e-4, atol=1e-6)


def test_what_is_told_of_the_loss_is_what_it_is_made_of() -> None:
    torch.manual_seed(5)
    policy, kept, advantages, returns = rolled_out(ACTIONS["choices"], True, True)
    places = torch.arange(STEPS * ROWS)
    batch = kept.gather_steps(places, advantages, returns)
    config = PPOConfig(clip=0.1)
    mean = WeightedMean(batch.weights, Ranks())
    losses = ppo_loss(policy, batch, config, mean)
    parameters, values, _ = policy(batch.observations, torch.zeros(len(places), 0))
    gradients = ppo_gradients(policy, config, kept, places, batch.advantages, returns, parameters, values, mean.count)
    torch.testing.assert_close(gradients.statistics.sum(1), torch.stack(losses[1:]))
    assert losses.divergence > 0.0
    here = batch.weights > 0.0
    ratios = []
    for i in range(len(places)):
        parts = distributions(policy, parameters[i], batch.masks[i])
        ratios.append(
            torch.exp(
                sum(p.log_prob(a.double()) for p, a in zip(parts, batch.actions[i], strict=True)) - batch.log_probs[i]
            )
        )
    outside = (torch.stack(ratios) - 1.0).abs() > 0.1
    assert losses.clipped.item() == pytest.approx(outside[here].double().mean().item())


# -- what the update sees of the roll-out ------------------------------------------------------------------------------


def first_ratios(trainer: PPO) -> Tensor:
    """Ratios of all steps of a fresh roll-out, by rows and by steps, before anything was learned."""
    trainer._roll_out()
    found = []
    for learner in trainer.learners.values():
        kept = learner.actor.storage
        nothing = torch.zeros_like(kept.rewards)
        batches = [kept.gather_rows(torch.arange(kept.rows), nothing, nothing)]
        if not learner.policy.recurrent:
            batches.append(kept.gather_steps(torch.arange(kept.rows * kept.steps), nothing, nothing))
        for batch in batches:
            log_probs, values = log_probs_of(learner.policy, batch)
            torch.testing.assert_close(values, batch.values, rtol=1e-5, atol=1e-5)
            found.append(torch.exp(log_probs - batch.log_probs).flatten())
    return torch.cat(found)


def log_probs_of(policy: Policy, batch: RolloutBatch) -> tuple[Tensor, Tensor]:
    parameters, values = batch.evaluate(policy)
    return log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)[
        0
    ].detach(), values.detach()


@pytest.mark.parametrize(
    ("world", "memory"),
    covering(["CartPole-v1", "Pendulum-v1", KITCHEN, CORRIDOR, CLOCK], ["none", "lstm", "gru"]),
    ids=lambda value: getattr(value, "id", value),
)
def test_the_update_finds_the_policy_that_acted(world: object, memory: str) -> None:
    """Episodes begin and end within the roll-outs: a memory not reset in both, or a mask of another step, is seen."""
    config = PPOConfig(
        num_envs=6,
        num_steps=9,
        minibatches=3,
        seed=4,
        device="cpu",
        policy=PolicyConfig(hidden=(16,), memory=memory, memory_size=8),
    )
    trainer = PPO(world, config)
    for (
        learner
    ) in trainer.learners.values():  # an actor at the start hardly prefers anything, and would hide a wrong state
        with torch.no_grad():
            learner.optimizer.flat += 0.2 * torch.randn(
                learner.optimizer.flat.shape, generator=torch.Generator().manual_seed(1)
            )
    for _ in range(3):
        ratios = first_ratios(trainer)
        assert (ratios - 1.0).abs().max() < 2e-5


def test_the_masks_of_each_step_are_kept_and_obeyed() -> None:
    trainer = PPO(
        KITCHEN, PPOConfig(num_envs=8, num_steps=16, minibatches=4, seed=1, device="cpu", total_steps=8 * 16 * 6)
    )
    trainer.learn()
    learner = trainer.learners["Diner"]
    kept = learner.actor.storage
    masks, actions = kept.masks, kept.actions.long()
    assert masks is not None
    assert not torch.equal(masks[0], masks[1]) and not torch.equal(masks[0, 0], masks[0, 1])
    assert masks[..., :4].gather(-1, actions[..., :1]).all() and masks[..., 4:].gather(-1, actions[..., 1:]).all()
    assert trainer.simulation["Diner"]["refused"].numpy().sum() == 0
    for step in range(1, 16):  # with the mask of the last step for all, the ratios would not be 1
        wrong = masks[-1]
        allowed = wrong[..., :4].gather(-1, actions[step, :, :1]) & wrong[..., 4:].gather(-1, actions[step, :, 1:])
        if not allowed.all():
            return
    raise AssertionError("the masks of all steps allow what was done: the world does not test anything")


def test_all_choices_are_taken_where_all_are_allowed() -> None:
    simulation = wl.Simulation(KITCHEN, 32, seed=0, config={"everything": 1})
    trainer = PPO(simulation, PPOConfig(num_steps=8, minibatches=1))
    trainer._roll_out()
    actions = trainer.learners["Diner"].actor.storage.actions
    assert actions[..., 0].unique().tolist() == [0, 1, 2, 3] and actions[..., 1].unique().tolist() == [0, 1, 2]


# -- the whole update --------------------------------------------------------------------------------------------------


def test_one_update_is_one_plain_step_for_each_minibatch() -> None:
    """Advantages, minibatches, normalisation and Adam's steps recomputed from the roll-out that the trainer kept."""
    config = PPOConfig(
        num_envs=5,
        num_steps=8,
        minibatches=2,
        epochs=2,
        entropy_weight=0.01,
        max_gradient_norm=0.3,
        seed=2,
        device="cpu",
    )
    config = replace(config, policy=PolicyConfig(hidden=(8,)))
    trainer = PPO("CartPole-v1", config)
    learner = trainer.learners["Cart"]
    policy = copy.deepcopy(learner.policy)
    adam = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)
    trainer.iterate()
    kept = learner.actor.storage
    advantages, returns = torch.zeros(8, 5), torch.zeros(8, 5)
    for n in range(5):
        ahead = 0.0
        for t in reversed(range(8)):
            goes_on = 0.0 if kept.dones[t, n] else 1.0
            surprise = kept.rewards[t, n] + config.gamma * goes_on * kept.values[t + 1, n] - kept.values[t, n]
            ahead = surprise + config.gamma * config.lam * goes_on * ahead
            advantages[t, n], returns[t, n] = ahead, ahead + kept.values[t, n]
    learner.shuffle.tick.zero_()
    for epoch in range(2):
        for places in learner.shuffle.steps(8, 2, epoch):
            batch = kept.gather_steps(places, advantages, returns)
            standard = (batch.advantages - batch.advantages.mean()) / batch.advantages.std(unbiased=False)
            adam.zero_grad()
            plain_loss(policy, replace(batch, advantages=standard), config).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), config.max_gradient_norm)
            adam.step()
    for (name, have), want in zip(learner.policy.named_parameters(), policy.parameters(), strict=True):
        torch.testing.assert_close(have, want, rtol=1e-4, atol=1e-5, msg=name)


def test_no_two_epochs_are_divided_alike() -> None:
    trainer = PPO("CartPole-v1", PPOConfig(num_envs=4, num_steps=8, minibatches=2, epochs=3, device="cpu"))
    learner = trainer.learners["Cart"]
    seen = []
    for _ in range(2):
        seen += [trainer._parts(learner, epoch)[0].tolist() for epoch in range(3)]
        trainer.iterate()
    assert len({tuple(part) for part in seen}) == 6


def test_explained_variance_is_1_for_the_returns_themselves_and_0_for_a_constant() -> None:
    returns, weights = torch.randn(7, 4), torch.ones(7, 4)
    for mean in (WeightedMean(None, Ranks()), WeightedMean(weights, Ranks())):
        assert mean.explained_variance(returns, returns).item() == pytest.approx(1.0)
        assert mean.explained_variance(torch.full((7, 4), 2.5), returns).item() == pytest.approx(0.0, abs=1e-6)
        assert mean.explained_variance(0.5 * returns, returns).item() == pytest.approx(0.75, abs=1e-5)


def test_those_who_left_do_not_count_in_the_explained_variance() -> None:
    returns = torch.randn(7, 4)
    values, weights = returns.clone(), torch.ones(7, 4)
    values[3], weights[3] = 100.0, 0.0
    assert WeightedMean(weights, Ranks()).explained_variance(values, returns).item() == pytest.approx(1.0)


@pytest.mark.parametrize(("target", "change"), [(1e-9, 1.0 / 1.5), (1e3, 1.5)], ids=["too far", "not far enough"])
def test_the_step_size_follows_the_divergence_once_per_epoch(target: float, change: float) -> None:
    config = PPOConfig(
        num_envs=4,
        num_steps=8,
        epochs=3,
        minibatches=2,
        schedule="kl",
        target_kl=target,
        learning_rate=1e-3,
        device="cpu",
    )
    trainer = PPO("CartPole-v1", config)
    trainer.iterate()
    assert trainer.learners["Cart"].optimizer.learning_rate.item() == pytest.approx(1e-3 * change**3, rel=1e-5)
    for _ in range(12):
        trainer.iterate()
    assert 1e-6 * 0.999 <= trainer.learners["Cart"].optimizer.learning_rate.item() <= 1e-2 * 1.001


@pytest.mark.parametrize(("schedule", "left"), [("constant", 1.0), ("linear", 0.5)])
def test_the_step_size_follows_its_schedule(schedule: Schedule, left: float) -> None:
    config = PPOConfig(
        num_envs=4, num_steps=8, minibatches=2, schedule=schedule, learning_rate=1e-3, total_steps=4 * 32, device="cpu"
    )
    trainer = PPO("CartPole-v1", config)
    rates = []
    for _ in range(3):
        trainer.steps += 32 * trainer.iterate() // 8
        rates.append(trainer.learners["Cart"].optimizer.learning_rate.item())
    assert rates[0] == pytest.approx(1e-3) and rates[2] == pytest.approx(1e-3 * left)


def test_minibatches_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(InputError, match="minibatches"):
        PPO("CartPole-v1", PPOConfig(num_envs=5, num_steps=7, minibatches=4, device="cpu"))
    with pytest.raises(InputError, match="recurrent"):
        PPO(
            "CartPole-v1",
            PPOConfig(num_envs=5, num_steps=8, minibatches=4, device="cpu", policy=PolicyConfig(memory="gru")),
        )
    for setting in (
        {"epochs": 0},
        {"minibatches": 0},
        {"gamma": 1.5},
        {"learning_rate": 0.0},
        {"num_steps": 0},
        {"num_envs": 0},
    ):
        with pytest.raises(InputError, match=next(iter(setting))):
            PPOConfig(**setting)


def test_whole_rows_are_learned_from_where_steps_cannot_be_divided() -> None:
    trainer = PPO("CartPole-v1", PPOConfig(num_envs=4, num_steps=7, minibatches=4, device="cpu", total_steps=4 * 7 * 3))
    before = trainer.learners["Cart"].optimizer.flat.clone()
    trainer.learn()
    after = trainer.learners["Cart"].optimizer.flat
    assert after.isfinite().all() and not torch.equal(before, after)
