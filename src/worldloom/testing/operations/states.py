"""Operations on the state of worlds: snapshots, copies, pickles, columns, configuration, and simulations made anew."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.core.model.fields import Role
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import PopulationTable
from worldloom.testing.generator.values import numbers
from worldloom.testing.operations.equality import changes_nothing_if_refused, require_equal, world_values
from worldloom.testing.operations.operation import Generator, operation, some_worlds
from worldloom.testing.operations.running import actions_for
from worldloom.testing.operations.subject import Subject, dropped

_SLOTS = 3
"""Snapshots that a subject keeps."""


@operation(4)
def snapshot(subject: Subject, rng: Generator) -> Any:
    """A snapshot of all worlds or of some."""
    slot, worlds = int(rng.integers(_SLOTS)), some_worlds(subject, rng) if rng.random() < 0.4 else None
    subject.say(f"{slot}, worlds {'all' if worlds is None else worlds}")
    values = world_values(subject.simulation)
    taken = subject.simulation.snapshot(worlds)
    subject.snapshots[slot] = taken, values if worlds is None else [values[world] for world in worlds]
    return len(taken)


@operation(5)
def restore(subject: Subject, rng: Generator) -> Any:
    """A snapshot of before into all worlds or into some, as it is or through a file."""
    if not subject.snapshots:
        return None
    slot, way, count = int(rng.choice(sorted(subject.snapshots))), int(rng.integers(4)), rng.random()
    saved, values = subject.snapshots[slot]
    if way == 1:
        saved = wl.Snapshot.from_bytes(saved.to_bytes())
    elif way == 2:
        path = subject.folder / f"{subject.variant}.safetensors"
        saved.save(path)
        saved = wl.Snapshot.load(path, str(subject.simulation.device.alias))
    elif way == 3:
        saved = saved.to("cpu")
    whole = len(saved) == subject.simulation.num_worlds
    if count < 0.3:
        chosen, worlds = int(rng.integers(len(saved))), some_worlds(subject, rng)
        saved, values = saved[chosen], [values[chosen]] * len(worlds)
    elif whole and count < 0.7:
        worlds = None
    else:
        worlds = some_worlds(subject, rng, len(saved))
    subject.say(f"{slot} by way {way} into worlds {'all' if worlds is None else worlds}")
    with changes_nothing_if_refused(subject.simulation) as expected:
        subject.simulation.restore(saved, worlds)
    for world, restored in zip(range(len(expected)) if worlds is None else worlds, values, strict=True):
        expected[world] = restored
    require_equal(subject.simulation, expected)
    return len(saved)


@operation(1)
def refused_restore(subject: Subject, rng: Generator) -> None:
    """A state that is refused: damaged, of another number of worlds or mode, or with counts that do not exist."""
    simulation, wrong = subject.simulation, int(rng.integers(4))
    subject.say(f"case {wrong}")
    saved = simulation.snapshot()
    if wrong == 0:
        data = bytearray(saved.to_bytes())
        data[-1 - int(rng.integers(64))] ^= 1
        wl.Snapshot.from_bytes(bytes(data))
    elif wrong == 1:
        simulation.restore(saved, [0, 0])
    elif wrong == 2:
        simulation.restore(saved, list(range(simulation.num_worlds + 1)))
    else:
        tensors = dict(saved.tensors)
        tensors["World.step"] = tensors["World.step"] * 0 - 5
        simulation.restore(wl.Snapshot(saved.world, saved.hash, saved.autoreset, len(saved), tensors, saved.shared))


@operation(4)
def copy_worlds(subject: Subject, rng: Generator) -> None:
    """Copies of worlds onto others."""
    targets = some_worlds(subject, rng)
    one = rng.random() < 0.3
    sources = [int(w) for w in rng.integers(0, subject.simulation.num_worlds, 1 if one else len(targets))]
    subject.say(f"{sources} onto {targets}")
    tensors = rng.random() < 0.5
    as_given = subject.tensor if tensors else np.asarray
    with changes_nothing_if_refused(subject.simulation) as before:
        subject.simulation.copy_worlds(as_given(sources), as_given(targets))
    expected = before.copy()
    for source, target in zip(sources * len(targets) if one else sources, targets, strict=False):
        expected[target] = before[source]
    require_equal(subject.simulation, expected)


@operation(1)
def refused_copy(subject: Subject, rng: Generator) -> None:
    """Copies that are refused."""
    wrong = int(rng.integers(3))
    subject.say(f"case {wrong}")
    if wrong == 2:
        copy.copy(subject.simulation)
    else:
        subject.simulation.copy_worlds(0, ([0, 0], [subject.simulation.num_worlds])[wrong])


@operation(3)
def deepcopy(subject: Subject, rng: Generator) -> None:
    """Go on with a copy, after the original took a step."""
    subject.say("a copy")
    _go_on_with(subject, lambda: copy.deepcopy(subject.simulation), rng)


@operation(3)
def unpickle(subject: Subject, rng: Generator) -> None:
    """Go on with what a pickle holds, after the original took a step."""
    subject.say("a pickle")
    _go_on_with(subject, lambda: pickle.loads(pickle.dumps(subject.simulation)), rng)  # noqa: S301


def _go_on_with(subject: Subject, copied_by: Callable[[], wl.Simulation], rng: Generator) -> None:
    """Step the original, and in half of all cases the copy, which must come to the same state."""
    copied = subject.made(copied_by)
    require_equal(copied, world_values(subject.simulation))
    settings = attrgetter("autoreset", "world_offset", "exact", "interpreted", "pristine", "definition.options")
    assert settings(copied) == settings(subject.simulation), "the copy has other settings"
    actions, both = actions_for(subject, rng), rng.random() < 0.5
    try:
        subject.step(actions or None)
        if both:
            subject.step(actions or None, copied)
            if not (subject.variant.startswith("cuda") and dropped(subject).any()):  # which ones is not fixed there
                require_equal(copied, world_values(subject.simulation))
    finally:
        subject.replace(copied)


@operation(4)
def remake(subject: Subject, rng: Generator) -> Any:
    """Go on in a new simulation with another number of threads, world offset or memory, from a snapshot."""
    old, threads = subject.simulation, (None, 1, 2, 3, 5)[int(rng.integers(5))]
    arguments: dict[str, Any] = {"seed": 0, "threads": threads, "world_offset": int(rng.choice([0, 0, 7]))}
    if rng.random() < 0.3:
        arguments |= {"external": _external(subject, rng)}
    subject.say(
        f"threads {threads}, offset {arguments['world_offset']}, external {list(arguments.get('external', ()))}"
    )
    new = subject.make(arguments)
    new.restore(old.snapshot())
    require_equal(new, world_values(old))
    subject.replace(new)
    return subject.simulation.world_offset


def _external(subject: Subject, rng: Generator) -> dict[str, Any]:
    """Memory of the caller for a component of entities whose number is fixed."""
    columns = [c for c in _writable(subject) if c.table in subject.simulation.definition.rows and c.field.ref is None]
    columns = [c for c in columns if c.dtype in (np.float32, np.int32)]
    if not columns:
        return {}
    column = columns[int(rng.integers(len(columns)))]
    memory = np.zeros(column.shape, column.dtype)
    return {column.name: subject.tensor(memory) if subject.simulation.device.is_cuda else memory}


@operation(1)
def reopen(subject: Subject, rng: Generator) -> list[str]:
    """Go on in a new simulation, and use the one that is closed."""
    old, refusals = subject.simulation, []
    new = subject.make({"seed": 0})
    new.restore(old.snapshot())
    subject.replace(new)
    for use in (old.step, old.reset, old.snapshot, old.errors, lambda: old["World"], lambda: old.get_config("x")):
        try:
            use()
        except wl.InputError as error:
            refusals.append(str(error))
    return refusals


# -- columns and configuration -----------------------------------------------------------------------------------------


def _writable(subject: Subject) -> list[Column]:
    """The columns with the state of entities and worlds that a user may write."""
    tables = subject.simulation.tables.values()
    columns = [c for t in tables if "__" not in t.table_name for c in t]
    return [c for c in columns if c.field.role is Role.STATE and c.view_of is None and c.same_as is None]


@operation(5)
def write(subject: Subject, rng: Generator) -> None:
    """Other values in a column: those of other entities, or random ones in a random world."""
    columns = _writable(subject)
    if not columns:
        return
    column, way = columns[int(rng.integers(len(columns)))], int(rng.integers(4))
    table = subject.simulation.tables[column.table]
    values = column.numpy().copy()
    if isinstance(table, PopulationTable):
        occupied = table.occupied_rows()
        held = values[occupied]
        values[~occupied] = 0
        values[occupied] = _others(subject, column, held, rng)
        way = 0 if way == 1 else way
    else:
        values = _others(subject, column, values, rng)
    if column.dtype in (np.uint16, np.uint32, np.uint64) and way > 1:  # types that PyTorch only stores
        way = 0
    subject.say(f"{column.name} by way {way}")
    if way == 0:
        column.assign(values)
    elif way == 1:
        column.fill(values.reshape(-1, *column.field.value_shape)[0])
    elif way == 2:
        setattr(table, column.field.name, subject.tensor(values))
    elif subject.simulation.device.is_cuda or rng.random() < 0.5:
        column.torch()[...] = subject.tensor(values)
    else:
        column.numpy()[...] = values


def _others(subject: Subject, column: Column, values: Any, rng: Generator) -> Any:
    """Other values for the entities of a column, shape (entities, ...) or (worlds, entities, ...)."""
    free = column.field.ref is None and not column.field.finite and column.field.valid_range is None
    if subject.setting.mode and free:
        return numbers(column.dtype.name, values.shape, rng, subject.setting.mode)
    return values[rng.permutation(len(values))] if column.field.ref is None or column.table == "World" else values


@operation(6)
def set_config(subject: Subject, rng: Generator) -> Any:
    """Another value of a configuration, for the batch or one for each world."""
    simulation = subject.simulation
    columns = [c for c in simulation.columns(Role.CONFIG).values() if c.table == "World"]
    if not columns:
        return None
    column = columns[int(rng.integers(len(columns)))]
    name, shape = column.field.name, column.field.value_shape
    per_world = rng.random() < 0.5
    shape = (simulation.num_worlds, *shape) if per_world else shape
    default = np.broadcast_to(np.asarray(column.field.default, column.dtype), column.field.value_shape)
    value = _near(default, shape, rng)
    subject.say(f"{name} = {value.tolist()}")
    simulation.set_config(name, value)
    held = np.broadcast_to(simulation.get_config(name), (simulation.num_worlds, *column.field.value_shape))
    assert np.array_equal(held, np.broadcast_to(value, held.shape)), f"{name} is not what was set"
    return simulation.get_config(name)


def _near(default: Any, shape: tuple[int, ...], rng: Generator) -> Any:
    """Values around a default, in the default's type."""
    if default.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if default.dtype.kind == "f":
        return (default * rng.uniform(0.8, 1.25, shape)).astype(default.dtype)
    return np.maximum(default + rng.integers(-1, 2, shape), np.minimum(default, 1)).astype(default.dtype)


@operation(1)
def refused_config(subject: Subject, rng: Generator) -> None:
    """A configuration that is refused: of an unknown name, or of a wrong shape."""
    simulation = subject.simulation
    names = [c.field.name for c in simulation.columns(Role.CONFIG).values()]
    known = bool(names) and rng.random() < 0.5
    subject.say("a wrong shape" if known else "an unknown name")
    simulation.set_config(names[0] if known else "no_such_name", np.ones((simulation.num_worlds + 1, 7), np.int32))


@operation(1)
def use_options(subject: Subject, rng: Generator) -> Any:
    """Other options of the world's alternatives."""
    known = subject.simulation.definition.alternatives
    options = {name: sorted(alternatives.options) for name, alternatives in known.items()}
    chosen = {name: str(rng.choice(found)) for name, found in options.items()}
    if not chosen:
        return None
    subject.say(str(chosen))
    subject.simulation.use_options(chosen)
    subject.simulation = subject.adopted(subject.simulation)
    return dict(subject.simulation.definition.options)
