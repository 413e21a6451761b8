"""Entities, groups of components and worlds: classes whose annotations are their columns."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np
import warp as wp

from worldloom.core.base.errors import DefinitionError, misuse, user_frame
from worldloom.core.base.source import class_line
from worldloom.core.model.declarations import declare
from worldloom.core.model.dtypes import canonical
from worldloom.core.model.fields import SEED_HIGH, Field, Role

TABLE_ATTRIBUTES = {"table_name", "all_columns", "rows_per_world", "locate"}
"""Attributes of a table, ``sim[Kind]`` and ``sim.world``, which would hide a component of the same name."""
_RESERVED_ENTITY = TABLE_ATTRIBUTES | {
    "id",
    "ref",
    "terminate",
    "truncate",
    "active",
    "terminated",
    "truncated",
    "despawn",
}
# fmt: off
_RESERVED_WORLD = TABLE_ATTRIBUTES | {
    "id", "all", "at", "count", "near", "nearest", "spawn", "terminate", "truncate", "fail",
    "random", "integer", "normal", "choice", "weighted", "shuffle",
}
# fmt: on


def class_error(kind: type[Components], problem: str, fix: str, member: str | None = None) -> DefinitionError:
    """The error at a class, or at the component ``member`` where the class or a base declares it."""
    bases = (base for base in kind.__mro__ if issubclass(base, Components))
    owner = next((base for base in bases if member in inspect.get_annotations(base)), kind)
    file, line = owner._place
    return DefinitionError(
        f"in class '{owner.__name__}': {problem}", fix, file, class_line(file, owner.__name__, member, line)
    )


class Components:
    """A group of components that entities share by inheriting it.

    .. code-block:: python

        class Moving(wl.Components):
            position: wl.vec2
            velocity: wl.vec2

        class Ball(wl.Entity, Moving):
            radius: float = 0.5
    """

    fields: ClassVar[dict[str, Field]] = {}
    """Every component by name, those of the bases first."""
    declared: ClassVar[dict[str, Field]] = {}
    """The components that the class itself declares."""
    _place: ClassVar[tuple[str, int]] = ("", 0)
    """The file and the line of the class. Components have no leading underscore, so none has this name."""
    _reserved: ClassVar[set[str]] = _RESERVED_ENTITY

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        frame = user_frame()
        cls._place = frame.f_code.co_filename, frame.f_lineno
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__[1:]):
            if issubclass(base, Components):
                fields.update(vars(base).get("declared", {}))
        names = {**vars(sys.modules.get(cls.__module__, sys)), **frame.f_globals, **frame.f_locals, cls.__name__: cls}
        for name, annotation in inspect.get_annotations(cls).items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, names)  # noqa: S307 - the user's own annotation
                except Exception as error:
                    raise class_error(
                        cls,
                        f"the annotation of '{name}' cannot be evaluated ({error})",
                        "import or define what it names",
                        name,
                    ) from None
            if getattr(annotation, "__origin__", None) is ClassVar or annotation is ClassVar:
                continue
            if (
                name in cls._reserved
                or name.startswith(("_", "final_", "raw__", "wl_"))
                or "__" in name
                or keyword.iskeyword(name)
            ):
                raise class_error(
                    cls,
                    f"'{name}' is a name reserved for the engine",
                    "choose another name for the component",
                    name,
                )
            try:
                fields[name] = declare(name, annotation, vars(cls).get(name), name in vars(cls))
            except TypeError as error:
                raise class_error(
                    cls, str(error), "give it a component type: bool, int, float, wl.vec2, wl.Array(int, 5), ...", name
                ) from None
            except ValueError as error:
                raise class_error(cls, str(error), "give it a default that fits, or none", name) from None
        annotated = inspect.get_annotations(cls)
        for name, value in vars(cls).items():
            if name not in annotated and not name.startswith("_") and canonical(type(value)) is not None:
                raise class_error(
                    cls,
                    f"'{name}' has a value and no type, so it is no component",
                    f"write '{name}: {type(value).__name__} = {value!r}'",
                )
        cls.fields = fields
        cls.declared = {name: fields[name] for name in annotated if name in fields}


class Entity(Components):
    """A kind of entity. Its annotations are its components.

    Every world has a fixed number of entities of each kind, or a varying number up to a capacity
    (:class:`~worldloom.core.model.population.UpTo`). In systems an entity also has ``id`` (its slot in its world, from
    0), ``ref`` (a reference to it), ``active`` (whether it is still in the episode), and ``terminate()`` and
    ``truncate()``, which end the episode for this entity alone. Where the number varies, ``despawn()`` removes an
    entity from its world.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for field in cls.fields.values():
            if field.role is Role.CONFIG:
                raise class_error(
                    cls,
                    f"'{field.name}' is configuration, which belongs to the world",
                    "declare it in the wl.World class",
                    field.name,
                )
        if sum(field.role is Role.REWARD for field in cls.fields.values()) > 1:
            raise class_error(cls, "an entity has one reward at most", "add the terms into one wl.Reward component")


class Event(Entity):
    """An entity that exists until the next step begins, such as a hit or a collision.

    Systems spawn events. Later systems of the same step run over them or search for them, and the caller reads them
    after the step. The engine clears them.
    """


class World(Components):
    """The components that exist once per world, and its configuration.

    In systems a world also has ``id``, ``step`` (steps since the reset), ``episode`` (from 0), ``all(Kind)``,
    ``at(Kind, id)``, ``near(Kind, position, radius)``, ``nearest(Kind, position, k)``, ``count(Kind)``,
    ``terminate()``, ``truncate()``, and random numbers: ``random``, ``integer``, ``normal``, ``choice``, ``weighted``
    and ``shuffle``.
    """

    _reserved: ClassVar[set[str]] = _RESERVED_WORLD | {
        "step",
        "episode",
        "seed",
        "terminated",
        "truncated",
        "finished",
        "reset_mask",
        "resetting",
        "faulty",
        "broken",
        "max_steps",
        "config_limits",
        "config_warning",
    }
    config_limits: ClassVar[dict[str, tuple[float, float]]] = {}
    """The lowest and the highest allowed value of a configuration, by name, in all worlds of this class."""

    @classmethod
    def config_warning(cls, names: Collection[str], values: Callable[[str], np.ndarray[Any, Any]]) -> str | None:
        """What to warn of once the configurations ``names`` are set; ``values`` gives a configuration by its name.

        These are all configurations for a new simulation, and one for ``set_config``. The values of a configuration are
        an array whose first dimension is 1, or the number of worlds.
        """
        return None


def _engine(name: str, dtype: Any, default: Any = 0, transient: bool = False) -> Field:
    return Field(name, dtype, role=Role.ENGINE, default=default, keep=True, transient=transient)


ENGINE_FIELDS: dict[str, Field] = {
    "step": _engine("step", wp.int32),
    "episode": _engine("episode", wp.int32, -1),
    "seed": _engine("seed", wp.uint32),
    SEED_HIGH: _engine(SEED_HIGH, wp.uint32),
    "terminated": _engine("terminated", wp.bool, False),
    "truncated": _engine("truncated", wp.bool, False),
    "finished": _engine("finished", wp.bool, False),
    "reset_mask": _engine("reset_mask", wp.bool, False, transient=True),
    "resetting": _engine("resetting", wp.bool, False, transient=True),
    "faulty": _engine("faulty", wp.bool, False, transient=True),
    "broken": Field("broken", wp.bool, (1,), Role.ENGINE, False, keep=True),
    "max_steps": Field("max_steps", wp.int32, role=Role.CONFIG),
}
"""The engine's fields of a world. ``seed`` is the lower half of a seed of 64 bits, ``seed__high`` the upper half, one
for the batch where all worlds have the same. ``reset_mask`` selects the worlds of a reset from outside. ``faulty`` is
set by the engine's checks, ``broken`` by any system that reports a fault. ``broken`` is an array of one element, so it
is in memory and never in a register."""

AGENT_FIELDS: dict[str, Field] = {
    "active": _engine("active", wp.bool, True),
    "terminated": _engine("terminated", wp.bool, False),
    "truncated": _engine("truncated", wp.bool, False),
}
"""The engine's fields of a kind whose entities end their episodes individually."""

World.fields = World.declared = dict(ENGINE_FIELDS)


class Has:
    """A query for all kinds of entity with the given groups of components: ``body: wl.Has(Position, Velocity)``."""

    def __init__(self, *groups: type[Components]) -> None:
        if not groups or any(not (isinstance(g, type) and issubclass(g, Components)) for g in groups):
            raise misuse(
                "wl.Has takes classes derived from wl.Components",
                "declare the group with 'class Moving(wl.Components): ...'",
            )
        self.groups = groups
        self._reserved = _RESERVED_ENTITY
        self.fields: dict[str, Field] = {}
        for group in groups:
            self.fields.update(group.fields)
        self.__name__ = f"Has({', '.join(g.__name__ for g in groups)})"

    def matches(self, kind: type[Components]) -> bool:
        """Whether entities of ``kind`` have all the components."""
        return issubclass(kind, Entity) and all(issubclass(kind, group) for group in self.groups)
