"""Adam on one flat tensor: one gradient to average over processes, to shorten and to apply, with the learning rate on the device.

PyTorch's own optimiser takes several kernels for what is one here, and three seconds to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import warp as wp
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.distributed.ranks import Ranks

BETAS = (0.9, 0.999)
"""How much of the running means of the gradient and of its square stays at a step."""
BETA1, BETA2, EPSILON = wp.constant(BETAS[0]), wp.constant(BETAS[1]), wp.constant(1e-5)


@wp.kernel(enable_backward=False)
def _adam(
    gradient: wp.array(dtype=wp.float32),
    norm: wp.array(dtype=wp.float32),
    most: wp.float32,
    rate: wp.array(dtype=wp.float32),
    powers: wp.array(dtype=wp.float64),
    # outputs
    values: wp.array(dtype=wp.float32),
    first: wp.array(dtype=wp.float32),
    second: wp.array(dtype=wp.float32),
):
    """Parameter: one step. ``powers`` are those of the betas, by which the running means fall short of true ones."""
    i = wp.tid()
    slope = gradient[i]
    if most > 0.0:
        slope = slope * wp.min(1.0, most / (norm[0] + 1.0e-6))
    mean = BETA1 * first[i] + (1.0 - BETA1) * slope
    square = BETA2 * second[i] + (1.0 - BETA2) * slope * slope
    first[i] = mean
    second[i] = square
    spread = wp.sqrt(square) / wp.sqrt(wp.float32(wp.float64(1.0) - powers[1])) + EPSILON
    values[i] = values[i] - rate[0] / wp.float32(wp.float64(1.0) - powers[0]) * mean / spread


class FlatAdam:
    """Adam for the parameters of a module, which become views of one tensor.

    Args:
        parameters: What is trained. Their memory moves into one flat tensor; they stay the same objects.
        learning_rate: At the start; ``self.learning_rate`` is a tensor on the device that anything may write to.
        max_gradient_norm: Gradients longer than this are shortened to it; 0 for no limit.
        ranks: The processes over which gradients are averaged.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        learning_rate: float,
        max_gradient_norm: float = 0.0,
        ranks: Ranks | None = None,
    ) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        self.max_gradient_norm, self.ranks = max_gradient_norm, ranks or Ranks()
        with torch.no_grad():
            self.flat = torch.cat([p.reshape(-1) for p in self.parameters]) if self.parameters else torch.zeros(0)
            start = 0
            for parameter in self.parameters:
                parameter.data = self.flat[start : start + parameter.numel()].view(parameter.shape)
                start += parameter.numel()
        device = self.flat.device
        self.learning_rate = torch.tensor(learning_rate, dtype=torch.float32, device=device)
        self.gradient_norm = torch.zeros((), device=device)
        """The length of the last ``gradient``, which is kept as it was before it was shortened."""
        self.gradient, self._first, self._second = (torch.zeros_like(self.flat) for _ in range(3))
        self._betas = torch.tensor(BETAS, dtype=torch.float64, device=device)
        self._powers = torch.ones_like(self._betas)

    def step(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None = None
    ) -> None:
        """Take one step down, averaged over all processes.

        Args:
            outputs: A loss; or what a network gave, with the slopes of the loss by each of them.
            slopes: Those slopes.
        """
        torch.cat(self._gradients(outputs, output_gradients), out=self.gradient)
        self.go()

    def add(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None = None
    ) -> None:
        """Add to ``gradient`` what one part of a batch brings; :meth:`go` takes the step when all parts are in it, and ``gradient`` is then to be cleared."""
        self.gradient += torch.cat(self._gradients(outputs, output_gradients))

    def go(self) -> None:
        """Take one step down ``gradient``, averaged over all processes."""
        self.ranks.mean_(self.gradient)
        torch.linalg.vector_norm(self.gradient, out=self.gradient_norm)
        self._powers *= self._betas
        norm, rate = self.gradient_norm.view(1), self.learning_rate.view(1)
        arguments = (
            self.gradient,
            norm,
            self.max_gradient_norm,
            rate,
            self._powers,
            self.flat,
            self._first,
            self._second,
        )
        launch(_adam, self.flat.numel(), arguments, self.flat.device)

    def _gradients(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None
    ) -> list[torch.Tensor]:
        return [
            g.reshape(-1)
            for g in torch.autograd.grad(outputs, self.parameters, output_gradients, materialize_grads=True)
        ]

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a later step depends on, beside the parameters."""
        return {
            "learning_rate": self.learning_rate,
            "mean": self._first,
            "square": self._second,
            "powers": self._powers,
        }

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Go on from what :meth:`tensors` gave. The memory stays where it is, since a graph may use it."""
        own = self.tensors()
        if set(own) != set(tensors) or any(own[k].shape != v.shape for k, v in tensors.items()):
            raise InputError("the saved optimiser does not fit the network: train with the settings it was saved with")
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(tensor)
