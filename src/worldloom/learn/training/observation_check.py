"""Records the first observation that is not finite, and when parameters became so, without a device synchronization.

On a GPU the metrics of an iteration reach the host one or two iterations late. By then the rollout has been overwritten
by that of a policy that is not finite, so the search for the cause must take place on the device. An observation at
step s is caused by the actions before s. It is the cause of a divergence if all actions up to then were those of
policies with finite parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.training.observation_kernels import (
    CODES,
    KINDS,
    NEVER,
    find_harm,
    forget_records,
    record_harmful_observations,
    record_observations,
    record_parameters,
)
from worldloom.learn.training.optimizer import FlatAdam

THREADS = 1 << 16
"""Threads that search the observations of a rollout."""


class CheckedPolicy(Protocol):
    """A policy with its agents and parameters; the learners of a trainer are such."""

    agent_group: AgentGroup
    policy: Policy | QNetwork
    optimizer: FlatAdam

    def valid_rows(self) -> Tensor | None:
        """The rows whose current observation counts, bool [rows]; None for all."""


class BadObservation(NamedTuple):
    """An observation that is not finite.

    Attributes:
        step: Steps of each world before it.
        policy: The policy that observed it.
        component: Its component.
        row: The row of the agent, in the order of the policy's agent group.
        element: Index of the number in the flattened value.
        kind: ``nan``, ``inf`` or ``-inf``.
    """

    step: int
    policy: str
    component: str
    row: int
    element: int
    kind: str


class _Component(NamedTuple):
    """A real-valued observation of a policy.

    Attributes:
        policy, name: The policy and the observation.
        elements: Numbers of one agent.
        mask: The observation that is not 0 for the entities present, of a set; empty for all.
        first: The lowest record, int64 [1].
    """

    policy: str
    name: str
    elements: int
    mask: str
    first: Tensor


class ObservationCheck:
    """The first observations of all policies that are not finite.

    Args:
        policies: The policies, by name.
        kept: Steps before a rollout whose observations later updates use.
        device: The device.

    Attributes:
        steps: Steps of each world before the current rollout, int64 [1].
        diverged: Steps of each world before the first rollout with parameters that are not finite, int64 [1].
    """

    def __init__(self, policies: Mapping[str, CheckedPolicy], kept: int, device: torch.device) -> None:
        self.policies, self.kept, self.device = dict(policies), kept, device
        specs = [(name, *item) for name, policy in policies.items() for item in _real_inputs(policy.policy).items()]
        self._first = torch.full((len(specs),), NEVER, dtype=torch.int64, device=device)
        self._components = [
            _Component(name, key, math.prod(spec.shape), spec.mask, self._first[index : index + 1])
            for index, (name, key, spec) in enumerate(specs)
        ]
        sizes = [policies[c.policy].agent_group.rows * c.elements * CODES for c in self._components]
        self._sizes = torch.tensor(sizes, dtype=torch.int64, device=device)
        self.steps = torch.zeros(1, dtype=torch.int64, device=device)
        self.diverged = torch.full((1,), NEVER, dtype=torch.int64, device=device)
        self._all = torch.empty(0, dtype=torch.bool, device=device)
        self._harmed = torch.zeros(1, dtype=torch.int32, device=device)

    def reset(self) -> None:
        """Forget all records."""
        self._first.fill_(NEVER)
        self.diverged.fill_(NEVER)

    def names(self, policy: str) -> set[str]:
        """The observations that :meth:`scan` reads."""
        own = [component for component in self._components if component.policy == policy]
        return {c.name for c in own} | {c.mask for c in own if c.mask}

    def begin(self) -> None:
        """Check all parameters before a rollout, and forget observations that have done no harm."""
        for policy in self.policies.values():
            flat = policy.optimizer.flat
            if not _known_finite(flat):
                launch(record_parameters, flat.numel(), (flat, self.steps, self.diverged), self.device)
        if self._components:
            arguments = (self.steps, self.kept, self._sizes, self.diverged, self._first)
            launch(forget_records, len(self._components), arguments, self.device)

    def find_harm(self) -> None:
        """Check all parameters after an update: whether observations of its rollout are to be searched."""
        self._harmed.zero_()
        for policy in self.policies.values():
            flat = policy.optimizer.flat
            launch(find_harm, flat.numel(), (flat, self._harmed), self.device)

    def scan(
        self,
        policy: str,
        observations: Mapping[str, Tensor],
        offset: int = 0,
        valid: Tensor | None = None,
        harmful: bool = False,
    ) -> None:
        """Record observations that are not finite.

        Args:
            policy: The policy that observes them.
            observations: Observations by name, [T, rows, ...], or those of one step, [rows, ...].
            offset: Steps since the start of the rollout.
            valid: The rows that count, bool [rows]; None for all.
            harmful: Whether they are read only if :meth:`find_harm` found parameters that are not finite.
        """
        rows = self.policies[policy].agent_group.rows
        for component in self._components:
            if component.policy != policy:
                continue
            values = observations[component.name].float().reshape(-1, component.elements).contiguous()
            if not harmful and _known_finite(values):
                continue
            present = self._all.view(0, 1)
            if component.mask:
                present = (observations[component.mask] != 0).reshape(len(values), -1)
            counted = self._all if valid is None else valid
            arguments = (values, present, counted, rows, self.steps, offset, component.first)
            if harmful:
                launch(record_harmful_observations, THREADS, (self._harmed, THREADS, *arguments), self.device)
            else:
                launch(record_observations, tuple(values.shape), arguments, self.device)

    def scan_current(self, steps: int) -> None:
        """Record current observations that are not finite; ``steps`` are those that each world has taken."""
        self.steps.fill_(steps)
        for name, policy in self.policies.items():
            self.scan(name, policy.agent_group.observations(), valid=policy.valid_rows())

    def is_bad(self, policy: str) -> Tensor:
        """Whether there is a record of a policy, bool []."""
        own = [index for index, component in enumerate(self._components) if component.policy == policy]
        records = self._first[own[0] : own[-1] + 1] if own else self._first[:0]  # those of a policy are consecutive
        return (records < NEVER).any()

    def cause(self) -> BadObservation | None:
        """The first observation that is not finite, unless parameters were so before. Synchronizes with the device."""
        found = []
        for component, record in zip(self._components, self._first.tolist(), strict=True):
            if record < NEVER:
                place, kind = divmod(record, CODES)
                sample, element = divmod(place, component.elements)
                step, row = divmod(sample, self.policies[component.policy].agent_group.rows)
                found.append(BadObservation(step, component.policy, component.name, row, element, KINDS[kind]))
        first = min(found, default=None)
        return first if first is not None and first.step <= int(self.diverged) else None


def _known_finite(values: Tensor) -> bool:
    """Whether the host knows that all ``values`` are finite: on the CPU, where a sum is faster than a check of each."""
    return values.device.type == "cpu" and math.isfinite(values.sum())


def _real_inputs(policy: Policy | QNetwork) -> dict[str, ObservationSpec]:
    """The real-valued observations that a network takes. Custom modules may use absent entities of a set too."""
    if isinstance(policy, QNetwork):
        used = policy.observations
    else:
        used = network_inputs(policy.spec.observations, policy.config).critic
    real = {name: spec for name, spec in used.items() if spec.dtype.is_floating_point}
    return {name: replace(spec, mask="") for name, spec in real.items()} if policy.custom else real
