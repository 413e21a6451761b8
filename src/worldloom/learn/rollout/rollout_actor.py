"""The roll-out: policies act, worlds step, and what happens is kept; T steps without a look at any of it from the host."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import torch

from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import to_env_action
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.episode_statistics import EpisodeStatistics
from worldloom.learn.rollout.storage import Storage


class RolloutActor:
    """One policy at play: its seats, its memory, and what it keeps of every step.

    Args:
        seats: Whom it plays.
        policy: What it does.
        steps: How many steps are kept.
        seed: Where its random numbers start.
        config: Its settings; None for the usual ones.
        first_row: The number of its first row among those of all processes.
        stream: Tells its random numbers from those of other policies.
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
            leave=agent_group.may_leave,
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
        self.state = policy.initial_state(agent_group.rows, agent_group.device)
        """The policy's memory now."""

    def autocast(self) -> AbstractContextManager[object]:
        return (
            torch.autocast(self.agent_group.device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()
        )

    def begin(self) -> None:
        """Before the first step of a roll-out."""
        self.storage.final_steps.fill_(-1)
        self.storage.final_count.zero_()

    def act(self, step: int) -> None:
        """See, and act."""
        kept = self.storage
        seen = kept.store_observations(step, self.agent_group.observations())
        mask = self.agent_group.mask()
        if kept.masks is not None and mask is not None:
            kept.masks[step].copy_(mask)
        if kept.weights is not None:
            kept.weights[step].copy_(self.agent_group.active())
        with self.autocast():
            parameters, value, state = self.policy(seen, self.state)
        kept.values[step].copy_(value)
        if self.policy.recurrent:
            kept.states[step].copy_(self.state)
            self.state.copy_(state)
        memory = self.agent_group.action_view()
        action = kept.actions[step]
        self.sampler.sample(
            parameters,
            action=action,
            log_prob=kept.log_probs[step],
            entropy=kept.entropies,
            mask=None if kept.masks is None else kept.masks[step],
            log_std=self.policy.log_std,
            world_action=memory,
            offset=step,
        )
        if memory is None:
            self.agent_group.write_actions(to_env_action(self.agent_group.spec.action, action))

    def record(self, step: int) -> None:
        """Keep what came of the step."""
        kept = self.storage
        finals = (kept.final_steps, kept.final_count, kept.final_slot)
        self.episodes.record(
            self.agent_group,
            step,
            kept.step_weights(step),
            kept.rewards[step],
            kept.dones[step],
            finals,
            kept.step_truncations(step),
        )
        if kept.finals:
            kept.store_finals(self.agent_group.final_observations(), self.state)
        if self.policy.recurrent:
            self.state *= ~kept.dones[step][:, None]

    def end(self, valued: bool = True) -> None:
        """After the last step: values of what is seen now, where they are asked for, and of what was seen where episodes were cut off."""
        kept = self.storage
        self.sampler.advance(kept.steps)
        if valued:
            with self.autocast():
                seen = {
                    key: now.clone() for key, now in self.agent_group.observations().items()
                }  # a policy may work in place, and this is the worlds' memory
                kept.values[-1].copy_(self.policy.value(seen, self.state))
        if kept.finals:
            with self.autocast():
                flat = {k: v.flatten(0, 1) for k, v in kept.final_observations.items()}
                finals = self.policy.value(flat, kept.final_states.flatten(0, 1)).view(kept.finals, kept.rows)
            kept.final_values.copy_(torch.nan_to_num(finals, 0.0, 0.0, 0.0))  # a faulty world may have shown anything


def _bootstraps_from_previous(config: RolloutConfig, agent_group: AgentGroup) -> bool:
    """Whether what an episode that was cut off would still have brought is the value of its last observation but one."""
    if config.cut_values == "auto":
        return any(part.is_image and part.dtype == torch.uint8 for part in agent_group.spec.observations.values())
    return config.cut_values == "before"


def roll_out(
    simulation: Simulation, actors: list[RolloutActor], steps: range, one_by_one: bool, valued: bool = True
) -> None:
    """Let every policy act for some steps.

    Args:
        simulation: The worlds.
        players: Together they must give the actions of every agent.
        steps: Where they are kept.
        one_by_one: Whether the kernels of a step are launched singly, for a graph that is being captured.
        valued: Whether the value of what is seen after the last step is wanted.
    """
    with torch.no_grad():
        for actor in actors:
            actor.begin()
        for step in steps:
            for actor in actors:
                actor.act(step)
            simulation.enqueue_step() if one_by_one else simulation.step()
            for actor in actors:
                actor.record(step)
        for actor in actors:
            actor.end(valued)


def max_truncations(simulation: Simulation, steps: int) -> int:
    """How many episodes of one world can be cut off within ``steps`` steps, other than by faults."""
    definition = simulation.definition
    launched = any("truncated" in names for launch in definition.launches for names in launch.writes.values())
    if simulation.has_host_calls or launched or any(s.access.truncates for s in definition.systems):
        return steps
    limits = simulation.world["max_steps"].numpy()  # 0 where there is none
    return math.ceil(steps / int(limits[limits > 0].min())) if limits.any() else 0
