"""Random initial positions with MuJoCo Warp: all worlds draw at once, and those that touch something draw again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import warp as wp

from worldloom.core.model.launch import Shard
from worldloom.robots.warp.engine import WarpEngine
from worldloom.robots.warp.placement_kernels import (
    begin_placement,
    count_world_contacts,
    draw_attempt,
    finish_attempt,
    next_attempt,
)


@dataclass
class WarpPlacement:
    """The placement of the worlds of a simulation.

    Attributes:
        engine: MuJoCo Warp.
        draws: Kind, address and whether it is repeated of each draw, shape (draws, 3).
        bounds: Low and high of each draw, shape (draws, 2).
        attempts: The largest number of draws.
        free_of_contacts: Whether worlds draw again while geoms touch.
        seeds, qpos, placed: Columns: seeds of the draws, positions, and whether they were found.
        draw_more: Launches further draws of an attempt, of the selected worlds that are not placed; None for none.
        attempt: The number of the attempt, shape (1,).
    """

    engine: WarpEngine
    draws: wp.array
    bounds: wp.array
    attempts: int
    free_of_contacts: bool
    seeds: wp.array
    qpos: wp.array
    placed: wp.array
    draw_more: Callable[[WarpPlacement, Shard], None] | None = None
    attempt: wp.array = field(init=False)

    def __post_init__(self) -> None:
        device, num_worlds = self.engine.device, self.engine.num_worlds
        self.attempt, self._unplaced, self._again = (wp.zeros(1, dtype=wp.int32, device=device) for _ in range(3))
        self._counts = wp.zeros(num_worlds, dtype=wp.int32, device=device)
        if self.free_of_contacts:
            self.engine.prepare_reset(physics=True)

    def run(self, shard: Shard) -> None:
        """Draw the positions of the selected worlds."""
        with self.engine.on(shard):
            inputs = [shard.mask, shard.value, self.placed, self.attempt]
            wp.launch(begin_placement, dim=shard.count, inputs=inputs, record_tape=False)
            if self.free_of_contacts:
                self.engine.selected.run(shard, lambda: self._repeat(shard))
            else:
                self._draw(shard)
                self._finish(shard)

    def _draw(self, shard: Shard) -> None:
        """Draw the positions of the selected worlds that are not placed."""
        inputs = [shard.mask, shard.value, self.placed, self.attempt, self.draws, self.bounds, self.seeds]
        wp.launch(draw_attempt, dim=shard.count, inputs=inputs, outputs=[self.qpos], record_tape=False)
        if self.draw_more is not None:
            self.draw_more(self, shard)

    def _repeat(self, shard: Shard) -> None:
        def body() -> None:
            self._draw(shard)
            self.engine.detect()
            data = self.engine.data
            inputs = [data.nacon, data.contact.worldid, data.contact.type, self._counts]
            wp.launch(count_world_contacts, dim=data.naconmax, inputs=inputs, record_tape=False)
            self._finish(shard)

        self._again.fill_(1)
        wp.capture_while(self._again, while_body=body)

    def _finish(self, shard: Shard) -> None:
        data = self.engine.data
        inputs = [shard.mask, shard.value, data.ncollision, data.nacon, data.naconmax]
        outputs = [self._counts, self.placed, self._unplaced]
        wp.launch(finish_attempt, dim=shard.count, inputs=inputs, outputs=outputs, record_tape=False)
        outputs = [self.attempt, self._unplaced, self._again]
        wp.launch(next_attempt, dim=1, inputs=[self.attempts], outputs=outputs, record_tape=False)
