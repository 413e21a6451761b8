"""``registry``, and its functions ``make``, ``make_spec``, ``register`` and ``list_all_envs`` as EnvPool's."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.envpool.arguments import resolve
from worldloom.envpool.errors import ArgumentAssertionError
from worldloom.envpool.gymnasium_pool import GymnasiumEnvPool
from worldloom.envpool.spec import EnvSpec
from worldloom.vector.make import list_all_envs as list_worlds

if TYPE_CHECKING:
    from worldloom.envpool.dm_pool import DMEnvPool

__all__ = [
    "EnvRegistry",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "register",
    "registry",
]
TASK_MODULE = "worldloom.envpool"


class EnvRegistry:
    """The tasks: all worlds of worldloom, and those that :meth:`register` added."""

    def __init__(self) -> None:
        self._specs: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self._classes: dict[str, dict[str, tuple[str, str]]] = {}

    @property
    def specs(self) -> dict[str, tuple[str, str, dict[str, Any]]]:
        """The module, the class of the spec and the default arguments of every task, by id."""
        return {**{id: (TASK_MODULE, "EnvSpec", {}) for id in list_worlds()}, **self._specs}

    @property
    def envpools(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The module and the class of every task's pools, by id and type."""
        classes = {"dm": (TASK_MODULE, "DMEnvPool"), "gymnasium": (TASK_MODULE, "GymnasiumEnvPool")}
        return {**{id: classes for id in list_worlds()}, **self._classes}

    def register(
        self,
        task_id: str,
        import_path: str,
        spec_cls: str,
        dm_cls: str,
        gymnasium_cls: str,
        aliases: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        """Add a task of classes with EnvPool's interface; ``worldloom.register`` adds worlds.

        Args:
            task_id: The id of the task.
            import_path: The module of the classes, imported on first use.
            spec_cls: The class of the spec, which has ``gen_config``.
            dm_cls, gymnasium_cls: The classes of pools; each takes the spec.
            aliases: Further ids of the task.
            kwargs: Default arguments of ``gen_config``.
        """
        taken = {*list_worlds(), *self._specs}
        for id in (task_id, *aliases):
            if id in taken:
                raise ArgumentAssertionError(f"the task '{id}' exists already: register this one under another id")
            self._specs[id] = (import_path, spec_cls, dict(kwargs))
            self._classes[id] = {"dm": (import_path, dm_cls), "gymnasium": (import_path, gymnasium_cls)}

    def make(self, task_id: str, env_type: str, **kwargs: Any) -> Any:
        """Make a pool of environments, see :func:`make`."""
        if env_type not in ("gym", "gymnasium", "dm"):
            raise ArgumentAssertionError(f"env_type must be 'gymnasium', 'gym' or 'dm', not {env_type!r}")
        if not kwargs.get("gym_reset_return_info", True):
            raise InputError(
                "gym_reset_return_info=False is the form of gym before version 0.26: import worldloom.envpool.gym_v21"
            )
        spec = self.make_spec(task_id, **kwargs)
        if task_id in self._classes:
            module, name = self._classes[task_id]["dm" if env_type == "dm" else "gymnasium"]
            return getattr(importlib.import_module(module), name)(spec)
        if env_type != "dm":
            return GymnasiumEnvPool(spec)
        from worldloom.envpool.dm_pool import DMEnvPool

        return DMEnvPool(spec)

    def make_dm(self, task_id: str, **kwargs: Any) -> DMEnvPool:
        """A pool with the functions of dm_env."""
        pool: DMEnvPool = self.make(task_id, "dm", **kwargs)
        return pool

    def make_gymnasium(self, task_id: str, **kwargs: Any) -> GymnasiumEnvPool:
        """A pool with Gymnasium's functions."""
        pool: GymnasiumEnvPool = self.make(task_id, "gymnasium", **kwargs)
        return pool

    def make_spec(self, task_id: str, **kwargs: Any) -> EnvSpec:
        """The arrays, spaces and config of a task, without creating its environments."""
        if task_id not in self._specs:
            return EnvSpec(resolve(task_id, kwargs))
        module, name, defaults = self._specs[task_id]
        kind: Any = getattr(importlib.import_module(module), name)
        spec: EnvSpec = kind(kind.gen_config(**{**defaults, **kwargs}))
        return spec

    def list_all_envs(self) -> list[str]:
        """The ids of all tasks. No world is built."""
        return sorted({*list_worlds(), *self._specs})


registry = EnvRegistry()
"""The tasks of this process."""
register = registry.register
list_all_envs = registry.list_all_envs


def make(task_id: str, env_type: str, **kwargs: Any) -> Any:
    """Make a pool of environments.

    Args:
        task_id: The id of a world, one of :func:`list_all_envs`.
        env_type: ``gymnasium``; ``gym``, the same; or ``dm`` for dm_env.
        kwargs: ``num_envs``, ``batch_size``, ``num_threads``, ``seed``, ``env_seed``, ``max_episode_steps``,
            ``render_mode`` and further arguments of EnvPool; settings and configuration of the world; and ``device``
            and ``exact`` of :class:`worldloom.Simulation`.
    """
    return registry.make(task_id, env_type, **kwargs)


def make_gymnasium(task_id: str, **kwargs: Any) -> GymnasiumEnvPool:
    """A pool with Gymnasium's functions."""
    return registry.make_gymnasium(task_id, **kwargs)


def make_gym(task_id: str, **kwargs: Any) -> GymnasiumEnvPool:
    """The same as :func:`make_gymnasium`, as in EnvPool."""
    return registry.make_gymnasium(task_id, **kwargs)


def make_dm(task_id: str, **kwargs: Any) -> DMEnvPool:
    """A pool with the functions of dm_env."""
    return registry.make_dm(task_id, **kwargs)


def make_spec(task_id: str, **kwargs: Any) -> EnvSpec:
    """The arrays, spaces and config of a task, without creating its environments."""
    return registry.make_spec(task_id, **kwargs)
