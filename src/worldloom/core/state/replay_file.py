"""Parser for files of replay logs: everything in a file is validated against the world before a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from worldloom.core.base.errors import InputError, WorldloomError
from worldloom.core.base.tensor_file import Contents, is_int_in_range
from worldloom.core.model.population import OVERFLOWS, UpTo
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition as find_definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.state.columns import SEED_COLUMN
from worldloom.core.state.replay_log import TERMINATED, TRUNCATED, Chunk, ReplayLog, Resets
from worldloom.core.state.snapshot import Snapshot

DEVICES = ("python", "cpu", "cuda")
MAX_ID_LENGTH = 4096
"""Maximum number of characters of a world's id."""
_EPISODE_COLUMNS = {"World.episode": "int32", "World.seed": "uint32", "World.step": "int32", "World.finished": "bool"}
"""Columns that determine the episodes of a log, and their types."""
_RESETS = {"before": ("int64",), "mask": ("uint8", "bool"), "seeds": ("int32", "uint32"), "episodes": ("int32",)}


def parse(contents: Contents, world: str | Definition | None, where: str) -> ReplayLog:
    """The log in a file.

    Args:
        contents: Its tensors and facts.
        world: The world, or its id; None for the one that the file names.
        where: The name of the file in error messages.
    """
    facts = contents.facts
    texts = all(isinstance(facts.get(name), str) for name in ("world", "hash", "autoreset", "device"))
    flags = all(isinstance(facts.get(name), bool) for name in ("checks", "exact"))
    if (
        not texts
        or not flags
        or facts["autoreset"] not in get_args(Autoreset)
        or facts["device"] not in DEVICES
        or len(facts["world"]) > MAX_ID_LENGTH
    ):
        raise _incomplete(where)
    worlds = _worlds(contents.tensors, facts, where)
    batch = _batch(facts.get("batch", len(worlds)), where)
    definition = _with_options(_definition(facts, world, where), facts, batch, where)
    shared = facts.get("shared")
    if not isinstance(shared, list):
        raise _incomplete(where)
    chunks = [
        _ChunkParser(contents.tensors, number, definition, len(worlds), where).chunk(facts, shared[number])
        for number in range(len(shared))
    ]
    return ReplayLog(
        definition,
        facts["autoreset"],
        facts["checks"],
        facts["exact"],
        facts["world_offset"],
        facts["device"],
        worlds,
        chunks,
        batch,
    )


def _incomplete(where: str) -> InputError:
    return InputError(f"{where} lacks what every replay log has: use another file")


def _definition(facts: Mapping[str, Any], world: str | Definition | None, where: str) -> Definition:
    """The world that a log was recorded in, with its numbers of entities."""
    if world is not None and not isinstance(world, (str, Definition)):
        problem = "the world of a replay log is given by its id or its definition"
        raise InputError(f"{problem}, not by {type(world).__name__}")
    definition = world if isinstance(world, Definition) else find_definition(facts["world"] if world is None else world)
    if definition.id == facts["world"]:
        definition = _with_counts(definition, facts.get("counts"), where)
    if not definition.accepts_hash(facts["hash"]):
        problem = f"{where} was recorded in another '{facts['world'][:80]}' than '{definition.id}' as it is now"
        raise InputError(f"{problem}: go back to the world that it was recorded in")
    return definition


def _with_counts(definition: Definition, counts: Any, where: str) -> Definition:
    if not isinstance(counts, dict):
        raise _incomplete(where)
    try:
        return definition.with_counts({kind: _count(count, where) for kind, count in counts.items()})
    except InputError:
        raise
    except WorldloomError as error:  # invalid counts
        raise InputError(f"{where} holds numbers of entities that there cannot be: {error}") from None


def _with_options(definition: Definition, facts: Mapping[str, Any], batch: int, where: str) -> Definition:
    """The world with the options of its alternatives that a log was recorded with; older files may lack some."""
    known, options = definition.alternatives, facts.get("options", {})
    if not isinstance(options, dict):
        raise _incomplete(where)
    for name, option in options.items():
        if name not in known or not isinstance(option, str) or option not in known[name].options:
            raise InputError(f"{where} has options that '{definition.id}' lacks: replay it with the world of its time")
    cuda = facts["device"] == "cuda"
    return definition.with_options({n: options.get(n) or a.chosen(cuda, batch) for n, a in known.items()})


def _batch(number: Any, where: str) -> int:
    """The number of worlds in the batch of a log."""
    if not is_int_in_range(number, 1, 2**31 - 1):
        raise _incomplete(where)
    return int(number)


def _count(count: Any, where: str) -> int | UpTo:
    if not isinstance(count, dict):
        if not is_int_in_range(count, 1, 2**31 - 1):
            raise _incomplete(where)
        return int(count)
    per_world, batch, overflow = (count.get(name) for name in ("per_world", "batch", "overflow"))
    fits = is_int_in_range(per_world, 1, 2**31 - 1) and (batch is None or is_int_in_range(batch, 1, 2**31 - 1))
    if set(count) != {"per_world", "batch", "overflow"} or not fits or overflow not in OVERFLOWS:
        raise _incomplete(where)
    return UpTo(**count)


def _worlds(tensors: Mapping[str, Any], facts: Mapping[str, Any], where: str) -> np.ndarray[Any, Any]:
    """The indices of the recorded worlds, int64 of shape (W,)."""
    tensor = tensors.get("worlds")
    if (
        tensor is None
        or _type(tensor) != "int64"
        or tensor.ndim != 1
        or len(tensor) == 0
        or not is_int_in_range(facts.get("world_offset"), 0, 2**31 - 1)
    ):
        raise _incomplete(where)
    worlds: np.ndarray[Any, Any] = tensor.numpy()
    if worlds.min() < 0 or worlds.max() + facts["world_offset"] >= 2**31 or len(np.unique(worlds)) < len(worlds):
        raise InputError(f"{where} holds numbers of worlds that there cannot be: use another file")
    return worlds


class _ChunkParser:
    """Parses the tensors of one chunk of steps."""

    def __init__(
        self, tensors: Mapping[str, Any], number: int, definition: Definition, worlds: int, where: str
    ) -> None:
        self.tensors, self.number, self.definition, self.worlds, self.where = tensors, number, definition, worlds, where

    def chunk(self, facts: Mapping[str, Any], shared: Any) -> Chunk:
        state = Snapshot.from_parts(
            self._part("state"), {**facts, "num_worlds": self.worlds, "shared": shared}, self.where
        )
        self._check_state(state)
        flags = self.tensors.get(f"{self.number}/flags")
        if flags is None or flags.ndim != 2:
            raise _incomplete(self.where)
        steps = flags.shape[0]
        self._require("flags", flags, ("uint8",), (steps, self.worlds))
        if bool((flags > TERMINATED + TRUNCATED).any()):
            raise self._wrong("flags")
        digests = self.tensors.get(f"{self.number}/digests")
        if digests is not None:
            self._require("digests", digests, ("int32",), (steps, self.worlds))
        return Chunk(state, self._actions(steps), flags, digests, self._resets(steps))

    def _part(self, name: str) -> dict[str, Any]:
        start = f"{self.number}/{name}/"
        return {key.removeprefix(start): tensor for key, tensor in self.tensors.items() if key.startswith(start)}

    def _check_state(self, state: Snapshot) -> None:
        """Validate what is read before the state is restored, and the numbers of entities, which set the memory."""
        for name, kind in _EPISODE_COLUMNS.items():
            if name not in state.tensors:
                raise _incomplete(self.where)
            self._require(name, state.tensors[name], (kind,), (self.worlds,))
        upper = state.tensors.get(SEED_COLUMN)
        if upper is not None:
            self._require(SEED_COLUMN, upper, ("uint32",), (1,) if len(upper) == 1 else (self.worlds,))
        for kind, rows in self.definition.rows.items():
            columns = [
                tensor
                for name, tensor in state.tensors.items()
                if name.startswith(f"{kind}.") and name not in state.shared
            ]
            if any(tensor.ndim < 2 or tensor.shape[1] != rows for tensor in columns):
                raise self._wrong(f"state/{kind}")

    def _actions(self, steps: int) -> dict[str, Any]:
        actions, declared = self._part("actions"), self.definition.actions()
        if set(actions) != set(declared):
            raise self._wrong("actions")
        for name, (table, field) in declared.items():
            entities = () if table == "World" else (self.definition.rows[name.partition(".")[0]],)
            shape = (steps, self.worlds, *entities, *field.value_shape)
            self._require(f"actions/{name}", actions[name], ("int32", "float32"), shape)
        return actions

    def _resets(self, steps: int) -> Resets:
        resets = self._part("resets")
        if set(resets) != set(_RESETS):
            raise _incomplete(self.where)
        before = resets["before"]
        count = before.shape[0] if before.ndim == 1 else -1
        for name, kinds in _RESETS.items():
            self._require(f"resets/{name}", resets[name], kinds, (count,) if name == "before" else (count, self.worlds))
        if bool(((before < 0) | (before > steps)).any()) or bool((resets["episodes"] < -1).any()):
            raise self._wrong("resets")
        return Resets(**resets)

    def _require(self, name: str, tensor: Any, kinds: tuple[str, ...], shape: tuple[int, ...]) -> None:
        if _type(tensor) not in kinds or tuple(tensor.shape) != shape:
            actual = f"type {_type(tensor)} and shape {tuple(tensor.shape)}"
            expected = f"{' or '.join(kinds)} of shape {shape}"
            raise InputError(f"{self.where} holds {name} of {actual}, and it must be {expected}: use another file")

    def _wrong(self, name: str) -> InputError:
        return InputError(f"{self.where} holds {name} that this world cannot have: use another file")


def _type(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
