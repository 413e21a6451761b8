"""PPO, A2C, V-trace, DQN, SAC and TD3, their learners, and the registry of algorithms by name.

May import every other folder but ``runs``.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__, "worldloom.learn.algorithms.registry", "ALGORITHMS", "algorithm", "config_from_dict", "config_to_dict"
    )
