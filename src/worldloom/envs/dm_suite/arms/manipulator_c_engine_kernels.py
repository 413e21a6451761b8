"""The kernel that draws initial states of the manipulator with MuJoCo's C engine: native code for CPUs."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.envs.dm_suite.arms.manipulator_kernels import PI, draw_target_and_prop, place_prop
from worldloom.robots.placement_kernels import count_contacts, draw_positions


@wp.func_native("return ((const double*)address)[index];")
def _number_at(address: wp.uint64, index: int) -> wp.float64: ...


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
                in_hand = draw_target_and_prop(
                    seed, attempt, 8 * draws.shape[0], world, target, receptacle, largest_angle, prop_address,
                    prop_velocity, qpos, qvel, body_pos, body_quat,
                )  # fmt: skip
                if in_hand:
                    count_contacts(
                        world, model_address, data_address, position_function, contact_count, arrays, sizes, copied_in
                    )  # fmt: skip
                    angle = PI - wp.atan2(_number_at(grasp_frame, 6), _number_at(grasp_frame, 0))
                    place_prop(
                        world, prop_address, _number_at(grasp_position, 0), _number_at(grasp_position, 2), angle, qpos
                    )  # fmt: skip
                contacts = count_contacts(
                    world, model_address, data_address, position_function, contact_count, arrays, sizes, copied_in
                )  # fmt: skip
                placed[world] = contacts == 0
                attempt += 1
