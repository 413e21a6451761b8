"""Adam on one flat tensor against PyTorch's."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.training.optimizer import FlatAdam


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 5).requires_grad_(False), nn.Linear(5, 2))


def inputs(count: int) -> list[torch.Tensor]:
    """Inputs of very different size, so that some gradients are longer than the limit and some are not."""
    numbers = torch.Generator().manual_seed(2)
    return [torch.tensor(3.0 ** (k % 4 - 2)) * torch.randn(4, 3, generator=numbers) for k in range(count)]


@pytest.mark.parametrize("limit", [0.0, 2.5])
def test_it_takes_the_steps_of_adam(limit: float) -> None:
    module, plain = network(), network()
    flat = FlatAdam(module.parameters(), 0.01, limit)
    trained = [p for p in plain.parameters() if p.requires_grad]
    adam = torch.optim.Adam(trained, lr=0.01, eps=1e-5)
    lengths = []
    for seen in inputs(12):
        flat.step(module(seen).square().sum())
        adam.zero_grad()
        plain(seen).square().sum().backward()
        length = nn.utils.clip_grad_norm_(trained, limit or float("inf"))
        adam.step()
        lengths.append(length.item())
        assert flat.gradient_norm.item() == pytest.approx(length.item(), rel=1e-5)
        for have, want in zip(module.parameters(), plain.parameters(), strict=True):
            torch.testing.assert_close(have, want, rtol=1e-5, atol=1e-6)
    assert min(lengths) < 2.5 < max(lengths)


def test_slopes_by_what_a_network_gave_do_as_well_as_a_loss() -> None:
    module, other = network(), network()
    one, two = FlatAdam(module.parameters(), 0.01, 0.5), FlatAdam(other.parameters(), 0.01, 0.5)
    seen = torch.ones(2, 3)
    one.step(module(seen).square().sum())
    given = other(seen)
    two.step([given], [2.0 * given.detach()])
    assert torch.allclose(one.flat, two.flat)


def test_parameters_stay_views_of_the_flat_tensor() -> None:
    module = network()
    before = copy.deepcopy(module.state_dict())
    flat = FlatAdam(module.parameters(), 0.01)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), name
    flat.step(module(torch.ones(1, 3)).sum())
    flat.step(module(torch.ones(1, 3)).sum())
    here = torch.cat([p.detach().flatten() for p in module.parameters() if p.requires_grad])
    assert torch.equal(here, flat.flat)
    flat.flat.zero_()
    assert all(p.abs().sum() == 0.0 for p in module.parameters() if p.requires_grad)


def test_a_parameter_without_a_part_in_the_loss_stays() -> None:
    module = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    flat, before = FlatAdam(module.parameters(), 0.1), module[1].weight.clone()
    flat.step(module[0](torch.ones(1, 2)).sum())
    assert torch.equal(module[1].weight, before)


def test_the_step_size_is_read_at_every_step() -> None:
    module = network()
    flat = FlatAdam(module.parameters(), 0.1)
    flat.learning_rate.fill_(0.0)
    before = flat.flat.clone()
    flat.step(module(torch.ones(1, 3)).sum())
    assert torch.equal(flat.flat, before)


def test_it_goes_on_from_what_was_saved() -> None:
    module = network()
    flat = FlatAdam(module.parameters(), 0.01, 0.5)
    for seen in inputs(3):
        flat.step(module(seen).square().sum())
    saved = {k: v.clone() for k, v in flat.tensors().items()}
    copied = network()
    other = FlatAdam(copied.parameters(), 0.7, 0.5)
    places = {k: v.data_ptr() for k, v in other.tensors().items()}
    other.flat.copy_(flat.flat)
    other.load(saved)
    assert {k: v.data_ptr() for k, v in other.tensors().items()} == places
    for seen in inputs(3):
        flat.step(module(seen).square().sum())
        other.step(copied(seen).square().sum())
    assert torch.equal(flat.flat, other.flat)


def test_what_does_not_fit_is_refused() -> None:
    small, large = FlatAdam(nn.Linear(2, 1).parameters(), 0.1), FlatAdam(nn.Linear(3, 1).parameters(), 0.1)
    with pytest.raises(InputError, match="does not fit"):
        small.load(large.tensors())
    with pytest.raises(InputError, match="does not fit"):
        small.load({k: v for k, v in small.tensors().items() if k != "powers"})
