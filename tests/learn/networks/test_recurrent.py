"""Memories against torch.nn.LSTM and torch.nn.GRU, with and without episodes that begin on the way."""

import pytest
import torch

from worldloom.learn.networks import RecurrentCell

T, B, F, H = 7, 4, 3, 5
KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(0)


def reference(memory: RecurrentCell, kind: str) -> torch.nn.Module:
    """torch's own network with the weights of ``memory``."""
    module = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](F, H)
    module.load_state_dict({f"{name}_l0": value for name, value in memory.cell.state_dict().items()})
    return module


def start(memory: RecurrentCell, kind: str) -> tuple[torch.Tensor, object]:
    """A state, and the same as torch's own networks take it."""
    state = torch.randn(B, memory.state_size)
    whole = state[None]
    return state, whole if kind == "gru" else (whole[..., :H].contiguous(), whole[..., H:].contiguous())


@KINDS
def test_scan_equals_torch(kind):
    memory = RecurrentCell(kind, F, H)
    features = torch.randn(T, B, F)
    state, theirs = start(memory, kind)
    outputs, last = memory.scan(features, state, torch.zeros(T, B, dtype=torch.bool))
    expected, final = reference(memory, kind)(features, theirs)
    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(last, torch.cat(final, -1)[0] if kind == "lstm" else final[0])


@KINDS
def test_scan_with_resets_equals_episodes_run_alone(kind):
    memory = RecurrentCell(kind, F, H)
    features = torch.randn(T, B, F)
    state, _ = start(memory, kind)
    resets = torch.rand(T, B) < 0.3
    resets[0] = torch.tensor([True, False, False, True])
    resets[:, 2] = False
    outputs, last = memory.scan(features, state, resets)
    for row in range(B):
        begins = [t for t in range(T) if resets[t, row]]
        for first, end in zip([0, *begins], [*begins, T], strict=True):
            if first == end:
                continue
            kept = torch.zeros(1, memory.state_size) if resets[first, row] else state[row : row + 1]
            alone, final = memory.scan(
                features[first:end, row : row + 1], kept, torch.zeros(end - first, 1, dtype=torch.bool)
            )
            torch.testing.assert_close(outputs[first:end, row : row + 1], alone)
        torch.testing.assert_close(last[row : row + 1], final)


@KINDS
def test_no_gradient_crosses_the_beginning_of_an_episode(kind):
    memory = RecurrentCell(kind, F, H)
    features = torch.randn(T, B, F, requires_grad=True)
    resets = torch.zeros(T, B, dtype=torch.bool)
    resets[4, 1] = True
    memory.scan(features, torch.zeros(B, memory.state_size), resets)[0][-1].sum().backward()
    assert not features.grad[:4, 1].any()
    assert features.grad[4:, 1].all() and features.grad[:, 0].all()


@KINDS
def test_steps_equal_scan(kind):
    memory = RecurrentCell(kind, F, H)
    features = torch.randn(T, B, F)
    state, _ = start(memory, kind)
    outputs, last = memory.scan(features, state, torch.zeros(T, B, dtype=torch.bool))
    for t in range(T):
        output, state = memory(features[t], state)
        assert torch.equal(output, outputs[t])
    assert torch.equal(state, last)


@KINDS
def test_state_stays_precise_under_autocast(kind):
    memory = RecurrentCell(kind, F, H)
    features, state = torch.randn(B, F), torch.randn(B, memory.state_size)
    output, after = memory(features, state)
    with torch.autocast("cpu", torch.bfloat16):
        under, after_under = memory(features, state)
    assert torch.equal(output, under) and torch.equal(after, after_under)


@KINDS
def test_starts_with_orthogonal_weights(kind):
    for parameter in RecurrentCell(kind, F, H).parameters():
        if parameter.ndim == 1:
            assert not parameter.any()
        else:
            torch.testing.assert_close(torch.linalg.svdvals(parameter), torch.ones(min(parameter.shape)))
