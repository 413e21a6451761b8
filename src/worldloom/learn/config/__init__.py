"""Everything set before a training starts: the configs of algorithms and networks, their validation and JSON form, and
tuned defaults per world.

Imports core, atari and envs (data only); no other folder of learn.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__, "worldloom.learn.config.train_config", "CutValues", "RolloutConfig", "Schedule", "TrainConfig"
    )
