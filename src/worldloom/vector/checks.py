"""Types, constants and argument checks that several interfaces share. Imports core and Gymnasium only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError, unknown_argument
from worldloom.core.model.families import closest_first
from worldloom.core.model.fields import Role
from worldloom.core.runtime.seeds import check_seeds as core_check_seeds
from worldloom.core.schedule.entries import Autoreset

if TYPE_CHECKING:
    from worldloom.core.registry.definition import Definition

Backend = Literal["numpy", "torch"]
"""Whether an environment takes and returns NumPy arrays or PyTorch tensors."""
StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos."""
GYMNASIUM_PREFIX = "gymnasium:"
"""Prefix of ids of Gymnasium's own environments, which run in worker processes."""
AUTORESET_MODES: dict[str, AutoresetMode] = {
    "same_step": AutoresetMode.SAME_STEP,
    "next_step": AutoresetMode.NEXT_STEP,
    "disabled": AutoresetMode.DISABLED,
}
RENDER_MODES = ("human", "rgb_array", "rgb_array_list")
"""The render modes of worlds with a renderer, in Gymnasium's environments."""
MAX_TIMEOUT_S = 1_000_000
"""Longest timeout, 11 days; the operating system waits for at most 24."""
DISCRETE_SPACES = (gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete)
NUMERIC_KINDS = "biuf"
"""NumPy kinds of arrays that hold truth values or numbers."""


def check_reset_options(options: Any, allowed: Collection[str] | None) -> Mapping[str, Any]:
    """The options of a reset as a mapping.

    Args:
        options: The argument; None for no options.
        allowed: The known keys; None accepts any key.

    Raises:
        InputError: If ``options`` is no mapping, or holds an unknown key.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"the options of a reset are a mapping, such as {{'reset_mask': mask}}, not {options!r}")
    unknown = [] if allowed is None else [key for key in options or {} if key not in allowed]
    if unknown:
        known = ", ".join(map(repr, allowed or ())) or "no options"
        raise InputError(f"unknown reset option {unknown[0]!r}: reset takes {known}")
    return options or {}


def resolve_autoreset(autoreset: Any, autoreset_mode: Any, default: Autoreset) -> Autoreset:
    """The autoreset mode of an environment, by worldloom's name.

    Args:
        autoreset: The mode by worldloom's name, or Gymnasium's AutoresetMode; None where it was not given.
        autoreset_mode: The same argument under Gymnasium's name; also the value of an AutoresetMode, as in Gymnasium.
        default: The mode where neither was given.

    Raises:
        InputError: If a mode is unknown, or if both are given and differ.
    """
    given = [_autoreset_name(mode) for mode in (autoreset, autoreset_mode) if mode is not None]
    if len(set(given)) > 1:
        raise InputError(f"autoreset is '{given[0]}' and autoreset_mode is '{given[1]}': give one of them")
    return given[0] if given else default


def _autoreset_name(mode: Any) -> Autoreset:
    for name, value in AUTORESET_MODES.items():
        if isinstance(mode, (str, AutoresetMode)) and mode in (name, value, value.value):
            return name  # type: ignore[return-value]
    raise InputError(f"autoreset must be one of {', '.join(AUTORESET_MODES)}, not {mode!r}")


def check_reset_mask(mask: Any) -> None:
    """Raise InputError if a mask of a reset selects no world. Masks on a GPU are not read, which would synchronize."""
    if not getattr(mask, "is_cuda", False) and not to_numpy(mask, "a reset mask").any():
        raise InputError("the reset mask selects no world: set at least one of its truth values, or skip the reset")


def check_seeds(seeds: Any, num_worlds: int) -> np.ndarray[Any, Any] | None:
    """As :func:`worldloom.core.runtime.seeds.check_seeds`; None stays None."""
    return None if seeds is None else core_check_seeds(seeds, num_worlds)


def check_timeout(timeout: Any, name: str = "timeout") -> float:
    """``timeout`` as a float.

    Raises:
        InputError: If it is no positive number up to ``MAX_TIMEOUT_S``.
    """
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout <= MAX_TIMEOUT_S:
        raise InputError(f"{name} is a positive number of seconds up to {MAX_TIMEOUT_S:,}, not {timeout!r}")
    return float(timeout)


def check_env_ids(env_id: Any, num_envs: int, noun: str) -> np.ndarray[Any, Any]:
    """``env_id`` as an array (n,) of whole numbers below ``num_envs``, without duplicates.

    Args:
        env_id: The argument.
        num_envs: Number of environments.
        noun: What an environment is called in messages.
    """
    ids = to_numpy(env_id, "env_id")
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or (ids.size and not 0 <= ids.min() <= ids.max() < num_envs):
        raise InputError(f"env_id holds whole numbers from 0 to {num_envs - 1}, not {env_id!r}")
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"env_id names {noun} twice: {ids.tolist()}")
    return ids


def check_render_mode(render_mode: Any, definition: Definition, allowed: tuple[str, ...] = RENDER_MODES) -> None:
    """Raise InputError if ``render_mode`` is none of ``allowed``, or the world has no renderer."""
    if render_mode is not None and render_mode not in allowed:
        raise InputError(f"render_mode must be {', '.join(map(repr, allowed))} or None, not {render_mode!r}")
    if render_mode is not None and definition.render is None:
        raise InputError(
            f"world '{definition.id}' has no renderer: register it with render=..., or leave render_mode out"
        )


def check_action_keys(actions: Any, keys: Iterable[str]) -> None:
    """Raise InputError unless ``actions`` is a mapping with exactly these keys."""
    keys = list(keys)
    if not isinstance(actions, Mapping) or set(actions) != set(keys):
        raise InputError(f"actions are a mapping with the keys {', '.join(keys)}")


def check_config_names(definition: Definition, config: Mapping[str, Any]) -> None:
    """Raise UnknownArgumentError, a TypeError, if a world has no configuration of a name."""
    names = [f.name for f in definition.world.fields.values() if f.role is Role.CONFIG]
    for name in config:
        if name not in names:
            known = ", ".join(closest_first(name, names))
            raise unknown_argument(name, f"world '{definition.id}' has no configuration '{name}': it has {known}")


def check_max_steps(config: Mapping[str, Any] | None) -> None:
    """Raise InputError if ``max_steps`` of a configuration is given, and holds no whole numbers."""
    if not isinstance(config, Mapping) or "max_steps" not in config:
        return
    limit = config["max_steps"]
    if to_numpy(limit, "configuration 'max_steps'").dtype.kind not in "iu":
        raise InputError(f"configuration 'max_steps' is a whole number from 0 to {2**31 - 1:,}, not {limit!r}")
