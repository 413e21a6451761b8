"""World definitions: which entities, how many, and which systems in which order; and the list of all known ones."""

from __future__ import annotations

import difflib
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from worldloom.core.base.errors import DefinitionError, InputError, user_frame
from worldloom.core.base.shards import MIN_WORLDS
from worldloom.core.frontend.system import Helper, System
from worldloom.core.kernels.random import STREAM_SHIFT
from worldloom.core.model.entity import Components, Entity, Has, World
from worldloom.core.model.families import family_ids, family_of
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.grid import VECTORS, Grid, uses_brute_force
from worldloom.core.model.launch import Launch
from worldloom.core.model.launch import validate as validate_launch
from worldloom.core.model.pairs import MAX_PAIRS, Pair
from worldloom.core.model.population import SPAWN_INDEX_BITS, SYSTEM_BITS, Population, UpTo, is_event

_MAX_STAGED_PAIRS = 4096
"""Of pairs there are many, and few of them spawn something: memory is set aside for no more than this."""

Renderer = Callable[[Any, int], Any]
PhaseEntry = System | Launch | Callable[[Any], None]
"""One entry of a schedule: a system, what launches kernels of its own, or a callable that is handed the simulation."""


@dataclass(frozen=True)
class Definition:
    """A world as registered.

    Attributes:
        id: Its name, such as ``CartPole-v1``.
        world: The class of what there is once per world.
        entities: How many entities of each kind a world has; ``UpTo`` where their number varies.
        reset: Run for a world whose episode begins, in order.
        step: Run at every step, in order.
        observe: Run after ``step`` and after ``reset``, in order.
        max_steps: Steps after which an episode is truncated; 0 for none.
        doc: One sentence on what it is.
        frames_per_second: How many steps make a second of video.
        notice: A sentence that whoever trains in it is shown.
        limits: The least and the greatest value of configurations, by name; others are refused.
        worlds_per_thread: The least number of worlds that are worth a CPU thread: few where a step of one world takes long. With fewer than
            usual, threads take slices of about twice as many worlds by turns.
        render: Draws one world: given the simulation and the world's number, it returns an image, uint8 of shape (height, width, 3).
    """

    id: str
    world: type[World]
    entities: Mapping[type[Entity], int | UpTo]
    reset: tuple[PhaseEntry, ...] = ()
    step: tuple[PhaseEntry, ...] = ()
    observe: tuple[PhaseEntry, ...] = ()
    max_steps: int = 0
    doc: str = ""
    render: Renderer | None = field(default=None, compare=False)
    frames_per_second: int = 30
    notice: str = field(default="", compare=False)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict, compare=False)
    worlds_per_thread: int = field(default=MIN_WORLDS, compare=False)
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """Remember the user's line that makes it, which errors name."""
        if not self.file:
            frame = user_frame()
            object.__setattr__(self, "file", frame.f_code.co_filename)
            object.__setattr__(self, "line", frame.f_lineno)

    def error(self, problem: str, fix: str) -> DefinitionError:
        return DefinitionError(f"in world '{self.id}': {problem}", fix, self.file, self.line)

    @functools.cached_property
    def checked(self) -> Definition:
        """Itself, when its parts have been found to fit together, which is looked at once; DefinitionError otherwise."""
        validate(self)
        return self

    @property
    def systems(self) -> list[System]:
        """Every system, each once, in order of first use."""
        return list(dict.fromkeys(s for s in (*self.reset, *self.step, *self.observe) if isinstance(s, System)))

    @property
    def launches(self) -> list[Launch]:
        """Every entry that launches kernels of its own, each once, in order of first use."""
        return list(
            {
                id(entry): entry for entry in (*self.reset, *self.step, *self.observe) if isinstance(entry, Launch)
            }.values()
        )

    @functools.cached_property
    def hash(self) -> str:
        """A digest over everything that decides what the world does; saved states are put back only where it is the same."""
        from worldloom.core.registry.fingerprint import fingerprint

        return fingerprint(self)

    def kinds_of(self, system: System) -> list[type[Entity]]:
        """The kinds of entity that a system over entities runs for."""
        if system.pair is not None:
            return [k for k in self.entities if k in (system.pair.first, system.pair.second)]
        owner = system.owner
        return [k for k in self.entities if (owner.matches(k) if isinstance(owner, Has) else issubclass(k, owner))]

    @property
    def rows(self) -> dict[str, int]:
        """The rows that each kind of entity has per world, by its name: all of them, or the most that there may be."""
        return {k.__name__: n.per_world if isinstance(n, UpTo) else n for k, n in self.entities.items()}

    @functools.cached_property
    def populations(self) -> dict[str, Population]:
        """The kinds whose number varies, by name."""
        return {k.__name__: self._population(k, n) for k, n in self.entities.items() if isinstance(n, UpTo)}

    @functools.cached_property
    def grids(self) -> dict[tuple[str, str], Grid]:
        """The grids that systems look for neighbours in, by kind and component."""
        return {grid.key: grid for system in self.systems for grid in self.grids_of(system)}

    def grids_of(self, system: System) -> list[Grid]:
        """The grids that a system looks into: whose cells ``world.near`` goes through, and where ``world.nearest`` does not ask everybody."""
        near, nearest = system.access.near, system.access.nearest
        asked = [
            *near,
            *(key for key in nearest if key not in near and not uses_brute_force(self.rows[key[0].__name__])),
        ]
        return [Grid(kind.__name__, by, VECTORS[kind.fields[by].dtype], self.rows[kind.__name__]) for kind, by in asked]

    def _population(self, kind: type[Entity], limit: UpTo) -> Population:
        staged: set[str] = set()
        most = 0
        for entry in (*self.reset, *self.step):
            spawning = entry.access.spawns.get(kind) if isinstance(entry, System) else None
            if spawning is None or not isinstance(entry, System):
                continue
            staged |= spawning.fields
            bounded = not (entry.over_world or spawning.repeated)
            births = spawning.sites * sum(self.rows_of(entry)) if bounded else limit.per_world
            most += births if entry.pair is None else min(births, max(limit.per_world, _MAX_STAGED_PAIRS))
        stage = max(limit.per_world, most) if limit.overflow == "drop" else limit.per_world
        return Population(
            kind.__name__, limit, min(stage, 2**20), tuple(n for n in kind.fields if n in staged), is_event(kind)
        )

    def require_fixed(self, roles: Iterable[Role], what: str) -> None:
        """InputError where a kind whose number varies has components of ``roles``, which ``what`` shows for a fixed number only."""
        for kind in self.entities:
            found = (
                [f.name for f in kind.fields.values() if f.role in roles] if kind.__name__ in self.populations else []
            )
            if found:
                raise InputError(
                    f"the number of '{kind.__name__}' in world '{self.id}' varies, so {what} cannot show its '{found[0]}': "
                    "step a Simulation and read its padded columns, or give the component to a kind of a fixed number"
                )

    def rows_of(self, system: System) -> list[int]:
        """How often a system runs per world at most, for each kind that it runs for."""
        if system.pair is not None:
            return [system.pair.most(self.rows)]
        return [1] if system.over_world else [self.rows[k.__name__] for k in self.kinds_of(system)]

    def agents(self, kind: type[Entity]) -> bool:
        """Whether entities of ``kind`` leave the episode one by one."""
        return any(
            kind in s.access.agents or (None in s.access.agents and kind in self.kinds_of(s)) for s in self.systems
        )

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

    def with_counts(self, counts: Mapping[Any, int | UpTo] | None) -> Definition:
        """The same world with other numbers of entities, by kind or by the kind's name."""
        if counts is None or (isinstance(counts, Mapping) and not counts):
            return self
        if not isinstance(counts, Mapping):
            raise InputError(
                f"counts is a mapping from kinds of entity to their numbers, such as {{'Ball': 2}}, not {counts!r}"
            )
        names = {k.__name__: k for k in self.entities}
        entities = dict(self.entities)
        for kind, count in counts.items():
            known = names.get(kind if isinstance(kind, str) else getattr(kind, "__name__", ""))
            if known is None:
                raise InputError(f"world '{self.id}' has no entities '{kind}': it has {', '.join(names)}")
            count = int(count) if isinstance(count, np.integer) else count
            varies = isinstance(entities[known], UpTo)
            if varies and isinstance(count, int):
                count = replace(entities[known], per_world=count)  # type: ignore[type-var]
            elif not varies and isinstance(count, UpTo):
                raise InputError(
                    f"the number of '{known.__name__}' in world '{self.id}' is fixed: give a whole number, not {count!r}"
                )
            entities[known] = count
        return replace(self, entities=entities).checked


_REGISTRY: dict[str, Definition] = {}
_LAZY_DEFINITIONS: dict[str, Callable[[], Definition]] = {}
_LISTENERS: list[Callable[[str], None]] = []


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
) -> Definition:
    """Register a world under ``id`` and return its definition. A second registration replaces the first.

    Raises DefinitionError where the parts do not fit together.
    """
    frame = sys._getframe(1)
    text = doc if doc is not None else (frame.f_globals.get("__doc__") or "").strip().split("\n")[0]
    made = Definition(
        id,
        world,
        {},
        max_steps=max_steps,
        doc=text,
        render=render,
        frames_per_second=frames_per_second,
        notice=notice,
        limits={} if limits is None else limits,
        worlds_per_thread=worlds_per_thread,
        file=frame.f_code.co_filename,
        line=frame.f_lineno,
    )
    _validate_shape(replace(made, entities=entities, reset=reset, step=step, observe=observe))  # type: ignore[arg-type]
    made = replace(made, entities=dict(entities), reset=tuple(reset), step=tuple(step), observe=tuple(observe)).checked
    before = _REGISTRY.get(id)
    if before is not None and before.file != made.file:
        warnings.warn(f"world '{id}' of {before.file} is replaced by that of {made.file}", stacklevel=2)
    _REGISTRY[id] = made
    for tell in _LISTENERS:
        tell(id)
    return made


def register_lazily(id: str, make: Callable[[], Definition]) -> None:
    """Make a world known that can only be made where something else is there, such as data that is fetched.

    ``make`` is called when the world is first asked for. It registers the world under ``id``, or raises an InputError that says
    what is missing. Announcing a world anew forgets the one that was made before.
    """
    _LAZY_DEFINITIONS[id] = make
    _REGISTRY.pop(id, None)
    for tell in _LISTENERS:
        tell(id)


def on_register(tell: Callable[[str], None]) -> None:
    """Have ``tell`` called with the id of every world that is registered or announced, and of those that are already."""
    _LISTENERS.append(tell)
    for id in (*_REGISTRY, *_LAZY_DEFINITIONS):
        tell(id)


def definition(id: str, **settings: Any) -> Definition:
    """The definition registered under ``id``; InputError where it cannot be made yet, or with the nearest names where there is none.

    Worlds of a family, such as Atari's, take ``settings``.
    """
    if not isinstance(id, str):
        raise InputError(f"a world is named by its id, a string such as 'CartPole-v1', not by {id!r}")
    family = None if id in _REGISTRY or id in _LAZY_DEFINITIONS else family_of(id)
    if family is not None:
        try:
            return family.make(id, settings)
        except InputError as error:
            raise InputError(f"world '{id}' cannot be made: {error}") from None
    if settings and (id in _REGISTRY or id in _LAZY_DEFINITIONS):
        raise InputError(
            f"world '{id}' has no settings, so it cannot be made with {', '.join(settings)}: it is configured when it runs"
        )
    if id not in _REGISTRY and id in _LAZY_DEFINITIONS:
        try:
            return _LAZY_DEFINITIONS[id]()
        except InputError as error:
            raise InputError(f"world '{id}' cannot be made: {error}") from None
    found = _REGISTRY.get(id)
    if found is None:
        near = difflib.get_close_matches(id, {*_REGISTRY, *_LAZY_DEFINITIONS, *family_ids()}, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`worldloom list` shows the worlds there are."
        raise InputError(f"there is no world '{id}'; {hint}")
    return found


def registered() -> dict[str, Definition]:
    """Every world that is registered, or announced and able to be made, by id and in alphabetical order."""
    unavailable()
    return dict(sorted(_REGISTRY.items()))


def unavailable() -> dict[str, str]:
    """What is missing for each announced world that cannot be made, by id. Those that can be are made."""
    reasons: dict[str, str] = {}
    for id in sorted(_LAZY_DEFINITIONS.keys() - _REGISTRY.keys()):
        try:
            _LAZY_DEFINITIONS[id]()
        except InputError as error:
            reasons[id] = str(error)
    return reasons


def validate(made: Definition) -> None:
    """Check that the parts of a definition fit together."""
    _validate_shape(made)
    _validate_settings(made)
    if not (isinstance(made.world, type) and issubclass(made.world, World)):
        raise made.error(
            "'world' is no class derived from wl.World", "write 'class MyWorld(wl.World): ...' and hand it in"
        )
    names = [k.__name__ for k in made.entities if isinstance(k, type)]
    for kind, count in made.entities.items():
        if not (isinstance(kind, type) and issubclass(kind, Entity)):
            raise made.error(f"{kind!r} is no kind of entity", "give classes derived from wl.Entity")
        if isinstance(count, UpTo):
            _validate_population(made, kind, count)
        elif isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**20:
            raise made.error(
                f"there cannot be {count!r} entities of kind '{kind.__name__}'",
                "give a whole number from 1 to 1,048,575, or wl.UpTo(...)",
            )
        elif is_event(kind):
            raise made.error(
                f"'{kind.__name__}' is an event, whose number varies",
                f"say how many there may be: {kind.__name__}: wl.UpTo({count})",
            )
        if "__" in kind.__name__:
            raise made.error(
                f"'{kind.__name__}' is a name that the engine keeps for itself",
                "choose a name without '__' for the kind of entity",
            )
        if names.count(kind.__name__) > 1 or kind.__name__ == "World":
            raise made.error(
                f"two tables would be called '{kind.__name__}'", "give every kind of entity a name of its own"
            )
    for owner in (made.world, *made.entities):
        _validate_references(made, owner)
    for name in made.limits:
        if name != "max_steps" and (name not in made.world.fields or made.world.fields[name].role is not Role.CONFIG):
            raise made.error(
                f"there are limits for '{name}', which is no configuration of {made.world.__name__}",
                "name a component that is a wl.Config",
            )
    if not made.entities and not (*made.reset, *made.step, *made.observe):
        raise made.error(
            "it has neither entities nor systems",
            "say what there is, for example entities={Ball: 2}, and what happens, step=[move]",
        )
    for entry in (*made.reset, *made.step, *made.observe):
        if isinstance(entry, System):
            _validate_system(made, entry)
        elif isinstance(entry, Launch):
            validate_launch(made, entry)
        else:
            _validate_callable(made, entry)
    systems = len([s for s in (*made.reset, *made.step, *made.observe) if isinstance(s, System)])
    if made.populations and systems * len(made.entities) >= 2**SYSTEM_BITS:
        raise made.error(
            f"{systems} systems are too many for a world whose entities come and go",
            f"stay below {2**SYSTEM_BITS:,} systems times kinds",
        )
    for entry in made.observe:
        if isinstance(entry, System) and (entry.access.spawns or entry.access.despawns):
            line = next(iter([s.line for s in entry.access.spawns.values()] or entry.access.despawns.values()))
            raise entry.source.error(
                "it changes who there is, but it is in 'observe', which only looks",
                "put it into 'reset' or 'step'",
                line,
            )


def _validate_shape(made: Definition) -> None:
    """Check the types of what a definition consists of."""
    if not isinstance(made.id, str) or not made.id.strip():
        raise made.error(f"the id of a world cannot be {made.id!r}", "give a name such as 'Ball-v0'")
    if not isinstance(made.entities, Mapping):
        raise made.error(
            "'entities' does not say how many there are of each kind", "write for example entities={Ball: 2}"
        )
    for name, given in {"reset": made.reset, "step": made.step, "observe": made.observe}.items():
        if not isinstance(given, (list, tuple)):
            raise made.error(f"'{name}' is not a list of systems", f"write {name}=[...], even for one system")
    if not isinstance(made.limits, Mapping):
        raise made.error(
            "'limits' does not say which values configurations may have",
            "write for example limits={'force': (0.0, 10.0)}",
        )


def _validate_settings(made: Definition) -> None:
    """Check what a definition says beside its parts."""
    for name, least, hint in (
        ("max_steps", 0, "0 for no limit"),
        ("worlds_per_thread", 1, "1 or more"),
        ("frames_per_second", 1, "1 or more"),
    ):
        value = getattr(made, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
            raise made.error(f"{name} cannot be {value!r}", f"give a whole number, {hint}")
    if made.render is not None and not callable(made.render):
        raise made.error(
            f"render cannot be {made.render!r}",
            "give a function that takes the simulation and a world's number and returns an image",
        )
    for name in ("doc", "notice"):
        if not isinstance(getattr(made, name), str):
            raise made.error(f"{name} cannot be {getattr(made, name)!r}", "give a sentence as a string")
    for name, limits in made.limits.items():
        numbers = (
            isinstance(limits, (tuple, list))
            and len(limits) == 2
            and all(isinstance(n, (int, float, np.number)) for n in limits)
        )
        if not numbers or not limits[0] <= limits[1]:
            raise made.error(
                f"the limits of '{name}' cannot be {limits!r}", "give the least and the greatest value, (low, high)"
            )


def _validate_population(made: Definition, kind: type[Entity], limit: UpTo) -> None:
    if limit.problem is not None:
        raise made.error(f"the number of '{kind.__name__}' {limit.problem}", "write for example wl.UpTo(64)")
    if made.agents(kind):
        raise made.error(
            f"entities of kind '{kind.__name__}' end their episodes one by one, but their number varies",
            "let them leave with despawn()",
        )


def _validate_references(made: Definition, owner: type[Components]) -> None:
    """What a reference of a population holds is unique in its episode, so it must not be remembered in the next."""
    for kept in (f for f in owner.fields.values() if f.ref is not None and f.keep):
        kind = kept.ref if isinstance(kept.ref, str) else kept.ref.__name__
        if kind in made.populations:
            raise made.error(
                f"'{kept.name}' of {owner.__name__} outlives episodes, but no {kind} does",
                "declare it without wl.Persistent",
            )


def _validate_callable(made: Definition, entry: Any) -> None:
    """A callable in a schedule takes the simulation; a rule that lacks its decorator is no such thing."""
    name = getattr(entry, "__name__", repr(entry))
    if isinstance(entry, Helper):
        raise made.error(f"'{name}' is a helper, which systems call", "put systems and callables into the schedule")
    if isinstance(entry, type) and issubclass(entry, Launch):
        raise made.error(f"'{name}' is a class of launches and no launch", f"write {name}()")
    if not callable(entry):
        raise made.error(f"{entry!r} is no system and cannot be called", "decorate the function with @wl.system")
    kinds = [
        k
        for k in getattr(entry, "__annotations__", {}).values()
        if isinstance(k, Has) or (isinstance(k, type) and issubclass(k, Components))
    ]
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
            f"add the kind to 'entities'; {'there are ' + ', '.join(k.__name__ for k in made.entities) if made.entities else 'there are none'}",
        )
    for kind, line in system.access.kinds.items():
        if isinstance(kind, type) and issubclass(kind, Entity) and kind not in made.entities:
            raise system.source.error(
                f"it looks for entities of kind '{kind.__name__}', which '{made.id}' does not have",
                "add the kind to 'entities'",
                line,
            )
    if system.pair is not None:
        _validate_pairs(made, system, system.pair)
    changes: dict[Any, int] = {k: s.line for k, s in system.access.spawns.items()}
    for who, line in system.access.despawns.items():
        changes.update({k: line for k in ([who] if who is not None else made.kinds_of(system))})
    for kind, line in changes.items():
        if kind not in made.entities:
            raise system.source.error(
                f"it spawns '{kind.__name__}', which '{made.id}' does not have", "add the kind to 'entities'", line
            )
        if not isinstance(made.entities.get(kind), UpTo):
            raise system.source.error(
                f"it changes how many '{kind.__name__}' there are, but in '{made.id}' their number is fixed",
                f"say how many there may be: entities={{{kind.__name__}: wl.UpTo(64)}}",
                line,
            )


def _validate_pairs(made: Definition, system: System, pair: Pair) -> None:
    """Every pair has a number, and whatever is known by it leaves only so many bits for it."""
    most = pair.most(made.rows)
    limits = [
        (MAX_PAIRS, "there are"),
        (2**SPAWN_INDEX_BITS if system.access.spawns else most, "it spawns entities from"),
    ]
    limits.append((2**STREAM_SHIFT if system.draws else most, "it draws random numbers for"))
    for limit, what in limits:
        if most > limit:
            raise system.source.error(
                f"{what} up to {most:,} pairs of {' and '.join(pair.tables)} in a world of '{made.id}', and {limit:,} is the most",
                "have fewer entities, or a system over one kind that loops over the few near enough",
            )
