"""What comes of a step, per row: its reward and end into the roll-out, and the sums that returns and lengths are told from."""

from __future__ import annotations

import torch
import warp as wp

from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.device.warp_launch import launch

PARTS = 1024
"""On a GPU, sums over finished episodes are kept in so many parts: where thousands end at once, each would wait for all before it."""


@wp.kernel(enable_backward=False)
def _record(
    rewards: wp.array(dtype=wp.float32),
    terminated: wp.array(dtype=wp.bool),
    truncated: wp.array(dtype=wp.bool),
    ended: wp.array(dtype=wp.bool),
    weights: wp.array(dtype=wp.float32),
    lives: wp.array(dtype=wp.int32),
    agents: int,
    step: int,
    clip: bool,
    kept_reward: wp.array(dtype=wp.float32),
    kept_done: wp.array(dtype=wp.bool),
    kept_cut: wp.array(dtype=wp.bool),
    lives_before: wp.array(dtype=wp.int32),
    running: wp.array2d(dtype=wp.float32),
    parts: wp.array2d(dtype=wp.float64),
    final_steps: wp.array2d(dtype=wp.int32),
    final_count: wp.array(dtype=wp.int32),
    keep: wp.array(dtype=wp.int32),
):
    row = wp.tid()
    flag = row
    if terminated.shape[0] * agents == kept_done.shape[0]:
        flag = row // agents  # flags of the world count for all its agents
    over = terminated[flag] or truncated[flag]
    if ended.shape[0] > 0:
        over = over or ended[row]  # agents that left before are not counted again, since they were not present
    reward = rewards[row]
    if not wp.isfinite(reward):
        reward = 0.0  # a fault of its world, which starts anew
    present = True
    if weights.shape[0] > 0:
        present = weights[row] > 0.0
    kept_reward[row] = wp.where(clip, wp.where(reward != 0.0, wp.sign(reward), 0.0), reward)
    kept_done[row] = over
    if lives.shape[0] > 0:
        kept_done[row] = over or lives[row] < lives_before[row]
        lives_before[row] = lives[row]
    cut = present and truncated[flag] and not terminated[flag]
    if kept_cut.shape[0] > 0:
        kept_cut[row] = cut
    if present:
        running[0, row] = running[0, row] + reward
        running[1, row] = running[1, row] + 1.0
        if over:
            part = row % parts.shape[0]
            wp.atomic_add(parts, part, 0, wp.float64(1.0))
            wp.atomic_add(parts, part, 1, wp.float64(running[0, row]))
            wp.atomic_add(parts, part, 2, wp.float64(running[1, row]))
            running[0, row] = 0.0
            running[1, row] = 0.0
    if final_count.shape[0] > 0:
        keep[row] = -1
        if cut:
            slot = wp.min(final_count[row], final_steps.shape[0] - 1)
            final_steps[slot, row] = step
            final_count[row] = slot + 1
            keep[row] = slot


class EpisodeStatistics:
    """Running returns and lengths of the episodes of ``rows`` agents, and sums over those that finished.

    Args:
        rows: How many agents.
        device: Where.
        clip: Whether only the signs of rewards are kept to learn from.
        lives: Whether the loss of a life is kept as an end to learn from. The episode goes on.

    Attributes:
        running: Return and length so far, shape (2, rows).
        lives: What each agent had left after the last step, shape (rows,), int32; empty where that is not heeded.
        sums: Count, return and length summed over the episodes that finished since the sums were last cleared, shape (3,), float64; see :meth:`total`.
    """

    def __init__(self, rows: int, device: torch.device, clip: bool = False, lives: bool = False) -> None:
        self.clip = clip
        self.lives = torch.zeros(rows if lives else 0, dtype=torch.int32, device=device)
        self.running = torch.zeros((2, rows), device=device)
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._parts = torch.zeros((PARTS if device.type == "cuda" else 1, 3), dtype=torch.float64, device=device)
        self._no_cuts = torch.zeros(0, dtype=torch.bool, device=device)
        self.device = device

    def total(self) -> torch.Tensor:
        """``sums``, brought up to date."""
        self.sums += self._parts.sum(0)
        self._parts.zero_()
        return self.sums

    def tensors(self) -> dict[str, torch.Tensor]:
        """What later episodes depend on, by name."""
        return {"running": self.running, "sums": self.sums, **({"lives": self.lives} if len(self.lives) else {})}

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
        """Take in one step.

        Args:
            seats: Whose step it was.
            step: Its number in the roll-out.
            weights: 1 for agents that were there to act, shape (rows,); empty where all always are.
            reward, done: Written: the reward to learn from, and whether an episode or a life ended, shape (rows,).
            finals: Written: steps and counts of the episodes that were cut off, and the slot of those cut off now or -1; see the roll-out.
            cut: Written where it is given and not empty: whether the episode was cut off, shape (rows,).
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
        given = [
            agent_group.rewards().float(),
            *flags,
            weights,
            self.lives if left is None else left,
            agent_group.agents,
            step,
            self.clip,
        ]
        arguments = [
            *given,
            reward,
            done,
            self._no_cuts if cut is None else cut,
            self.lives,
            self.running,
            self._parts,
            *finals,
        ]
        launch(_record, agent_group.rows, arguments, self.device)
