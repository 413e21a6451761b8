"""A batch of worlds as NumPy arrays or PyTorch tensors: actions in; observations, rewards, flags and infos out."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from worldloom.core.base.arrays import check_flags, to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime.column import Column
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import (
    NUMERIC_KINDS,
    Backend,
    StepResult,
    check_action_keys,
    check_max_steps,
    check_seeds,
)
from worldloom.vector.env_layout import EnvLayout, make_layout
from worldloom.vector.errors import ClosedError
from worldloom.vector.transfer.action_writers import make_action_writer
from worldloom.vector.transfer.column_readers import Reader, as_tensors, combine_readers
from worldloom.vector.transfer.graph_step import make_graph_step
from worldloom.vector.transfer.overlapped_copies import OverlappedCopies
from worldloom.vector.transfer.world_readers import WorldReaders

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
        self.num_envs = simulation.num_worlds
        self._readers = WorldReaders(simulation, layout, backend, copy, gymnasium_types)
        self._action_columns = {c.key: simulation.tables[c.table][c.name] for c in layout.actions}
        self._action_writers = {c.key: make_action_writer(simulation, c) for c in layout.actions}
        self._single_writer = next(iter(self._action_writers.values())) if len(layout.actions) == 1 else None
        self._infos = self._readers.info_reader()
        self._export_readers: dict[tuple[str, tuple[int, ...]], Reader] = {}
        self._overlapped = self._overlapped_copies()
        self.step_result: Callable[[], StepResult] = self._readers.results(
            None if self._overlapped is None else self._overlapped.take
        )
        """Returns observations, rewards, terminations, truncations and infos of the last step, each of shape
        (num_envs, ...).

        With same-step autoreset ``infos["final_obs"]`` and ``infos["final_info"]`` hold the last observations and infos
        of the episodes that ended; ``infos["_final_obs"]`` and ``infos["_final_info"]`` mask their rows. With the
        NumPy backend these keys are present only if an episode ended. With tensors, the entries of infos are made when
        they are first used; without copies, that must be before the next step.
        """
        self._graph_step = (
            make_graph_step(simulation, self._action_writers, self._readers.copies) if backend == "torch" else None
        )

    def _overlapped_copies(self) -> OverlappedCopies | None:
        """The copies of observations that the threads of a step make; None where there are none."""
        if not (self.simulation.device.is_cpu and self.copy and self.simulation.copies_in_step):
            return None
        views = {
            component.key: exposed.column.numpy().reshape(self.num_envs, *exposed.shape)
            for component, exposed in zip(self.layout.observations, self._readers.exposed_observations(), strict=True)
            if exposed.convert is None and exposed.column.nbytes >= OVERLAPPED_COPY_BYTES
        }
        return OverlappedCopies(views, self._readers.for_results().observation_readers()) if views else None

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
        check_flags(copy=copy, gymnasium_types=gymnasium_types)
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

    def export(self, column: Column, shape: tuple[int, ...]) -> Any:
        """A column with shape (num_envs, *shape)."""
        read = self._export_readers.get((column.name, shape))
        if read is None:
            read = self._export_readers[column.name, shape] = self._readers.reader(column, shape)
        return read()

    def check_open(self) -> None:
        """Raise ClosedError once the simulation is closed."""
        if self.simulation._closed:
            raise ClosedError(f"this environment of {self.simulation.definition.id} is closed: make a new one")

    def start_episodes(self) -> None:
        """Start new episodes in all worlds; a first call keeps the episodes that the constructor's seed began."""
        self.check_open()
        self.discard_copies()
        if self.simulation.pristine:
            self.simulation.pristine = False
        else:
            self.simulation.reset()

    def observations(self) -> Any:
        """The current observations: an array of shape (num_envs, ...), or a dict of them."""
        return self._readers.observations()

    def final_observations(self) -> Any:
        """The last observations of the previous episodes; valid only in rows of worlds that ended in the last step."""
        return combine_readers(self._readers.observation_readers(FINAL))()

    def rewards(self) -> Any:
        """The reward of every world, shape (num_envs,): the sum over its agents."""
        return self._readers.rewards()

    def terminations(self) -> Any:
        """Whether each world's episode terminated in the last step, shape (num_envs,)."""
        return self._readers.terminations()

    def truncations(self) -> Any:
        """Whether each world's episode was truncated in the last step, shape (num_envs,)."""
        return self._readers.truncations()

    def infos(self) -> dict[str, Any]:
        """Every info component with its mask, in Gymnasium's layout."""
        return self._infos()

    def take_observations(self) -> Any:
        """The current observations, as :meth:`observations`; at most once per step, copies that the step made."""
        if self._overlapped is None:
            return self._readers.observations()
        observations = self._overlapped.take()
        return as_tensors(observations) if self.backend == "torch" else observations

    def discard_copies(self) -> None:
        """Forget the copies that the last step made: the worlds have been changed since."""
        if self._overlapped is not None:
            self._overlapped.discard()
        if self._readers.copies is not None:
            self._readers.copies.discard()

    def all_worlds_mask(self) -> Any:
        """A mask that is True for all worlds, shape (num_envs,)."""
        return self._readers.all_worlds_mask()

    def step(self, actions: Any) -> None:
        """Step every world with its action."""
        self.check_open()
        if self._graph_step is not None and self._graph_step(actions):
            return
        self.discard_copies()
        single = self._single_writer
        written = self._write_actions(actions) if single is None else single.write(actions)
        checked = None if written else self._checked_actions(actions)
        if self._overlapped is None:
            self.simulation.step(checked)
        else:
            copies = self._overlapped.allocate()
            self.simulation.step(checked, self._overlapped.output_copies(copies))
            self._overlapped.keep(copies)

    def _checked_actions(self, actions: Any) -> Any:
        """``actions`` of any form for :meth:`Simulation.step`, which checks and converts them."""
        if len(self._action_columns) == 1 and not isinstance(actions, Mapping):
            return self._to_column(actions, next(iter(self._action_columns.values())))
        check_action_keys(actions, self._action_columns)
        return {c.name: self._to_column(actions[k], c) for k, c in self._action_columns.items()}

    def _write_actions(self, actions: Any) -> bool:
        """Write the actions of several components; False where one of them was not written."""
        return (
            type(actions) is dict
            and actions.keys() == self._action_writers.keys()
            and all(writer.write(actions[key]) for key, writer in self._action_writers.items())
        )

    def _to_column(self, actions: Any, column: Column) -> Any:
        """``actions`` as an array or tensor, in the shape of its column if the number of elements fits."""
        if not hasattr(actions, "shape"):
            array = to_numpy(actions, "the actions")
            if array.dtype.kind not in NUMERIC_KINDS:
                raise InputError(
                    f"{column.kind_name} takes {column.dtype.name} of shape {column.shape}, not {reprlib.repr(actions)}"
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
