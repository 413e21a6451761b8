"""Extensions: parts that users add to an on-policy algorithm, with networks, metrics and saved state of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.learn.device.torch_settings import seeded_torch
from worldloom.learn.training.optimizer import FlatAdam

if TYPE_CHECKING:
    from worldloom.learn.algorithms.learner import Learner

PREFIX = "extensions/"
"""Prefix of the names of an extension's tensors among those of its policy."""
SEED_OFFSET = 1 << 16
"""Added to the seed of a policy's network for that of its extensions, one more for each."""


@dataclass
class NewSteps:
    """The steps of a policy since its last update, T steps of N agents.

    Attributes:
        observations: Before each step, by component, [T, N, *shape].
        actions: [T, N, width], choices first.
        rewards: Rewards for training, [T, N], clipped but neither normalized nor scaled; may be changed or replaced.
        dones: Whether the episode ended with the step, bool [T, N].
        weights: 1 where an agent was active, else 0, [T, N]; None where all always are.
    """

    observations: dict[str, Tensor]
    actions: Tensor
    rewards: Tensor
    dones: Tensor
    weights: Tensor | None


class Extension(nn.Module):
    """A part that is added to PPO, A2C or V-trace: ``PPO(env, config, extensions={"rnd": RND})``.

    There is one for each trained policy. Its parameters and buffers, and the state of its optimizer, are saved with
    every checkpoint and restored when a training is resumed. On a GPU :meth:`on_rollout` is captured in a CUDA graph:
    it must work on fixed tensors, change its state in place, and not synchronize with the device.

    Args:
        learner: The policy, with its ``agent_group``, ``config``, ``device`` and ``ranks``.

    Attributes:
        learning_rate: Learning rate of ``optimizer``; set it in the constructor.
        optimizer: Adam for the parameters that require gradients, made after the constructor; None without any.
        ranks: The processes that train together: ``ranks.sum_`` reduces statistics. Gradients are averaged.
        metrics: Values of ``metric_names``, float32, to be written in place.
    """

    metric_names: ClassVar[tuple[str, ...]] = ()
    """Metrics that it reports, such as ``rnd/bonus``."""
    learning_rate: float = 1e-3
    metrics: Tensor

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self.ranks = learner.ranks
        self.optimizer: FlatAdam | None = None
        self.register_buffer("metrics", torch.zeros(len(self.metric_names)))

    def on_rollout(self, steps: NewSteps) -> None:
        """Called after every rollout, before the policy's update: change rewards, train networks, write metrics."""

    def tensors(self) -> dict[str, Tensor]:
        """The state: parameters, buffers and the optimizer."""
        optimizer = {} if self.optimizer is None else self.optimizer.tensors()
        return {**self.state_dict(), **{f"optimizer/{name}": tensor for name, tensor in optimizer.items()}}


ExtensionFactory = Callable[["Learner"], Extension]
"""Makes the extension of a policy: a subclass of :class:`Extension`, or such a class with arguments applied."""


def make_extensions(factories: Mapping[str, ExtensionFactory], learner: Learner, seed: int) -> dict[str, Extension]:
    """The extensions of a policy by name, on its device. ``seed`` determines their initial parameters."""
    extensions = {}
    for number, (name, factory) in enumerate(factories.items()):
        if not name.isidentifier():
            raise InputError(f"the name of an extension is an identifier, such as rnd, not '{name}'")
        with seeded_torch(seed + SEED_OFFSET * (number + 1)):
            extension = factory(learner)
        if not isinstance(extension, Extension):
            raise InputError(f"extension '{name}' makes {type(extension).__name__}: derive it from Extension")
        extension.to(learner.device)
        if any(parameter.requires_grad for parameter in extension.parameters()):
            extension.optimizer = FlatAdam(extension.parameters(), extension.learning_rate, ranks=learner.ranks)
        extensions[name] = extension
    return extensions
