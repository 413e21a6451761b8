"""``make``, ``make_spec`` and ``list_all_envs``, with EnvPool's arguments."""

from __future__ import annotations

from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.envpool.arguments import resolve
from worldloom.envpool.gymnasium_pool import GymnasiumEnvPool
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.spec import EnvSpec
from worldloom.vector.make import list_all_envs

__all__ = ["list_all_envs", "make", "make_dm", "make_gym", "make_gymnasium", "make_spec"]


def make(task_id: str, env_type: str, **kwargs: Any) -> Any:
    """Make a pool of environments.

    Args:
        task_id: The id of a world, one of :func:`list_all_envs`.
        env_type: ``gymnasium``; ``gym``, the same; or ``dm`` for dm_env.
        kwargs: ``num_envs``, ``batch_size``, ``num_threads``, ``seed``, ``env_seed``, ``max_episode_steps``,
            ``render_mode`` and further arguments of EnvPool; settings and configuration of the world; and ``device``
            and ``exact`` of :class:`worldloom.Simulation`.
    """
    if env_type in ("gym", "gymnasium"):
        return make_gymnasium(task_id, **kwargs)
    return make_other_type(task_id, env_type, **kwargs)


def make_gymnasium(task_id: str, **kwargs: Any) -> GymnasiumEnvPool:
    """A pool with Gymnasium's functions."""
    if not kwargs.get("gym_reset_return_info", True):
        raise InputError(
            "gym_reset_return_info=False is the form of gym before version 0.26: import worldloom.envpool.gym_v21"
        )
    return GymnasiumEnvPool(make_spec(task_id, **kwargs))


def make_gym(task_id: str, **kwargs: Any) -> GymnasiumEnvPool:
    """The same as :func:`make_gymnasium`, as in EnvPool."""
    return make_gymnasium(task_id, **kwargs)


def make_dm(task_id: str, **kwargs: Any) -> Any:
    """A pool with the functions of dm_env."""
    from worldloom.envpool.dm_pool import DMEnvPool

    return DMEnvPool(make_spec(task_id, **kwargs))


def make_other_type(task_id: str, env_type: str, **kwargs: Any) -> EnvPool:
    """A pool of the type ``dm``. Raises InputError for unknown types."""
    if env_type != "dm":
        raise InputError(f"env_type must be 'gymnasium', 'gym' or 'dm', not {env_type!r}")
    pool: EnvPool = make_dm(task_id, **kwargs)
    return pool


def make_spec(task_id: str, **kwargs: Any) -> EnvSpec:
    """The arrays, spaces and config of a task, without creating its environments."""
    return EnvSpec(resolve(task_id, kwargs))
