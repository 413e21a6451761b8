"""Validation of definitions: every error names the world or the system, the user's line and a fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.frontend.helper import Helper
from worldloom.core.frontend.system import System
from worldloom.core.kernels.random import STREAM_SHIFT
from worldloom.core.model.entity import AGENT_FIELDS, Components, Entity, Has, World, class_error
from worldloom.core.model.fields import Role
from worldloom.core.model.launch import Launch, label_of
from worldloom.core.model.pairs import MAX_PAIRS, Pair
from worldloom.core.model.population import POPULATION_ATTRIBUTES, SPAWN_INDEX_BITS, SYSTEM_BITS, UpTo, is_event

if TYPE_CHECKING:
    from worldloom.core.registry.alternatives import Alternatives
    from worldloom.core.registry.definition import Definition

_WRITABLE_ENGINE_FIELDS = ("terminated", "truncated", "broken", *AGENT_FIELDS)
"""The engine's fields that a launch may write: those that end episodes."""


def validate(definition: Definition) -> None:
    """Raise DefinitionError if the parts of a definition do not fit together."""
    validate_types(definition)
    _validate_settings(definition)
    if not (isinstance(definition.world, type) and issubclass(definition.world, World)):
        raise definition.error(
            "'world' is no class derived from wl.World", "write 'class MyWorld(wl.World): ...' and pass it"
        )
    for kind, count in definition.entities.items():
        _validate_kind(definition, kind, count)
    for owner in (definition.world, *definition.entities):
        _validate_references(definition, owner)
        _validate_workload(definition, owner)
    _validate_limits(definition)
    if not definition.entities and not definition.entries:
        raise definition.error(
            "it has neither entities nor systems",
            "declare the entities, for example entities={Ball: 2}, and the systems, step=[move]",
        )
    for entry in definition.entries:
        if isinstance(entry, System):
            _validate_system(definition, entry)
        elif isinstance(entry, Launch):
            _validate_launch(definition, entry)
        else:
            _validate_callable(definition, entry)
    systems = len([entry for entry in definition.entries if isinstance(entry, System)])
    if definition.populations and systems * len(definition.entities) >= 2**SYSTEM_BITS:
        raise definition.error(
            f"{systems} systems are too many for a world that spawns entities",
            f"stay below {2**SYSTEM_BITS:,} systems times kinds",
        )
    for alternatives in definition.alternatives.values():
        _validate_alternatives(definition, alternatives)
    for entry in definition.observe:
        if isinstance(entry, System) and (entry.access.spawns or entry.access.despawns):
            line = next(iter([s.line for s in entry.access.spawns.values()] or entry.access.despawns.values()))
            raise entry.source.error(
                "it spawns or despawns entities, but it is in 'observe', which must not change the state",
                "put it into 'reset' or 'step'",
                line,
            )


def _validate_alternatives(definition: Definition, alternatives: Alternatives) -> None:
    """Every option consists of systems and launches that give the same results whichever is chosen."""
    if not alternatives.options:
        raise definition.error(f"the alternatives '{alternatives.name}' have no options", "give at least one")
    written = [entry for phase in definition.written.values() for entry in phase]
    others = [entry for entry in written if not isinstance(entry, System) and entry is not alternatives]
    if any(getattr(entry, "name", None) == alternatives.name for entry in others):
        raise definition.error(f"two alternatives are called '{alternatives.name}'", "give one of them another name")
    for option, entries in alternatives.options.items():
        where = f"option '{option}' of the alternatives '{alternatives.name}'"
        for entry in entries:
            if isinstance(entry, Launch):
                _validate_launch(definition, entry)
                continue
            if not isinstance(entry, System):
                raise definition.error(f"{where} has {entry!r}, which is no system", "give systems and launches alone")
            _validate_system(definition, entry)
            access = entry.access
            uses = {
                "draws random numbers": entry.draws,
                "spawns or despawns entities": access.spawns or access.despawns,
                "searches neighbours": access.near or access.nearest,
                "ends episodes of agents": access.agents,
            }
            what = next((what for what, used in uses.items() if used), None)
            if what is not None:
                raise definition.error(
                    f"{where} has the system '{entry.name}', which {what}", "put it before or after the alternatives"
                )


def validate_types(definition: Definition) -> None:
    """Check the types of the arguments of a definition."""
    if not isinstance(definition.id, str) or not definition.id.strip():
        raise definition.error(f"the id of a world cannot be {definition.id!r}", "give a name such as 'Ball-v0'")
    if not isinstance(definition.entities, Mapping):
        raise definition.error(
            "'entities' does not say how many there are of each kind", "write for example entities={Ball: 2}"
        )
    for name in ("reset", "step", "observe"):
        if not isinstance(getattr(definition, name), (list, tuple)):
            raise definition.error(f"'{name}' is not a list of systems", f"write {name}=[...], even for one system")
    if not isinstance(definition.limits, Mapping):
        raise definition.error(
            "'limits' does not say which values configurations may have",
            "write for example limits={'force': (0.0, 10.0)}",
        )


def _validate_settings(definition: Definition) -> None:
    """Check numbers, texts, the renderer and the values of ``limits``."""
    for name, lowest, hint in (
        ("max_steps", 0, "0 for no limit"),
        ("worlds_per_thread", 1, "1 or more"),
        ("frames_per_second", 1, "1 or more"),
    ):
        value = getattr(definition, name)
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value < 2**31:
            raise definition.error(f"{name} cannot be {value!r}", f"give a whole number, {hint}")
    if definition.render is not None and not callable(definition.render):
        raise definition.error(
            f"render cannot be {definition.render!r}",
            "give a function that takes the simulation and the index of a world and returns an image",
        )
    for name in ("doc", "notice"):
        if not isinstance(getattr(definition, name), str):
            raise definition.error(f"{name} cannot be {getattr(definition, name)!r}", "give a sentence as a string")
    for name, limits in definition.limits.items():
        numbers = (
            isinstance(limits, (tuple, list))
            and len(limits) == 2
            and all(isinstance(n, (int, float, np.number)) for n in limits)
        )
        if not numbers or not limits[0] <= limits[1]:
            raise definition.error(
                f"the limits of '{name}' cannot be {limits!r}", "give the lowest and the highest value, (low, high)"
            )


def _validate_limits(definition: Definition) -> None:
    """Every name in ``limits`` is a configuration of the world."""
    fields = definition.world.fields
    for name in definition.limits:
        if name != "max_steps" and (name not in fields or fields[name].role is not Role.CONFIG):
            raise definition.error(
                f"there are limits for '{name}', which is no configuration of {definition.world.__name__}",
                "name a component that is a wl.Config",
            )


# -- entities --------------------------------------------------------------------------------------------------------


def _validate_kind(definition: Definition, kind: Any, count: Any) -> None:
    if not (isinstance(kind, type) and issubclass(kind, Entity)):
        raise definition.error(f"{kind!r} is no kind of entity", "give classes derived from wl.Entity")
    if isinstance(count, UpTo):
        _validate_population(definition, kind, count)
    elif isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**20:
        raise definition.error(
            f"there cannot be {count!r} entities of kind '{kind.__name__}'",
            "give a whole number from 1 to 1,048,575, or wl.UpTo(...)",
        )
    elif is_event(kind):
        raise definition.error(
            f"'{kind.__name__}' is an event, whose number varies",
            f"give its capacity: {kind.__name__}: wl.UpTo({count})",
        )
    if "__" in kind.__name__:
        raise definition.error(
            f"'{kind.__name__}' is a name reserved for the engine",
            "choose a name without '__' for the kind of entity",
        )
    names = [k.__name__ for k in definition.entities if isinstance(k, type)]
    if names.count(kind.__name__) > 1 or kind.__name__ == "World":
        raise definition.error(
            f"two tables would be called '{kind.__name__}'", "give every kind of entity a name of its own"
        )


def _validate_workload(definition: Definition, owner: type[Components]) -> None:
    names = [name for name, field in owner.fields.items() if field.workload]
    if names and not issubclass(owner, World):
        raise definition.error(
            f"'{owner.__name__}.{names[0]}' is a wl.Workload, which is of a whole world", "declare it in the world"
        )
    if len(names) > 1:
        raise definition.error(
            f"the world has {len(names)} workloads, {' and '.join(names)}",
            "keep one of them; a world with bodies has that of physics.World",
        )


def _validate_population(definition: Definition, kind: type[Entity], limit: UpTo) -> None:
    if limit.problem is not None:
        raise definition.error(f"the number of '{kind.__name__}' {limit.problem}", "write for example wl.UpTo(64)")
    hidden = next((name for name in kind.fields if name in POPULATION_ATTRIBUTES), None)
    if hidden is not None:
        raise class_error(
            kind,
            f"no component of '{kind.__name__}', whose number varies, can be named '{hidden}': "
            f"sim[{kind.__name__}].{hidden} is an attribute of its table",
            "choose another name for the component",
            hidden,
        )
    if definition.agents(kind):
        raise definition.error(
            f"entities of kind '{kind.__name__}' end their episodes one by one, but their number varies",
            "remove them with despawn()",
        )
    if limit.agents and (is_event(kind) or not any(field.role is Role.ACTION for field in kind.fields.values())):
        problem = "are events" if is_event(kind) else "have no action"
        raise definition.error(
            f"entities of kind '{kind.__name__}' {problem}, but they are declared as agents",
            "leave agents=True out, or give them a component such as move: wl.Action(wl.Discrete(2))",
        )


def _validate_references(definition: Definition, owner: type[Components]) -> None:
    """A reference to a population is a serial number of one episode, so it must not persist into the next."""
    for field in (f for f in owner.fields.values() if f.ref is not None and f.keep):
        kind = field.ref if isinstance(field.ref, str) else field.ref.__name__
        if kind in definition.populations:
            raise definition.error(
                f"'{field.name}' of {owner.__name__} outlives episodes, but no {kind} does",
                "declare it without wl.Persistent",
            )


# -- systems ---------------------------------------------------------------------------------------------------------


def _validate_system(definition: Definition, system: System) -> None:
    world, source = definition.world, system.source
    if not issubclass(world, system.world):
        raise source.error(
            f"its world parameter is {system.world.__name__}, but '{definition.id}' is made of {world.__name__}",
            f"annotate it with {world.__name__}, or derive {world.__name__} from {system.world.__name__}",
        )
    if not system.over_world and not definition.kinds_of(system):
        kinds = ", ".join(k.__name__ for k in definition.entities)
        raise source.error(
            f"no entity of '{definition.id}' matches its parameter ({system.owner.__name__})",
            f"add the kind to 'entities'; {'there are ' + kinds if kinds else 'there are none'}",
        )
    for kind, line in system.access.kinds.items():
        if isinstance(kind, type) and issubclass(kind, Entity) and kind not in definition.entities:
            raise source.error(
                f"it looks for entities of kind '{kind.__name__}', which '{definition.id}' does not have",
                "add the kind to 'entities'",
                line,
            )
    if system.pair is not None:
        _validate_pairs(definition, system, system.pair)
    _validate_spawns(definition, system)


def _validate_spawns(definition: Definition, system: System) -> None:
    """A system spawns and despawns only kinds of the world whose number varies."""
    for spawned, spawning in system.access.spawns.items():
        lost = next((name for name in sorted(spawning.fields) if spawned.fields[name].transient), None)
        if lost is not None:
            raise system.source.error(
                f"it gives a new '{spawned.__name__}' the component '{lost}', which is transient: it is "
                "lost before the entity exists",
                "write it in a later system, or declare it without wl.Transient",
                spawning.line,
            )
    lines: dict[Any, int] = {kind: spawning.line for kind, spawning in system.access.spawns.items()}
    for kind, line in system.access.despawns.items():
        lines.update({k: line for k in ([kind] if kind is not None else definition.kinds_of(system))})
    for kind, line in lines.items():
        if kind not in definition.entities:
            raise system.source.error(
                f"it spawns '{kind.__name__}', which '{definition.id}' does not have",
                "add the kind to 'entities'",
                line,
            )
        if not isinstance(definition.entities.get(kind), UpTo):
            raise system.source.error(
                f"it changes how many '{kind.__name__}' there are, but in '{definition.id}' their number is fixed",
                f"give the capacity: entities={{{kind.__name__}: wl.UpTo(64)}}",
                line,
            )


def _validate_pairs(definition: Definition, system: System, pair: Pair) -> None:
    """The index of a pair must fit into the bits that counters, spawns and random numbers have for it."""
    max_pairs = pair.max_pairs(definition.rows)
    limits = [(MAX_PAIRS, "there are")]
    if system.access.spawns:
        limits.append((2**SPAWN_INDEX_BITS, "it spawns entities from"))
    if system.draws:
        limits.append((2**STREAM_SHIFT, "it draws random numbers for"))
    for limit, what in limits:
        if max_pairs > limit:
            raise system.source.error(
                f"{what} up to {max_pairs:,} pairs of {' and '.join(pair.tables)} in a world of '{definition.id}', "
                f"and {limit:,} is the most",
                "have fewer entities, or a system over one kind that loops over the few near enough",
            )


# -- other entries ---------------------------------------------------------------------------------------------------


def _validate_callable(definition: Definition, entry: Any) -> None:
    """A callable in a schedule takes the simulation. A function over entities needs the decorator of systems."""
    name = getattr(entry, "__name__", repr(entry))
    if isinstance(entry, Helper):
        raise definition.error(
            f"'{name}' is a helper, which systems call", "put systems and callables into the schedule"
        )
    if isinstance(entry, type) and issubclass(entry, Launch):
        raise definition.error(f"'{name}' is a class of launches and no launch", f"write {name}()")
    if isinstance(entry, (list, tuple)):
        raise definition.error(
            f"the schedule contains a {type(entry).__name__} of {len(entry)} entries",
            "put its entries into the schedule: [*systems, rule] instead of [systems, rule]",
        )
    if not callable(entry):
        raise definition.error(f"{entry!r} is no system and cannot be called", "decorate the function with @wl.system")
    annotations = list(getattr(entry, "__annotations__", {}).values())
    over_entities = any(
        isinstance(kind, Has) or (isinstance(kind, type) and issubclass(kind, Components)) for kind in annotations
    )
    names = {kind.__name__ for kind in (*definition.entities, definition.world)}
    if over_entities or any(isinstance(kind, str) and kind in names for kind in annotations):
        raise definition.error(f"'{name}' is no system yet", "decorate the function with @wl.system")


def _validate_launch(definition: Definition, launch: Launch) -> None:
    """A launch names components of the world, and writes only those that it may write."""
    label = label_of(launch)
    for access, columns in (("reads", launch.reads), ("writes", launch.writes)):
        if not isinstance(columns, Mapping):
            raise definition.error(
                f"'{access}' of {label} is no mapping", f"write for example {access} = {{Ball: ('position',)}}"
            )
        for kind, names in columns.items():
            roles = _roles_of(definition, kind)
            if roles is None:
                kinds = ", ".join(k.__name__ for k in (definition.world, *definition.entities))
                raise definition.error(
                    f"{label} {access} components of {getattr(kind, '__name__', repr(kind))}, which it does not have",
                    f"name one of {kinds}",
                )
            if isinstance(names, str) or not isinstance(names, Iterable):
                raise definition.error(
                    f"'{access}' of {label} names {names!r} of {kind.__name__}, which is no list",
                    f"write {kind.__name__}: ({names!r},)",
                )
            for name in names:
                if name not in roles:
                    raise definition.error(
                        f"{label} {access} '{name}' of {kind.__name__}, which has no such component",
                        f"name one of {', '.join(roles)}",
                    )
                if access == "writes":
                    _validate_written_column(definition, label, kind, name, roles[name])


def _validate_written_column(definition: Definition, label: str, kind: Any, name: str, role: Role) -> None:
    if role is Role.CONFIG or (role is Role.ENGINE and name not in _WRITABLE_ENGINE_FIELDS):
        owner = "configuration" if role is Role.CONFIG else "the engine's own"
        raise definition.error(
            f"{label} writes '{name}' of {kind.__name__}, which is {owner}",
            "let it read that, and write a component of its own",
        )


def _roles_of(definition: Definition, kind: Any) -> dict[str, Role] | None:
    """The roles of the components of a kind, by name; None where the world has no such kind."""
    if isinstance(kind, type) and issubclass(kind, World) and issubclass(definition.world, kind):
        return {name: f.role for name, f in definition.world.fields.items()}
    if kind not in definition.entities:
        return None
    agent_fields = AGENT_FIELDS if definition.agents(kind) else {}
    return {name: f.role for name, f in {**kind.fields, **agent_fields}.items()}
