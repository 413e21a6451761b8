"""Returns and lengths of episodes, and the reward and done flag of each step for the rollout."""

from __future__ import annotations

import torch

from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.device.warp_launch import launch
from worldloom.learn.rollout.episode_kernels import record_step

PARTS = 1024
"""Partial sums over finished episodes on a GPU, since thousands of atomic additions to one address would be slow."""


class EpisodeStatistics:
    """Running returns and lengths of the episodes of ``rows`` agents, and sums over those that finished.

    Args:
        rows: Number of agents.
        device: The device.
        clip: Whether to clip stored rewards to their sign.
        lives: Whether the loss of a life is stored as the end of an episode.

    Attributes:
        running: Return and length so far, shape (2, rows).
        lives: Lives left after the last step, shape (rows,), int32; empty without episodic life.
        sums: Count, return and length summed over the episodes finished since the sums were last cleared, shape (3,),
            float64; see :meth:`total`.
    """

    def __init__(self, rows: int, device: torch.device, clip: bool = False, lives: bool = False) -> None:
        self.clip = clip
        self.lives = torch.zeros(rows if lives else 0, dtype=torch.int32, device=device)
        self.running = torch.zeros((2, rows), device=device)
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._parts = torch.zeros((PARTS if device.type == "cuda" else 1, 3), dtype=torch.float64, device=device)
        self._no_truncations = torch.zeros(0, dtype=torch.bool, device=device)
        self.device = device

    def total(self) -> torch.Tensor:
        """``sums``, with the partial sums added."""
        self.sums += self._parts.sum(0)
        self._parts.zero_()
        return self.sums

    def tensors(self) -> dict[str, torch.Tensor]:
        """The state, by name, for checkpoints."""
        return {"running": self.running, "sums": self.total(), **({"lives": self.lives} if len(self.lives) else {})}

    def record(
        self,
        agent_group: AgentGroup,
        step: int,
        weights: torch.Tensor,
        reward: torch.Tensor,
        done: torch.Tensor,
        finals: tuple[torch.Tensor, ...],
        cut: torch.Tensor | None = None,
    ) -> None:
        """Record one step.

        Args:
            agent_group: The agents.
            step: Index of the step in the rollout.
            weights: 1 for agents that were active, shape (rows,); empty where all always are.
            reward, done: Written: the stored reward, and whether an episode or a life ended, shape (rows,).
            finals: Written: steps and counts of truncated episodes, and the slot of those truncated now or -1; see
                :class:`~worldloom.learn.rollout.storage.Storage`.
            cut: Written where given and not empty: whether the episode was truncated, shape (rows,).
        """
        world = agent_group.simulation
        if agent_group.may_leave:
            flags = (agent_group.terminated(), agent_group.truncated(), agent_group.world_ended())
        else:
            flags = (
                world.terminated.torch(),
                world.truncated.torch(),
                torch.empty(0, dtype=torch.bool, device=self.device),
            )
        left = agent_group.lives() if len(self.lives) else None
        inputs = [
            agent_group.rewards().float(),
            *flags,
            weights,
            self.lives if left is None else left,
            agent_group.agents,
            step,
            self.clip,
        ]
        arguments = [
            *inputs,
            reward,
            done,
            self._no_truncations if cut is None else cut,
            self.lives,
            self.running,
            self._parts,
            *finals,
        ]
        launch(record_step, agent_group.rows, arguments, self.device)
