"""SAC and TD3 on a GPU: the same with CUDA graphs as without, nothing that waits for the device, and Pendulum."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

import worldloom as wl
from worldloom.learn.actions.noise import CorrelatedNoise
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.algorithms.sac import SAC, SACConfig
from worldloom.learn.algorithms.td3 import TD3, TD3Config
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.losses.critic_outputs import ReturnDistribution
from worldloom.learn.play.actors import make_actors
from worldloom.learn.play.evaluation import evaluate

DEVICE = "cuda:0"
PLAIN: dict[str, Any] = {
    "num_envs": 256,
    "total_steps": 10**9,
    "device": DEVICE,
    "seed": 1,
    "replay_capacity": 256 * 40,
    "learning_starts": 256 * 5,
    "batch_size": 512,
    "updates": 3,
    "policy": PolicyConfig(hidden=(32, 32), activation="relu"),
}
ATOMS = {"atoms": 31, "v_min": -200.0, "v_max": 0.0}
CASES: dict[str, tuple[Any, Any]] = {
    "sac": (SAC, SACConfig(**PLAIN, noise_correlation=0.9)),
    "sac, distributional": (SAC, SACConfig(**PLAIN, **ATOMS, prioritized=True, n_step=3)),
    "td3": (TD3, TD3Config(**PLAIN)),
    "td3, scheduled": (
        TD3,
        TD3Config(**PLAIN, tau=[(0, 0.1), (10**6, 0.01)], learning_rate=[(0, 1e-3), (10**6, 1e-4)]),
    ),
    "td3, normalized": (
        TD3,
        replace(TD3Config(**PLAIN), policy=PolicyConfig(hidden=(32,), layer_norm=True, normalize_observations=True)),
    ),
    "sac, bf16": (SAC, SACConfig(**PLAIN, precision="bf16")),
}


def parameters(trainer: Any) -> torch.Tensor:
    (learner,) = trainer.learners.values()
    return torch.cat([learner.optimizer.flat, learner.critic_optimizer.flat]).cpu().clone()


def advance(trainer: Any, iterations: int) -> None:
    for _ in range(iterations):
        trainer.steps += trainer.iterate() * trainer.simulation.num_worlds
        trainer.iteration += 1
        trainer._reports.send(trainer.iteration, trainer.steps, torch.cat(list(trainer.summaries().values())))


@contextmanager
def no_synchronization() -> Iterator[None]:
    """Within it, a call of PyTorch that waits for the GPU is an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("case", CASES)
def test_graphs_do_what_single_launches_do(case: str) -> None:
    """The fifth iteration learns first; with three updates and a delay of two there are two graphs."""
    trainer_class, config = CASES[case]
    captured, plain = (trainer_class("Pendulum-v1", replace(config, graphs=graphs)) for graphs in (True, False))
    start = parameters(captured)
    for trainer in (captured, plain):
        advance(trainer, 10)
    found, wanted = parameters(captured), parameters(plain)
    assert captured._act._graph is not None
    assert [graph._graph is not None for graph in captured._learn.values()] == [True] * config.policy_delay
    assert all(graph._graph is None for graph in plain._learn.values())
    assert found.isfinite().all() and not torch.equal(found, start)
    assert (found - wanted).abs().max() < (2e-2 if config.precision == "bf16" else 3e-3)
    advance(captured, 40)  # the ring of the replay goes round
    assert parameters(captured).isfinite().all()


@pytest.mark.parametrize("case", CASES)
def test_no_iteration_waits_for_the_device(case: str) -> None:
    trainer_class, config = CASES[case]
    trainer = trainer_class("Pendulum-v1", config)
    advance(trainer, 10)
    with no_synchronization():
        advance(trainer, 4)
    assert parameters(trainer).isfinite().all()


def test_noise_is_that_of_the_cpu() -> None:
    drawn = []
    for device in ("cpu", DEVICE):
        noise = CorrelatedNoise(1000, 6, 0.9, torch.device(device), seed=3, first_row=7)
        continues = torch.arange(1000, device=device) % 5 > 0
        for offset in range(3):
            noise.step(continues, offset)
        drawn.append(noise.noise.cpu())
    torch.testing.assert_close(*drawn, rtol=1e-4, atol=1e-5)


def test_projections_are_those_of_the_cpu() -> None:
    generator = torch.Generator().manual_seed(0)
    probabilities = torch.rand(500, 51, generator=generator).softmax(-1)
    rewards, discounts = torch.randn(500, generator=generator), torch.rand(500, generator=generator)
    projected = [
        ReturnDistribution(51, -2.0, 2.0, torch.device(device))
        .project(probabilities.to(device), rewards.to(device), discounts.to(device))
        .cpu()
        for device in ("cpu", DEVICE)
    ]
    torch.testing.assert_close(*projected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("case", ["sac, distributional", "td3"])
def test_a_state_from_the_gpu_continues_there(case: str) -> None:
    trainer_class, config = CASES[case]
    first, second = (trainer_class("Pendulum-v1", config) for _ in range(2))
    advance(first, 9)
    tensors, plain = first.state()
    second.load_state({k: v.cpu().clone() for k, v in tensors.items()}, plain)
    assert torch.equal(parameters(first), parameters(second)) and second.learning
    for trainer in (first, second):
        advance(trainer, 3)
    assert (parameters(first) - parameters(second)).abs().max() < 3e-3


@pytest.mark.parametrize("name", ["sac", "td3"])
def test_it_solves_pendulum(name: str) -> None:
    trainer_class, kind = algorithm(name)
    config = replace(tuned_config("Pendulum-v1", name, kind), device=DEVICE, seed=1)
    trainer: Any = trainer_class("Pendulum-v1", config)
    trainer.learn()
    worlds = wl.Simulation("Pendulum-v1", 100, DEVICE, seed=1000)
    assert evaluate(worlds, make_actors(trainer.learners, worlds), 100).mean_return >= -200.0


@pytest.mark.parametrize("changes", [{"atoms": 21, "v_min": 0.0, "v_max": 100.0}, {"noisy": True}])
def test_options_of_dqn_are_captured(changes: dict[str, Any]) -> None:
    config = DQNConfig(**{**PLAIN, **changes})
    captured, plain = DQN("CartPole-v1", config), DQN("CartPole-v1", replace(config, graphs=False))
    for trainer in (captured, plain):
        advance(trainer, 10)
    flat = [next(iter(trainer.learners.values())).optimizer.flat.cpu() for trainer in (captured, plain)]
    assert captured._learn._graph is not None and flat[0].isfinite().all()
    assert (flat[0] - flat[1]).abs().max() < 3e-3
