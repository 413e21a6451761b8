"""``make``: an environment from an id, with the requested interface."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from worldloom.core.base.arrays import check_flags, checked_int, to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import check_settings, family_ids, family_of, split
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import available_ids, definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.checks import GYMNASIUM_PREFIX, check_config_names, resolve_autoreset
from worldloom.vector.env_layout import make_layout

EnvType = Literal["gymnasium", "torch", "dm"]


@dataclass(frozen=True)
class EnvSpec:
    """The spaces, the episode limit and the configuration of a world."""

    id: str
    doc: str
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    max_steps: int
    config: dict[str, Any]


def make(
    id: str | os.PathLike[str] | Definition | Callable[[], Any] | Sequence[Callable[[], Any]],
    num_envs: int = 1,
    *,
    device: str = "cpu",
    env_type: EnvType = "gymnasium",
    batch_size: int | None = None,
    num_threads: int | None = None,
    seed: int | Sequence[int] | None = None,
    autoreset: Autoreset | AutoresetMode | None = None,
    autoreset_mode: AutoresetMode | str | None = None,
    max_episode_steps: int | Sequence[int] | None = None,
    render_mode: str | None = None,
    copy: bool = True,
    exact: bool = False,
    **config: Any,
) -> Any:
    """Make ``num_envs`` copies of a world, or of any Gymnasium environment.

    Args:
        id: The id of a registered world or its definition; the path of an Atari ROM; ``gymnasium:ID`` for one of
            Gymnasium's own environments; or a factory (or one per copy) of Gymnasium environments.
        num_envs: Number of copies.
        device: The device of worldloom's worlds.
        env_type: ``gymnasium`` for a vector environment of NumPy arrays, ``torch`` for one of tensors on the device,
            ``dm`` for dm_env.
        batch_size: Number of environments that ``recv()`` waits for; below ``num_envs`` the pool is asynchronous.
        num_threads: CPU threads for worlds, worker processes for Gymnasium's environments; None uses all cores.
        seed: One seed, or one per copy.
        autoreset: ``same_step`` (the default), ``next_step`` or ``disabled``.
        autoreset_mode: The same under Gymnasium's name, an AutoresetMode.
        max_episode_steps: Steps after which an episode is truncated, one number or one per copy; -1 for no limit.
        render_mode: ``rgb_array``, ``rgb_array_list``, ``human`` for a window or the terminal, or None.
        copy: Whether results are copies. Without copies the next step overwrites them.
        exact: Whether results are bit-identical on every device, at lower speed; for worldloom's worlds only.
        config: Values of the world's configuration, and settings of worlds that have some, such as Atari's. For
            Gymnasium's environments: arguments of ``gymnasium.make``, and ``observation_mode`` as in its vector
            environments.

    Raises:
        InputError: If an argument has the wrong type or range; a TypeError too if there is none of its name.
    """
    if env_type not in ("gymnasium", "torch", "dm"):
        raise InputError(f"env_type must be 'gymnasium', 'torch' or 'dm', not {env_type!r}")
    num_envs, num_threads = _checked_counts(num_envs, batch_size, num_threads)
    autoreset = resolve_autoreset(autoreset, autoreset_mode, "same_step")
    check_flags(copy=copy, exact=exact)
    source = os.fspath(id) if isinstance(id, os.PathLike) else id
    if not isinstance(source, (Sequence, Definition)) and not callable(source):
        raise InputError(
            "make takes the id of a world, its definition, or a function that makes a Gymnasium environment, "
            f"not {source!r}"
        )
    if not isinstance(source, (str, Definition)) or _is_gymnasium_id(source):
        given = {"render_mode": render_mode, "max_episode_steps": max_episode_steps}
        _check_gymnasium_arguments(source, num_envs, device, env_type, num_threads, exact, given)
        config |= {name: value for name, value in given.items() if value is not None}
        return _make_gymnasium_pool(source, num_envs, batch_size, num_threads, seed, autoreset, copy, config)
    if max_episode_steps is not None:
        config = _with_episode_limit(source, config, max_episode_steps)
    world, config = (source, config) if isinstance(source, Definition) else _find_world(source, config)
    check_config_names(world, config)
    common: dict[str, Any] = {
        "device": device,
        "seed": seed,
        "threads": num_threads,
        "config": config,
        "exact": exact,
    }
    if batch_size is not None and batch_size < num_envs:
        if env_type != "gymnasium" or render_mode is not None:
            raise InputError(
                "a pool (batch_size below num_envs) supports only env_type='gymnasium', without render_mode"
            )
        from worldloom.vector.world_pool import WorldPool

        return WorldPool(world, num_envs, batch_size, autoreset=autoreset, **common)
    if env_type == "dm":
        if autoreset == "disabled" or render_mode is not None:
            raise InputError("env_type='dm' supports no render_mode, and always uses next-step autoreset")
        from worldloom.vector.adapters.dm_env import DmVectorEnv

        return DmVectorEnv(world, num_envs, **common)
    from worldloom.vector.adapters.gymnasium import WorldVectorEnv

    backend: Literal["numpy", "torch"] = "torch" if env_type == "torch" else "numpy"
    return WorldVectorEnv(
        world, num_envs, autoreset=autoreset, render_mode=render_mode, backend=backend, copy=copy, **common
    )


def _checked_counts(num_envs: int, batch_size: int | None, num_threads: int | None) -> tuple[int, int | None]:
    """``num_envs`` and ``num_threads`` as integers. Raises InputError for values out of range."""
    num_envs = checked_int("num_envs", num_envs, 1)
    if batch_size is not None and not (isinstance(batch_size, int) and 1 <= batch_size <= num_envs):
        raise InputError(f"batch_size must be from 1 to num_envs ({num_envs}), not {batch_size!r}")
    return num_envs, None if num_threads is None else checked_int("num_threads", num_threads, 1)


def _is_gymnasium_id(source: str | Definition) -> bool:
    return isinstance(source, str) and source.startswith(GYMNASIUM_PREFIX)


def _find_world(id: str, config: dict[str, Any]) -> tuple[Definition, dict[str, Any]]:
    """The definition of a world, and the part of ``config`` that is its configuration, not its settings."""
    settings, config = split(id, config)
    check_settings(id, config)
    world = definition(id, **settings)
    if world.notice and family_of(world.id) is not None:  # such as a ROM without reward rules
        print(f"worldloom: {world.notice}", file=sys.stderr)
    return world, config


def _with_episode_limit(source: str | Definition, config: dict[str, Any], limit: Any) -> dict[str, Any]:
    """``config`` with Gymnasium's limit of episodes, one or one per world, under the name that the world has for it."""
    family = family_of(source) if isinstance(source, str) else None
    if family is not None and "max_episode_steps" in family.settings:
        return {"max_episode_steps": limit, **config}
    if "max_steps" in config:
        raise InputError("max_episode_steps and max_steps are the same limit: give one of them")
    if np.ndim(limit):
        limits = to_numpy(limit, "max_episode_steps")
        return {**config, "max_steps": np.where(limits == -1, 0, limits)}
    return {**config, "max_steps": 0 if limit == -1 else checked_int("max_episode_steps", limit, 1)}


def _check_gymnasium_arguments(
    id: Any,
    num_envs: int,
    device: str,
    env_type: str,
    num_threads: int | None,
    exact: bool,
    for_make: Mapping[str, Any],
) -> None:
    """Raise InputError for arguments of ``make`` that Gymnasium's environments do not support.

    ``for_make`` holds the arguments that go to ``gymnasium.make``, which factories call themselves.
    """
    if device not in ("cpu", "auto"):
        raise InputError(f"Gymnasium's environments run on the CPU, not on {device!r}")
    if exact:
        raise InputError("exact=True applies only to worldloom worlds, not to Gymnasium's environments")
    for name, value in for_make.items():
        if value is not None and not isinstance(id, str):
            raise InputError(f"a factory makes its own environment: pass {name} to gymnasium.make inside it")
    if env_type != "gymnasium":
        raise InputError(
            f"Gymnasium's environments run in worker processes and support only env_type='gymnasium', not {env_type!r}"
        )
    if num_threads is not None and num_threads > num_envs:
        raise InputError(f"num_threads must be at most num_envs ({num_envs}), not {num_threads}")


def _make_gymnasium_pool(
    id: Any,
    num_envs: int,
    batch_size: int | None,
    num_workers: int | None,
    seed: Any,
    autoreset: Autoreset,
    copy: bool,
    env_kwargs: dict[str, Any],
) -> Any:
    from worldloom.vector.process_pool.pool import ProcessPool

    env_kwargs = dict(env_kwargs)
    return ProcessPool(
        id.removeprefix(GYMNASIUM_PREFIX) if isinstance(id, str) else id,
        num_envs,
        batch_size=batch_size,
        num_workers=num_workers,
        seed=seed,
        autoreset=autoreset,
        copy=copy,
        observation_mode=env_kwargs.pop("observation_mode", "same"),
        env_kwargs=env_kwargs or None,
    )


def make_spec(id: str | Definition, **settings: Any) -> EnvSpec:
    """The spaces, the episode limit and the configuration of a world, without creating it.

    Args:
        id: The id of a registered world, or its definition.
        settings: Settings of worlds that have some, such as Atari's.
    """
    world = id if isinstance(id, Definition) else definition(id, **settings)
    layout = make_layout(world)
    config = {
        f.name: f.default.item() if f.default.shape == () else f.default
        for f in world.world.fields.values()
        if f.role is Role.CONFIG and f.name != "max_steps"
    }
    return EnvSpec(
        world.id, world.doc, layout.gymnasium_observation_space, layout.action_space, world.max_steps, config
    )


def list_all_envs() -> list[str]:
    """The ids of all registered worlds, and of all worlds of families. No world is built."""
    return sorted({*available_ids(), *family_ids()})
