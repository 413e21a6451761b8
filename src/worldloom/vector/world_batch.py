"""A batch of worlds as NumPy arrays or PyTorch tensors: actions in; observations, rewards, flags and infos out."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import gymnasium
import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime.action_range import fits
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.executor import OutputCopy
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import (
    NUMERIC_KINDS,
    StepResult,
    check_action_keys,
    check_max_steps,
    check_seeds,
)
from worldloom.vector.env_layout import EnvComponent, EnvLayout, combine_values, make_layout
from worldloom.vector.observation_types import make_conversion

Backend = Literal["numpy", "torch"]
OVERLAPPED_COPY_BYTES = 1 << 16
"""Observations of at least this size are copied slice by slice while other slices are still being stepped."""


def resolve_definition(world: str | Definition) -> Definition:
    """The definition of a world, given itself or its id."""
    return world if isinstance(world, Definition) else definition(world)


class WorldBatch:
    """The array interface of a simulation.

    Args:
        simulation: The worlds.
        layout: The components that the interface exposes.
        backend: ``numpy``, or ``torch`` for tensors on the simulation's device.
        copy: Whether results are copies. Without copies they are views of the columns that the next step overwrites.
        gymnasium_types: Whether observations have the types of Gymnasium's spaces: int64 for discrete values, and
            tuples for Tuple spaces. Otherwise they have the types of their columns.
    """

    def __init__(
        self, simulation: Simulation, layout: EnvLayout, backend: Backend, copy: bool, gymnasium_types: bool = False
    ) -> None:
        self.simulation, self.layout, self.backend, self.copy = simulation, layout, backend, copy
        self.gymnasium_types = gymnasium_types
        conversions = {
            component.key: make_conversion(component, self._column(component), backend)
            for component in layout.observations
            if gymnasium_types
        }
        self._conversions = {key: convert for key, convert in conversions.items() if convert is not None}
        self.num_envs = simulation.num_worlds
        self._action_columns = {component.key: self._column(component) for component in layout.actions}
        self._views: dict[tuple[str, tuple[int, ...]], Any] = {}
        on_host = simulation.device.is_cpu and backend == "numpy"
        self._single_action = (
            self._view(self._column(layout.actions[0]), layout.actions[0].shape)
            if on_host and len(layout.actions) == 1
            else None
        )
        views = (
            {component.key: self._view(self._column(component), component.shape) for component in layout.observations}
            if on_host and copy and simulation.copies_in_step
            else {}
        )
        self._large_observations = {
            key: view
            for key, view in views.items()
            if view.nbytes >= OVERLAPPED_COPY_BYTES and key not in self._conversions
        }
        self._copies: dict[str, Any] = {}

    @classmethod
    def create(
        cls,
        definition: Definition,
        num_worlds: int,
        device: str = "cpu",
        *,
        seed: int | Sequence[int] | None = None,
        autoreset: Autoreset = "same_step",
        threads: int | None = None,
        backend: Backend = "numpy",
        copy: bool = True,
        config: Mapping[str, Any] | None = None,
        share: bool = False,
        gymnasium_types: bool = False,
        **options: Any,
    ) -> WorldBatch:
        """Create the worlds and their array interface.

        Args:
            definition: The world.
            num_worlds: Number of worlds.
            device: ``cpu``, ``cuda:N``, ``auto`` or ``python``.
            seed: One seed, or one per world; None draws one from the operating system.
            autoreset: ``same_step``, ``next_step`` or ``disabled``.
            threads: CPU threads; None uses every core that has enough work.
            backend, copy, gymnasium_types: As for :class:`WorldBatch`.
            config: Values of the world's configuration.
            share: Whether, on a GPU, an observation that repeats a component is a view of it.
            options: Further arguments of :class:`worldloom.Simulation`, such as ``exact``.
        """
        if backend not in ("numpy", "torch"):
            raise InputError(f"backend must be 'numpy' or 'torch', not {backend!r}")
        check_max_steps(config)
        layout = make_layout(definition)
        seeds = check_seeds(seed, num_worlds)
        per_world = seeds is not None and seeds.ndim == 1
        simulation = Simulation(
            definition,
            num_worlds,
            device,
            seed=None if seeds is None else 0 if per_world else int(seeds),
            autoreset=autoreset,
            threads=threads,
            config=config,
            share=share,
            **options,
        )
        if per_world:
            simulation.reset(seeds=seeds)
            simulation.pristine = True
        if simulation.definition.narrow:
            layout = make_layout(simulation.definition)
        return cls(simulation, layout, backend, copy, gymnasium_types)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the same state, and views of its own memory."""
        return _rebuild, (self.simulation, self.backend, self.copy, self.gymnasium_types)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of one world's observation."""
        return self.layout.gymnasium_observation_space if self.gymnasium_types else self.layout.observation_space

    def _column(self, component: EnvComponent, prefix: str = "") -> Column:
        return self.simulation.tables[component.table][prefix + component.name]

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
        """The column's memory with shape (num_envs, *shape); cached, since a new view costs as much as a small step."""
        view = self._views.get((column.name, shape))
        if view is None:
            view = (column.torch() if self.backend == "torch" else column.numpy()).reshape(self.num_envs, *shape)
            self._views[column.name, shape] = view
        return view

    def _values(
        self,
        components: list[EnvComponent],
        prefix: str = "",
        copies: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """The single component's values alone, or a dict of several by key; ``copies`` holds those already copied."""
        return combine_values(
            {
                component.key: copies[component.key]
                if component.key in copies
                else self._observation(component, prefix)
                for component in components
            }
        )

    def _observation(self, component: EnvComponent, prefix: str) -> Any:
        """The values of one observation component, in the type of its space."""
        column, convert = self._column(component, prefix), self._conversions.get(component.key)
        if convert is None:
            return self.export(column, component.shape)
        if self.backend == "numpy" and column.device.is_cuda:
            return convert(column.numpy().reshape(self.num_envs, *component.shape))
        return convert(self._view(column, component.shape))

    def start_episodes(self) -> None:
        """Start new episodes in all worlds; a first call keeps the episodes that the constructor's seed began."""
        self._copies = {}
        if self.simulation.pristine:
            self.simulation.pristine = False
        else:
            self.simulation.reset()

    def observations(self) -> Any:
        """The current observations: an array of shape (num_envs, ...), or a dict of them."""
        return self._values(self.layout.observations)

    def final_observations(self) -> Any:
        """The last observations of the previous episodes; valid only in rows of worlds that ended in the last step."""
        return self._values(self.layout.observations, FINAL)

    def rewards(self) -> Any:
        """The reward of every world, shape (num_envs,): the sum over its agents."""
        total = None
        for component in self.layout.rewards:
            values = self.export(self._column(component), component.shape)
            values = values.reshape(self.num_envs, -1).sum(1) if component.shape else values
            total = values if total is None else total + values
        if total is not None:
            return total
        zeros = np.zeros(self.num_envs, np.float32)
        return (
            zeros if self.backend == "numpy" else self.terminations().new_zeros(self.num_envs, dtype=_torch().float32)
        )

    def terminations(self) -> Any:
        """Whether each world's episode terminated in the last step, shape (num_envs,)."""
        return self.export(self.simulation.terminated, ())

    def truncations(self) -> Any:
        """Whether each world's episode was truncated in the last step, shape (num_envs,)."""
        return self.export(self.simulation.truncated, ())

    def infos(self) -> dict[str, Any]:
        """Every info component with its mask, in Gymnasium's layout."""
        return self._infos_with_mask("", self.all_worlds_mask()) if self.layout.infos else {}

    def _infos_with_mask(self, prefix: str, mask: Any) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for component in self.layout.infos:
            infos[component.key] = self.export(self._column(component, prefix), component.shape)
            infos["_" + component.key] = mask
        return infos

    def step_result(self) -> StepResult:
        """Observations, rewards, terminations, truncations and infos of the last step, each of shape (num_envs, ...).

        With same-step autoreset ``infos["final_obs"]`` and ``infos["final_info"]`` hold the last observations and infos
        of the episodes that ended; ``infos["_final_obs"]`` and ``infos["_final_info"]`` mask their rows. With the
        NumPy backend these keys are present only if an episode ended.
        """
        terminations, truncations, infos = self.terminations(), self.truncations(), self.infos()
        if self.simulation.autoreset == "same_step":
            ended = terminations | truncations
            if self.backend == "torch" or ended.any():  # any() on a GPU would synchronize
                infos["final_obs"], infos["_final_obs"] = self.final_observations(), ended
                infos["final_info"], infos["_final_info"] = self._infos_with_mask(FINAL, ended), ended
        return self.take_observations(), self.rewards(), terminations, truncations, infos

    def take_observations(self) -> Any:
        """The current observations, as :meth:`observations`; at most once per step, copies that the step made."""
        copies, self._copies = self._copies, {}
        return self._values(self.layout.observations, copies=copies)

    def discard_copies(self) -> None:
        """Forget the copies that the last step made: the worlds have been changed since."""
        self._copies = {}

    def all_worlds_mask(self) -> Any:
        """A mask that is True for all worlds, shape (num_envs,)."""
        if self.backend == "numpy":
            return np.ones(self.num_envs, np.bool_)
        return self.simulation.terminated.torch().new_ones(self.num_envs)

    def step(self, actions: Any) -> None:
        """Step every world with its action."""
        copies = {key: np.empty_like(view) for key, view in self._large_observations.items()}
        self._step(actions, [(self._large_observations[key], copy) for key, copy in copies.items()])
        self._copies = copies

    def _step(self, actions: Any, output_copies: list[OutputCopy]) -> None:
        own: Any = self._single_action
        same_form = (
            own is not None
            and type(actions) is np.ndarray
            and actions.shape == own.shape
            and actions.dtype.kind == own.dtype.kind
        )
        if same_form and (
            actions.dtype.itemsize <= own.dtype.itemsize or actions.dtype.kind == "f" or fits(actions, own.dtype)
        ):
            own[...] = actions
            self.simulation.step(output_copies=output_copies)
            return
        if len(self._action_columns) == 1 and not isinstance(actions, Mapping):
            column = next(iter(self._action_columns.values()))
            self.simulation.step(self._to_column(actions, column), output_copies)
            return
        check_action_keys(actions, self._action_columns)
        self.simulation.step(
            {c.name: self._to_column(actions[k], c) for k, c in self._action_columns.items()}, output_copies
        )

    def _to_column(self, actions: Any, column: Column) -> Any:
        """``actions`` as an array or tensor, in the shape of its column if the number of elements fits."""
        if not hasattr(actions, "shape"):
            array = to_numpy(actions, "the actions")
            if array.dtype.kind not in NUMERIC_KINDS:
                raise InputError(
                    f"{column.name} takes {column.dtype.name} of shape {column.shape}, not {reprlib.repr(actions)}"
                )
            actions = array
        if (
            actions.shape != column.shape
            and _num_elements(actions) == _num_elements(column)
            and tuple(actions.shape[:1]) == (self.num_envs,)
        ):
            actions = actions.reshape(column.shape)
        if isinstance(actions, np.ndarray) and actions.dtype == np.float64 and column.dtype == np.float32:
            actions = actions.astype(np.float32)  # Gymnasium code often computes in double precision
        return actions


def _rebuild(simulation: Simulation, backend: Backend, copy: bool, gymnasium_types: bool) -> WorldBatch:
    """The batch of a copy or of a pickle."""
    return WorldBatch(simulation, make_layout(simulation.definition), backend, copy, gymnasium_types)


def _num_elements(array: Any) -> int:
    return math.prod(array.shape)


def _torch() -> Any:
    import torch

    return torch
