"""Names the observation that is not finite after a training has diverged: the world is then the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldloom.learn.agents.agent_group import AgentGroup

if TYPE_CHECKING:
    from worldloom.learn.training.trainer import Trainer


def find_bad_observation(trainer: Trainer) -> str:
    """A description of the first observation that is not finite, in the last rollouts or in the worlds; empty for none.

    Observations that follow actions of a policy that was not finite do not count. Synchronizes with the device.
    """
    check = trainer.observation_check
    if check is None:
        return ""
    check.scan_current(trainer.steps // trainer.config.num_envs)
    cause = check.cause()
    if cause is None:
        return ""
    group = check.policies[cause.policy].agent_group
    shape = group.spec.observations[cause.component].shape
    place = [str(int(index)) for index in np.unravel_index(cause.element, shape)] if shape else []
    where = f"[{', '.join(place)}]" if place else ""
    world = cause.row // group.agents + group.simulation.world_offset
    agent = agent_name(group, cause.row % group.agents)
    return (
        f"observation '{cause.component}{where}' of {agent} in world {world} is {cause.kind} "
        f"after {cause.step:,} steps of each world"
    )


def agent_name(agent_group: AgentGroup, index: int) -> str:
    """The kind and the slot of agent ``index`` of a group, such as ``Wolf 1``."""
    for part in agent_group.slices:
        count = agent_group.simulation.tables[part.table].rows_per_world if part.slots is None else len(part.slots)
        if index < count:
            return f"{part.table} {index if part.slots is None else part.slots[index]}"
        index -= count
    raise IndexError(index)
