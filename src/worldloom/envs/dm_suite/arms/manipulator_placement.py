"""Initial states of the manipulator: target, arm and prop are drawn again while geoms touch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.model.launch import Launch, Shard
from worldloom.envs.dm_suite.addresses import joint_address, velocity_address
from worldloom.envs.dm_suite.arms.arm import arm_draws
from worldloom.envs.dm_suite.arms.manipulator_c_engine_kernels import place_manipulators
from worldloom.envs.dm_suite.arms.manipulator_kernels import draw_manipulators, grasp_props
from worldloom.robots import Physics
from worldloom.robots.placement import MAX_ATTEMPTS, PlaceLaunch, flat_rows
from worldloom.robots.placement_systems import report_system, seed_system
from worldloom.robots.warp.placement import WarpPlacement

if TYPE_CHECKING:
    from worldloom.core.frontend.system import System
    from worldloom.core.simulation import Simulation

INSERT_ANGLE = math.pi / 3
"""Largest angle of a cup or slot. Other targets have any angle."""


def manipulator_reset(physics: Physics, prop: str, target: str, receptacle: str) -> tuple[System | Launch, ...]:
    """Entries that place the arm, the target and the prop.

    The prop is in the hand or in the target, with a probability of 0.1 each, or falls from a random place.

    Args:
        physics: The physics, with the parameters ``body_pos`` and ``body_quat``.
        prop, target, receptacle: Names of bodies; the receptacle may be empty.
    """
    return seed_system(physics.kind), _PlaceManipulator(physics, prop, target, receptacle), report_system(physics.kind)


class _PlaceManipulator(PlaceLaunch):
    """Draws the initial states of all worlds."""

    def __init__(self, physics: Physics, prop: str, target: str, receptacle: str) -> None:
        model = physics.model
        super().__init__(physics, arm_draws(model), MAX_ATTEMPTS, free_of_contacts=True)
        self.writes = {physics.kind: (*self.writes[physics.kind], "qvel", "body_pos", "body_quat")}
        self.grasp = model.id("site", "grasp")
        self.bodies = [model.body(target), model.body(receptacle or target)]
        self.angle = INSERT_ANGLE if receptacle else math.pi
        self.addresses = [joint_address(model, f"{prop}_x"), velocity_address(model, f"{prop}_x")]

    def prepare(self, simulation: Simulation) -> dict[str, Any] | WarpPlacement:
        prepared = super().prepare(simulation)
        if isinstance(prepared, WarpPlacement):
            return prepared
        return {**prepared, **self._columns(simulation)}

    def prepare_warp(self, simulation: Simulation) -> WarpPlacement:
        placement, columns = super().prepare_warp(simulation), self._columns(simulation)
        in_hand = wp.zeros(simulation.num_worlds, dtype=wp.bool, device=simulation.device)
        placement.draw_more = lambda placement, shard: self._draw_props(placement, shard, columns, in_hand)
        return placement

    def _draw_props(
        self, placement: WarpPlacement, shard: Shard, columns: dict[str, wp.array], in_hand: wp.array
    ) -> None:
        """Launch the draws of target and prop with MuJoCo Warp."""
        worlds = [shard.mask, shard.value, placement.placed, placement.attempt]
        places = [*self.bodies, self.angle, *self.addresses]
        inputs = [*worlds, len(self.draws), placement.seeds, *places]
        outputs = [placement.qpos, *columns.values(), in_hand]
        wp.launch(draw_manipulators, dim=shard.count, inputs=inputs, outputs=outputs, record_tape=False)
        placement.engine.detect()
        data = placement.engine.data
        inputs = [in_hand, data.site_xpos, data.site_xmat, self.grasp, self.addresses[0]]
        wp.launch(grasp_props, dim=shard.count, inputs=inputs, outputs=[placement.qpos], record_tape=False)

    def _columns(self, simulation: Simulation) -> dict[str, wp.array]:
        table = self.physics.table(simulation)
        return {name: flat_rows(table, name, simulation.num_worlds) for name in ("qvel", "body_pos", "body_quat")}

    def launch(self, prepared: dict[str, Any] | WarpPlacement, shard: Shard) -> None:
        if isinstance(prepared, WarpPlacement):
            prepared.run(shard)
            return
        data = prepared["parts"][shard.first].data
        grasp = [int(data.site_xpos[self.grasp].ctypes.data), int(data.site_xmat[self.grasp].ctypes.data)]
        outputs = [prepared[name] for name in ("qpos", "qvel", "body_pos", "body_quat", "placed")]
        inputs = [*self.inputs(prepared, shard), *grasp, *self.bodies, self.angle, *self.addresses, *outputs]
        wp.launch(place_manipulators, dim=1, inputs=inputs, device=shard.device, stream=shard.stream, record_tape=False)

    def digest(self) -> str:
        return f"{super().digest()} {self.grasp} {self.bodies} {self.angle} {self.addresses}"
