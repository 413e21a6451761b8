"""DQN on a GPU: the same with CUDA graphs as without, nothing that waits for the device, and choices as on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

import worldloom as wl
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import QActor
from worldloom.learn.play.evaluation import evaluate

DEVICE = "cuda:0"
PLAIN = DQNConfig(
    num_envs=256,
    total_steps=10**9,
    device=DEVICE,
    seed=1,
    replay_capacity=256 * 40,
    learning_starts=256 * 5,
    steps_per_update=4,
    n_step=3,
    policy=PolicyConfig(hidden=(32, 32)),
)
CASES: dict[str, tuple[str, DQNConfig]] = {
    "plain": ("CartPole-v1", PLAIN),
    "prioritized": ("CartPole-v1", replace(PLAIN, prioritized=True)),
    "dueling, normalised": (
        "CartPole-v1",
        replace(PLAIN, policy=PolicyConfig(hidden=(32,), dueling=True, normalize_observations=True)),
    ),
    "masks": ("Taxi-v3", PLAIN),
    "bf16": ("CartPole-v1", replace(PLAIN, precision="bf16")),
}


def parameters(trainer: DQN) -> torch.Tensor:
    (learner,) = trainer.learners.values()
    return learner.optimizer.flat.cpu().clone()


def go_on(trainer: DQN, iterations: int) -> None:
    for _ in range(iterations):
        trainer.steps += trainer.iterate() * trainer.simulation.num_worlds
        trainer.iteration += 1
        trainer._reports.send(trainer.iteration, trainer.steps, torch.cat(list(trainer.summaries().values())))


@contextmanager
def nothing_may_wait() -> Iterator[None]:
    """Within it, a call of PyTorch that waits for the GPU is an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("case", CASES)
def test_graphs_do_what_single_launches_do(case: str) -> None:
    """The second iteration learns first; the fourth replays all graphs."""
    world, config = CASES[case]
    captured, plain = DQN(world, config), DQN(world, replace(config, graphs=False))
    start = parameters(captured)
    for trainer in (captured, plain):
        go_on(trainer, 5)
    have, want = parameters(captured), parameters(plain)
    assert captured._act._graph is not None and captured._learn._graph is not None and plain._learn._graph is None
    assert have.isfinite().all() and not torch.equal(have, start)
    assert (have - want).abs().max() < (2e-2 if case == "bf16" else 2e-3)
    go_on(captured, 20)  # the ring of the replay goes round
    assert parameters(captured).isfinite().all()


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_an_iteration_waits_for_the_device(case: str) -> None:
    trainer = DQN(*CASES[case])
    go_on(trainer, 4)
    with nothing_may_wait():
        go_on(trainer, 4)
    assert parameters(trainer).isfinite().all()


def test_choices_are_those_of_the_cpu() -> None:
    generator = torch.Generator().manual_seed(0)
    values, mask = torch.randn(20_000, 7, generator=generator), torch.rand(20_000, 7, generator=generator) < 0.5
    chosen = []
    for device in ("cpu", DEVICE):
        explorer = EpsilonGreedy(20_000, torch.device(device), seed=3, first_row=5)
        explorer.epsilon.fill_(0.4)
        explorer.advance(2)
        action = torch.zeros(20_000, 1, dtype=torch.int32, device=device)
        explorer.choose(values.to(device), action, mask.to(device), offset=1)
        chosen.append(action.cpu())
    assert torch.equal(*chosen)


def test_a_state_from_the_gpu_goes_on_there() -> None:
    world, config = CASES["prioritized"]
    first, second = DQN(world, config), DQN(world, config)
    go_on(first, 6)
    tensors, plain = first.state()
    second.load_state({k: v.cpu().clone() for k, v in tensors.items()}, plain)
    assert torch.equal(parameters(first), parameters(second)) and second.learning
    for trainer in (first, second):
        go_on(trainer, 3)
    assert (parameters(first) - parameters(second)).abs().max() < 2e-3


def test_it_solves_cartpole() -> None:
    trainer = DQN("CartPole-v1", replace(tuned_config("CartPole-v1", "dqn", DQNConfig), device=DEVICE, seed=1))
    trainer.learn()
    fresh = wl.Simulation("CartPole-v1", 100, DEVICE, seed=1000)
    (learner,) = trainer.learners.values()
    found = evaluate(fresh, {"Cart": (AgentGroup(fresh, learner.agent_group.slices), QActor(learner.policy))}, 100)
    assert found.mean_return >= 475.0
