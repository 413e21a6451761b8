"""The readers of a batch of worlds: of observations, rewards, flags and infos, and of whole step results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from worldloom.core.model.columns import WORLD
from worldloom.core.runtime.column import Column
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation
from worldloom.vector.checks import Backend, StepResult
from worldloom.vector.env_layout import EnvComponent, EnvLayout
from worldloom.vector.observation_types import Conversion, is_widening, make_conversion
from worldloom.vector.transfer.column_readers import ColumnReaders, Reader, as_tensor_reader, combine_readers
from worldloom.vector.transfer.step_infos import StepInfos
from worldloom.vector.transfer.step_results import ResultReaders, array_results, copied_results, tensor_results
from worldloom.vector.transfer.tensor_copies import CopySource, TensorCopies, make_copies


class ExposedColumn(NamedTuple):
    """A column that clients read.

    Attributes:
        column: The column.
        shape: The shape of one world's value.
        convert: Its conversion to the type that clients receive; None where it has that type.
    """

    column: Column
    shape: tuple[int, ...] = ()
    convert: Conversion | None = None


class WorldReaders:
    """Readers of what a batch of worlds returns, each of shape (num_envs, ...).

    Args:
        simulation: The worlds.
        layout: The components that are exposed.
        backend: ``numpy``, or ``torch`` for tensors on the simulation's device.
        copy: Whether readers return copies, or else views of the columns.
        gymnasium_types: Whether observations have the types of Gymnasium's spaces, or else those of their columns.
        in_arrays: Whether readers return arrays with either backend, with the types of the backend.

    Attributes:
        observations: Reader of an array, or of a dict of several components.
        rewards: Reader of the sums over the agents of each world.
        terminations, truncations: Readers of the flags of the last step.
        all_worlds_mask: Returns a new mask that is True for all worlds.
    """

    def __init__(
        self,
        simulation: Simulation,
        layout: EnvLayout,
        backend: Backend,
        copy: bool,
        gymnasium_types: bool,
        in_arrays: bool = False,
    ) -> None:
        self._simulation, self._layout, self._backend, self._copy = simulation, layout, backend, copy
        self._gymnasium_types, self._num_envs = gymnasium_types, simulation.num_worlds
        self._on_host = simulation.device.is_cpu
        self._same_step = simulation.autoreset == "same_step"
        self._in_arrays = in_arrays
        self.copies: TensorCopies | None = None
        """What copies the results of a step on a GPU with one kernel, where :meth:`results` has made it."""
        columns = ColumnReaders(self._num_envs, backend, copy)
        self._make_reader = columns.array_reader if in_arrays else columns.reader
        self.all_worlds_mask = self._mask_reader()
        self._infos = StepInfos(layout, self._same_step, self.all_worlds_mask)
        self.observations = combine_readers(self.observation_readers())
        self.rewards = self._reward_reader()
        self.terminations = self.reader(simulation.terminated, ())
        self.truncations = self.reader(simulation.truncated, ())

    def reader(self, column: Column, shape: tuple[int, ...]) -> Reader:
        """A reader of any column; ``shape`` is that of one world's value."""
        return self._make_reader(column, shape)

    def observation_readers(self, prefix: str = "") -> dict[str, Reader]:
        """Readers of the observations by key; with the prefix ``FINAL``, of the last ones of the previous episodes."""
        keys = [component.key for component in self._layout.observations]
        readers = [self._make_reader(*exposed) for exposed in self.exposed_observations(prefix)]
        return dict(zip(keys, readers, strict=True))

    def info_reader(self) -> Callable[[], dict[str, Any]]:
        """A reader of every info component with its mask, in Gymnasium's layout."""
        readers = [self._make_reader(*exposed) for exposed in self._exposed(self._layout.infos)]
        infos = self._infos
        return lambda: infos.current([read() for read in readers])

    def _mask_reader(self) -> Reader:
        if self._backend == "numpy":
            return partial(np.ones, self._num_envs, np.bool_)
        return partial(self._simulation.terminated.torch().new_ones, self._num_envs)

    def exposed_observations(self, prefix: str = "") -> list[ExposedColumn]:
        """The columns of the observations, in the order of the layout."""
        of_tensors = self._backend == "torch" and not self._on_host
        return [
            exposed._replace(convert=make_conversion(component, exposed.column, self._backend, of_tensors))
            if self._gymnasium_types
            else exposed
            for component, exposed in zip(
                self._layout.observations, self._exposed(self._layout.observations, prefix), strict=True
            )
        ]

    def _exposed(self, components: Iterable[EnvComponent], prefix: str = "") -> list[ExposedColumn]:
        tables = self._simulation.tables
        return [ExposedColumn(tables[c.table][prefix + c.name], c.shape) for c in components]

    def _reward_reader(self) -> Reader:
        rewards = self._exposed(self._layout.rewards)
        if self._has_plain_reward:
            return self._make_reader(*rewards[0])
        if rewards:
            columns = ColumnReaders(self._num_envs, self._backend, copy=False)  # sums are new memory
            in_arrays = self._in_arrays or self._on_host  # PyTorch adds in another order
            make_reader = columns.array_reader if in_arrays else columns.reader
            readers = [(make_reader(*exposed), exposed.shape != ()) for exposed in rewards]
            read = partial(sum_rewards, self._num_envs, readers)
            return as_tensor_reader(read) if self._backend == "torch" and in_arrays and not self._in_arrays else read
        if self._backend == "numpy" or self._in_arrays:
            return partial(np.zeros, self._num_envs, np.float32)
        import torch

        return partial(self._simulation.terminated.torch().new_zeros, self._num_envs, dtype=torch.float32)

    @property
    def _has_plain_reward(self) -> bool:
        """Whether the rewards are a column of their own, and no sum."""
        return [component.shape for component in self._layout.rewards] == [()]

    # -- step results ------------------------------------------------------------------------------------------------

    def for_results(self) -> WorldReaders:
        """The readers of step results. With copies on the CPU they return arrays, and the results are made of them."""
        if self._backend == "numpy" or not self._copy or not self._on_host:
            return self
        return WorldReaders(
            self._simulation, self._layout, self._backend, self._copy, self._gymnasium_types, in_arrays=True
        )

    def results(self, observations: Reader | None = None) -> Callable[[], StepResult]:
        """A function that returns the result of the last step.

        Args:
            observations: Reads its observations, as those of :meth:`for_results` do.
        """
        if self._backend == "torch" and self._copy and not self._on_host:
            results = self.copied_results(self._simulation.executor.stream)
            if results is not None:
                return results
        source = self.for_results()
        readers = ResultReaders(
            source.observations if observations is None else observations,
            source.rewards,
            source.terminations,
            source.truncations,
            [source._make_reader(*exposed) for exposed in self._exposed(self._layout.infos)],
            source.reader(self._simulation.tables[WORLD]["finished"], ()),
            [source._make_reader(*exposed) for exposed in self._exposed_final()] if self._same_step else None,
            source._in_arrays,
        )
        if self._backend == "numpy":
            return array_results(readers, self._infos)
        return tensor_results(readers, self._infos, self._copy)

    def copied_results(self, stream: Callable[[], wp.Stream | None]) -> Callable[[], StepResult] | None:
        """A function that returns the result of the last step in tensors that one kernel copied.

        Args:
            stream: Returns the stream of the step.

        Returns:
            None where the kernel cannot copy all of the columns.
        """
        world, layout = self._simulation.tables[WORLD], self._layout
        separate = [ExposedColumn(world["terminated"]), ExposedColumn(world["truncated"])]
        separate += self._exposed(layout.rewards) if self._has_plain_reward else []
        separate += self.exposed_observations()
        packed = self._exposed(layout.infos)
        packed += [ExposedColumn(world["finished"]), *self._exposed_final()] if self._same_step else []
        copies = make_copies(map(self._copy_source, separate), map(self._copy_source, packed), stream)
        if copies is None:
            return None
        self.copies = copies
        return copied_results(
            copies,
            None if self._has_plain_reward else self.rewards,
            [component.key for component in layout.observations],
            self._infos,
        )

    def _exposed_final(self) -> Sequence[ExposedColumn]:
        """The columns of the final observations and infos of episodes."""
        return [*self.exposed_observations(FINAL), *self._exposed(self._layout.infos, FINAL)]

    def _copy_source(self, exposed: ExposedColumn) -> CopySource | None:
        """What the kernel copies for a column; None where it does not know the conversion."""
        widen = is_widening(exposed.convert) and exposed.column.dtype == np.int32
        if exposed.convert is not None and not widen:
            return None
        return CopySource(exposed.column.torch().reshape(self._num_envs, *exposed.shape), widen)


def sum_rewards(num_envs: int, readers: Sequence[tuple[Reader, bool]]) -> Any:
    """The sums of all reward components over the agents of each world; the flags say which components have agents."""
    total = None
    for read, has_agents in readers:
        values = read().reshape(num_envs, -1).sum(1) if has_agents else read()
        total = values if total is None else total + values
    return total
