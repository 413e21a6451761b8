"""The roll-out: policies act, worlds step, and what happens is kept; T steps without a look at any of it from the host."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

import torch

from worldloom.core.simulation import Simulation
from worldloom.learn.actions import to_world
from worldloom.learn.config import RolloutConfig
from worldloom.learn.episodes import Episodes
from worldloom.learn.policy import Policy
from worldloom.learn.sampler import Sampler
from worldloom.learn.seats import Seats
from worldloom.learn.storage import Storage


class Player:
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
        self, seats: Seats, policy: Policy, steps: int, seed: int, config: RolloutConfig | None = None, *, first_row: int = 0, stream: int = 0
    ) -> None:
        config = config or RolloutConfig()
        self.seats, self.policy, self.precision = seats, policy, config.precision
        self.sampler = Sampler(seats.spec.action, seats.rows, seats.device, seed, first_row, stream)
        self.storage = Storage(
            seats.spec,
            seats.rows,
            steps,
            seats.device,
            state_size=policy.state_size,
            masked=seats.mask() is not None,
            leave=seats.leave,
            finals=most_cuts(seats.simulation, steps),
            cuts=_counts_before(config, seats),
            sliding=getattr(config, "steps_per_update", steps) < steps,
        )
        self.episodes = Episodes(seats.rows, seats.device, config.clip_rewards, config.episodic_life and seats.lives() is not None)
        self.state = policy.initial_state(seats.rows, seats.device)
        """The policy's memory now."""

    def autocast(self) -> AbstractContextManager[object]:
        return torch.autocast(self.seats.device.type, torch.bfloat16) if self.precision == "bf16" else nullcontext()

    def begin(self) -> None:
        """Before the first step of a roll-out."""
        self.storage.final_steps.fill_(-1)
        self.storage.final_count.zero_()

    def act(self, step: int) -> None:
        """See, and act."""
        kept = self.storage
        seen = kept.keep(step, self.seats.observations())
        mask = self.seats.mask()
        if kept.masks is not None and mask is not None:
            kept.masks[step].copy_(mask)
        if kept.weights is not None:
            kept.weights[step].copy_(self.seats.active())
        with self.autocast():
            parameters, value, state = self.policy(seen, self.state)
        kept.values[step].copy_(value)
        if self.policy.recurrent:
            kept.states[step].copy_(self.state)
            self.state.copy_(state)
        memory = self.seats.action_memory()
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
            self.seats.write_actions(to_world(self.seats.spec.action, action))

    def record(self, step: int) -> None:
        """Keep what came of the step."""
        kept = self.storage
        finals = (kept.final_steps, kept.final_count, kept.final_slot)
        self.episodes.record(self.seats, step, kept.step_weights(step), kept.rewards[step], kept.dones[step], finals, kept.step_cuts(step))
        if kept.finals:
            kept.keep_finals(self.seats.final_observations(), self.state)
        if self.policy.recurrent:
            self.state *= ~kept.dones[step][:, None]

    def end(self, valued: bool = True) -> None:
        """After the last step: values of what is seen now, where they are asked for, and of what was seen where episodes were cut off."""
        kept = self.storage
        self.sampler.advance(kept.steps)
        if valued:
            with self.autocast():
                seen = {key: now.clone() for key, now in self.seats.observations().items()}  # a policy may work in place, and this is the worlds' memory
                kept.values[-1].copy_(self.policy.value(seen, self.state))
        if kept.finals:
            with self.autocast():
                flat = {k: v.flatten(0, 1) for k, v in kept.final_observations.items()}
                finals = self.policy.value(flat, kept.final_states.flatten(0, 1)).view(kept.finals, kept.rows)
            kept.final_values.copy_(torch.nan_to_num(finals, 0.0, 0.0, 0.0))  # a faulty world may have shown anything


def _counts_before(config: RolloutConfig, seats: Seats) -> bool:
    """Whether what an episode that was cut off would still have brought is the value of its last observation but one."""
    if config.cut_values == "auto":
        return any(part.is_image and part.dtype == torch.uint8 for part in seats.spec.observations.values())
    return config.cut_values == "before"


def roll_out(simulation: Simulation, players: list[Player], steps: range, one_by_one: bool, valued: bool = True) -> None:
    """Let every policy act for some steps.

    Args:
        simulation: The worlds.
        players: Together they must give the actions of every agent.
        steps: Where they are kept.
        one_by_one: Whether the kernels of a step are launched singly, for a graph that is being captured.
        valued: Whether the value of what is seen after the last step is wanted.
    """
    with torch.no_grad():
        for player in players:
            player.begin()
        for step in steps:
            for player in players:
                player.act(step)
            simulation.enqueue_step() if one_by_one else simulation.step()
            for player in players:
                player.record(step)
        for player in players:
            player.end(valued)


def most_cuts(simulation: Simulation, steps: int) -> int:
    """How many episodes of one world can be cut off within ``steps`` steps, other than by faults."""
    definition = simulation.definition
    launched = any("truncated" in names for launch in definition.launches for names in launch.writes.values())
    if simulation.calls_out or launched or any(s.access.truncates for s in definition.systems):
        return steps
    limits = simulation.world["max_steps"].numpy()  # 0 where there is none
    return math.ceil(steps / int(limits[limits > 0].min())) if limits.any() else 0
