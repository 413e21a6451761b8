"""The system that solves a body with one contact, with a body that is not dynamic, from the first substep to the last.

Most bodies of a batch of worlds stand on the floor and touch nothing else. Nothing depends on them within a step, so
one thread keeps the body and its contact in registers, and loads and stores them once.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import KINEMATIC, Remainder, Response
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.motion import carry_rotation, pushed_again, turned
from worldloom.physics.solving.body_motion import stage_of
from worldloom.physics.solving.colouring import LONE, PASSES, SUBSTEPS, SWEEPS
from worldloom.physics.solving.contact_passes import carried_spins, contact_pass, warm_pass
from worldloom.physics.solving.solver import (
    WARM_START,
    WITH_BIAS,
    contact_aims,
    inverse_diagonal,
    normal_response,
    placed_points,
    slip_rates,
    softness,
    sum_of,
)

REGISTERS = 168
"""Registers of a thread, so that a multiprocessor of a GPU has three blocks of 128 threads, and not two."""


def lone_system(World: type, Body: type, Contact: type) -> Any:
    """The system; it runs before kinematic bodies move."""

    @wl.function
    def other_pose(world: World, other: Body, substeps: int, h: float):
        """Position and rotation of the other body, which has not been moved for ``substeps``."""
        position, rotation = other.position, other.rotation
        if other.motion == KINEMATIC:
            for _ in range(substeps):
                position += other.velocity * h
                rotation = turned(rotation, other.spin, h)
        return position, rotation

    @wl.system(where=("batch", LONE), disjoint=True, registers=REGISTERS)
    def solve_lone(listed: Contact, world: World):
        contact = world.at(Contact, listed.id)
        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
        a_mass, b_mass = a.inverse_mass, b.inverse_mass
        moves_a = a_mass > 0.0
        body = world.at(Body, contact.a_id if moves_a else contact.b_id)
        other = world.at(Body, contact.b_id if moves_a else contact.a_id)
        position, rotation, velocity, spin = body.position, body.rotation, body.velocity, body.spin
        free_velocity, free_spin = velocity, spin
        inverse = body.world_inverse_inertia  # a mass of 0 stands for that of the other body
        normal, first, count = contact.normal, contact.tangent, contact.num_points
        impulses, tangents, peaks, impulse = contact.impulses, contact.tangents, wl.vec4(), 0.0
        between, arms, gaps, response, rates = wl.vec3(), Points(), wl.vec4(), Response(), wl.vec4()
        h = world.dt / float(SUBSTEPS)
        rate, mass, give = softness(world.contact_frequency, world.contact_damping, h)
        for substep in range(SUBSTEPS):
            velocity, spin, free_velocity, free_spin = pushed_again(
                velocity, spin, free_velocity, free_spin, world.gravity, body.force, body.torque,
                body.inverse_mass, inverse, h,
            )  # fmt: skip
            for number in range(int(substep > 0), PASSES):
                stage = stage_of(number, SWEEPS)
                moves = number == SWEEPS + 1
                if moves:
                    position += velocity * h
                    rotation, spin, free_spin, _rest, inverse = carry_rotation(
                        rotation, spin, free_spin, Remainder(), False, body.inertia, body.inverse_inertia, h
                    )
                if moves or substep + number == 0:
                    a_position, a_rotation = other_pose(world, other, substep + int(moves), h)
                    b_position, b_rotation = position, rotation
                    if moves_a:
                        b_position, b_rotation, a_position, a_rotation = a_position, a_rotation, position, rotation
                    old_between, old_arms = between, arms
                    between = b_position - a_position
                    arms, gaps = placed_points(
                        normal, between, contact.a_anchors, a_rotation, contact.a_radius, contact.b_anchors, b_rotation,
                        contact.b_radius,
                    )  # fmt: skip
                    response = normal_response(normal, between, arms, a_mass, b_mass, inverse, inverse)
                    if moves:
                        free_a, free_b = carried_spins(
                            free_spin, free_spin, a_mass, b_mass, inverse, inverse, between - old_between,
                            arms - old_arms, normal, first, impulses, tangents,
                        )  # fmt: skip
                        free_spin = free_a if moves_a else free_b
                if substep + number == 0:
                    rates = slip_rates(normal, first, count, between, arms, a_mass, b_mass, inverse, inverse)
                v_a, w_a, v_b, w_b = other.velocity, other.spin, velocity, spin
                if moves_a:
                    v_a, w_a, v_b, w_b = velocity, spin, other.velocity, other.spin
                if stage == WARM_START:
                    v_a, w_a, v_b, w_b = warm_pass(
                        v_a, w_a, v_b, w_b, a_mass, b_mass, inverse, inverse, between, arms, normal, first,
                        impulses, tangents,
                    )  # fmt: skip
                else:
                    targets, stiffness, relief = contact_aims(
                        gaps, count, stage == WITH_BIAS, 1.0 / h, rate, world.max_push, mass, give
                    )
                    v_a, w_a, v_b, w_b, impulses, tangents = contact_pass(
                        v_a, w_a, v_b, w_b, a_mass, b_mass, inverse, inverse, between, arms, normal, first,
                        response, inverse_diagonal(response), targets, stiffness, relief, count, contact.friction,
                        rates, impulses, tangents,
                    )  # fmt: skip
                    if number == PASSES - 1:
                        peaks = wl.max(peaks, impulses)
                        impulse += sum_of(impulses)
                velocity, spin = v_b, w_b
                if moves_a:
                    velocity, spin = v_a, w_a
        contact.impulses, contact.tangents, contact.peaks, contact.impulse = impulses, tangents, peaks, impulse
        contact.between = between
        body.position, body.rotation, body.velocity, body.spin = position, rotation, velocity, spin
        body.world_inverse_inertia = inverse

    return solve_lone
