"""The registry of worlds: registration by id, and the lookup of definitions."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, FunctionType
from typing import Any

from worldloom.core.base.arrays import check_flags
from worldloom.core.base.errors import DefinitionError, InputError
from worldloom.core.base.shards import MIN_WORLDS
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Entity, World
from worldloom.core.model.families import family_ids, family_of
from worldloom.core.model.launch import Launch
from worldloom.core.model.population import UpTo
from worldloom.core.registry.definition import Definition, PhaseEntry, Renderer
from worldloom.core.registry.validation import validate_types

_REGISTRY: dict[str, Definition] = {}
_LAZY_DEFINITIONS: dict[str, Callable[[], Definition]] = {}
_REQUIREMENTS: dict[str, Callable[[], bool]] = {}
"""Whether what a lazily registered world needs is there, by its id."""
_BUILDING: set[str] = set()
"""The ids of the lazily registered worlds that are being built."""
_LISTENERS: list[Callable[[str], None]] = []
_PACKAGE = __name__.split(".")[0]
_EXPLANATIONS: list[Callable[[str], str | None]] = []


def register(
    id: str,
    *,
    world: type[World],
    entities: Mapping[type[Entity], int | UpTo],
    reset: Iterable[PhaseEntry] = (),
    step: Iterable[PhaseEntry] = (),
    observe: Iterable[PhaseEntry] = (),
    max_steps: int = 0,
    doc: str | None = None,
    render: Renderer | None = None,
    frames_per_second: int = 30,
    notice: str = "",
    limits: Mapping[str, tuple[float, float]] | None = None,
    worlds_per_thread: int = MIN_WORLDS,
    former_hashes: Iterable[str] = (),
    cuda_float32: bool = False,
    replace: bool = False,
) -> Definition:
    """Register a world under ``id`` and return its definition.

    The same rules may be registered again, as where a module is imported twice. ``replace=True`` replaces a world of
    this id that has other rules, a bundled one too.

    Raises DefinitionError if the parts do not fit together, or if ``id`` is taken.
    """
    check_flags(replace=replace)
    frame = sys._getframe(1)
    sentence = doc if doc is not None else (frame.f_globals.get("__doc__") or "").strip().split("\n")[0]
    empty = Definition(
        id,
        world,
        {},
        max_steps=max_steps,
        doc=sentence,
        render=render,
        frames_per_second=frames_per_second,
        notice=notice,
        limits={} if limits is None else limits,
        worlds_per_thread=worlds_per_thread,
        former_hashes=tuple(former_hashes),
        cuda_float32=cuda_float32,
        file=frame.f_code.co_filename,
        line=frame.f_lineno,
    )
    validate_types(dataclasses.replace(empty, entities=entities, reset=reset, step=step, observe=observe))  # type: ignore[arg-type]
    phases: dict[str, Any] = {"reset": tuple(reset), "step": tuple(step), "observe": tuple(observe)}
    new = dataclasses.replace(empty, entities=dict(entities), **phases).checked
    caller = _caller(frame)
    if _is_ours(caller):
        if id in _REGISTRY:  # a world that replaced it stays
            return new
    elif not replace and _owner(new):
        raise DefinitionError(
            f"in world '{id}': its id is taken by {_owner(new)}",
            "choose another id, or replace that world with replace=True",
            caller.f_code.co_filename,
            caller.f_lineno,
        )
    _REGISTRY[id] = new
    _notify(id)
    return new


def _caller(frame: FrameType) -> FrameType:
    """The frame of a module of worldloom that is being imported, or else the innermost one outside of worldloom."""
    while _is_ours(frame) and frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(f"{_PACKAGE}.")


def _owner(new: Definition) -> str:
    """The world with other rules that has the id of ``new``; empty if there is none."""
    old = _REGISTRY.get(new.id)
    if old is not None:
        return "" if _same_rules(old, new) else f"a world with other rules, registered at {old.file}:{old.line}"
    bundled = new.id not in _BUILDING and (new.id in _LAZY_DEFINITIONS or new.id in family_ids())
    return "a bundled world" if bundled else ""


def _same_rules(old: Definition, new: Definition) -> bool:
    """Whether two definitions of one id behave alike. Rules cover neither limits nor all that callables refer to."""
    first, second = ((world.hash, world.rules.parts, world.limits) for world in (old, new))
    return first == second and all(map(_is_same_entry, old.entries, new.entries))


def _is_same_entry(one: Any, other: Any) -> bool:
    """Whether two entries with equal rules behave alike: callables, one object, or one function imported again."""
    if isinstance(one, System | Launch):
        return True
    if not isinstance(one, FunctionType) or not isinstance(other, FunctionType):
        return bool(one == other)
    same_name = (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    return one is other or (same_name and one.__closure__ is None and other.__closure__ is None)


@contextlib.contextmanager
def executing(file: str) -> Iterator[None]:
    """Worlds that ``file`` registered before may be replaced: it is executed again. They stay if that fails."""
    earlier = {id: world for id, world in _REGISTRY.items() if os.path.realpath(world.file) == file}
    for id in earlier:
        del _REGISTRY[id]
    try:
        yield
    except BaseException:
        _REGISTRY.update(earlier)
        raise


def register_lazily(id: str, make: Callable[[], Definition], available: Callable[[], bool] | None = None) -> None:
    """Register a world that is built on first use. It may need something that is missing, such as downloaded data.

    ``make`` registers the world under ``id``, or raises an InputError that names what is missing. ``available`` says
    whether it is there, in little time. A second call for the same id discards the definition built before.
    """
    _LAZY_DEFINITIONS[id] = make
    _REQUIREMENTS[id] = available or (lambda: True)
    _REGISTRY.pop(id, None)
    _notify(id)


def on_register(listener: Callable[[str], None]) -> None:
    """Call ``listener`` with the id of every registered world, now and later, lazily registered ones included."""
    _LISTENERS.append(listener)
    for id in (*_REGISTRY, *_LAZY_DEFINITIONS):
        listener(id)


def on_unknown_id(explain: Callable[[str], str | None]) -> None:
    """Call ``explain`` with ids of which there is no world, for a sentence that says what they are, or None."""
    _EXPLANATIONS.append(explain)


def _notify(id: str) -> None:
    for listener in _LISTENERS:
        listener(id)


def definition(id: str, **settings: Any) -> Definition:
    """The definition registered under ``id``.

    Raises InputError if it is unknown, with the closest ids, or cannot be built.

    Worlds of a family, such as Atari's, take ``settings``.
    """
    if not isinstance(id, str):
        raise InputError(f"a world is named by its id, a string such as 'CartPole-v1', not by {id!r}")
    known = is_registered(id)
    family = None if known else family_of(id)
    if family is not None:
        return _build(id, lambda: family.make(id, settings))
    if settings and known:
        raise InputError(
            f"world '{id}' has no settings, so it cannot be made with {', '.join(settings)}: "
            "it is configured when it runs"
        )
    if id in _REGISTRY:
        return _REGISTRY[id]
    if id in _LAZY_DEFINITIONS:
        return _build(id, lambda: _build_lazy(id))
    explanations = [sentence for explain in _EXPLANATIONS if (sentence := explain(id))]
    if explanations:
        raise InputError(explanations[0])
    near = difflib.get_close_matches(id, {*_REGISTRY, *_LAZY_DEFINITIONS, *family_ids()}, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?"
        if near
        else "`worldloom list` shows all worlds. For environments of packages for Gymnasium see docs/pool.md."
    )
    raise InputError(f"there is no world '{id}'; {hint}")


def _build(id: str, make: Callable[[], Definition]) -> Definition:
    try:
        return make()
    except InputError as error:
        raise InputError(f"world '{id}' cannot be made: {error}") from None


def _build_lazy(id: str) -> Definition:
    """Build a lazily registered world and put it into the registry."""
    _BUILDING.add(id)
    try:
        return _REGISTRY.setdefault(id, _LAZY_DEFINITIONS[id]())
    finally:
        _BUILDING.discard(id)


def is_registered(id: str) -> bool:
    """Whether a world is registered under ``id``; no world is built."""
    return id in _REGISTRY or id in _LAZY_DEFINITIONS


def registered() -> dict[str, Definition]:
    """Every registered world by id, in alphabetical order; lazily registered ones where they can be built."""
    unavailable()
    return dict(sorted(_REGISTRY.items()))


def available_ids() -> list[str]:
    """The ids of all registered worlds but those of which something is missing, in order. No world is built."""
    return sorted({*_REGISTRY, *(id for id in _LAZY_DEFINITIONS if _REQUIREMENTS[id]())})


def unavailable() -> dict[str, str]:
    """What is missing for each lazily registered world that cannot be built, by id. The others are built."""
    reasons: dict[str, str] = {}
    for id in sorted(_LAZY_DEFINITIONS.keys() - _REGISTRY.keys()):
        try:
            _build_lazy(id)
        except InputError as error:
            reasons[id] = str(error)
    return reasons
