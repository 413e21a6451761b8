"""Adam on one flat tensor: gradient averaging, clipping and the step, with the learning rate on the device.

PyTorch's optimizer needs several kernels for this, and three seconds to import.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.device.backward import parameter_gradients
from worldloom.learn.device.device_numbers import Number, kernel_numbers
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.training.optimizer_kernels import BETAS, adam_step


class FlatAdam:
    """Adam for the parameters of a module, which become views of one tensor.

    Args:
        parameters: The parameters. They stay the same objects, but become views of one flat tensor.
        learning_rate: The initial learning rate. ``self.learning_rate`` is a tensor on the device that may be written.
        max_gradient_norm: Maximum gradient norm; 0 for no clipping.
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
        self.ranks = ranks or Ranks()
        self.max_gradient_norm: Number = max_gradient_norm
        """Maximum gradient norm; a tensor [] on the device where it changes during training."""
        self.enabled: torch.Tensor | None = None
        """Whether steps are taken, bool [1] on the device. Where it is False, :meth:`go` changes nothing; None for
        always."""
        with torch.no_grad():
            self.flat = torch.cat([p.reshape(-1) for p in self.parameters]) if self.parameters else torch.zeros(0)
            start = 0
            for parameter in self.parameters:
                parameter.data = self.flat[start : start + parameter.numel()].view(parameter.shape)
                start += parameter.numel()
        device = self.flat.device
        self.learning_rate = torch.tensor(learning_rate, dtype=torch.float32, device=device)
        self.gradient_norm = torch.zeros((), device=device)
        """Norm of the last ``gradient``, before clipping."""
        self.gradient, self._first, self._second = (torch.zeros_like(self.flat) for _ in range(3))
        self._betas = torch.tensor(BETAS, dtype=torch.float64, device=device)
        self._powers = torch.ones_like(self._betas)
        self._always = torch.empty(0, dtype=torch.bool, device=device)

    def step(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None = None
    ) -> None:
        """One step with the gradient averaged over all processes.

        Args:
            outputs: A loss, or outputs of a network.
            output_gradients: Gradients of the loss with respect to the outputs; None for a loss.
        """
        torch.cat(self._gradients(outputs, output_gradients), out=self.gradient)
        self.go()

    def add(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None = None
    ) -> None:
        """Accumulate the gradient of one part of a batch in ``gradient``, which the caller clears first.

        :meth:`go` then takes the step.
        """
        self.gradient += torch.cat(self._gradients(outputs, output_gradients))

    def go(self) -> None:
        """One step with ``gradient``, averaged over all processes."""
        self.ranks.mean_(self.gradient)
        torch.linalg.vector_norm(self.gradient, out=self.gradient_norm)
        if self.enabled is None:
            self._powers *= self._betas
        else:
            self._powers *= torch.where(self.enabled, self._betas, 1.0)
        norm, rate = self.gradient_norm.view(1), self.learning_rate.view(1)
        numbers, scheduled = kernel_numbers(self.flat.device, self.max_gradient_norm)
        arguments = (
            self.gradient,
            norm,
            *numbers,
            scheduled,
            self._always if self.enabled is None else self.enabled,
            rate,
            self._powers,
            self.flat,
            self._first,
            self._second,
        )
        launch(adam_step, self.flat.numel(), arguments, self.flat.device)

    def _gradients(
        self, outputs: torch.Tensor | Sequence[torch.Tensor], output_gradients: Sequence[torch.Tensor] | None
    ) -> list[torch.Tensor]:
        if output_gradients is None:
            gradients: Sequence[torch.Tensor] = torch.autograd.grad(outputs, self.parameters, materialize_grads=True)
        else:
            gradients = parameter_gradients(outputs, self.parameters, output_gradients)  # type: ignore[arg-type]
        return [g.reshape(-1) for g in gradients]

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state of the optimizer, without the parameters."""
        return {
            "learning_rate": self.learning_rate,
            "mean": self._first,
            "square": self._second,
            "powers": self._powers,
        }

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Restore what :meth:`tensors` returned, in place, since a CUDA graph may use the memory."""
        own = self.tensors()
        if set(own) != set(tensors) or any(own[k].shape != v.shape for k, v in tensors.items()):
            raise InputError("the saved optimizer does not fit the network: use the settings it was saved with")
        with torch.no_grad():
            for name, tensor in tensors.items():
                own[name].copy_(tensor)
