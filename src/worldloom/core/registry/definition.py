"""The definition of a world: its entities and their numbers, and its systems in order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from worldloom.core.base.errors import DefinitionError, InputError, user_frame
from worldloom.core.base.shards import MIN_WORLDS
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components, Entity, Has, World
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.grid import VECTORS, Grid, uses_brute_force
from worldloom.core.model.launch import Launch
from worldloom.core.model.population import Population, UpTo, is_event
from worldloom.core.registry.alternatives import Alternatives, expand
from worldloom.core.registry.fingerprint import fingerprint
from worldloom.core.registry.rules import Rules, rules_of
from worldloom.core.registry.validation import validate

_MAX_STAGED_PAIRS = 4096
"""Upper bound of the staging rows reserved for a system over pairs. Pairs are many, and few of them spawn."""

_MAX_STAGED = 2**20
"""Upper bound of the staging rows per world."""

Renderer = Callable[[Any, int], Any]
PhaseEntry = System | Launch | Callable[[Any], None]
"""One entry of a schedule: a system, a launch of Warp kernels, or a callable that takes the simulation."""


@dataclass(frozen=True)
class Definition:
    """A registered world.

    Attributes:
        id: Its name, such as ``CartPole-v1``.
        world: The class of the components that exist once per world.
        entities: The number of entities of each kind per world; ``UpTo`` where it varies.
        reset: Entries that run, in order, for the worlds that begin an episode.
        step: Entries that run, in order, at every step.
        observe: Entries that run, in order, after ``step`` and after ``reset``.
        max_steps: Steps after which an episode is truncated; 0 for no limit.
        doc: One sentence that describes the world.
        frames_per_second: Steps per second of video.
        notice: A sentence shown before training.
        limits: The lowest and the highest allowed value of a configuration, by name.
        worlds_per_thread: The smallest number of worlds per CPU thread. It is low where one step of a world takes long.
            Below the default, threads take slices of about twice as many worlds in turn.
        former_hashes: Fingerprints of earlier versions with the same components and results. Their snapshots and
            replays still open.
        cuda_float32: Whether ``wl.float64`` means ``wl.float32`` on CUDA, in components and systems alike.
        narrow: Whether that is the case in this definition; see :meth:`for_cuda`.
        written: The phases that have alternatives, as they were written, by name.
        options: The options of the alternatives, by name, where they are not the first ones.
        origin: The world without these options, whose fingerprint it has.
        render: Draws one world. It takes the simulation and the index of the world, and returns an image, uint8 of
            shape (height, width, 3). It may have a method ``images(simulation, worlds)`` that draws several at once.
            By default the renderer of the first launch that has one, such as physics of robots.
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
    former_hashes: tuple[str, ...] = field(default=(), compare=False)
    cuda_float32: bool = field(default=False, compare=False)
    narrow: bool = field(default=False, compare=False)
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    written: Mapping[str, tuple[PhaseEntry | Alternatives, ...]] = field(default_factory=dict, compare=False)
    options: Mapping[str, str] = field(default_factory=dict, compare=False)
    origin: Definition | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Store the line of the user's code that creates the definition. Errors name it. Expand alternatives."""
        for phase in ("reset", "step", "observe"):
            entries = getattr(self, phase)
            if isinstance(entries, (list, tuple)) and any(isinstance(entry, Alternatives) for entry in entries):
                object.__setattr__(self, "written", {**self.written, phase: tuple(entries)})
                object.__setattr__(self, phase, expand(entries, {}))
        if self.render is None:
            phases = [phase for phase in (self.reset, self.step, self.observe) if isinstance(phase, (list, tuple))]
            launches = (entry for phase in phases for entry in phase if isinstance(entry, Launch))
            object.__setattr__(self, "render", next(filter(None, (entry.renderer for entry in launches)), None))
        if not self.file:
            frame = user_frame()
            object.__setattr__(self, "file", frame.f_code.co_filename)
            object.__setattr__(self, "line", frame.f_lineno)

    def error(self, problem: str, fix: str) -> DefinitionError:
        return DefinitionError(f"in world '{self.id}': {problem}", fix, self.file, self.line)

    @functools.cached_property
    def checked(self) -> Definition:
        """The definition itself, validated once. Raises DefinitionError if its parts do not fit together."""
        if not self.narrow:  # it was validated before
            validate(self)
        return self

    @functools.cached_property
    def derived(self) -> dict[tuple[Any, ...], Any]:
        """What later stages made of this definition, by stage and settings. Its simulations share them."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the fields, and not what was made of them."""
        return {name: value for name, value in self.__dict__.items() if name != "derived"}

    @functools.cached_property
    def hash(self) -> str:
        """A digest of everything that determines the world's behaviour.

        Saved states are restored only where it is equal.
        """
        return fingerprint(self) if self.origin is None else self.origin.hash

    @functools.cached_property
    def rules(self) -> Rules:
        """The parts of what the hash covers, by name, so that a difference between two versions can be named."""
        return rules_of(self) if self.origin is None else self.origin.rules

    def accepts_hash(self, hash: str) -> bool:
        """Whether saved states with this fingerprint belong to this world."""
        return hash == self.hash or hash in self.former_hashes

    def images(self, simulation: Any, worlds: Sequence[int]) -> list[Any]:
        """The images of some worlds of a simulation.

        Raises:
            InputError: Where the world has no renderer.
        """
        if self.render is None:
            raise InputError(f"world '{self.id}' has no renderer: register it with render=...")
        draw_several = getattr(self.render, "images", None)
        if draw_several is not None:
            return list(draw_several(simulation, worlds))
        return [self.render(simulation, world) for world in worlds]

    # -- systems -----------------------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[PhaseEntry, ...]:
        """The entries of all phases: ``reset``, ``step``, ``observe``."""
        return (*self.reset, *self.step, *self.observe)

    @property
    def systems(self) -> list[System]:
        """Every system once, in order of first use."""
        return list(dict.fromkeys(entry for entry in self.entries if isinstance(entry, System)))

    @property
    def launches(self) -> list[Launch]:
        """Every launch of Warp kernels once, in order of first use."""
        return list({id(entry): entry for entry in self.entries if isinstance(entry, Launch)}.values())

    def kinds_of(self, system: System) -> list[type[Entity]]:
        """The kinds of entity that a system over entities runs for."""
        if system.pair is not None:
            return [k for k in self.entities if k.__name__ in system.pair.tables]
        owner = system.owner
        return [k for k in self.entities if (owner.matches(k) if isinstance(owner, Has) else issubclass(k, owner))]

    def rows_of(self, system: System) -> list[int]:
        """The largest number of rows per world that a system runs for, for each of its kinds."""
        if system.pair is not None:
            return [system.pair.max_pairs(self.rows)]
        return [1] if system.over_world else [self.rows[k.__name__] for k in self.kinds_of(system)]

    def agents(self, kind: type[Entity]) -> bool:
        """Whether entities of ``kind`` end their episodes individually."""
        return any(
            kind in s.access.agents or (None in s.access.agents and kind in self.kinds_of(s)) for s in self.systems
        )

    # -- entities ----------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> dict[str, int]:
        """Rows per world of each kind of entity, by name; the capacity where the number varies."""
        return {k.__name__: n.per_world if isinstance(n, UpTo) else n for k, n in self.entities.items()}

    @functools.cached_property
    def populations(self) -> dict[str, Population]:
        """The kinds whose number varies, by name."""
        return {k.__name__: self._population(k, n) for k, n in self.entities.items() if isinstance(n, UpTo)}

    def _population(self, kind: type[Entity], limit: UpTo) -> Population:
        spawn_fields: set[str] = set()
        max_spawns = 0
        for entry in (*self.reset, *self.step):
            spawning = entry.access.spawns.get(kind) if isinstance(entry, System) else None
            if spawning is None or not isinstance(entry, System):
                continue
            spawn_fields |= spawning.fields
            bounded = not (entry.over_world or spawning.repeated)
            spawns = spawning.sites * sum(self.rows_of(entry)) if bounded else limit.per_world
            max_spawns += spawns if entry.pair is None else min(spawns, max(limit.per_world, _MAX_STAGED_PAIRS))
        capacity = max(limit.per_world, max_spawns) if limit.overflow == "drop" else limit.per_world
        names = tuple(name for name in kind.fields if name in spawn_fields)
        return Population(kind.__name__, limit, min(capacity, _MAX_STAGED), names, is_event(kind))

    @property
    def agent_tables(self) -> dict[str, str]:
        """By kind, the table with a row per agent for actions, observations and rewards: for most kinds their own."""
        return {
            k.__name__: self.populations[k.__name__].agent_table if isinstance(n, UpTo) and n.agents else k.__name__
            for k, n in self.entities.items()
        }

    def agents_end(self, kind: type[Entity]) -> bool:
        """Whether entities of ``kind`` are agents with flags of their own: they end individually, or come and go."""
        population = self.populations.get(kind.__name__)
        return population.agents if population is not None else self.agents(kind)

    def require_fixed(self, roles: Iterable[Role], what: str) -> None:
        """Raise InputError if a population without agents has components of ``roles``, which ``what`` would export."""
        for kind in self.entities:
            if kind.__name__ not in self.populations or self.populations[kind.__name__].agents:
                continue
            name = next((f.name for f in kind.fields.values() if f.role in roles), None)
            if name is not None:
                acts = any(f.role is Role.ACTION for f in kind.fields.values())
                fix = (
                    "register it with wl.UpTo(..., agents=True)"
                    if acts
                    else "step a Simulation and read its padded columns, "
                    "or give the component to a kind of a fixed number"
                )
                raise InputError(
                    f"the number of '{kind.__name__}' in world '{self.id}' varies, so {what} cannot show its '{name}': "
                    + fix
                )

    @functools.cached_property
    def grids(self) -> dict[tuple[str, str], Grid]:
        """The grids that systems search for neighbours, by kind and component."""
        return {grid.key: grid for system in self.systems for grid in self.grids_of(system)}

    def grids_of(self, system: System) -> list[Grid]:
        """The grids that a system searches, with ``world.near``, or with ``world.nearest`` in large kinds."""
        near, nearest = system.access.near, system.access.nearest
        keys = [
            *near,
            *(key for key in nearest if key not in near and not uses_brute_force(self.rows[key[0].__name__])),
        ]
        return [Grid(kind.__name__, by, VECTORS[kind.fields[by].dtype], self.rows[kind.__name__]) for kind, by in keys]

    # -- components by role ------------------------------------------------------------------------------------------

    def actions(self) -> dict[str, tuple[str, Field]]:
        """Every action component as ``Kind.name``, with the table of its agents and its field."""
        return self._by_role(Role.ACTION)

    def observations(self) -> dict[str, tuple[str, Field]]:
        return self._by_role(Role.OBSERVATION)

    def rewards(self) -> dict[str, tuple[str, Field]]:
        return self._by_role(Role.REWARD)

    def _by_role(self, role: Role) -> dict[str, tuple[str, Field]]:
        tables: list[tuple[str, dict[str, Field]]] = [("World", self.world.fields)]
        tables += [(k.__name__, k.fields) for k in self.entities]
        agents = {"World": "World", **self.agent_tables}
        return {f"{t}.{n}": (agents[t], f) for t, fields in tables for n, f in fields.items() if f.role is role}

    # -- variants ----------------------------------------------------------------------------------------------------

    @property
    def alternatives(self) -> dict[str, Alternatives]:
        """The alternatives of all phases, by name."""
        entries = (entry for phase in self.written.values() for entry in phase)
        return {entry.name: entry for entry in entries if isinstance(entry, Alternatives)}

    def with_options(self, options: Mapping[str, str]) -> Definition:
        """The world with these options of its alternatives. Its saved states are those of the world."""
        if not self.written:
            return self
        origin = self.origin or self
        key = ("options", *sorted(options.items()))
        if key not in origin.derived:
            phases: dict[str, Any] = {name: expand(entries, options) for name, entries in self.written.items()}
            chosen = replace(origin.checked, **phases, options=dict(options), origin=origin)
            chosen.__dict__["checked"] = chosen
            origin.derived[key] = chosen
        definition: Definition = origin.derived[key]
        return definition

    def for_cuda(self) -> Definition:
        """The world as it runs on CUDA: with ``cuda_float32``, every ``wl.float64`` is a ``wl.float32``."""
        if self.narrow or not self.cuda_float32:
            return self
        if self.origin is not None:
            return self.origin.for_cuda().with_options(self.options)
        entities = {_narrowed_kind(kind): count for kind, count in self.entities.items()}
        narrow = replace(self.checked, world=_narrowed_kind(self.world), entities=entities, narrow=True)
        narrow.__dict__.update(hash=self.hash, rules=self.rules)
        return narrow

    def with_counts(self, counts: Mapping[Any, int | UpTo] | None) -> Definition:
        """The same world with other numbers of entities, by kind or by the kind's name."""
        if counts is None or (isinstance(counts, Mapping) and not counts):
            return self
        if not isinstance(counts, Mapping):
            raise InputError(
                f"counts is a mapping from kinds of entity to their numbers, such as {{'Ball': 2}}, not {counts!r}"
            )
        if self.origin is not None:
            return self.origin.with_counts(counts).with_options(self.options)
        kinds = {k.__name__: k for k in self.entities}
        entities = dict(self.entities)
        for key, count in counts.items():
            kind = kinds.get(key if isinstance(key, str) else getattr(key, "__name__", ""))
            if kind is None:
                raise InputError(f"world '{self.id}' has no entities '{key}': it has {', '.join(kinds)}")
            count = int(count) if isinstance(count, np.integer) else count
            registered = entities[kind]
            if isinstance(registered, UpTo) and isinstance(count, int):
                count = replace(registered, per_world=count)
            elif isinstance(registered, UpTo) and isinstance(count, UpTo):
                count = replace(count, agents=registered.agents)
            elif isinstance(count, UpTo):
                raise InputError(
                    f"the number of '{kind.__name__}' in world '{self.id}' is fixed: give a whole number, not {count!r}"
                )
            entities[kind] = count
        former = self.former_hashes if entities == dict(self.entities) else ()
        return replace(self, entities=entities, former_hashes=former).checked


KindT = TypeVar("KindT", bound=type[Components])


_NARROWED: dict[type[Components], type[Components]] = {}


def _narrowed_kind(kind: KindT) -> KindT:
    """A class derived from ``kind`` with narrowed components: systems over ``kind`` run over it."""
    if kind in _NARROWED:
        return _NARROWED[kind]  # type: ignore[return-value]
    narrow: Any = type(kind.__name__, (kind,), {"__module__": kind.__module__})
    narrow._place = kind._place
    narrow.fields = {name: component.narrowed() for name, component in kind.fields.items()}
    _NARROWED[kind] = narrow
    return narrow  # type: ignore[no-any-return]
