"""Registration of worlds with Gymnasium: ``gymnasium.make_vec("worldloom/CartPole-v1", num_envs=...)``."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, WrapperSpec, registry
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit

from worldloom.core.base.errors import InputError
from worldloom.core.model.families import family_ids, family_of, on_family, split
from worldloom.core.registry.registry import definition, on_register, on_unknown_id
from worldloom.core.schedule.entries import Autoreset
from worldloom.vector.checks import GYMNASIUM_PREFIX, resolve_autoreset

NAMESPACE = "worldloom"
_WORLD_NAMES: set[str] = set()
"""Names, without versions, of the registered worlds that belong to no family."""
_FORMER_VERSIONS = {"Taxi-v3": "Taxi-v4"}
"""Gymnasium's id of the same task, for versions that it no longer has."""


def reward_threshold(id: str) -> float | None:
    """The return at which Gymnasium's environment of the same id counts as solved; None if it has none."""
    spec = registry.get(_FORMER_VERSIONS.get(id, id))
    return None if spec is None else spec.reward_threshold


class RegisteredLimit(int):
    """The step limit of a spec: ``gymnasium.make_vec`` passes it on like a limit that the caller sets."""


class _LimitWrapper(tuple[WrapperSpec, ...]):
    """The wrappers of a spec: none, but ``gymnasium.make`` takes a slice, and applies :func:`with_one_limit`.

    It does so after its own ``TimeLimit``. ``gymnasium.make_vec`` refuses specs that have wrappers.
    """

    def __getitem__(self, key: Any) -> Any:
        return (WrapperSpec("with_one_limit", f"{__name__}:with_one_limit", {}),)[key]


class WorldSpec(EnvSpec):
    """Gymnasium's spec of a world. The step limit and the reward threshold are read when they are needed.

    No world is built for its registration.
    """

    def __init__(self, *values: Any, **fields: Any) -> None:
        super().__init__(*values, **fields)
        self.additional_wrappers = _LimitWrapper()
        for name in ("max_episode_steps", "reward_threshold"):
            if getattr(self, name) is None:
                del self.__dict__[name]

    @functools.cached_property
    def max_episode_steps(self) -> RegisteredLimit | None:  # type: ignore[override]
        """Steps after which the world truncates an episode; None without a limit, or where it cannot be built."""
        try:
            return RegisteredLimit(definition(self.world).max_steps) or None
        except InputError:
            return None

    @functools.cached_property
    def reward_threshold(self) -> float | None:  # type: ignore[override]
        """As that of Gymnasium's environment of the same id."""
        return reward_threshold(self.world)

    @property
    def world(self) -> str:
        """The id of the world. ``gymnasium.make_vec`` empties ``kwargs`` before it reads the limit."""
        return self.id.partition("/")[2]


def register_with_gymnasium(id: str) -> None:
    """Register a world under ``worldloom/<id>``, so that ``gymnasium.make`` and ``gymnasium.make_vec`` find it."""
    _WORLD_NAMES.add(_without_version(id))
    _register(f"{NAMESPACE}/{id}", id)


def register_family_with_gymnasium(id: str) -> None:
    """Register a world of a family under ``worldloom/<id>``, or ``worldloom-<family>/<id>`` if the name is taken.

    Gymnasium takes worlds of one name for versions of one environment, and the highest for the newest:
    ``worldloom/Blackjack`` would be an Atari game.
    """
    family = family_of(id)
    taken = family is not None and _without_version(id) in _WORLD_NAMES
    namespace = f"{NAMESPACE}-{family.name.split()[0].lower()}" if family is not None and taken else NAMESPACE
    _register(f"{namespace}/{id}", id)


def _without_version(id: str) -> str:
    return re.sub(r"-v\d+$", "", id)


def _register(name: str, id: str) -> None:
    """Register the world ``id`` with Gymnasium under ``name``."""
    try:
        registry.pop(name, None)
        gymnasium.register(name, entry_point=f"{__name__}:make_one")
    except gymnasium.error.Error:  # an id that Gymnasium does not accept, such as one without a version
        return
    registry[name] = WorldSpec(
        name,
        entry_point=f"{__name__}:make_one",
        vector_entry_point=f"{__name__}:make_many",
        kwargs={"world": id},
        disable_env_checker=True,
        order_enforce=False,
    )


def make_one(world: str, **arguments: Any) -> Any:
    """One world as a Gymnasium environment."""
    from worldloom.vector.adapters.gymnasium import WorldEnv

    settings, rest = split(world, arguments)
    return WorldEnv(definition(world, **settings), **rest)


def with_one_limit(env: Any) -> Any:
    """``env`` of ``gymnasium.make`` with one step limit in the world and in ``TimeLimit``: the one the caller gave.

    The caller gives it as ``max_episode_steps`` or in the configuration of the world; the smaller one of both, where
    that in the configuration is another one than that of the registered world.
    """
    world, inner = env.unwrapped, env.env if isinstance(env, TimeLimit) else env
    own, registered = int(world.simulation.get_config("max_steps")), definition(world.spec.kwargs["world"]).max_steps
    limit = 0 if inner is env else env._max_episode_steps
    if isinstance(limit, RegisteredLimit):
        limit = own
    elif own != registered:
        limit = min(filter(None, (own, limit)), default=0)
    if limit != own:
        world.simulation.set_config("max_steps", limit)
        world.spec.kwargs["max_steps"] = limit
    return TimeLimit(inner, limit) if limit else inner


def make_many(
    world: str,
    num_envs: int = 1,
    autoreset: Autoreset | AutoresetMode | None = None,
    autoreset_mode: AutoresetMode | str | None = None,
    max_episode_steps: int | Sequence[int] | None = None,
    **arguments: Any,
) -> Any:
    """A batch of worlds with Gymnasium's default autoreset mode, which most of its wrappers require."""
    from worldloom.vector.make import make

    limit = None if isinstance(max_episode_steps, RegisteredLimit) else max_episode_steps
    mode = resolve_autoreset(autoreset, autoreset_mode, "next_step")
    return make(world, num_envs, autoreset=mode, max_episode_steps=limit, **arguments)


def explain_environment(id: str) -> str | None:
    """What to do with an id that names an environment of Gymnasium and no world; None for other ids."""
    name = id.removeprefix(GYMNASIUM_PREFIX)
    if isinstance(spec := registry.get(name), WorldSpec):
        return f"'{name}' is Gymnasium's name of the world '{spec.world}': write {spec.world}"
    versions = [world for world in family_ids() if _without_version(world) == _without_version(name)]
    if (name not in registry and name == id) or versions or _without_version(name) in _WORLD_NAMES:
        return None
    return (
        f"'{name}' is an environment of Gymnasium and not a world: wl.make('{GYMNASIUM_PREFIX}{name}', num_envs) or "
        "worldloom.vector.ProcessPool steps it in worker processes, and a world file trains in it as in "
        "docs/pool.md, 'Training'"
    )


on_unknown_id(explain_environment)
on_register(register_with_gymnasium)
on_family(register_family_with_gymnasium)
