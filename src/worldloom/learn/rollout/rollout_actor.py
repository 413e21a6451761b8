"""The rollout: policies act, worlds step, and the steps are stored, without a device synchronization."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol

import torch

from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import to_env_action
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.device.torch_settings import autocast
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.rollout.storage import Storage


class Substitute(Protocol):
    """Acts in place of the policy in some rows, whose steps then have weight 0; a past self is one."""

    rows: torch.Tensor
    """The rows, int64 [R]."""

    def act(
        self, observations: Mapping[str, torch.Tensor], mask: torch.Tensor | None, step: int, actions: torch.Tensor
    ) -> None:
        """Replace the actions of its rows in ``actions``."""

    def end_step(self, dones: torch.Tensor) -> None:
        """Called after every step with the end of episodes of all rows."""

    def end(self, steps: int) -> None:
        """Called after a rollout."""


class Inference(Protocol):
    """A policy's forward pass on its parameters as they were at the last ``refresh``."""

    def refresh(self) -> None:
        """Read the parameters."""

    def __call__(self, observations: Mapping[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """Contiguous observations [N, ...] by name -> action parameters [N, P] and values [N, 1]."""


class RolloutActor:
    """One policy that acts in worlds: its agents, its recurrent state, and its storage.

    Args:
        agent_group: The agents it controls.
        policy: The policy.
        steps: Number of stored steps.
        seed: The random seed.
        config: Its settings; None for the defaults.
        first_row: Global index of its first row among all processes.
        stream: Separates its random numbers from those of other policies.
        weighted: Whether steps have weights, as substitutes need.
    """

    def __init__(
        self,
        agent_group: AgentGroup,
        policy: Policy,
        steps: int,
        seed: int,
        config: RolloutConfig | None = None,
        *,
        first_row: int = 0,
        stream: int = 0,
        weighted: bool = False,
    ) -> None:
        config = config or RolloutConfig()
        self.agent_group, self.policy, self.precision = agent_group, policy, config.precision
        self.sampler = Sampler(agent_group.spec.action, agent_group.rows, agent_group.device, seed, first_row, stream)
        self.storage = Storage(
            agent_group.spec,
            agent_group.rows,
            steps,
            agent_group.device,
            state_size=policy.state_size,
            masked=agent_group.mask() is not None,
            may_leave=agent_group.may_leave or weighted,
            finals=max_truncations(agent_group.simulation, steps),
            truncations=_bootstraps_from_previous(config, agent_group),
            sliding=getattr(config, "steps_per_update", steps) < steps,
        )
        self.episodes = EpisodeStatistics(
            agent_group.rows,
            agent_group.device,
            config.clip_rewards,
            config.episodic_life and agent_group.lives() is not None,
        )
        self.inference: Inference | None = None
        """The policy's forward pass by native kernels; None where PyTorch computes it."""
        self.state = policy.initial_state(agent_group.rows, agent_group.device)
        """The current recurrent state."""
        rows = agent_group.rows if agent_group.may_return else 0
        self._present = torch.zeros(rows, dtype=torch.bool, device=agent_group.device)
        """Which rows hold an agent before the step, where rows may be free. Every step of a free row ends an episode,
        so that nothing of it reaches the next agent of the row."""
        self.substitutes: list[Substitute] = []
        """What acts in place of the policy in some rows."""

    def autocast(self) -> AbstractContextManager[object]:
        """The precision that the policy runs in."""
        return autocast(self.agent_group.device, self.precision)

    def begin(self) -> None:
        """Prepare the storage and the policy for a rollout."""
        if self.inference is not None:
            self.inference.refresh()
        self.storage.final_steps.fill_(-1)
        self.storage.final_count.zero_()

    def act(self, step: int) -> None:
        """Observe and act."""
        storage = self.storage
        observations = storage.store_observations(step, self.agent_group.observations())
        mask = self.agent_group.mask()
        if storage.masks is not None and mask is not None:
            storage.masks[step].copy_(mask)
        if storage.weights is not None:
            storage.weights[step].copy_(self.agent_group.active())
            if self.agent_group.may_return:
                self._present.copy_(self.agent_group.active())
            for substitute in self.substitutes:
                storage.weights[step].index_fill_(0, substitute.rows, 0.0)
        parameters, value = self._evaluate(step, observations)
        storage.values[step].copy_(value)
        view = None if self.substitutes else self.agent_group.action_view()
        action = storage.actions[step]
        self.sampler.sample(
            parameters,
            action=action,
            log_prob=storage.log_probs[step],
            entropy=storage.entropies,
            mask=None if storage.masks is None else storage.masks[step],
            log_std=self.policy.log_std,
            world_action=view,
            offset=step,
        )
        for substitute in self.substitutes:
            mask = None if storage.masks is None else storage.masks[step]
            substitute.act(observations, mask, step, action)
        if view is None:
            self.agent_group.write_actions(to_env_action(self.agent_group.spec.action, action))

    def _evaluate(self, step: int, observations: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Action parameters and values of the current observations; also updates the recurrent state."""
        if self.inference is not None:
            parameters, value = self.inference(observations)
            return parameters, value.squeeze(1)
        with self.autocast():
            parameters, value, state = self.policy(observations, self.state)
        if self.policy.recurrent:
            self.storage.states[step].copy_(self.state)
            self.state.copy_(state)
        return parameters, value

    def _values(self, observations: dict[str, torch.Tensor], state: torch.Tensor) -> torch.Tensor:
        """Values of observations [N, ...]."""
        if self.inference is not None:
            return self.inference(observations)[1].squeeze(1)
        with self.autocast():
            return self.policy.value(observations, state)

    def record(self, step: int) -> None:
        """Store the result of the step."""
        storage = self.storage
        finals = (storage.final_steps, storage.final_count, storage.final_slot)
        self.episodes.record(
            self.agent_group,
            step,
            storage.step_weights(step),
            storage.rewards[step],
            storage.dones[step],
            finals,
            storage.step_truncations(step),
        )
        if self.agent_group.may_return:
            storage.dones[step].logical_or_(~(self._present & self.agent_group.active()))
        if storage.finals:
            storage.store_finals(self.agent_group.final_observations(), self.state)
        if self.policy.recurrent:
            self.state *= ~storage.dones[step][:, None]
        for substitute in self.substitutes:
            substitute.end_step(storage.dones[step])

    def end(self, valued: bool = True) -> None:
        """Finish the rollout: values of final observations, and with ``valued`` those of the current ones."""
        storage = self.storage
        self.sampler.advance(storage.steps)
        for substitute in self.substitutes:
            substitute.end(storage.steps)
        if valued:
            # Copies: a policy may work in place, and these are the worlds' own columns.
            current = {key: values.clone() for key, values in self.agent_group.observations().items()}
            storage.values[-1].copy_(self._values(current, self.state))
        if storage.finals:
            flat = {k: v.flatten(0, 1) for k, v in storage.final_observations.items()}
            finals = self._values(flat, storage.final_states.flatten(0, 1)).view(storage.finals, storage.rows)
            storage.final_values.copy_(
                torch.nan_to_num(finals, 0.0, 0.0, 0.0)
            )  # a faulty world may have any observation


def _bootstraps_from_previous(config: RolloutConfig, agent_group: AgentGroup) -> bool:
    """Whether the bootstrap value at truncation is that of the observation before the final one."""
    if config.cut_values == "auto":
        return any(part.is_image and part.dtype == torch.uint8 for part in agent_group.spec.observations.values())
    return config.cut_values == "before"


def roll_out(
    simulation: Simulation,
    actors: list[RolloutActor],
    steps: range,
    one_by_one: bool,
    valued: bool = True,
    on_step: Callable[[], None] | None = None,
) -> None:
    """Act with all policies for some steps.

    Args:
        simulation: The worlds.
        actors: The policies. Together they must control every agent.
        steps: Indices of the steps in the storage.
        one_by_one: Whether to launch the kernels of a step individually, for a CUDA graph that is being captured.
        valued: Whether the value of the observation after the last step is needed.
        on_step: Called after every step; None for nothing. It must not synchronize with the device.
    """
    with torch.no_grad(), ExitStack() as modes:
        for actor in actors:
            modes.enter_context(evaluation_mode(actor.policy))
            actor.begin()
        for step in steps:
            for actor in actors:
                actor.act(step)
            simulation.enqueue_step() if one_by_one else simulation.step()
            for actor in actors:
                actor.record(step)
            if on_step is not None:
                on_step()
        for actor in actors:
            actor.end(valued)


def max_truncations(simulation: Simulation, steps: int) -> int:
    """Maximum number of episodes of one world that are truncated within ``steps`` steps, other than by faults."""
    definition = simulation.definition
    launched = any("truncated" in names for launch in definition.launches for names in launch.writes.values())
    if simulation.has_host_calls or launched or any(s.access.truncates for s in definition.systems):
        return steps
    limits = simulation.world["max_steps"].numpy()  # 0 where there is none
    return math.ceil(steps / int(limits[limits > 0].min())) if limits.any() else 0
