"""The life of an episode: the engine's systems that begin and end steps and episodes, of worlds and of agents.

They are fused and compiled with the user's systems. :mod:`worldloom.core.schedule.schedule` puts both in order. When an
episode ends, ``truncate_at_fault``, ``end_step`` and ``end_agent`` set the flags, the final observations are saved, and
``begin_episode`` and the user's reset systems start the next episode.

Systems with one line per component of a world are in :mod:`worldloom.core.schedule.generated_systems`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from worldloom.core.base.source import Source, read
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Has, World

ENGINE_FILE = "worldloom"
"""The file that the engine's systems have in messages."""


# -- once per world --------------------------------------------------------------------------------------------------


def begin_step(world: Any) -> None:
    """Clear the flags of the last step."""
    world.terminated = False
    world.truncated = False
    world.faulty = False


def begin_step_or_reset(world: Any) -> None:
    """With next-step autoreset: worlds that finished in the last step are reset in this one."""
    world.resetting = world.finished
    world.terminated = False
    world.truncated = False
    world.faulty = False


def truncate_at_fault(world: Any) -> None:
    """End the episode of a world at fault.

    It runs before the systems that report the faults, which write to memory. A kernel can then load ``broken`` with
    everything else, and does not wait for it at the end.
    """
    if world.broken[0]:
        world.truncated = True
        world.broken[0] = False
    if world.faulty:
        world.truncated = True


def end_step(world: Any) -> None:
    """Count the step, and find out whether the episode is over."""
    world.step += 1
    if world.faulty:
        world.broken[0] = False
    if world.max_steps > 0 and world.step >= world.max_steps:
        world.truncated = True
    world.finished = world.terminated or world.truncated


def begin_episode(world: Any) -> None:
    """Count the episode. A fault found after the last step of an episode does not end the next one.

    The count stays at the last number of 32 bits; ``Simulation.errors`` names such worlds long before.
    """
    world.episode = min(world.episode, 2147483646) + 1
    world.step = 0
    world.broken[0] = False


def clear_episode_flags(world: Any) -> None:
    """After a reset from outside: clear the flags of the last episode."""
    world.finished = False
    world.terminated = False
    world.truncated = False
    world.broken[0] = False


def finish_reset(world: Any) -> None:
    """With next-step autoreset: the world has been reset."""
    world.finished = False


def truncate_bad_observations(world: Any) -> None:
    """End the episode of a world whose observation is not finite, in the same step."""
    if world.faulty:
        world.truncated = True
        world.finished = True
        world.broken[0] = False


# -- for each agent that ends its episode individually ---------------------------------------------------------------


def clear_agent_flags(agent: Any, world: Any) -> None:
    agent.terminated = False
    agent.truncated = False


def end_agent(agent: Any, world: Any) -> None:
    """Copy the end of the world's episode to the agents that are still active."""
    if agent.active:
        if world.terminated:
            agent.terminated = True
        if world.truncated:
            agent.truncated = True


def activate_agent(agent: Any, world: Any) -> None:
    agent.active = True


def free_agent_row(agent: Any, world: Any) -> None:
    """Remove the agent from an agent row of a population."""
    agent.active = False
    agent.wl_entity = None


# -- systems of these functions --------------------------------------------------------------------------------------

_KERNEL_NAMES: dict[Callable[..., None], str] = {
    begin_step_or_reset: "begin_step",
    truncate_at_fault: "judge_faults",
    clear_episode_flags: "forget_episode",
    finish_reset: "settle",
    truncate_bad_observations: "give_up",
    clear_agent_flags: "clear",
    end_agent: "tell",
    activate_agent: "return",
    free_agent_row: "free",
}
"""Names in generated code where they differ. A change of one changes the text of all kernels, and so their cache."""

READS_FAULTS = frozenset(_KERNEL_NAMES[function] for function in (truncate_at_fault, clear_episode_flags))
"""Names of the systems that read whether a world is at fault. Overflows of populations must be known before them."""


def world_system(function: Callable[[Any], None]) -> System:
    """A new system of a function over the world."""
    return System(_source(function, _KERNEL_NAMES.get(function, function.__name__), None), engine=True)


def agent_system(function: Callable[[Any, Any], None], view: Has) -> System:
    """A new system of a function over the agents of a table."""
    return System(_source(function, f"{_KERNEL_NAMES[function]}_{view.__name__}", view), engine=True)


@functools.cache
def _read(function: Callable[..., None]) -> Source:
    return read(function)


def _source(function: Callable[..., None], name: str, view: Has | None) -> Source:
    """The source of a function under the name that it has in generated code, with the types of its parameters."""
    original = _read(function)
    renamed = FunctionType(original.function.__code__, original.function.__globals__, name)
    renamed.__annotations__ = {"world": World} if view is None else {"agent": view, "world": World}
    renamed.__doc__ = original.function.__doc__
    tree = copy.copy(original.tree)
    tree.name = name
    return Source(renamed, tree, ENGINE_FILE)
