"""One door: make an environment from an id, with the interface that is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from worldloom.core.base.arrays import checked_int
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import check_settings, family_ids, family_of, split
from worldloom.core.model.fields import Role
from worldloom.core.registry.registry import Definition, definition, registered
from worldloom.core.schedule.schedule import Autoreset
from worldloom.vector.env_layout import make_layout

EnvType = Literal["gymnasium", "torch", "dm"]
GYMNASIUM_PREFIX = "gymnasium:"
"""Ids that start with this are Gymnasium's own environments, run in worker processes."""


@dataclass(frozen=True)
class EnvSpec:
    """What is known of a world before one is made."""

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
    autoreset: Autoreset = "same_step",
    render_mode: str | None = None,
    copy: bool = True,
    exact: bool = False,
    **config: Any,
) -> Any:
    """Make ``num_envs`` copies of a world, or of any Gymnasium environment.

    Args:
        id: The id of a registered world or its definition, or the path of an Atari ROM; ``gymnasium:ID`` for one of Gymnasium's own; or a factory
            (or one per copy) of Gymnasium environments.
        num_envs: How many copies.
        device: Where worldloom's worlds run.
        env_type: ``gymnasium`` for a vector environment of NumPy arrays, ``torch`` for one of tensors on the device, ``dm`` for dm_env.
        batch_size: How many environments ``recv()`` waits for; fewer than ``num_envs`` gives an asynchronous pool.
        num_threads: CPU threads for worlds, worker processes for Gymnasium's environments; None takes what the machine has.
        seed: One seed, or one per copy.
        autoreset: ``same_step``, ``next_step`` or ``disabled``.
        render_mode: ``rgb_array``, or None.
        copy: Whether what is handed out stays as it is when the next step is taken.
        exact: Whether every device gives the same bits, for which it is slower; for worldloom's worlds only.
        config: Values of the world's configuration, and settings of worlds that have some, such as Atari's; for Gymnasium's environments
            arguments of ``gymnasium.make``.
    """
    if env_type not in ("gymnasium", "torch", "dm"):
        raise InputError(f"env_type must be 'gymnasium', 'torch' or 'dm', not {env_type!r}")
    num_envs = checked_int("num_envs", num_envs, 1)
    if batch_size is not None and not (isinstance(batch_size, int) and 1 <= batch_size <= num_envs):
        raise InputError(f"batch_size must be from 1 to num_envs ({num_envs}), not {batch_size!r}")
    id = os.fspath(id) if isinstance(id, os.PathLike) else id
    if not isinstance(id, (str, Definition, Sequence)) and not callable(id):
        raise InputError(
            f"make takes the id of a world, its definition, or a function that makes a Gymnasium environment, not {id!r}"
        )
    if (isinstance(id, str) and id.startswith(GYMNASIUM_PREFIX)) or not isinstance(id, (str, Definition)):
        if device not in ("cpu", "auto"):
            raise InputError(f"Gymnasium's environments run on the CPU, not on {device!r}")
        if exact:
            raise InputError("exact=True is for worldloom's own worlds: Gymnasium's environments calculate as they do")
        if render_mode is not None:
            if not isinstance(id, str):
                raise InputError("a factory makes its own renderer: give render_mode to gymnasium.make inside it")
            config["render_mode"] = render_mode
        return _make_gymnasium_pool(id, num_envs, env_type, batch_size, num_threads, seed, autoreset, copy, config)
    if isinstance(id, str):
        settings, config = split(id, config)
        check_settings(id, config)
        id = definition(id, **settings)
        if id.notice and family_of(id.id) is not None:  # such as that a ROM has no rules
            print(f"worldloom: {id.notice}", file=sys.stderr)
    if batch_size is not None and batch_size < num_envs:
        from worldloom.vector.world_pool import WorldPool

        if env_type != "gymnasium" or render_mode is not None:
            raise InputError("a pool (batch_size below num_envs) speaks env_type='gymnasium' only, without render_mode")
        return WorldPool(
            id,
            num_envs,
            batch_size,
            device=device,
            seed=seed,
            threads=num_threads,
            autoreset=autoreset,
            config=config,
            exact=exact,
        )
    if env_type == "dm":
        if autoreset == "disabled" or render_mode is not None:
            raise InputError("env_type='dm' has no render_mode, and worlds that ended start anew in the next step")
        from worldloom.vector.adapters.dm_env import DmVectorEnv

        return DmVectorEnv(id, num_envs, device=device, seed=seed, threads=num_threads, config=config, exact=exact)
    from worldloom.vector.adapters.gymnasium import WorldVectorEnv

    backend: Literal["numpy", "torch"] = "torch" if env_type == "torch" else "numpy"
    return WorldVectorEnv(
        id,
        num_envs,
        device=device,
        seed=seed,
        autoreset=autoreset,
        threads=num_threads,
        render_mode=render_mode,
        backend=backend,
        copy=copy,
        config=config,
        exact=exact,
    )


def _make_gymnasium_pool(
    id: Any,
    num_envs: int,
    env_type: str,
    batch_size: int | None,
    workers: int | None,
    seed: Any,
    autoreset: Autoreset,
    copy: bool,
    config: dict[str, Any],
) -> Any:
    from worldloom.vector.process_pool.pool import ProcessPool

    if env_type != "gymnasium":
        raise InputError(
            f"Gymnasium's environments run in worker processes and speak env_type='gymnasium' only, not {env_type!r}"
        )
    made = id.removeprefix(GYMNASIUM_PREFIX) if isinstance(id, str) else id
    return ProcessPool(
        made,
        num_envs,
        batch_size=batch_size,
        num_workers=workers,
        seed=seed,
        autoreset=autoreset,
        copy=copy,
        env_kwargs=config or None,
    )


def make_spec(id: str | Definition, **settings: Any) -> EnvSpec:
    """The spaces, the episode limit and the configuration of a world, without making one; ``settings`` for worlds that have some."""
    made = id if isinstance(id, Definition) else definition(id, **settings)
    outside = make_layout(made)
    config = {
        f.name: f.default.item() if f.default.shape == () else f.default
        for f in made.world.fields.values()
        if f.role is Role.CONFIG and f.name != "max_steps"
    }
    return EnvSpec(made.id, made.doc, outside.observation_space, outside.action_space, made.max_steps, config)


def list_all_envs() -> list[str]:
    """The ids of all registered worlds, and of all that can be made of families of worlds."""
    return sorted({*registered(), *family_ids()})
