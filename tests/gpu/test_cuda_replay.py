"""Estimators and the replay on a GPU: what the CPU gives, inside CUDA graphs, without waiting for the host."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.device.cuda_graphs import CudaGraphed
from worldloom.learn.losses.advantages import add_bootstrap_values, gae, n_step_returns
from worldloom.learn.losses.vtrace_targets import vtrace
from worldloom.learn.rollout.prioritized_replay import ReplayPriorities
from worldloom.learn.rollout.replay_buffer import ReplayBuffer

GPU, CPU = torch.device("cuda:0"), torch.device("cpu")


def test_estimators_give_what_they_give_on_the_cpu() -> None:
    generator = torch.Generator().manual_seed(0)
    rewards, values = (torch.randn(t, 1001, generator=generator) for t in (33, 34))
    old, new = (torch.randn(33, 1001, generator=generator) for _ in range(2))
    dones = torch.rand(33, 1001, generator=generator) < 0.1
    steps = torch.full((2, 1001), -1, dtype=torch.int32)
    steps[0, ::3] = 5

    def estimates(device: torch.device) -> list[torch.Tensor]:
        r, v, d, mu, pi, s = (x.to(device, copy=True) for x in (rewards, values, dones, old, new, steps))
        add_bootstrap_values(r, s, v[:2].contiguous(), 0.9)
        return [r, *gae(r, v, d, 0.99, 0.95), n_step_returns(r, v, d, 0.99, 5), *vtrace(mu, pi, r, v, d, 0.99)]

    for found, expected in zip(estimates(GPU), estimates(CPU), strict=True):
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


class Loop:
    """Adds a step that it draws from its own counter, samples, and updates the priorities."""

    def __init__(self, device: torch.device, prioritised: bool) -> None:
        self.device = device
        priorities = ReplayPriorities(50, 7, device, seed=3) if prioritised else None
        specs = {"image": ObservationSpec((4, 3, 3), torch.uint8), "state": ObservationSpec((2,))}
        self.replay = ReplayBuffer(
            specs, 1, torch.int32, 7, 50, device, stack={"image": 4}, n_step=3, seed=3, priorities=priorities
        )
        self.count = torch.zeros(1, dtype=torch.int64, device=device)
        self.rows = torch.arange(7, device=device)
        self.indices = torch.zeros(32, dtype=torch.int64, device=device)
        self.weights, self.rewards, self.sums = (torch.zeros(32, device=device) for _ in range(3))

    def step(self) -> None:
        number = (self.count * 7 + self.rows) % 251
        seen = {
            "image": number.view(7, 1, 1, 1).expand(7, 4, 3, 3).to(torch.uint8),
            "state": number.view(7, 1).expand(7, 2).float(),
        }
        ends, over = number % 11 == 0, (number - 7) % 11 == 0
        self.replay.add(seen, number.view(7, 1).int(), number.float(), ends, ends & False, ~over)
        batch = self.replay.sample(32)
        if self.replay.priorities is not None:
            self.replay.priorities.update(batch.indices, batch.rewards)
            self.replay.priorities.anneal(self.count / 100.0)
        self.indices.copy_(batch.indices)
        self.weights.copy_(batch.weights)
        self.rewards.copy_(batch.rewards)
        self.sums.copy_(batch.next_observations["image"].flatten(1).float().sum(1))
        self.count += 1


@pytest.mark.parametrize("prioritised", [False, True])
def test_a_captured_replay_draws_what_the_cpu_draws(prioritised: bool) -> None:
    cpu, gpu = Loop(CPU, prioritised), Loop(GPU, prioritised)
    captured = CudaGraphed(gpu.step, GPU)
    captured()
    captured()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(118):
            captured()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for _ in range(120):
        cpu.step()
    assert gpu.count.item() == 120
    same = gpu.indices.cpu() == cpu.indices
    assert same.all() or (prioritised and same.float().mean() > 0.9), (
        "powers differ in the last bit, so a draw on the very edge may fall to the neighbour"
    )
    for found, expected in ((gpu.weights, cpu.weights), (gpu.rewards, cpu.rewards), (gpu.sums, cpu.sums)):
        torch.testing.assert_close(found.cpu()[same], expected[same], rtol=1e-4, atol=1e-5)
