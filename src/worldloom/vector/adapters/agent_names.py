"""Names of the agents of one world in PettingZoo, where agents may come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAMES_PER_ROW = 100
"""Names of a population of agents per row, by default."""
FREE = -1
"""The serial number of a row without an agent."""


class AgentNames:
    """Names of agents such as ``runner_0``, and the rows that the agents hold.

    An agent of a kind with a fixed number is named after its row. The agents of a population are numbered in the order
    in which they appear in an episode: a new agent has a new name, also in a row that another one held before it.

    Args:
        counts: Rows of each kind.
        max_agents: For each population, the number of its names.

    Attributes:
        possible: All names, in the order of the kinds.
        kinds: The kind of each of them.
        rows: The kind and the row of each agent that is present.
    """

    def __init__(self, counts: Mapping[str, int], max_agents: Mapping[str, int]) -> None:
        self._counts, self._max_agents = dict(counts), dict(max_agents)
        self.kinds = {
            f"{kind}_{number}": kind for kind, rows in counts.items() for number in range(max_agents.get(kind, rows))
        }
        self.possible = list(self.kinds)
        self.rows: dict[str, tuple[str, int]] = {}
        self._serials: dict[str, list[int]] = {}
        self._numbers: dict[str, int] = {}

    def begin(self, serials: Mapping[str, Sequence[int]]) -> None:
        """Name the agents at the beginning of an episode. ``serials``: for each population those of its rows."""
        self.rows = {
            f"{kind}_{row}": (kind, row)
            for kind, rows in self._counts.items()
            if kind not in self._max_agents
            for row in range(rows)
        }
        self._numbers = dict.fromkeys(self._max_agents, 0)
        self._serials = {kind: [FREE] * self._counts[kind] for kind in self._max_agents}
        self.update(serials)

    def update(self, serials: Mapping[str, Sequence[int]]) -> tuple[set[str], list[str]]:
        """Compare the populations with those of the last call.

        Returns:
            The agents that are gone, and the new ones, which have names and rows from now on. Where the names of a
            population do not suffice, the rest of its new agents stays without.
        """
        gone = {agent for agent, (kind, row) in self.rows.items() if self._changed(kind, row, serials)}
        self.rows = {agent: place for agent, place in self.rows.items() if agent not in gone}
        new = []
        for kind, current in serials.items():
            changed = [row for row in range(len(current)) if self._changed(kind, row, serials) and current[row] != FREE]
            for row in sorted(changed, key=lambda row: current[row]):  # serial numbers grow in spawn order
                number = self._numbers[kind]
                self._numbers[kind] += 1
                if number < self._max_agents[kind]:
                    new.append(f"{kind}_{number}")
                    self.rows[new[-1]] = (kind, row)
            self._serials[kind] = list(current)
        return gone, new

    @property
    def used_up(self) -> bool:
        """Whether an agent without a name is present in this episode."""
        return any(number > self._max_agents[kind] for kind, number in self._numbers.items())

    def _changed(self, kind: str, row: int, serials: Mapping[str, Sequence[int]]) -> bool:
        return kind in serials and serials[kind][row] != self._serials[kind][row]
