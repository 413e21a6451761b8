"""SAC and TD3: targets, steps of actor and temperature, and delayed updates, against references."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from continuous_worlds import ALGORITHMS, RANGE, make_trainer, only
from torch import Tensor

from worldloom.learn.distributed.weighted_mean import WeightedMean


def actor(state: dict[str, Tensor], sight: np.ndarray) -> np.ndarray:
    """The outputs of an actor of one hidden layer, in float64."""
    (w1, b1), (w2, b2) = [
        (state[k].double().numpy(), state[k.replace("weight", "bias")].double().numpy())
        for k in state
        if k.endswith("weight")
    ]
    return np.maximum(sight @ w1.T + b1, 0.0) @ w2.T + b2


def critics(state: dict[str, Tensor], inputs: np.ndarray) -> np.ndarray:
    """The outputs of both critics of one hidden layer, [2, B], in float64."""
    w1, w2 = (state[k].double().numpy() for k in state if k.endswith("weight"))
    b1, b2 = (state[k].double().numpy() for k in state if k.endswith("bias"))
    return np.stack([(np.maximum(inputs @ w1[m] + b1[m], 0.0) @ w2[m] + b2[m])[:, 0] for m in range(2)])


def inputs_of(observations: dict[str, Tensor], actions: np.ndarray) -> np.ndarray:
    """Inputs of the critics: observations by name, then the action."""
    parts = [observations[name].double().numpy().reshape(len(actions), -1) for name in sorted(observations)]
    return np.concatenate([*parts, actions], axis=1)


def trained(name: str, **changes: Any) -> Any:
    """A learner after some updates, so that target networks differ from the trained ones."""
    trainer = make_trainer(name, tau=0.3, n_step=2, gamma=0.9, **changes)
    trainer.learn()
    return only(trainer)


def next_noise(learner: Any, rows: int) -> np.ndarray:
    """What the next draw will be, without drawing it."""
    tick = learner.noise.tick.clone()
    noise = learner.noise.draw(rows, 2).double().numpy()
    learner.noise.tick.copy_(tick)
    return noise


@pytest.mark.parametrize("clipped", [True, False])
def test_targets_of_sac(clipped: bool) -> None:
    learner = trained("sac", clipped_double=clipped)
    batch = learner.replay.sample(64)
    noise = next_noise(learner, 64)
    found = learner.targets(batch).double().numpy()
    outputs = actor(learner.policy.state_dict(), batch.next_observations["sight"].double().numpy())
    means, log_std = outputs[:, :2], np.clip(outputs[:, 2:], -10.0, 4.0)
    actions = np.tanh(means + np.exp(log_std) * noise)
    density = np.exp(-0.5 * noise**2) / (math.sqrt(2 * math.pi) * np.exp(log_std)) / (1.0 - actions**2)
    both = critics(learner.target_critics.state_dict(), inputs_of(batch.next_observations, actions))
    value = both.min(0) if clipped else both.mean(0)
    temperature = math.exp(float(learner.log_temperature.detach()))
    soft = value - temperature * np.log(density).sum(1)
    wanted = batch.rewards.numpy() + batch.discounts.numpy() * soft
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    assert (batch.discounts > 0).all(), "episodes of this world are only truncated, and bootstrap there"


def test_targets_of_td3() -> None:
    learner = trained("td3", target_noise=0.8)
    batch = learner.replay.sample(64)
    noise = np.clip(0.8 * next_noise(learner, 64), -0.5, 0.5)
    assert (np.abs(noise) == 0.5).any() and (np.abs(noise) < 0.5).any()
    found = learner.targets(batch).double().numpy()
    state = learner.target_policy.network.state_dict()
    outputs = actor(state, batch.next_observations["sight"].double().numpy())
    actions = np.clip(np.tanh(outputs) + noise, -1.0, 1.0)
    both = critics(learner.target_critics.state_dict(), inputs_of(batch.next_observations, actions))
    wanted = batch.rewards.numpy() + batch.discounts.numpy() * both.min(0)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert not torch.equal(next(iter(state.values())), next(iter(learner.policy.network.state_dict().values())))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_temperature_rises_where_the_entropy_is_below_its_target(sign: float) -> None:
    """The initial policy has an entropy near 1.2 nats: above a low target, and below a high one."""
    trainer = make_trainer("sac", updates=1, target_entropy=5.0 * sign, temperature=0.5, learning_rate=1e-2)
    trainer.learn(40)
    before, learner = math.log(0.5), only(trainer)
    assert trainer.learning and float(learner.log_temperature) == pytest.approx(before + sign * 1e-2, abs=1e-6)
    assert float(learner.metrics[5]) == pytest.approx(math.exp(before + sign * 1e-2))


def test_a_fixed_temperature_stays() -> None:
    trainer = make_trainer("sac", auto_temperature=False, temperature=0.3)
    trainer.learn()
    assert float(only(trainer).log_temperature) == pytest.approx(math.log(0.3))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_actor_takes_the_step_of_its_loss(name: str) -> None:
    """The gradient of the loss, written anew with PyTorch; the optimizer has taken no step before."""
    learner = only(make_trainer(name, max_gradient_norm=0.0))
    generator = torch.Generator().manual_seed(5)
    sight, wind = torch.rand(32, 2, generator=generator), torch.rand(32, 1, generator=generator)
    batch = type("Batch", (), {"observations": {"sight": sight, "wind": wind}})()
    noise = torch.as_tensor(next_noise(learner, 32)).float()
    parameters = [p.detach().clone().requires_grad_() for p in learner.policy.parameters()]
    hidden = torch.relu(sight @ parameters[0].T + parameters[1])
    outputs = hidden @ parameters[2].T + parameters[3]
    if name == "sac":
        normal = torch.distributions.Normal(outputs[:, :2], outputs[:, 2:].exp())
        squashed = torch.distributions.TransformedDistribution(
            normal, [torch.distributions.transforms.TanhTransform(cache_size=1)]
        )
        number = outputs[:, :2] + outputs[:, 2:].exp() * noise
        actions = squashed.transforms[0](number)
        log_prob = squashed.log_prob(actions).sum(1)
    else:
        actions, log_prob = outputs.tanh(), torch.zeros(32)
    values = learner.critics({"sight": sight, "wind": wind}, actions).squeeze(-1)
    loss = (float(learner.log_temperature.exp()) * log_prob if name == "sac" else 0.0) - values.amin(0)
    gradients = torch.autograd.grad(loss.mean(), parameters)
    metrics = learner.update_actor(batch, WeightedMean(None, learner.ranks))
    assert float(metrics[0]) == pytest.approx(float(loss.mean()), rel=1e-4)
    wanted = torch.cat([gradient.reshape(-1) for gradient in gradients])
    torch.testing.assert_close(learner.optimizer.gradient, wanted, rtol=1e-3, atol=1e-6)
    assert not torch.equal(parameters[0], next(learner.policy.parameters()))


@pytest.mark.parametrize(("updates", "delay"), [(1, 2), (3, 2), (2, 3), (4, 1)])
def test_the_actor_and_the_targets_are_delayed(updates: int, delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every delay-th step of the critics is followed by one of the actor, over the ends of iterations."""
    trainer = make_trainer("td3", updates=updates, policy_delay=delay, learning_starts=0)
    learner, order = only(trainer), []
    for name in ("update_critics", "update_actor", "update_targets"):
        kept = getattr(learner, name)
        monkeypatch.setattr(learner, name, lambda *given, kept=kept, name=name: (order.append(name), kept(*given))[1])
    trainer.learn(4 * 14)
    assert trainer.iteration == 14
    together = "".join({"update_critics": "c", "update_actor": "a", "update_targets": "t"}[name] for name in order)
    assert together.count("c") == 13 * updates, "the first iteration has no complete transition"
    gaps = [len(part) for part in together.split("at")]
    assert set(gaps[1:-1]) == {delay} and gaps[0] <= delay and gaps[-1] < delay


def test_target_networks_follow_by_tau() -> None:
    learner = only(make_trainer("td3", tau=0.25))
    pairs = learner.target_pairs()
    before = [[p.clone() for p in target.parameters()] for target, _ in pairs]
    with torch.no_grad():
        for _, network in pairs:
            for parameter in network.parameters():
                parameter.add_(1.0)
    learner.update_targets()
    for (target, _), kept in zip(pairs, before, strict=True):
        for parameter, old in zip(target.parameters(), kept, strict=True):
            torch.testing.assert_close(parameter, old + 0.25)


def test_actions_are_scaled_to_the_bounds() -> None:
    trainer = make_trainer("td3", RANGE, exploration_noise=3.0, exploration_noise_min=3.0, learning_starts=0)
    trainer.learn(200)
    stored = only(trainer).replay.actions[: trainer.iteration]
    written = trainer.simulation.tables["Archer"]["aim"].torch().view(4, 2)
    assert stored.min() == -1.0 and stored.max() == 1.0
    low, high = torch.tensor([-1.0, 0.0]), torch.tensor([3.0, 1.0])
    torch.testing.assert_close(written, low + (high - low) * (stored[trainer.iteration - 1] + 1.0) / 2.0)
