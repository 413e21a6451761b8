"""Adam on one flat tensor: one gradient to clip, to average over processes and to apply, with the learning rate on the device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn

from worldloom.core.errors import InputError
from worldloom.learn.ranks import Ranks


class FlatAdam:
    """Adam for the parameters of a module, which become views of one tensor.

    Args:
        parameters: What is trained. Their memory moves into one flat tensor; they stay the same objects.
        learning_rate: At the start; ``self.learning_rate`` is a tensor on the device that anything may write to.
        max_gradient_norm: Gradients longer than this are shortened to it; 0 for no limit.
        ranks: The processes over which gradients are averaged.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], learning_rate: float, max_gradient_norm: float = 0.0, ranks: Ranks | None = None) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        self.max_gradient_norm, self.ranks = max_gradient_norm, ranks or Ranks()
        with torch.no_grad():
            self.flat = torch.cat([p.reshape(-1) for p in self.parameters])
            start = 0
            for parameter in self.parameters:
                parameter.data = self.flat[start : start + parameter.numel()].view(parameter.shape)
                start += parameter.numel()
        self.flat.grad = torch.zeros_like(self.flat)
        self.learning_rate = torch.tensor(learning_rate, dtype=torch.float32, device=self.flat.device)
        self.gradient_norm = torch.zeros((), device=self.flat.device)
        """The length of the last gradient, before it was shortened."""
        self._adam = torch.optim.Adam([self.flat], lr=self.learning_rate, eps=1e-5, fused=True, capturable=self.flat.is_cuda)
        count = torch.zeros((), device=self.flat.device)
        self._adam.state[self.flat] = {"step": count, "exp_avg": torch.zeros_like(self.flat), "exp_avg_sq": torch.zeros_like(self.flat)}

    def step(self, outputs: torch.Tensor | Sequence[torch.Tensor], slopes: Sequence[torch.Tensor] | None = None) -> None:
        """Take one step down, averaged over all processes.

        Args:
            outputs: A loss; or what a network gave, with the slopes of the loss by each of them.
            slopes: Those slopes.
        """
        gradients = torch.autograd.grad(outputs, self.parameters, slopes, materialize_grads=True)
        gradient = self.flat.grad
        assert gradient is not None
        torch.cat([g.reshape(-1) for g in gradients], out=gradient)
        self.ranks.mean_(gradient)
        with torch.no_grad():
            torch.linalg.vector_norm(gradient, out=self.gradient_norm)
            if self.max_gradient_norm > 0.0:
                gradient *= torch.clamp(self.max_gradient_norm / (self.gradient_norm + 1e-6), max=1.0)
        self._adam.step()

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a later step depends on, beside the parameters."""
        return {"learning_rate": self.learning_rate, **self._adam.state[self.flat]}

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from what :meth:`tensors` gave. The memory stays where it is, since a graph may use it."""
        own = self.tensors()
        if set(own) != set(tensors) or any(own[k].shape != v.shape for k, v in tensors.items()):
            raise InputError("the saved optimiser does not fit the network: train with the settings it was saved with")
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(tensor)
