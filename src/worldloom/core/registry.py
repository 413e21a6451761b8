"""World definitions: which entities, how many, and which systems in which order; and the list of all known ones."""

from __future__ import annotations

import difflib
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from worldloom.core.entity import Components, Entity, Has, World
from worldloom.core.errors import DefinitionError, InputError
from worldloom.core.fields import Field, Role
from worldloom.core.system import Helper, System

Renderer = Callable[[Any, int], Any]
Step = System | Callable[[Any], None]
"""One entry of a schedule: a system, or a callable that is handed the simulation."""


@dataclass(frozen=True)
class Definition:
    """A world as registered.

    Attributes:
        id: Its name, such as ``CartPole-v1``.
        world: The class of what there is once per world.
        entities: How many entities of each kind a world has.
        reset: Run for a world whose episode begins, in order.
        step: Run at every step, in order.
        observe: Run after ``step`` and after ``reset``, in order.
        max_steps: Steps after which an episode is truncated; 0 for none.
        doc: One sentence on what it is.
        frames_per_second: How many steps make a second of video.
        render: Draws one world: given the simulation and the world's number, it returns an image, uint8 of shape (height, width, 3).
    """

    id: str
    world: type[World]
    entities: Mapping[type[Entity], int]
    reset: tuple[Step, ...] = ()
    step: tuple[Step, ...] = ()
    observe: tuple[Step, ...] = ()
    max_steps: int = 0
    doc: str = ""
    render: Renderer | None = field(default=None, compare=False)
    frames_per_second: int = 30
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)

    def error(self, problem: str, fix: str) -> DefinitionError:
        return DefinitionError(f"in world '{self.id}': {problem}", fix, self.file, self.line)

    @property
    def systems(self) -> list[System]:
        """Every system, each once, in order of first use."""
        return list(dict.fromkeys(s for s in (*self.reset, *self.step, *self.observe) if isinstance(s, System)))

    @functools.cached_property
    def hash(self) -> str:
        """A digest over everything that decides what the world does; saved states are put back only where it is the same."""
        from worldloom.core.fingerprint import fingerprint

        return fingerprint(self)

    def kinds_of(self, system: System) -> list[type[Entity]]:
        """The kinds of entity that a system over entities runs for."""
        owner = system.owner
        return [k for k in self.entities if (owner.matches(k) if isinstance(owner, Has) else issubclass(k, owner))]

    def agents(self, kind: type[Entity]) -> bool:
        """Whether entities of ``kind`` leave the episode one by one."""
        return any(kind in s.access.agents or (None in s.access.agents and kind in self.kinds_of(s)) for s in self.systems)

    def actions(self) -> dict[str, tuple[str, Field]]:
        """Every action component as ``Table.name``, with its table and field."""
        return self._by_role(Role.ACTION)

    def observations(self) -> dict[str, tuple[str, Field]]:
        return self._by_role(Role.OBSERVATION)

    def rewards(self) -> dict[str, tuple[str, Field]]:
        return self._by_role(Role.REWARD)

    def _by_role(self, role: Role) -> dict[str, tuple[str, Field]]:
        tables: list[tuple[str, dict[str, Field]]] = [("World", self.world.fields)]
        tables += [(k.__name__, k.fields) for k in self.entities]
        return {f"{t}.{n}": (t, f) for t, fields in tables for n, f in fields.items() if f.role is role}

    def with_counts(self, counts: Mapping[Any, int] | None) -> Definition:
        """The same world with other numbers of entities, by kind or by the kind's name."""
        if not counts:
            return self
        names = {k.__name__: k for k in self.entities}
        entities = dict(self.entities)
        for kind, count in counts.items():
            known = names.get(kind if isinstance(kind, str) else getattr(kind, "__name__", ""))
            if known is None:
                raise InputError(f"world '{self.id}' has no entities '{kind}': it has {', '.join(names)}")
            entities[known] = count
        changed = replace(self, entities=entities)
        validate(changed)
        return changed


_REGISTRY: dict[str, Definition] = {}
_LISTENERS: list[Callable[[Definition], None]] = []


def register(
    id: str,
    *,
    world: type[World],
    entities: Mapping[type[Entity], int],
    reset: Iterable[Step] = (),
    step: Iterable[Step] = (),
    observe: Iterable[Step] = (),
    max_steps: int = 0,
    doc: str | None = None,
    render: Renderer | None = None,
    frames_per_second: int = 30,
) -> Definition:
    """Register a world under ``id`` and return its definition. A second registration replaces the first.

    Raises DefinitionError where the parts do not fit together.
    """
    frame = sys._getframe(1)
    text = doc if doc is not None else (frame.f_globals.get("__doc__") or "").strip().split("\n")[0]
    made = Definition(
        id, world, {}, max_steps=max_steps, doc=text, render=render, frames_per_second=frames_per_second, file=frame.f_code.co_filename, line=frame.f_lineno
    )
    if not isinstance(entities, Mapping):
        raise made.error("'entities' does not say how many there are of each kind", "write for example entities={Ball: 2}")
    for name, given in {"reset": reset, "step": step, "observe": observe}.items():
        if not isinstance(given, (list, tuple)):
            raise made.error(f"'{name}' is not a list of systems", f"write {name}=[...], even for one system")
    made = replace(made, entities=dict(entities), reset=tuple(reset), step=tuple(step), observe=tuple(observe))
    validate(made)
    before = _REGISTRY.get(id)
    if before is not None and before.file != made.file:
        warnings.warn(f"world '{id}' of {before.file} is replaced by that of {made.file}", stacklevel=2)
    _REGISTRY[id] = made
    for tell in _LISTENERS:
        tell(made)
    return made


def on_register(tell: Callable[[Definition], None]) -> None:
    """Have ``tell`` called with every world that is registered, and with those that are already."""
    _LISTENERS.append(tell)
    for made in _REGISTRY.values():
        tell(made)


def definition(id: str) -> Definition:
    """The definition registered under ``id``; InputError with the nearest names where there is none."""
    found = _REGISTRY.get(id)
    if found is None:
        near = difflib.get_close_matches(id, _REGISTRY, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`worldloom list` shows the worlds there are."
        raise InputError(f"there is no world '{id}'; {hint}")
    return found


def registered() -> dict[str, Definition]:
    """Every registered world by id, in alphabetical order."""
    return dict(sorted(_REGISTRY.items()))


def validate(made: Definition) -> None:
    """Check that the parts of a definition fit together."""
    if not (isinstance(made.world, type) and issubclass(made.world, World)):
        raise made.error("'world' is no class derived from wl.World", "write 'class MyWorld(wl.World): ...' and hand it in")
    names = [k.__name__ for k in made.entities if isinstance(k, type)]
    for kind, count in made.entities.items():
        if not (isinstance(kind, type) and issubclass(kind, Entity)):
            raise made.error(f"{kind!r} is no kind of entity", "give classes derived from wl.Entity")
        if not isinstance(count, int) or not 1 <= count < 2**20:
            raise made.error(f"there cannot be {count!r} entities of kind '{kind.__name__}'", "give a whole number from 1 to 1,048,575")
        if names.count(kind.__name__) > 1 or kind.__name__ == "World":
            raise made.error(f"two tables would be called '{kind.__name__}'", "give every kind of entity a name of its own")
    if not isinstance(made.max_steps, int) or made.max_steps < 0:
        raise made.error(f"max_steps cannot be {made.max_steps!r}", "give a whole number, 0 for no limit")
    for entry in (*made.reset, *made.step, *made.observe):
        if not isinstance(entry, System):
            _validate_callable(made, entry)
            continue
        _validate_system(made, entry)


def _validate_callable(made: Definition, entry: Any) -> None:
    """A callable in a schedule takes the simulation; a rule that lacks its decorator is no such thing."""
    name = getattr(entry, "__name__", repr(entry))
    if isinstance(entry, Helper):
        raise made.error(f"'{name}' is a helper, which systems call", "put systems and callables into the schedule")
    if not callable(entry):
        raise made.error(f"{entry!r} is no system and cannot be called", "decorate the function with @wl.system")
    kinds = [k for k in getattr(entry, "__annotations__", {}).values() if isinstance(k, Has) or (isinstance(k, type) and issubclass(k, Components))]
    names = {k.__name__ for k in (*made.entities, made.world)}
    if kinds or names & {k for k in getattr(entry, "__annotations__", {}).values() if isinstance(k, str)}:
        raise made.error(f"'{name}' is no system yet", "decorate the function with @wl.system")


def _validate_system(made: Definition, system: System) -> None:
    if not issubclass(made.world, system.world):
        raise system.source.error(
            f"its world parameter is {system.world.__name__}, but '{made.id}' is made of {made.world.__name__}",
            f"annotate it with {made.world.__name__}, or derive {made.world.__name__} from {system.world.__name__}",
        )
    if not system.over_world and not made.kinds_of(system):
        raise system.source.error(
            f"no entity of '{made.id}' matches its parameter ({system.owner.__name__})",
            f"add the kind to 'entities'; there are {', '.join(k.__name__ for k in made.entities)}",
        )
    for kind, line in system.access.kinds.items():
        if isinstance(kind, type) and issubclass(kind, Entity) and kind not in made.entities:
            raise system.source.error(f"it looks for entities of kind '{kind.__name__}', which '{made.id}' does not have", "add the kind to 'entities'", line)
