"""What a step returns to a client: observations, rewards, terminations, truncations and infos, for each backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.vector.checks import StepResult
from worldloom.vector.transfer.column_readers import Reader, as_tensors
from worldloom.vector.transfer.lazy_infos import lazy_infos, register_with_torch
from worldloom.vector.transfer.step_infos import StepInfos
from worldloom.vector.transfer.tensor_copies import PackedCopy, TensorCopies

_TRUE = b"\1"
"""A truth value in the memory of an array."""


@dataclass(frozen=True)
class ResultReaders:
    """The readers of what a step returns.

    Attributes:
        observations, rewards, terminations, truncations: Of the values themselves.
        infos: Of the info components.
        ended: Of a mask of the worlds whose episodes ended.
        final: Of the final observations, then of the final infos; None unless worlds are reset in the same step.
        in_arrays: Whether all readers return arrays, which become tensors.
    """

    observations: Reader
    rewards: Reader
    terminations: Reader
    truncations: Reader
    infos: Sequence[Reader]
    ended: Reader
    final: Sequence[Reader] | None
    in_arrays: bool = False


def array_results(readers: ResultReaders, infos: StepInfos) -> Callable[[], StepResult]:
    """A function that returns arrays. The infos hold final observations only if an episode ended."""
    current, ended, final = readers.infos, readers.ended, readers.final

    def read_infos() -> dict[str, Any]:
        entries = infos.current([read() for read in current]) if current else {}
        if final is not None:
            mask = ended()
            if _TRUE in mask.tobytes():  # takes half the time of mask.any()
                entries |= infos.final(mask, [read() for read in final])
        return entries

    return _with_infos(readers, read_infos if current or final is not None else dict)


def tensor_results(readers: ResultReaders, infos: StepInfos, copy: bool) -> Callable[[], StepResult]:
    """A function that returns tensors, and infos that are assembled at their first use.

    Args:
        readers: The readers.
        infos: Assembles the infos.
        copy: Whether values of infos are copied at every step, or else read when the infos are used.
    """
    register_with_torch()
    info_readers = [*readers.infos, *([] if readers.final is None else [readers.ended, *readers.final])]

    def build(values: Sequence[Any]) -> dict[str, Any]:
        return infos.complete([as_tensors(value) for value in values] if readers.in_arrays else values)

    def read_and_build(_: None) -> dict[str, Any]:
        return build([read() for read in info_readers])

    def copy_infos() -> dict[str, Any]:
        return lazy_infos(build, [read() for read in info_readers])

    def defer_infos() -> dict[str, Any]:
        return lazy_infos(read_and_build, None)

    read_infos = (copy_infos if copy else defer_infos) if info_readers else dict
    return _from_arrays(readers, read_infos) if readers.in_arrays else _with_infos(readers, read_infos)


def copied_results(
    copies: TensorCopies, rewards: Reader | None, observation_keys: Sequence[str], infos: StepInfos
) -> Callable[[], StepResult]:
    """A function that returns tensors that one kernel copied, and infos that are assembled at their first use.

    Args:
        copies: Its separate copies are the terminations, the truncations, the rewards and the observation components;
            its packed ones are the values of the infos.
        rewards: Reads the rewards where they are not among the copies.
        observation_keys: The keys of the observation components.
        infos: Assembles the infos.
    """
    register_with_torch()
    packs = copies.packs

    def build(packed: PackedCopy) -> dict[str, Any]:
        return infos.complete(copies.unpack(packed))

    def results() -> StepResult:
        terminations, truncations, *others = copies()
        entries: dict[str, Any] = lazy_infos(build, copies.packed()) if packs else {}
        totals = others.pop(0) if rewards is None else rewards()
        observations = others[0] if len(others) == 1 else dict(zip(observation_keys, others, strict=True))
        return observations, totals, terminations, truncations, entries

    return results


def _with_infos(readers: ResultReaders, read_infos: Callable[[], dict[str, Any]]) -> Callable[[], StepResult]:
    observations, rewards = readers.observations, readers.rewards
    terminations, truncations = readers.terminations, readers.truncations

    def results() -> StepResult:
        return observations(), rewards(), terminations(), truncations(), read_infos()

    return results


def _from_arrays(readers: ResultReaders, read_infos: Callable[[], dict[str, Any]]) -> Callable[[], StepResult]:
    """As :func:`_with_infos`, where readers return arrays."""
    from torch import from_numpy

    observations, rewards = readers.observations, readers.rewards
    terminations, truncations = readers.terminations, readers.truncations
    finish = from_numpy if isinstance(observations(), np.ndarray) else as_tensors

    def results() -> StepResult:
        return (
            finish(observations()),
            from_numpy(rewards()),
            from_numpy(terminations()),
            from_numpy(truncations()),
            read_infos(),
        )

    return results
