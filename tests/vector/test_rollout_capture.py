"""What a CUDA graph cannot hold is found while a policy runs, and named with its line; copies of the graph's kernel."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
import warp as wp
from torch import nn
from torch.distributions import Categorical

import worldloom as wl
from worldloom.vector.env_layout import make_layout
from worldloom.vector.rollouts import policy_graph
from worldloom.vector.rollouts.batched_copy import prepare_copies, prepare_launches
from worldloom.vector.rollouts.capture_check import FORBIDDEN, CaptureCheck, capture_refusal
from worldloom.vector.rollouts.steps import RolloutSteps
from worldloom.vector.rollouts.storage import RolloutStorage
from worldloom.vector.rollouts.world_columns import WorldColumns

OBSERVATIONS = torch.linspace(-1.0, 1.0, 12).view(3, 4)


def decide_by_value(seen):
    return 1 if seen.sum().item() > 0 else 0


def branch(seen):
    if seen[0, 0] > 0:
        return seen
    return -seen


def select(seen):
    return seen[seen > 0]


def find(seen):
    return torch.nonzero(seen)


def list_distinct(seen):
    return seen.unique()


def move(seen):
    return seen.to("meta")


def compare(seen):
    return torch.equal(seen, seen)


def draw(seen):
    return Categorical(logits=seen, validate_args=True).sample()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (decide_by_value, r"reading a tensor as a Python number .* at test_rollout_capture.py:\d+, `return 1 if seen"),
        (branch, r"reading a tensor as a Python number .*`if seen\[0, 0\] > 0:`: use operations on tensors of fixed"),
        (select, r"indexing with a mask .*`return seen\[seen > 0\]`"),
        (find, r"torch.nonzero at .*`return torch.nonzero\(seen\)`"),
        (list_distinct, "torch.unique at"),
        (move, "a copy from cpu to meta at"),
        (compare, "torch.equal at"),
        (draw, r"Python number .*`return Categorical\(logits=.*: pass validate_args=False to the distribution, or run"),
    ],
)
def test_an_operation_that_cannot_be_captured_is_named_with_its_line(policy, message):
    with torch.no_grad(), pytest.raises(wl.InputError, match=message), CaptureCheck():
        policy(OBSERVATIONS)


def test_ordinary_operations_pass_and_what_a_capture_needs_is_noted():
    network, generator = nn.Sequential(nn.Linear(4, 2)), torch.Generator()
    with torch.no_grad(), CaptureCheck() as check:
        logits = network(OBSERVATIONS)
        actions = Categorical(logits=logits, validate_args=False).sample()
        logits[torch.arange(3), actions] = 0.0
        torch.where(logits > 0, logits, 1.0).to(torch.float64)
        for _ in range(2):
            torch.rand(3, generator=generator)
    assert [found._cdata for found in check.generators] == [generator._cdata] and check.modules == [network, network[0]]
    network(OBSERVATIONS)
    assert len(check.modules) == 2


def test_compiled_modules_are_examined_like_others(recwarn):
    network = nn.Sequential(nn.Linear(4, 2))
    policy = torch.compile(network, backend="eager")
    with torch.no_grad():
        policy(OBSERVATIONS)
        recwarn.clear()
        with CaptureCheck() as check:
            policy(OBSERVATIONS)
    assert check.modules == [policy, network, network[0]] and not recwarn.list


def test_a_refused_capture_is_told_from_other_errors():
    def synchronize():
        raise RuntimeError(f"CUDA error: {FORBIDDEN[0]}\nmore")

    with pytest.raises(RuntimeError) as caught:
        try:
            synchronize()
        except RuntimeError as first:
            raise RuntimeError(FORBIDDEN[1]) from first
    message = str(capture_refusal(caught.value))
    assert f"CUDA refused (RuntimeError: CUDA error: {FORBIDDEN[0]}) at test_rollout_capture.py" in message
    assert capture_refusal(ValueError("shapes differ")) is None


class Replay:
    """Takes the place of a CUDA graph: a replay runs the work."""

    def __init__(self, body):
        self.body, self.replays = body, 0

    def replay(self):
        self.replays += 1
        self.body()


@pytest.fixture
def graph_of(monkeypatch):
    """Makes the graph of a policy in eight worlds on the CPU, with the captures that it makes."""
    captures = []

    def capture(body, device, generators):
        captures.append((Replay(body), generators))
        return captures[-1][0]

    network = nn.Linear(4, 2)
    monkeypatch.setattr(policy_graph, "capture_graph", capture)
    stream = SimpleNamespace(wait_stream=lambda other: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)

    def make(policy, num_steps):
        columns = WorldColumns(simulation := wl.Simulation("CartPole-v1", 8), make_layout(simulation.definition), True)
        steps = RolloutSteps(columns, RolloutStorage(columns, num_steps, {}, True), num_steps, batched=False)
        graph = policy_graph.PolicyGraph(policy or act, simulation, steps, columns.device)
        return graph, simulation, network, captures

    def act(seen):
        return network(seen).argmax(1)

    return make


@pytest.mark.parametrize("num_steps", [1, 5])
def test_a_graph_is_captured_after_two_steps_and_again_where_parameters_moved(graph_of, num_steps):
    graph, simulation, network, captures = graph_of(None, num_steps)
    warm_up = 2 if num_steps == 1 else 1
    for _ in range(warm_up):
        graph.run()
        assert not captures
    graph.run()
    graph.run()
    assert [capture.replays for capture, _ in captures] == [2]
    with torch.no_grad():
        network.weight.add_(1.0)
    graph.run()
    assert [capture.replays for capture, _ in captures] == [3]
    changes = [lambda: setattr(network, "weight", nn.Parameter(network.weight * 2)), network.eval]
    changes.append(lambda: simulation.set_config("max_steps", 9))
    for number, change in enumerate(changes):
        change()
        for _ in range(warm_up + 1):
            graph.run()
        assert [capture.replays for capture, _ in captures] == [3] + [1] * (number + 1)


def test_the_generator_of_a_policy_belongs_to_its_graph(graph_of):
    generator = torch.Generator()
    graph, _, _, captures = graph_of(lambda seen: torch.randint(0, 2, (8,), generator=generator), 3)
    for _ in range(2):
        graph.run()
    assert [found._cdata for found in captures[0][1]] == [generator._cdata]


def test_a_refused_policy_is_refused_again(graph_of):
    graph, _, _, captures = graph_of(lambda seen: (seen[:, 0] > seen.mean().item()).int(), 3)
    for _ in range(3):
        with pytest.raises(wl.InputError, match="reading a tensor as a Python number"):
            graph.run()
    assert not captures


@pytest.mark.parametrize("prepare", [prepare_copies, prepare_launches])
def test_copies(prepare):
    """Of any number and type: whole words, odd bytes, parts of rows, and integers that are narrowed."""
    generator = torch.Generator().manual_seed(0)
    sources = [torch.randint(-100, 100, (k + 5, 3), generator=generator).to(torch.int32) for k in range(11)]
    sources += [torch.rand(7, 2), torch.rand(3, dtype=torch.float64), torch.rand(9) > 0.5, torch.rand(4, 8)[:, ::2]]
    sources += [torch.tensor(2.5), torch.zeros(0), torch.tensor([2**40, -(2**40), 7]), torch.tensor([300, 5])]
    types = [source.dtype for source in sources[:-2]] + [torch.int32, torch.uint8]
    targets = [torch.zeros(source.shape, dtype=dtype) for source, dtype in zip(sources, types, strict=True)]
    copy = prepare(list(zip(sources, targets, strict=True)), wp.get_device("cpu"), lambda: None)
    for _ in range(2):
        copy()
        assert all(torch.equal(a, b) for a, b in zip(sources[:-2], targets[:-2], strict=True))
        assert targets[-2].tolist() == [2**31 - 1, -(2**31), 7] and targets[-1].tolist() == [255, 5]
        sources[0] += 1
