"""Outcomes of episodes between two sides of a world, accumulated on the device.

The running difference of a world is the mean return per agent of its first side minus that of its second side. At the
end of an episode the first side scores 1 where the difference exceeds a margin, 0.5 where it equals it, and else 0.

Rewards are float32: three rewards of 0.1 and one of 0.3 differ by their rounding. Differences up to the rounding of all
rewards of an episode are draws.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from worldloom.core.simulation import Simulation
from worldloom.learn.agents.agent_group import AgentGroup

ROUNDING = 2.0**-23
"""Bound of the relative rounding errors of rewards and margins, which are float32."""


class Outcomes:
    """Scores of the first side by block of worlds.

    Args:
        simulation: The worlds.
        agent_groups: All agents, by policy.
        coefficients: For each policy, float64 [worlds, agents]: 1 / n for the n agents of the first side of a world,
            -1 / n for those of the second side.
        blocks: The block of each world, int64 [worlds].
        margins: The margin of each block, [blocks].

    Attributes:
        sums: Score of the first side and number of games, summed over rated episodes, float64 [blocks, 2].
        valid: Whether the running episode of a world will be rated, bool [worlds].
        difference: The running difference of each world, float64 [worlds].
        magnitude: The sum of the absolute values of its terms, float64 [worlds].
    """

    def __init__(
        self,
        simulation: Simulation,
        agent_groups: Mapping[str, AgentGroup],
        coefficients: Mapping[str, Tensor],
        blocks: Tensor,
        margins: Tensor,
    ) -> None:
        self.simulation, self.agent_groups, self.blocks = simulation, dict(agent_groups), blocks
        self._coefficients = {name: side.double() for name, side in coefficients.items()}
        self._margins = margins.double().index_select(0, blocks)
        device = blocks.device
        self.sums = torch.zeros((len(margins), 2), dtype=torch.float64, device=device)
        self.valid = torch.ones(len(blocks), dtype=torch.bool, device=device)
        self.difference, self.magnitude = torch.zeros((2, len(blocks)), dtype=torch.float64, device=device)
        self._present = {
            name: group.active().view(len(blocks), -1).clone()
            for name, group in self.agent_groups.items()
            if group.may_leave
        }

    def update_presence(self) -> None:
        """Read which agents are in the game. Rewards of agents that left an episode do not count."""
        for name, present in self._present.items():
            present.copy_(self.agent_groups[name].active().view_as(present))

    def invalidate(self, blocks: range, changed: Tensor) -> None:
        """Do not rate the running episodes of those ``blocks`` whose players ``changed``, bool [len(blocks)].

        Episodes at their start are rated.
        """
        invalid = torch.zeros(len(self.sums), dtype=torch.bool, device=changed.device)
        invalid[blocks.start : blocks.stop] = changed
        self.sums.mul_(~invalid[:, None])  # with overlap, those of the last rollout are not rated yet
        self.valid &= ~invalid.index_select(0, self.blocks) | (self.simulation.world["step"].torch().view(-1) == 0)

    def record(self) -> None:
        """Add the rewards of the last step, and the scores of the episodes that ended in it."""
        worlds = len(self.blocks)
        for name, group in self.agent_groups.items():
            rewards = torch.nan_to_num(group.rewards().double(), 0.0, 0.0, 0.0).view(worlds, -1)
            if name in self._present:
                rewards = rewards * self._present[name]
            terms = rewards * self._coefficients[name]
            self.difference += terms.sum(1)
            self.magnitude += terms.abs().sum(1)
        ended = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        excess = self.difference - self._margins
        is_draw = excess.abs() <= ROUNDING * (self.magnitude + self._margins.abs())
        scores = 0.5 + 0.5 * torch.sign(excess) * ~is_draw
        rated = (ended & self.valid).double()
        # Scores are multiples of 0.5, so that sums are exact in any order.
        self.sums.index_add_(0, self.blocks, torch.stack([scores * rated, rated], 1))
        self.valid |= ended
        self.difference *= ~ended
        self.magnitude *= ~ended
        self.update_presence()

    def tensors(self) -> dict[str, Tensor]:
        """The state, by name, for checkpoints. Names with ``rows/`` belong to the worlds of this process."""
        return {
            "sums": self.sums,
            "rows/valid": self.valid,
            "rows/difference": self.difference,
            "rows/magnitude": self.magnitude,
        }
