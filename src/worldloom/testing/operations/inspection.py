"""Operations that only look: columns, populations, recordings and their replays, explanations and measurements."""

from __future__ import annotations

from typing import Any

import worldloom as wl
from worldloom.core.model.fields import Role
from worldloom.core.runtime.table import PopulationTable
from worldloom.core.state.world_digest import WorldDigest
from worldloom.testing.operations.operation import Generator, operation, some_worlds
from worldloom.testing.operations.subject import Subject, dropped
from worldloom.testing.operations.worlds import WORLDS, YARD

_MEASURED = WORLDS.keys() - {YARD.id}
"""Worlds whose systems compile one by one in little time."""


@operation(2)
def inspect(subject: Subject, rng: Generator) -> Any:
    """What a simulation shows besides its columns."""
    simulation = subject.simulation
    simulation.check_capacity()
    assert simulation.bytes_per_world > 0 and repr(simulation)
    assert simulation.copies_in_step in (True, False)
    shown: dict[str, Any] = {
        "seeds": simulation.seeds,
        "terminated": simulation.terminated,
        "truncated": simulation.truncated,
        "starting": simulation.starting if simulation.has_host_calls else None,
        "pristine": simulation.pristine,
        "roles": {role.value: sorted(simulation.columns(role)) for role in Role},
        "config": {c.field.name: simulation.get_config(c.field.name) for c in simulation.columns(Role.CONFIG).values()},
    }
    for name, table in simulation.tables.items():
        if isinstance(table, PopulationTable) and "__" not in name:
            first = next(iter(table)).field.name
            parts = (table.counts, table.dropped, table.mask, table.rows(first), table.padded(first, 0.0))
            shown[name] = [*parts, table.offsets[table.counts.torch() > 0]]
    return shown


@operation(1)
def explain(subject: Subject, rng: Generator) -> None:
    """How systems became kernels."""
    if not subject.simulation.interpreted:
        assert str(subject.simulation.explain())


@operation(3)
def record(subject: Subject, rng: Generator) -> Any:
    """Begin a recording, or end it and replay one of its episodes."""
    simulation = subject.simulation
    if simulation.recorder is None:
        every, last = int(rng.integers(1, 9)), int(rng.integers(1, 30)) if rng.random() < 0.3 else None
        worlds = some_worlds(subject, rng) if rng.random() < 0.3 else None
        subject.say(f"begin, every {every}, last {last}, worlds {worlds}")
        simulation.record(every=every, last=last, worlds=worlds, verify=bool(rng.random() < 0.8))
        return None
    log = simulation.recorder.stop()
    path = subject.folder / f"{subject.variant}.replay"
    log.save(path)
    log = wl.ReplayLog.load(path, subject.setting.definition)
    world = int(rng.choice(log.worlds))
    episodes = log.episodes(world)
    subject.say(f"end after {len(log)} steps; world {world} has {len(episodes)} episodes")
    shown = [[e.number, e.seed, e.first_step, e.terminated, e.truncated, len(e)] for e in episodes]
    if not episodes or dropped(subject).any():  # which entities are dropped is not fixed on a GPU
        return shown
    chosen = int(rng.integers(len(episodes)))
    with log.replay(world, episodes[chosen], subject.device) as replay:
        return [shown, chosen, WorldDigest(replay.run(), slice(None))()]


@operation(0.2)
def measure(subject: Subject, rng: Generator) -> None:
    """A profile and a tuning, which leave the state as it is."""
    simulation = subject.simulation
    if simulation.definition.id not in _MEASURED or simulation.recorder is not None or simulation._overflow_is_error:
        return
    simulation.errors()
    if not simulation.interpreted:
        subject.say("profile and tune")
        simulation.profile(1)
    if not simulation.device.is_cuda:  # it would compile every kernel a dozen times
        simulation.tune()
    simulation.errors()
