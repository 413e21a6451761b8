"""A batch of worlds as arrays: actions in; observations, rewards, flags and infos out, as NumPy arrays or PyTorch tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.runtime.action_range import fits
from worldloom.core.runtime.executor import OutputCopy
from worldloom.core.runtime.table import Column
from worldloom.core.schedule.lifecycle import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.env_layout import EnvComponent, EnvLayout

Backend = Literal["numpy", "torch"]
StepResult = tuple[Any, Any, Any, Any, dict[str, Any]]
"""Observations, rewards, terminations, truncations and infos."""
LARGE = 1 << 16
"""Bytes from which on observations are copied slice by slice, while the worlds are stepped."""


class WorldBatch:
    """The outside of a simulation.

    Args:
        simulation: The worlds.
        layout: Which components the outside sees.
        backend: ``numpy``, or ``torch`` for tensors on the simulation's device.
        copy: Whether what is handed out stays as it is when the worlds step on; without it the columns themselves are handed out.
    """

    def __init__(self, simulation: Simulation, layout: EnvLayout, backend: Backend, copy: bool) -> None:
        self.simulation, self.layout, self.backend, self.copy = simulation, layout, backend, copy
        self.num_envs = simulation.num_worlds
        self._action_columns = {leaf.key: self._column(leaf) for leaf in layout.actions}
        self._views: dict[tuple[str, tuple[int, ...]], Any] = {}
        on_host = simulation.device.is_cpu and backend == "numpy"
        self._single_action = (
            self._view(self._column(layout.actions[0]), layout.actions[0].shape)
            if on_host and len(layout.actions) == 1
            else None
        )
        views = (
            {leaf.key: self._view(self._column(leaf), leaf.shape) for leaf in layout.observations}
            if on_host and copy and simulation.copies_in_step
            else {}
        )
        self._large_observations = {key: view for key, view in views.items() if view.nbytes >= LARGE}
        self._copies: dict[str, Any] = {}

    def _column(self, leaf: EnvComponent, prefix: str = "") -> Column:
        return self.simulation.tables[leaf.table][prefix + leaf.name]

    def export(self, column: Column, shape: tuple[int, ...]) -> Any:
        """A column with shape (num_envs, *shape)."""
        if self.backend == "torch":
            tensor = self._view(column, shape)
            return tensor.clone() if self.copy else tensor
        if column.device.is_cuda:
            return column.numpy().reshape(self.num_envs, *shape)
        array = self._view(column, shape)
        return array.copy() if self.copy else array

    def _view(self, column: Column, shape: tuple[int, ...]) -> Any:
        """The column's memory with shape (num_envs, *shape); made once, since a step of few worlds takes no longer than making it."""
        view = self._views.get((column.name, shape))
        if view is None:
            view = (column.torch() if self.backend == "torch" else column.numpy()).reshape(self.num_envs, *shape)
            self._views[column.name, shape] = view
        return view

    def _tree(
        self, leaves: list[EnvComponent], prefix: str = "", copies: Mapping[str, Any] = MappingProxyType({})
    ) -> Any:
        """Components by key, the only one by itself; those of ``copies`` have been copied already."""
        parts = {
            leaf.key: copies[leaf.key] if leaf.key in copies else self.export(self._column(leaf, prefix), leaf.shape)
            for leaf in leaves
        }
        return next(iter(parts.values())) if len(parts) == 1 else parts

    def start_episodes(self) -> None:
        """New episodes in all worlds; the first ones, which began with the seed that the worlds were made with, are not skipped."""
        self._copies = {}
        if self.simulation.pristine:
            self.simulation.pristine = False
        else:
            self.simulation.reset()

    def observations(self) -> Any:
        """What every world shows: an array of shape (num_envs, ...), or a dict of them."""
        return self._tree(self.layout.observations)

    def final_observations(self) -> Any:
        """What the last episode of every world showed at its end; only rows of worlds that ended in the last step mean anything."""
        return self._tree(self.layout.observations, FINAL)

    def rewards(self) -> Any:
        """The reward of every world, shape (num_envs,): the sum over its agents."""
        found = None
        for leaf in self.layout.rewards:
            part = self.export(self._column(leaf), leaf.shape)
            part = part.reshape(self.num_envs, -1).sum(1) if leaf.shape else part
            found = part if found is None else found + part
        if found is not None:
            return found
        zeros = np.zeros(self.num_envs, np.float32)
        return (
            zeros if self.backend == "numpy" else self.terminations().new_zeros(self.num_envs, dtype=_torch().float32)
        )

    def terminations(self) -> Any:
        return self.export(self.simulation.terminated, ())

    def truncations(self) -> Any:
        return self.export(self.simulation.truncated, ())

    def infos(self) -> dict[str, Any]:
        """Every info component with its mask, in Gymnasium's layout."""
        return self._infos_with_mask("", self.all_worlds_mask()) if self.layout.infos else {}

    def _infos_with_mask(self, prefix: str, mask: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for leaf in self.layout.infos:
            out[leaf.key] = self.export(self._column(leaf, prefix), leaf.shape)
            out["_" + leaf.key] = mask
        return out

    def step_result(self) -> StepResult:
        """What the last step led to: observations, rewards, terminations, truncations and infos, each of shape (num_envs, ...).

        With same-step autoreset ``infos["final_obs"]`` and ``infos["final_info"]`` hold what the episodes that ended showed last, and
        ``infos["_final_obs"]`` and ``infos["_final_info"]`` say in which rows. NumPy's infos have them only where an episode ended.
        """
        terminations, truncations, infos = self.terminations(), self.truncations(), self.infos()
        if self.simulation.autoreset == "same_step":
            over = terminations | truncations
            if self.backend == "torch" or over.any():  # a look at a GPU's flags would wait for it
                infos["final_obs"], infos["_final_obs"] = self.final_observations(), over
                infos["final_info"], infos["_final_info"] = self._infos_with_mask(FINAL, over), over
        copies, self._copies = self._copies, {}
        return self._tree(self.layout.observations, copies=copies), self.rewards(), terminations, truncations, infos

    def all_worlds_mask(self) -> Any:
        """A mask of all worlds."""
        if self.backend == "numpy":
            return np.ones(self.num_envs, np.bool_)
        return self.simulation.terminated.torch().new_ones(self.num_envs)

    def step(self, actions: Any) -> None:
        """Hand in one action per world and step."""
        copies = {key: np.empty_like(view) for key, view in self._large_observations.items()}
        self._step(actions, [(self._large_observations[key], copy) for key, copy in copies.items()])
        self._copies = copies

    def _step(self, actions: Any, output_copies: list[OutputCopy]) -> None:
        own: Any = self._single_action
        alike = (
            own is not None
            and type(actions) is np.ndarray
            and actions.shape == own.shape
            and actions.dtype.kind == own.dtype.kind
        )
        if alike and (
            actions.dtype.itemsize <= own.dtype.itemsize or actions.dtype.kind == "f" or fits(actions, own.dtype)
        ):
            own[...] = actions
            self.simulation.step(output_copies=output_copies)
            return
        if len(self._action_columns) == 1 and not isinstance(actions, Mapping):
            column = next(iter(self._action_columns.values()))
            self.simulation.step(self._reshape_actions(actions, column), output_copies)
            return
        if not isinstance(actions, Mapping) or set(actions) != set(self._action_columns):
            raise InputError(f"actions are a mapping with the keys {', '.join(self._action_columns)}")
        self.simulation.step(
            {c.name: self._reshape_actions(actions[k], c) for k, c in self._action_columns.items()}, output_copies
        )

    def _reshape_actions(self, actions: Any, column: Column) -> Any:
        if not hasattr(actions, "shape"):
            actions = to_numpy(actions, "the actions")
        if (
            actions.shape != column.shape
            and _num_elements(actions) == _num_elements(column)
            and tuple(actions.shape[:1]) == (self.num_envs,)
        ):
            actions = actions.reshape(column.shape)
        if isinstance(actions, np.ndarray) and actions.dtype == np.float64 and column.dtype == np.float32:
            actions = actions.astype(np.float32)  # Gymnasium's users often compute in double precision
        return actions


def _num_elements(array: Any) -> int:
    return math.prod(array.shape)


def _torch() -> Any:
    import torch

    return torch
