"""The players of one pool: its snapshots, and the past selves drawn from them that act in the pool's worlds."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.agent_group import AgentGroup, agent_counts, agent_slots, parse_agents
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.networks.policy import Policy
from worldloom.learn.opponents.past_self import PastSelf
from worldloom.learn.opponents.sampling import draw_slots, sampling_probabilities, uniforms
from worldloom.learn.opponents.snapshots import SnapshotPool
from worldloom.learn.rollout.rollout_actor import RolloutActor
from worldloom.learn.training.restore_checks import COUNTER_RANGE, Ranges


class SelfPlayLearner(Protocol):
    """A policy in training, see :class:`~worldloom.learn.algorithms.learner.Learner`."""

    name: str
    policy: Policy
    agent_group: AgentGroup
    actor: RolloutActor
    pool: OpponentPool | None
    first_row: int
    summary: Tensor


class PoolPlayers:
    """Snapshots of a policy, and the past selves that act with them.

    Args:
        learner: The policy in training. Its actor calls the past selves.
        config: The pool's settings.
        number: Index of the pool, which separates its draws from those of others.
        seed: The random seed.
        stream: First stream of random numbers of its past selves.
        world_blocks: The block of each world, int64 [worlds].
        blocks: The blocks of its past selves.

    Attributes:
        agents: Agents per world that a past self controls.
        drawn: Slot of each past self that acts, int64 [simultaneous].
    """

    def __init__(
        self,
        learner: SelfPlayLearner,
        config: OpponentPool,
        number: int,
        seed: int,
        stream: int,
        world_blocks: Tensor,
        blocks: range,
    ) -> None:
        self.learner, self.config, self.blocks = learner, config, blocks
        self._number, self._seed = number, seed
        self.snapshots = SnapshotPool(learner.policy, config.size)
        self.drawn = torch.zeros(config.simultaneous, dtype=torch.int64, device=world_blocks.device)
        self._uniforms = torch.zeros(config.simultaneous, dtype=torch.float64, device=world_blocks.device)
        agents = torch.tensor(self._agent_indices(), device=world_blocks.device)
        self.agents = len(agents)
        self.past_selves = []
        for index, block in enumerate(blocks):
            worlds = torch.nonzero(world_blocks == block).flatten()
            rows = (worlds[:, None] * learner.agent_group.agents + agents).flatten()
            self.past_selves.append(
                PastSelf(
                    learner.policy,
                    learner.agent_group,
                    rows,
                    seed=seed,
                    first_row=learner.first_row,
                    stream=stream + index,
                    precision=learner.actor.precision,
                )
            )
        learner.actor.substitutes = list(self.past_selves)

    def _agent_indices(self) -> list[int]:
        """Indices within the policy's agents of those that past selves control."""
        group = self.learner.agent_group
        definition = group.simulation.definition
        counts = agent_counts(definition)
        own = agent_slots(group.slices, counts)
        if not self.config.agents:
            return list(range(len(own)))
        chosen = agent_slots(parse_agents(self.config.agents, definition), counts)
        foreign = [agent for agent in chosen if agent not in own]
        if foreign:
            raise InputError(
                f"past selves of policy '{self.learner.name}' cannot control {foreign[0][0]} {foreign[0][1]}, "
                "which is not among the agents of that policy: name some of its own"
            )
        return [own.index(agent) for agent in chosen]

    def take_snapshot(self, iteration: int, rating: Tensor) -> Tensor:
        """Take a snapshot of the current policy, with its current ``rating``, in place of the oldest.

        Returns the past selves that acted with the replaced one, bool [simultaneous]: they must be drawn again.
        """
        slot = iteration // self.config.every % self.config.size
        self.snapshots.add(slot, self.learner.policy, iteration, rating)
        return self.drawn == slot

    def draw(self, iteration: int, rival: Tensor, changed: Tensor) -> None:
        """Draw past selves that act from now on.

        Args:
            iteration: The iteration that follows.
            rival: Rating of the policies that they meet, float64 [].
            changed: Which of them are drawn again, bool [simultaneous].
        """
        for index, number in enumerate(uniforms(self._seed, self._number, iteration, len(self.drawn))):
            self._uniforms[index].fill_(number)  # unlike a copy from the host, this does not wait for the device
        probabilities = sampling_probabilities(self.config, self.snapshots.iterations, self.snapshots.ratings, rival)
        self.drawn.copy_(torch.where(changed, draw_slots(probabilities, self._uniforms), self.drawn))
        self.load_drawn()
        for index, past_self in enumerate(self.past_selves):
            past_self.state.mul_(~changed[index])

    def load_drawn(self) -> None:
        """Copy the drawn snapshots into the past selves, in place."""
        for index, past_self in enumerate(self.past_selves):
            self.snapshots.copy_to(past_self.policy, self.drawn[index : index + 1])

    def drawn_ratings(self) -> Tensor:
        """Ratings of the past selves that act, float64 [simultaneous]."""
        return self.snapshots.ratings.index_select(0, self.drawn)

    def add_to_ratings(self, changes: Tensor) -> None:
        """Add ``changes``, float64 [simultaneous], to the ratings of the past selves that act."""
        self.snapshots.ratings.index_add_(0, self.drawn, changes)

    def tensors(self) -> dict[str, Tensor]:
        """The state, by name, for checkpoints."""
        state = {**self.snapshots.tensors(), "drawn": self.drawn}
        for index, past_self in enumerate(self.past_selves):
            state |= {f"sampler/{index}": past_self.sampler.tick, f"rows/state/{index}": past_self.state}
        return state

    def ranges(self) -> Ranges:
        """Bounds of the saved tensors."""
        ticks = {f"sampler/{index}": COUNTER_RANGE for index in range(len(self.past_selves))}
        return {**self.snapshots.ranges(), "drawn": (0, self.config.size - 1), **ticks}
