"""Operations that run worlds: steps, rollouts and resets, with valid and with invalid arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.model.fields import Role
from worldloom.core.model.spaces import Box, Discrete
from worldloom.testing.operations.equality import require_equal, world_values
from worldloom.testing.operations.operation import Generator, operation, some_worlds
from worldloom.testing.operations.subject import Subject

_OUTSIDE = (-1, -(2**31), 2**31 - 1)
_NO_NUMBERS = (np.nan, np.inf, -np.inf)
_KEPT = 200
"""Number of faults that every device keeps."""


def actions_for(subject: Subject, rng: Generator, invalid: float = 0.0) -> dict[str, Any]:
    """Random actions by ``Kind.name``, of which a share is invalid: no choice that exists, or not finite."""
    simulation = subject.simulation
    actions = random_actions(simulation, rng)
    for name, (_, field) in simulation.definition.actions().items() if invalid else ():
        space, values = field.space, actions[name]
        if isinstance(space, Box):
            outside = rng.choice(np.array(_NO_NUMBERS, np.float32), values.shape)
        else:
            count = space.n if isinstance(space, Discrete) else max(space.choices)  # type: ignore[union-attr]
            outside = rng.choice(np.array([*_OUTSIDE, count, count + 3], np.int32), values.shape)
        actions[name] = np.where(rng.random(values.shape) < invalid, outside, values)
    return actions


def _any_form(subject: Subject, rng: Generator, actions: dict[str, Any]) -> Any:
    """Actions in one of the forms that a step takes."""
    form = int(rng.integers(5))
    if not actions or form == 0:
        return actions or None
    if form == 1:
        return {name: subject.tensor(values) for name, values in actions.items()}
    if form == 2 and len(actions) == 1:
        return next(iter(actions.values()))
    if form == 3 and len(actions) == 1:
        return subject.tensor(next(iter(actions.values())))
    wide = {np.dtype(np.int32): np.int64, np.dtype(np.float32): np.float64}
    return {name: values.astype(wide[values.dtype]) for name, values in actions.items()}


@operation(20)
def step(subject: Subject, rng: Generator) -> None:
    """A step with valid actions in any form, or with those of the last one."""
    actions = _any_form(subject, rng, actions_for(subject, rng)) if rng.random() < 0.85 else None
    subject.say("actions of before" if actions is None else f"actions {actions}")
    subject.step(actions)


@operation(8)
def step_with_invalid_actions(subject: Subject, rng: Generator) -> Any:
    """A step in which some or all actions are invalid, then the faults."""
    actions = actions_for(subject, rng, float(rng.choice([0.2, 1.0])))
    for name, values in actions.items():
        if values.dtype == np.int32 and rng.random() < 0.3:  # numbers that the column cannot hold
            wide = values.astype(np.int64)
            actions[name] = np.where(rng.random(wide.shape) < 0.3, rng.choice([2**31, 2**40, -(2**62)]), wide)
    subject.say(f"actions {actions}")
    subject.step(actions or None)
    return errors(subject, rng) if rng.random() < 0.7 else None


@operation(4)
def several_steps(subject: Subject, rng: Generator) -> None:
    """Two to five steps."""
    count = int(rng.integers(2, 6))
    subject.say(f"{count} steps")
    for _ in range(count):
        subject.step(actions_for(subject, rng) or None)


@operation(2)
def refused_actions(subject: Subject, rng: Generator) -> None:
    """A step with actions of a wrong shape, type or name."""
    actions = actions_for(subject, rng)
    wrong = int(rng.integers(3))
    for name, values in actions.items():
        actions[name] = (values[:-1], values.astype(str), values)[wrong]
    if wrong == 2 or not actions:
        actions["Nobody.acts"] = np.zeros(subject.simulation.num_worlds, np.int32)
    subject.say(("one world too few", "text", "an unknown name")[wrong])
    subject.step(actions)


@operation(2)
def step_with_copies(subject: Subject, rng: Generator) -> Any:
    """A step that also copies columns into memory of the caller."""
    simulation = subject.simulation
    columns = [c for t in simulation.tables.values() for c in t if c.total is None and c.view_of is None]
    columns = [c for c in columns if c.field.role in (Role.OBSERVATION, Role.REWARD, Role.ENGINE)]
    chosen = [columns[int(i)] for i in rng.permutation(len(columns))[:3]]
    targets = [np.zeros(c.shape, c.dtype) for c in chosen]
    subject.say(", ".join(c.name for c in chosen))
    if simulation.device.is_cuda:  # its memory is not the host's
        subject.step(actions_for(subject, rng) or None)
        targets = [c.numpy() for c in chosen]
    else:
        copies = [(c.numpy(), target) for c, target in zip(chosen, targets, strict=True)]
        simulation.step(actions_for(subject, rng) or None, copies)
    return [t for c, t in zip(chosen, targets, strict=True) if c.table in ("World", *simulation.definition.rows)]


@operation(2)
def run_step(subject: Subject, rng: Generator) -> bool:
    """A step by its kernels one by one, with the actions in the columns."""
    subject.simulation.run_step(subject.simulation.enqueue_step)
    return subject.simulation.has_host_calls


@operation(3)
def rollout(subject: Subject, rng: Generator) -> Any:
    """Three rollouts of a policy that acts from a table; on a GPU the last one is a CUDA graph."""
    import torch

    simulation = subject.simulation
    steps, definition = int(rng.integers(1, 4)), simulation.definition
    if simulation._overflow_is_error:
        return None  # an overflow ends the rollout, on a GPU only after its last step
    drawn = [actions_for(subject, rng) for _ in range(3 * steps)]
    tables = {}
    for name, (table, _) in definition.actions().items():
        values = np.stack([actions[name] for actions in drawn])
        tables[name] = subject.tensor(values[:, :, 0] if definition.rows.get(table) == 1 else values)
    place = torch.zeros(1, dtype=torch.int64, device=str(simulation.device.alias))

    def policy(observations: Any) -> Any:
        now = {name: table.index_select(0, place).squeeze(0) for name, table in tables.items()}
        place.add_(1).remainder_(3 * steps)
        return now if len(now) > 1 else next(iter(now.values()))

    subject.say(f"{steps} steps, three times")
    capture = simulation.recorder is None and not simulation.has_host_calls
    rollout = wl.Rollout(simulation, policy, steps, capture=capture, agent_rewards=bool(rng.random() < 0.5))
    results = []
    for _ in range(3):
        result = rollout()
        results.append([result.observations, result.actions, result.rewards, result.terminations, result.truncations])
        results[-1] = [_copied(values) for values in results[-1]]
    return results


def _copied(values: Any) -> Any:
    return {name: _copied(v) for name, v in values.items()} if isinstance(values, dict) else values.clone()


@operation(8)
def reset(subject: Subject, rng: Generator) -> None:
    """A reset of all worlds, or of those of a mask, which may be empty."""
    worlds, share = subject.simulation.num_worlds, rng.choice([0.0, 0.3, 0.7, 1.0])
    mask = rng.random(worlds) < share
    form = int(rng.integers(4))
    subject.say("all worlds" if form == 0 else f"mask {mask.tolist()}")
    with _only_resets(subject, mask if form else np.ones(worlds, bool)):
        subject.simulation.reset((None, mask, mask.tolist(), subject.tensor(mask))[form])


@operation(6)
def reset_with_seeds(subject: Subject, rng: Generator) -> Any:
    """A reset with a seed for all worlds or one for each, some of 64 bits."""
    worlds, sort = subject.simulation.num_worlds, int(rng.integers(4))
    high = int(rng.choice([10, 2**32, 2**63], p=[0.7, 0.15, 0.15]))
    each = [int(seed) for seed in rng.integers(0, high, worlds, np.uint64)]
    seeds: Any = (each[0], each, np.array(each, np.uint64), np.uint64(each[-1]))[sort]
    mask = rng.random(worlds) < 0.5 if rng.random() < 0.6 else None
    subject.say(f"seeds {seeds}, mask {None if mask is None else mask.tolist()}")
    with _only_resets(subject, np.ones(worlds, bool) if mask is None else mask, np.array(seeds, np.uint64)):
        subject.simulation.reset(mask, seeds=seeds)
    return subject.simulation.seeds


@contextmanager
def _only_resets(subject: Subject, mask: Any, seeds: Any = None) -> Iterator[None]:
    """A reset begins the next episode in the worlds of ``mask``, the first one of new ``seeds``, and changes no others.

    What a reset gets wrong on all devices does not show when they are compared.
    """
    simulation = subject.simulation
    before, seeds_before = world_values(simulation), simulation.seeds
    episodes, steps = (simulation.world[name].numpy().copy() for name in ("episode", "step"))
    yield
    began = {
        "episode": np.where(mask, episodes + 1 if seeds is None else 0, episodes),
        "step": np.where(mask, 0, steps),
    }
    for name, values in began.items():
        assert np.array_equal(simulation.world[name].numpy(), values), f"the {name} of a world is wrong after the reset"
    expected = seeds_before if seeds is None else np.where(mask, seeds, seeds_before)
    assert np.array_equal(simulation.seeds, expected), "the seeds are not those of the reset"
    after = world_values(simulation)
    require_equal(simulation, [after[world] if chosen else before[world] for world, chosen in enumerate(mask)])


@operation(1)
def refused_reset(subject: Subject, rng: Generator) -> None:
    """A reset with a mask or seeds that are refused."""
    worlds, wrong = subject.simulation.num_worlds, int(rng.integers(6))
    subject.say(f"case {wrong}")
    masks = {0: np.ones(worlds + 1, bool), 1: np.ones(worlds, np.float32)}
    seeds = {2: -1, 3: 2**64, 4: 0.5, 5: list(range(worlds + 1))}
    subject.simulation.reset(masks.get(wrong), seeds=seeds.get(wrong))


@operation(6)
def errors(subject: Subject, rng: Generator) -> list[str]:
    """The faults since the last call, without an order of those of one world and step.

    A GPU does not know numbers beyond those that a column holds.
    """
    faults = [re.sub(r"(\d) or (?:more|less)\b", r"\1", str(fault)) for fault in subject.simulation.errors()]
    return ["too many to keep"] if len(faults) > _KEPT else sorted(faults)


@operation(2)
def fault(subject: Subject, rng: Generator) -> Any:
    """Numbers that are not finite where that is a fault, a step, the faults, and a step after them."""
    simulation, worlds = subject.simulation, some_worlds(subject, rng)
    columns = [c for t in simulation.tables.values() for c in t if c.field.finite and c.total is None]
    columns = [c for c in columns if c.table in simulation.definition.rows or c.table == "World"]
    for column in columns:
        if column.field.role is Role.STATE and column.view_of is None:
            subject.say(f"{column.name} of worlds {worlds}")
            values = column.numpy().copy()
            values[worlds] = rng.choice(_NO_NUMBERS)
            column.assign(values)
    found = []
    for _ in range(2):
        subject.step(actions_for(subject, rng) or None)
        found.append(errors(subject, rng))
    return found
