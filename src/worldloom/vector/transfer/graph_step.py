"""A step of worlds on a GPU as one CUDA graph, from the actions of the client to the copies of the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import warp as wp

from worldloom.core.base.console import compile_notice
from worldloom.core.base.nvtx_ranges import with_nvtx_range
from worldloom.core.base.shards import WARP_LOCK
from worldloom.core.simulation import Simulation
from worldloom.vector.transfer.action_writers import ActionWriter, DeviceWriter
from worldloom.vector.transfer.mailbox import Mailbox
from worldloom.vector.transfer.tensor_copies import TensorCopies
from worldloom.vector.transfer.transfer_kernels import MAIL_ENTRIES

_ACTION_ENTRIES = 2
"""Numbers in the mail for the actions of one component: their address, and the bytes of one number."""


class GraphStep:
    """Steps worlds with actions in tensors on their GPU. It takes the host less time than a launch for each part.

    Args:
        simulation: The worlds, whose schedule has no callables.
        writers: The writers of all actions, by key.
        copies: What is copied after the step; None for nothing.
    """

    def __init__(
        self, simulation: Simulation, writers: Mapping[str, DeviceWriter], copies: TensorCopies | None
    ) -> None:
        self._simulation, self._writers, self._copies = simulation, writers, copies
        self._stream = simulation.executor.stream
        self._mailbox = Mailbox(simulation.device)
        self._single_writer = next(iter(writers.values())) if len(writers) == 1 else None
        mail = self._mailbox.mail
        with WARP_LOCK, compile_notice(f"the transfer of actions and results for {simulation.device.alias}"):
            self._receive = [
                writer.record_receive(mail, _ACTION_ENTRIES * k) for k, writer in enumerate(writers.values())
            ]
            self._copy = None if copies is None else copies.record_by_mail(mail, _ACTION_ENTRIES * len(writers))
        self._run = with_nvtx_range("worldloom step", self._launch)
        self._graph: wp.Graph | None = None
        self._generation = -1
        """Of the executor's kernels and memory in the graph."""
        self._numbers: list[int] = []

    def __call__(self, actions: Any) -> bool:
        """Step the worlds; False, without a step, for actions that need checks or conversions, or while they are
        recorded.
        """
        simulation = self._simulation
        if simulation.recorder is not None:
            return False
        numbers = self._locate(actions)
        if numbers is None:
            return False
        self._numbers = numbers
        simulation.run_step(self._run)
        return True

    def _locate(self, actions: Any) -> list[int] | None:
        """Where the actions are; None for those that the kernels cannot read."""
        if self._single_writer is not None:
            located = self._single_writer.locate(actions)
            return None if located is None else [*located]
        if type(actions) is not dict or actions.keys() != self._writers.keys():
            return None
        numbers: list[int] = []
        for key, writer in self._writers.items():
            located = writer.locate(actions[key])
            if located is None:
                return None
            numbers += located
        return numbers

    def _launch(self) -> None:
        executor = self._simulation.executor
        if self._generation != executor.generation:
            self._graph = executor.record_step(self._before, self._after)
            self._generation = executor.generation
        numbers = self._numbers if self._copies is None else self._numbers + self._copies.prepare()
        self._mailbox.send(numbers)
        stream = self._stream()
        wp.capture_launch(self._graph, stream)
        self._mailbox.launched(stream)

    def _before(self) -> None:
        self._mailbox.take()
        for launch in self._receive:
            launch.launch()

    def _after(self) -> None:
        if self._copy is not None:
            self._copy.launch()


def make_graph_step(
    simulation: Simulation, writers: Mapping[str, ActionWriter], copies: TensorCopies | None
) -> GraphStep | None:
    """The steps of these worlds as one graph; None where that is impossible."""
    on_device = {key: writer for key, writer in writers.items() if isinstance(writer, DeviceWriter)}
    num_entries = _ACTION_ENTRIES * len(writers) + (0 if copies is None else 1 + copies.num_allocations)
    if (
        simulation.interpreted
        or simulation.has_host_calls
        or not on_device
        or len(on_device) < len(writers)
        or not all(writer.takes_tensors for writer in on_device.values())
        or num_entries > MAIL_ENTRIES
    ):
        return None
    return GraphStep(simulation, on_device, copies)
