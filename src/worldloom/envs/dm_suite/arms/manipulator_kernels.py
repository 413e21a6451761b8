"""Kernels that draw the initial states of the manipulator."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.robots.placement_kernels import count_contacts, draw_positions, draw_uniform

PI = wp.constant(wp.float64(3.141592653589793))
IN_HAND = wp.constant(wp.float64(0.1))
IN_TARGET = wp.constant(wp.float64(0.1))
"""Probabilities of the place of the prop."""


@wp.func_native("return ((const double*)address)[index];")
def _number_at(address: wp.uint64, index: int) -> wp.float64: ...


@wp.func
def _draw(seed: wp.uint32, attempt: int, draw: int, low: float, high: float):
    return draw_uniform(seed, attempt, draw, wp.float64(low), wp.float64(high))


@wp.func
def _place_body(
    world: int, body: int, x: wp.float64, z: wp.float64, angle: wp.float64,
    body_pos: wp.array2d(dtype=Any), body_quat: wp.array2d(dtype=Any),
):  # fmt: skip
    """Move a body in the plane and turn it around y."""
    body_pos[world, 3 * body] = body_pos.dtype(x)
    body_pos[world, 3 * body + 2] = body_pos.dtype(z)
    body_quat[world, 4 * body] = body_quat.dtype(wp.cos(angle / wp.float64(2.0)))
    body_quat[world, 4 * body + 2] = body_quat.dtype(wp.sin(angle / wp.float64(2.0)))


@wp.func
def _place_prop(world: int, address: int, x: wp.float64, z: wp.float64, angle: wp.float64, qpos: wp.array2d(dtype=Any)):
    """Set the joints of the prop."""
    qpos[world, address] = qpos.dtype(x)
    qpos[world, address + 1] = qpos.dtype(z)
    qpos[world, address + 2] = qpos.dtype(angle)


@wp.func
def _draw_target_and_prop(
    seed: wp.uint32, attempt: int, draw: int, world: int, target: int, receptacle: int, largest_angle: wp.float64,
    prop_address: int, prop_velocity: int, qpos: wp.array2d(dtype=Any), qvel: wp.array2d(dtype=Any),
    body_pos: wp.array2d(dtype=Any), body_quat: wp.array2d(dtype=Any),
):  # fmt: skip
    """Place the target, and the prop in it or anywhere. True where the prop belongs into the hand instead."""
    x = _draw(seed, attempt, draw, -0.4, 0.4)
    z = _draw(seed, attempt, draw + 1, 0.1, 0.4)
    angle = draw_uniform(seed, attempt, draw + 2, -largest_angle, largest_angle)
    _place_body(world, target, x, z, angle, body_pos, body_quat)
    _place_body(world, receptacle, x, z, angle, body_pos, body_quat)
    place = _draw(seed, attempt, draw + 3, 0.0, 1.0)
    if place >= IN_HAND + IN_TARGET:
        x = _draw(seed, attempt, draw + 4, -0.5, 0.5)
        z = _draw(seed, attempt, draw + 5, 0.0, 0.7)
        angle = draw_uniform(seed, attempt, draw + 6, wp.float64(0.0), wp.float64(2.0) * PI)
        qvel[world, prop_velocity] = qvel.dtype(_draw(seed, attempt, draw + 7, -5.0, 5.0))
    _place_prop(world, prop_address, x, z, angle, qpos)
    return place < IN_HAND


@wp.kernel(enable_backward=False)
def place_manipulators(
    first: int, count: int, mask: wp.array(dtype=wp.bool), value: bool, model_address: wp.uint64,
    data_address: wp.uint64, position_function: wp.uint64, contact_count: wp.uint64, arrays: wp.array(dtype=wp.uint64),
    sizes: wp.array(dtype=wp.int32), copied_in: int, draws: wp.array2d(dtype=wp.int32),
    bounds: wp.array2d(dtype=wp.float64), attempts: int, seeds: wp.array(dtype=wp.int32),
    grasp_position: wp.uint64, grasp_frame: wp.uint64, target: int, receptacle: int, largest_angle: wp.float64,
    prop_address: int, prop_velocity: int,
    # outputs
    qpos: wp.array2d(dtype=wp.float64), qvel: wp.array2d(dtype=wp.float64), body_pos: wp.array2d(dtype=wp.float64),
    body_quat: wp.array2d(dtype=wp.float64), placed: wp.array(dtype=wp.bool),
):  # fmt: skip
    """Draw arm, target and prop of ``count`` worlds from ``first`` on, at most ``attempts`` times each. One thread.

    Args:
        first, ..., seeds: As in :func:`~worldloom.robots.placement_kernels.place_worlds`, with the draws of the arm.
        grasp_position, grasp_frame: Addresses of ``site_xpos`` and ``site_xmat`` of the site between the fingers.
        target, receptacle: Bodies at the target; the same where there is no receptacle.
        largest_angle: Bound of the angle of the target.
        prop_address, prop_velocity: The first index of the prop's joints x, z and angle in ``qpos`` and ``qvel``.
        qpos, qvel, body_pos, body_quat, placed: Rows of the columns.
    """
    for i in range(count):
        world = first + i
        if picked(mask, value, world):
            seed = wp.uint32(seeds[world])
            placed[world] = False
            attempt = int(0)
            while attempt < attempts and not placed[world]:
                for k in range(draws.shape[0]):
                    draw_positions(
                        seed, attempt, k, world, draws[k, 0], draws[k, 1], bounds[k, 0], bounds[k, 1], qpos
                    )  # fmt: skip
                in_hand = _draw_target_and_prop(
                    seed, attempt, 8 * draws.shape[0], world, target, receptacle, largest_angle, prop_address,
                    prop_velocity, qpos, qvel, body_pos, body_quat,
                )  # fmt: skip
                if in_hand:
                    count_contacts(
                        world, model_address, data_address, position_function, contact_count, arrays, sizes, copied_in
                    )  # fmt: skip
                    angle = PI - wp.atan2(_number_at(grasp_frame, 6), _number_at(grasp_frame, 0))
                    _place_prop(
                        world, prop_address, _number_at(grasp_position, 0), _number_at(grasp_position, 2), angle, qpos
                    )  # fmt: skip
                contacts = count_contacts(
                    world, model_address, data_address, position_function, contact_count, arrays, sizes, copied_in
                )  # fmt: skip
                placed[world] = contacts == 0
                attempt += 1


@wp.kernel(enable_backward=False)
def draw_manipulators(
    mask: wp.array(dtype=wp.bool), value: bool, placed: wp.array(dtype=wp.bool), attempt: wp.array(dtype=wp.int32),
    num_draws: int, seeds: wp.array(dtype=wp.int32), target: int, receptacle: int, largest_angle: wp.float64,
    prop_address: int, prop_velocity: int,
    # outputs
    qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), body_pos: wp.array2d(dtype=float),
    body_quat: wp.array2d(dtype=float), in_hand: wp.array(dtype=wp.bool),
):  # fmt: skip
    """Draw target and prop of the selected worlds that are not placed; thread (world).

    Arguments as in :func:`place_manipulators`; ``num_draws`` is the number of draws of the arm. Where ``in_hand``
    becomes True, the prop belongs into the hand.
    """
    world = wp.tid()
    in_hand[world] = False
    if picked(mask, value, world) and not placed[world]:
        in_hand[world] = _draw_target_and_prop(
            wp.uint32(seeds[world]), attempt[0], 8 * num_draws, world, target, receptacle, largest_angle,
            prop_address, prop_velocity, qpos, qvel, body_pos, body_quat,
        )  # fmt: skip


@wp.kernel(enable_backward=False)
def grasp_props(
    in_hand: wp.array(dtype=wp.bool), site_xpos: wp.array2d(dtype=wp.vec3), site_xmat: wp.array2d(dtype=wp.mat33),
    grasp: int, prop_address: int,
    # outputs
    qpos: wp.array2d(dtype=float),
):  # fmt: skip
    """Place the props of the worlds ``in_hand`` at the site ``grasp`` between the fingers; thread (world)."""
    world = wp.tid()
    if in_hand[world]:
        position, frame = site_xpos[world, grasp], site_xmat[world, grasp]
        angle = PI - wp.atan2(wp.float64(frame[2, 0]), wp.float64(frame[0, 0]))
        _place_prop(world, prop_address, wp.float64(position[0]), wp.float64(position[2]), angle, qpos)
