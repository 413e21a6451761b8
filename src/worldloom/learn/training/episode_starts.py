"""Episodes and the length of a training: staggered first episodes, and those that end later than the training."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from worldloom.core.simulation import Simulation


class UnfinishedEpisodes(NamedTuple):
    """The episodes under way at the end of a training.

    Attributes:
        episodes: Number of episodes, one per agent.
        mean_return: Mean return so far; NaN where there is none.
        mean_length: Mean number of steps so far; NaN where there is none.
    """

    episodes: int = 0
    mean_return: float = math.nan
    mean_length: float = math.nan


def stagger_episodes(simulation: Simulation, seed: int, total_worlds: int) -> None:
    """Let the first episode of every world start at a random step of its time limit, so that it is cut off earlier.

    The step counter of each world is drawn uniformly from 0 to the limit - 1, as in Isaac Lab and rsl_rl. The state of
    the world stays that of the start of an episode. Worlds without a time limit are left alone.

    Args:
        simulation: Worlds at the start of their episodes.
        seed: Together with a world's id it determines the world's step.
        total_worlds: Number of worlds in all processes.
    """
    generator = np.random.Generator(np.random.Philox(seed))
    uniform = generator.random(total_worlds)[simulation.world_offset :][: simulation.num_worlds]
    limits = np.broadcast_to(simulation.world["max_steps"].numpy(), (simulation.num_worlds,))
    simulation.world["step"].assign(np.floor(uniform * limits).astype(np.int32))


def longest_episode(simulation: Simulation) -> int:
    """The largest time limit of any world, in steps; 0 where a world has none."""
    limits = simulation.world["max_steps"].numpy()
    return int(limits.max()) if limits.all() else 0


def episode_notice(simulation: Simulation, steps_per_world: int, stagger: bool, evaluates: bool) -> str:
    """A notice where episodes may outlast the training, or where ``stagger`` has no effect; otherwise empty.

    Args:
        simulation: The worlds.
        steps_per_world: Steps that the whole training takes in each world.
        stagger: Whether first episodes are staggered.
        evaluates: Whether there are evaluations during training.
    """
    longest = longest_episode(simulation)
    notices = []
    if stagger and longest == 0:
        notices.append("stagger has no effect on worlds without a time limit: register the world with max_steps")
    if longest > steps_per_world:
        advice = "train longer or in fewer worlds" + ("" if evaluates else ", or evaluate with eval_every")
        missing = "no return" if evaluates else "no return and no best checkpoint"
        notices.append(
            f"episodes may last up to {longest:,} steps, and the training takes {steps_per_world:,} steps in each "
            f"world: an episode counts once it ends, so there may be {missing}; {advice}"
        )
    return "\n".join(notices)
