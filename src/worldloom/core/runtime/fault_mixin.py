"""The faults of a simulation: reading them from the device, and the error for an overflow of a population."""

from __future__ import annotations

import numpy as np
import warp as wp

from worldloom.core.base.arrays import to_host
from worldloom.core.base.errors import CapacityError, WorldFault
from worldloom.core.codegen.program import Program
from worldloom.core.kernels.guards import CAPACITY, WIDTH, Alarm
from worldloom.core.registry.definition import Definition
from worldloom.core.runtime.action_range import OutOfRangeActions, reported_value
from worldloom.core.runtime.simulation_part import SimulationPart

LAST_EPISODES = 2_000_000_000
"""The episode from which on a world is at fault: its count ends at 2**31 - 1."""


class FaultMixin(SimulationPart):
    """The part of a simulation that collects the faults of its worlds."""

    definition: Definition
    device: wp.Device
    program: Program | None
    world_offset: int
    faults_lost: int = 0
    """Number of faults that did not fit into the buffers."""
    faults_read: int = 0
    """Number of faults read from the buffers of compiled kernels."""

    def _allocate_faults(self, slices: int) -> None:
        """Make the buffers of compiled kernels, one per slice of the worlds, and the flag for overflows."""
        self._faults: list[WorldFault] = []
        self.fault_texts: dict[str, str] = {}
        """Texts that replace others in messages, where a cause or its fix depends on the device."""
        self._out_of_range: OutOfRangeActions = {}
        self._fault_buffers = [
            wp.zeros((1 + CAPACITY, WIDTH), dtype=wp.int32, device=self.device) for _ in range(slices)
        ]
        self._alarm = Alarm(self.device)
        self._overflow_is_error = any(p.limit.overflow == "error" for p in self.definition.populations.values())

    def errors(self) -> list[WorldFault]:
        """The faults of single worlds since the last call. Those worlds were reset; the others continued.

        At most 256 faults are kept per CPU thread or GPU; ``faults_lost`` counts the rest. A world whose episode count
        is near its end is a fault of every call.
        """
        self._read_faults()
        self._note_last_episodes()
        faults, self._faults = sorted(self._faults, key=lambda f: (f.episode, f.step, f.world)), []
        return faults

    def _read_faults(self) -> None:
        """Move the faults from the device into ``_faults``."""
        if self.device.is_cuda:
            wp.synchronize_device(self.device)  # the last step may have run on any stream
        if self.program is None:
            return
        sites = self.program.sites.messages
        for buffer in self._fault_buffers:
            rows = to_host(buffer)
            count = int(rows[0, 0])
            for site, world, episode, step, value in rows[1 : 1 + min(count, CAPACITY)].tolist():
                self._note_fault(sites[site], world, episode, step, value)
            self.faults_lost += max(0, count - CAPACITY)
            self.faults_read += count
            if count:
                buffer.assign(np.zeros_like(rows)) if self.device.is_cuda else rows.fill(0)

    def _note_last_episodes(self) -> None:
        """Note up to 256 worlds whose episode count is near its end; on a GPU one number is copied to the host."""
        column = self._simulation().world["episode"]
        if int((column.torch() if self.device.is_cuda else column.numpy()).max()) < LAST_EPISODES:
            return
        episodes, steps = column.numpy(), self._simulation().world["step"].numpy()
        worlds = np.flatnonzero(episodes >= LAST_EPISODES)
        self.faults_lost += max(0, len(worlds) - CAPACITY)
        for world in worlds[:CAPACITY].tolist():
            self._faults.append(
                WorldFault(
                    f"the episode count of this world ends at {2**31 - 1:,}, and its episodes then repeat: "
                    "give it a new seed with sim.reset(mask, seeds=...)",
                    world + self.world_offset,
                    int(episodes[world]),
                    int(steps[world]),
                )
            )

    def _note_fault(self, message: str, world: int, episode: int, step: int, value: int) -> None:
        for text, replacement in self.fault_texts.items():
            message = message.replace(text, replacement)
        number = reported_value(message, world - self.world_offset, value, self._out_of_range, self.device.is_cuda)
        self._faults.append(WorldFault(message.replace("{value}", number), world, episode, step))

    def check_capacity(self) -> None:
        """Raise CapacityError where a population overflowed whose rule is ``overflow="error"``.

        :meth:`step` and :meth:`reset` call it. Other faults are kept for :meth:`errors`.
        """
        if not (self._overflow_is_error and self._alarm.is_set):
            return
        self._alarm.clear()
        endings = tuple(
            population.overflow_message.partition("}")[2]
            for population in self.definition.populations.values()
            if population.limit.overflow == "error"
        )
        lost = self.faults_lost
        faults = self.errors()
        overflows = [fault for fault in faults if fault.message.endswith(endings)]
        self._faults = [fault for fault in faults if fault not in overflows]
        if overflows or self.faults_lost > lost:
            raise CapacityError(overflows)
