"""What a CUDA graph cannot hold is found while a policy runs, and named with its line; copies of the graph's kernel."""

import pytest
import torch
import warp as wp
from torch import nn
from torch.distributions import Categorical

import worldloom as wl
from worldloom.vector.rollouts.batched_copy import prepare_copies, prepare_launches
from worldloom.vector.rollouts.capture_check import FORBIDDEN, CaptureCheck, capture_refusal

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
