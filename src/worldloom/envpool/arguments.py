"""The arguments of ``make`` and ``make_spec``: EnvPool's own, and those of the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.core.base.arrays import checked_int
from worldloom.core.base.errors import InputError
from worldloom.core.model.families import check_settings, family_of, split
from worldloom.core.model.fields import Role
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.envpool import atari_tasks, frame_stack
from worldloom.envpool.errors import ArgumentAssertionError
from worldloom.vector.checks import check_config_names, check_max_steps
from worldloom.vector.make import list_all_envs

ENVPOOL_VERSION = "1.2.5"
"""The version of EnvPool whose interface this package has, for programs that compare ``envpool.__version__``."""
COMMON_DEFAULTS: dict[str, Any] = {
    "num_envs": 1,
    "batch_size": 0,
    "num_threads": 0,
    "max_num_players": 1,
    "thread_affinity_offset": -1,
    "base_path": "",
    "seed": 42,
    "env_seed": [],
    "gym_reset_return_info": True,
}
"""EnvPool's arguments of every task, in the order of its config."""
RENDER_DEFAULTS: dict[str, Any] = {
    "render_mode": None,
    "render_env_id": 0,
    "render_width": 0,
    "render_height": 0,
    "render_camera_id": -1,
}
NO_STEP_LIMIT = 2**31 - 1
"""EnvPool's ``max_episode_steps`` of a task without a limit."""


@dataclass(frozen=True)
class Arguments:
    """Resolved arguments of one pool.

    Attributes:
        definition: The world.
        world_config: Values of the world's configuration.
        config: EnvPool's config: the common arguments, the step limit and the settings of the world.
        seed: One seed, or one per environment.
        render: Arguments of the renderer, those of ``RENDER_DEFAULTS``.
        frame_stack: Number of observations that one holds; 1 for tasks without this argument.
        device, exact: As for :class:`worldloom.Simulation`; arguments that EnvPool does not have.
    """

    definition: Definition
    world_config: dict[str, Any]
    config: dict[str, Any]
    seed: int | Sequence[int]
    render: dict[str, Any]
    frame_stack: int
    device: str
    exact: bool

    @property
    def num_envs(self) -> int:
        num_envs: int = self.config["num_envs"]
        return num_envs

    @property
    def batch_size(self) -> int:
        batch_size: int = self.config["batch_size"]
        return batch_size


def resolve(task_id: str, arguments: Mapping[str, Any]) -> Arguments:
    """Check the arguments of ``make`` and find the world."""
    rest = dict(arguments)
    common = {name: rest.pop(name, default) for name, default in COMMON_DEFAULTS.items()}
    common["env_seed"] = list(common["env_seed"])
    render = {name: rest.pop(name, default) for name, default in RENDER_DEFAULTS.items()}
    device, exact = rest.pop("device", "cpu"), rest.pop("exact", False)
    rest.pop("reward_threshold", None)  # EnvPool reports it, and no environment depends on it
    if rest.pop("from_pixels", False):
        raise InputError("from_pixels=True is not supported: use a task with image observations, or render()")
    _check_counts(common)
    seed = _take_seed(common)
    stack = frame_stack.take_count(task_id, rest)
    world, world_config = _find_world(task_id, rest)
    limit = world_config.get("max_steps", world.max_steps)
    common["max_episode_steps"] = int(limit) or NO_STEP_LIMIT if np.ndim(limit) == 0 else limit
    settings = atari_tasks.settings(rest) if atari_tasks.is_atari(world) else _config_values(world, world_config)
    if frame_stack.is_supported(task_id):
        settings["frame_stack"] = stack
    return Arguments(world, world_config, {**common, **settings}, seed, render, stack, device, exact)


def _check_counts(common: dict[str, Any]) -> None:
    try:
        common["num_envs"] = num_envs = checked_int("num_envs", common["num_envs"], 1)
        batch_size = checked_int("batch_size", common["batch_size"] or 0, 0)
        common["num_threads"] = checked_int("num_threads", common["num_threads"] or 0, 0)
    except InputError as error:
        raise ArgumentAssertionError(str(error)) from None
    if batch_size > num_envs:
        raise ArgumentAssertionError(f"batch_size must be from 0 to num_envs ({num_envs}), not {batch_size}")
    common["batch_size"] = batch_size or num_envs
    if common["max_num_players"] != 1:
        raise ArgumentAssertionError(
            f"max_num_players must be 1, not {common['max_num_players']!r}: the agents of a world share one "
            "environment; worldloom.vector.WorldParallelEnv returns one observation per agent"
        )


def _take_seed(common: dict[str, Any]) -> int | Sequence[int]:
    """One seed or one per environment; ``env_seed`` and a sequence as ``seed`` mean the same."""
    seed, per_env = common["seed"], common["env_seed"]
    if np.ndim(seed) == 1:
        if len(per_env):
            raise ArgumentAssertionError("pass one seed per environment as seed or as env_seed, not as both")
        seed, per_env = 0, seed
    if not len(per_env):
        return int(_int32_seed(seed)) % 2**64
    if len(per_env) != common["num_envs"]:
        raise ArgumentAssertionError(f"seeds are one per environment, {common['num_envs']}, not {len(per_env)}")
    common["seed"], common["env_seed"] = 0, [_int32_seed(value) for value in per_env]
    return [value % 2**64 for value in common["env_seed"]]


def _int32_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not -(2**31) <= seed < 2**31:
        raise ArgumentAssertionError(f"a seed is a whole number from -2**31 to 2**31 - 1, not {seed!r}")
    return int(seed)


def _find_world(task_id: str, arguments: dict[str, Any]) -> tuple[Definition, dict[str, Any]]:
    """The world of a task, and the arguments that are its configuration, not its settings."""
    if not isinstance(task_id, str):
        raise ArgumentAssertionError(f"a task is the id of a world, such as 'CartPole-v1', not {task_id!r}")
    arguments = dict(arguments)
    family = family_of(task_id)
    has_own_limit = family is not None and "max_episode_steps" in family.settings
    if "max_episode_steps" in arguments and not has_own_limit:
        arguments["max_steps"] = arguments.pop("max_episode_steps")
    check_max_steps(arguments)
    try:
        settings, config = split(task_id, arguments)
        check_settings(task_id, config)
        world = definition(task_id, **settings)
        check_config_names(world, config)
        return world, config
    except InputError as error:
        if family is None and task_id not in list_all_envs():
            raise ArgumentAssertionError(
                f"{task_id} is not supported, envpool.list_all_envs() may help: {error}"
            ) from None
        raise


def _config_values(world: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a world: its defaults, and the values that were given."""
    defaults = {
        field.name: field.default.item() if field.default.shape == () else field.default
        for field in world.world.fields.values()
        if field.role is Role.CONFIG and field.name != "max_steps"
    }
    return {**defaults, **{name: value for name, value in given.items() if name in defaults}}
