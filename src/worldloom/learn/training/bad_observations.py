"""Finds the observation that is not finite after a training has diverged: the world is then the cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from worldloom.learn.agents.agent_group import AgentGroup

if TYPE_CHECKING:
    from worldloom.learn.training.trainer import Trainer


def find_bad_observation(trainer: Trainer) -> str:
    """A description of the first observation that is not finite, in the last rollout or in the worlds; empty for none.

    Observations of a policy that had diverged before the rollout are not searched, since they follow its actions.
    Synchronizes with the device.
    """
    learners: Mapping[str, Any] = getattr(trainer, "learners", {})
    for learner in learners.values():
        storage = getattr(getattr(learner, "actor", None), "storage", None)
        worlds_steps = trainer.steps // trainer.config.num_envs
        if storage is None:
            found = _first(learner.agent_group, {k: v[None] for k, v in learner.agent_group.observations().items()})
            first_step = worlds_steps
        else:
            if not bool(torch.isfinite(storage.values[0]).any()):
                continue
            found = _first(learner.agent_group, storage.newest(storage.steps))
            first_step = worlds_steps - storage.steps
        if found is not None:
            step, what = found
            return f"{what} after {first_step + step:,} steps of each world"
    return ""


def _first(agent_group: AgentGroup, observations: Mapping[str, torch.Tensor]) -> tuple[int, str] | None:
    """The first step with an observation that is not finite, and its description.

    Args:
        agent_group: The agents.
        observations: Observations by component, [T, rows, ...].
    """
    first: tuple[int, str] | None = None
    for component, values in observations.items():
        if not values.is_floating_point():
            continue
        wrong = (~torch.isfinite(values)).nonzero()
        if len(wrong) and (first is None or int(wrong[0][0]) < first[0]):
            step, row, *element = (int(index) for index in wrong[0])
            number = float(values[tuple(wrong[0])])
            where = f"[{', '.join(map(str, element))}]" if element else ""
            world = row // agent_group.agents + agent_group.simulation.world_offset
            agent = agent_name(agent_group, row % agent_group.agents)
            first = step, f"observation '{component}{where}' of {agent} in world {world} is {number}"
    return first


def agent_name(agent_group: AgentGroup, index: int) -> str:
    """The kind and the slot of agent ``index`` of a group, such as ``Wolf 1``."""
    for part in agent_group.slices:
        count = agent_group.simulation.tables[part.table].count if part.slots is None else len(part.slots)
        if index < count:
            return f"{part.table} {index if part.slots is None else part.slots[index]}"
        index -= count
    raise IndexError(index)
