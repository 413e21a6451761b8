"""The sampler on a GPU: it draws what the CPU draws, inside CUDA graphs, and never waits for the host."""

from __future__ import annotations

import math

import pytest
import torch

from worldloom.learn.actions.distributions import log_prob_entropy, mode, policy_kl, to_env_action
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.specs import ActionSpec

INFINITE = float("inf")
CHOICES = ActionSpec("categorical", (5,))
PARTS = ActionSpec("categorical", (3, 2, 7))
MANY = ActionSpec("categorical", (441,))
MIXED = ActionSpec("categorical", (200, 3, 33, 128, 2))
NUMBERS = ActionSpec("gaussian", low=(-2.0, -INFINITE, 0.0), high=(2.0, INFINITE, 3.0))


class Board:
    """A sampler with the tensors it reads and writes."""

    def __init__(self, spec: ActionSpec, rows: int, device: str, masked: bool = False) -> None:
        generator = torch.Generator().manual_seed(0)
        self.sampler = Sampler(spec, rows, torch.device(device), seed=3)
        self.parameters = torch.randn(rows, spec.parameters, generator=generator).to(device)
        self.mask = (torch.rand(rows, spec.parameters, generator=generator) < 0.5).to(device) if masked else None
        self.log_std = torch.linspace(-1.0, 0.5, spec.width).to(device) if spec.kind == "gaussian" else None
        self.action, self.world_action = (
            torch.zeros(rows, spec.width, dtype=spec.dtype, device=device) for _ in range(2)
        )
        self.log_prob, self.entropy = (torch.zeros(rows, device=device) for _ in range(2))

    def draw(self, offset: int = 0) -> None:
        self.sampler.sample(
            self.parameters,
            action=self.action,
            log_prob=self.log_prob,
            entropy=self.entropy,
            mask=self.mask,
            log_std=self.log_std,
            world_action=self.world_action,
            offset=offset,
        )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("spec", [CHOICES, PARTS, MANY, MIXED, NUMBERS])
def test_it_draws_what_the_cpu_draws(spec: ActionSpec, masked: bool) -> None:
    masked = masked and spec.kind == "categorical"
    cpu, gpu = Board(spec, 20_000, "cpu", masked), Board(spec, 20_000, "cuda:0", masked)
    cpu.draw()
    gpu.draw()
    torch.testing.assert_close(gpu.entropy.cpu(), cpu.entropy, atol=2e-5, rtol=1e-5)
    if spec.kind == "categorical":
        same = (gpu.action.cpu() == cpu.action).all(1)
        assert same.float().mean() > 0.9995, (
            "exponentials differ in the last bit, so a draw on the very edge may fall to the neighbour"
        )
    else:
        torch.testing.assert_close(gpu.action.cpu(), cpu.action, atol=1e-4, rtol=1e-4)
        same = torch.ones(20_000, dtype=torch.bool)
    torch.testing.assert_close(
        gpu.log_prob.cpu()[same], cpu.log_prob[same], atol=1e-3 if spec is NUMBERS else 2e-5, rtol=1e-4
    )
    torch.testing.assert_close(gpu.world_action, to_env_action(spec, gpu.action))
    for mine, other in zip(
        (gpu.log_prob, gpu.entropy),
        log_prob_entropy(spec, gpu.parameters, gpu.action, gpu.mask, gpu.log_std),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("spec", [CHOICES, MANY])
def test_frequencies_of_a_million_rows(spec: ActionSpec) -> None:
    rows, choices = 1_000_000, spec.parameters
    board = Board(spec, rows, "cuda:0")
    board.parameters.copy_(board.parameters[0].clone())
    board.draw()
    expected = board.parameters[0].double().softmax(0).cpu() * rows
    counts = torch.bincount(board.action[:, 0].long(), minlength=choices).double().cpu()
    freedom = choices - 1
    assert abs(float(((counts - expected) ** 2 / expected).sum()) - freedom) < 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("spec", [CHOICES, MANY])
def test_hard_cases(spec: ActionSpec) -> None:
    """Extreme logits, one allowed choice, none, minus infinity, and nothing but NaN."""
    rows, choices = 3000, spec.parameters
    board, rank = Board(spec, rows, "cuda:0"), torch.arange(rows, device="cuda:0") % choices
    only = torch.nn.functional.one_hot(rank, choices).bool()
    board.parameters.copy_(torch.where(torch.arange(choices, device="cuda:0") % 2 == 0, 1e4, -1e4))
    board.mask = only
    board.draw()
    assert torch.equal(board.action[:, 0].long(), rank) and not board.log_prob.any() and not board.entropy.any()
    board.mask = ~only
    board.draw()
    assert not (board.action[:, 0].long() == rank).any() and not (board.action % 2).any()
    board.mask = torch.zeros_like(only)
    board.draw()
    shut = board.action.clone()
    board.mask = None
    board.draw()
    assert torch.equal(shut, board.action)
    board.parameters.copy_(torch.where(only, 0.0, -INFINITE))
    board.draw()
    assert torch.equal(board.action[:, 0].long(), rank) and not board.log_prob.any() and not board.entropy.any()
    board.parameters.fill_(math.nan)
    board.mask = only
    board.draw()
    assert torch.equal(board.action[:, 0].long(), rank) and board.log_prob.isnan().all()


@pytest.mark.parametrize("spec", [CHOICES, MANY, NUMBERS])
def test_a_recorded_graph_draws_anew_on_every_replay(spec: ActionSpec) -> None:
    board, plain = Board(spec, 500, "cuda:0"), Board(spec, 500, "cuda:0")
    kept = torch.zeros(2, 500, spec.width, dtype=spec.dtype, device="cuda:0")

    def iteration() -> None:
        for step in range(2):
            board.draw(step)
            kept[step] = board.action
        board.sampler.advance(2)

    with torch.cuda.stream(torch.cuda.Stream()):
        iteration()
    torch.cuda.synchronize()
    board.sampler.tick.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        iteration()
    for _ in range(3):
        graph.replay()
        for step in range(2):
            plain.draw(step)
            assert torch.equal(kept[step], plain.action)
        plain.sampler.advance(2)
    assert board.sampler.tick.item() == 6


@pytest.mark.parametrize("spec", [CHOICES, PARTS, MANY, NUMBERS])
def test_nothing_waits_for_the_host(spec: ActionSpec) -> None:
    board = Board(spec, 100, "cuda:0", masked=spec.kind == "categorical")

    def everything() -> torch.Tensor:
        board.draw()
        board.sampler.advance()
        log_prob, entropy = log_prob_entropy(spec, board.parameters, board.action, board.mask, board.log_std)
        kl = policy_kl(spec, board.parameters, board.parameters, board.mask, board.log_std, board.log_std)
        return log_prob + entropy + kl + to_env_action(spec, mode(spec, board.parameters, board.mask)).sum(-1)

    everything()
    torch.cuda.set_sync_debug_mode("error")
    try:
        result = everything()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert result.isfinite().all()
