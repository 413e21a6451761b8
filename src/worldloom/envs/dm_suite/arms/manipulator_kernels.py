"""Draws of initial states of the manipulator, and kernels of one attempt with MuJoCo Warp."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.robots.placement_kernels import draw_uniform

PI = wp.constant(wp.float64(3.141592653589793))
IN_HAND = wp.constant(wp.float64(0.1))
IN_TARGET = wp.constant(wp.float64(0.1))
"""Probabilities of the place of the prop."""


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
def place_prop(world: int, address: int, x: wp.float64, z: wp.float64, angle: wp.float64, qpos: wp.array2d(dtype=Any)):
    """Set the joints of the prop."""
    qpos[world, address] = qpos.dtype(x)
    qpos[world, address + 1] = qpos.dtype(z)
    qpos[world, address + 2] = qpos.dtype(angle)


@wp.func
def draw_target_and_prop(
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
    place_prop(world, prop_address, x, z, angle, qpos)
    return place < IN_HAND


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
        in_hand[world] = draw_target_and_prop(
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
        place_prop(world, prop_address, wp.float64(position[0]), wp.float64(position[2]), angle, qpos)
