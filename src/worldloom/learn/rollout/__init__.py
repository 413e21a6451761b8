"""Acting in worlds and storing experience: rollout actor and storage, minibatches, episode statistics, replay buffer.

Imports up to ``networks``.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__,
        "worldloom.learn.rollout.rollout_actor",
        "roll_out",
        Player="RolloutActor",
        most_cuts="max_truncations",
    )
