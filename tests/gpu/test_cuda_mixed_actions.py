"""Mixed, squashed and state-dependent actions on a GPU: what the CPU draws, and the gradients of the CPU."""

from __future__ import annotations

import pytest
import torch

from worldloom.learn import ActionSpec, ObservationSpec, PolicyConfig, PolicySpec
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.losses.policy_loss import LossGradients, loss_gradients, loss_weights
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import Storage

pytestmark = pytest.mark.gpu

ROWS, STEPS = 2000, 8
LOW, HIGH = (-2.0, 0.0), (2.0, 3.0)
SPECS = {
    "mixed": ActionSpec("mixed", (3, 5, 2, 2, 4), LOW, HIGH),
    "many choices": ActionSpec("mixed", (300,), LOW, HIGH),
    "squashed": ActionSpec("gaussian", low=LOW, high=HIGH, squashed=True),
    "state std": ActionSpec("gaussian", low=LOW, high=HIGH, state_std=True),
    "all": ActionSpec("mixed", (3, 5), LOW, HIGH, squashed=True, state_std=True),
}
SPEC = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


class Board:
    """A sampler with the tensors it reads and writes."""

    def __init__(self, spec: ActionSpec, device: str) -> None:
        generator = torch.Generator().manual_seed(0)
        self.sampler = Sampler(spec, ROWS, torch.device(device), seed=3)
        self.parameters = torch.randn(ROWS, spec.parameters, generator=generator).to(device)
        mask = torch.rand(ROWS, spec.logits, generator=generator) < 0.7
        self.mask = mask.to(device) if spec.sizes else None
        self.log_std = None if spec.state_std else torch.tensor([-1.0, 0.5], device=device)
        self.action = torch.zeros(ROWS, spec.width, device=device)
        choices = torch.zeros(ROWS, len(spec.sizes), dtype=torch.int32, device=device)
        self.numbers = torch.zeros(ROWS, spec.numbers, device=device)
        self.world_action = (choices, self.numbers) if spec.kind == "mixed" else self.numbers
        self.log_prob, self.entropy = (torch.zeros(ROWS, device=device) for _ in range(2))

    def draw(self) -> None:
        self.sampler.sample(
            self.parameters,
            action=self.action,
            log_prob=self.log_prob,
            entropy=self.entropy,
            mask=self.mask,
            log_std=self.log_std,
            world_action=self.world_action,
        )


@SPEC
def test_it_draws_what_the_cpu_draws(spec: ActionSpec) -> None:
    cpu, gpu = Board(spec, "cpu"), Board(spec, "cuda:0")
    cpu.draw()
    gpu.draw()
    close = torch.isclose(gpu.action.cpu(), cpu.action, atol=1e-4, rtol=1e-4).all(1)
    assert close.float().mean() > 0.998, "a choice on the very edge may fall to its neighbour"
    for name in ("log_prob", "entropy", "numbers"):
        found, wanted = getattr(gpu, name).cpu()[close], getattr(cpu, name)[close]
        torch.testing.assert_close(found, wanted, atol=2e-4, rtol=1e-4, msg=name)


@SPEC
def test_a_graph_draws_new_actions_at_every_replay(spec: ActionSpec) -> None:
    graphed, plain = Board(spec, "cuda:0"), Board(spec, "cuda:0")
    graphed.draw()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        graphed.draw()
        graphed.sampler.advance()
    for _ in range(3):
        graph.replay()
        plain.draw()
        plain.sampler.advance()
        assert torch.equal(graphed.action, plain.action) and torch.equal(graphed.log_prob, plain.log_prob)


def gradients_on(spec: ActionSpec, device: str) -> LossGradients:
    torch.manual_seed(0)
    policy_spec = PolicySpec({"sight": ObservationSpec((5,))}, spec)
    policy = Policy(policy_spec, PolicyConfig())
    storage = Storage(policy_spec, ROWS, STEPS, torch.device("cpu"), masked=bool(spec.sizes))
    storage.actions.normal_()
    for part, size in enumerate(spec.sizes):
        storage.actions[..., part] = torch.randint(0, size, (STEPS, ROWS))
    if storage.masks is not None:
        storage.masks.fill_(True)
    storage.values.normal_()
    batch = storage.all_steps(torch.randn(STEPS, ROWS), torch.randn(STEPS, ROWS))
    indices = torch.randperm(STEPS * ROWS)[:5000]
    parameters, values = torch.randn(5000, spec.parameters), torch.randn(5000)
    log_probs, _ = log_prob_entropy(spec, parameters, batch.actions[indices], None, policy.log_std)
    batch.log_probs[indices] = log_probs.detach() + 0.3 * torch.randn(5000)
    moved = {name: value.to(device) for name, value in vars(batch).items() if isinstance(value, torch.Tensor)}
    batch = type(batch)(**{**vars(batch), **moved})
    return loss_gradients(
        spec,
        loss_weights(0.2, 0.1, 0.5, 0.01),
        batch,
        indices.to(device),
        torch.randn(5000).to(device),
        parameters.to(device),
        values.to(device),
        None if policy.log_std is None else policy.log_std.detach().to(device),
        storage.starts.to(device),
        None,
    )


@SPEC
def test_the_gradients_are_those_of_the_cpu(spec: ActionSpec) -> None:
    cpu, gpu = gradients_on(spec, "cpu"), gradients_on(spec, "cuda:0")
    for found, wanted in zip(gpu, cpu, strict=True):
        scale = float(wanted.abs().max()) if wanted.numel() else 0.0
        torch.testing.assert_close(found.cpu(), wanted, rtol=1e-3, atol=1e-4 * scale)
