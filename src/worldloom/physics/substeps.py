"""The system that integrates bodies and solves contacts."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, STATIC
from worldloom.physics.contact_passes import friction_pass, normal_pass, normal_speeds, warm_start
from worldloom.physics.mass import world_inverse_inertia
from worldloom.physics.motion import integrate_rotation, turned
from worldloom.physics.solver import current_separations, moved_arms, rotate_anchors, softness

# Stages of a substep, each a pass over all contacts.
WARM_START = 0
WITH_BIAS = 1
WITHOUT_BIAS = 2
RESTITUTION = 3


@wl.function
def stage_of(number: int, sweeps: int, last: bool) -> int:
    """The stage of a pass: a warm start, sweeps with bias, sweeps without; restitution after the last substep."""
    if last:
        return RESTITUTION
    if number == 0:
        return WARM_START
    return WITH_BIAS if number <= sweeps else WITHOUT_BIAS


def solver_systems(World: type, Body: type, Contact: type) -> list[Any]:
    """Systems over worlds, in order."""

    @wl.system
    def solve(world: World):
        h = world.dt / float(world.substeps)
        push_rate, soft_mass, soft_relief = softness(min(world.contact_frequency, 0.25 / h), world.contact_damping, h)
        passes = 2 * world.sweeps + 1
        for substep in range(world.substeps + 1):
            last = substep == world.substeps
            if not last:
                for body in world.all(Body):
                    if body.motion == DYNAMIC:
                        body.velocity += (world.gravity + body.force * body.inverse_mass) * h
                        body.spin += body.world_inverse_inertia * body.torque * h
            for number in range(1 if last else passes):
                stage = stage_of(number, world.sweeps, last)
                if number == world.sweeps + 1:
                    for body in world.all(Body):
                        if body.motion != STATIC:
                            body.position += body.velocity * h
                            if body.motion == DYNAMIC:
                                body.rotation, body.spin = integrate_rotation(
                                    body.rotation, body.spin, body.inertia, body.inverse_inertia, h
                                )
                                body.world_inverse_inertia = world_inverse_inertia(body.inverse_inertia, body.rotation)
                            else:
                                body.rotation = turned(body.rotation, body.spin, h)
                for contact in world.all(Contact):
                    a = world.at(Body, contact.a_id)
                    b = world.at(Body, contact.b_id)
                    normal = contact.normal
                    count = contact.num_points
                    between = b.position - a.position
                    on_a = rotate_anchors(contact.a_anchors, a.rotation, normal * contact.a_radius)
                    on_b = rotate_anchors(contact.b_anchors, b.rotation, normal * -contact.b_radius)
                    # Both bodies get the impulse at one point, so that angular momentum is exact.
                    a_arms, b_arms = moved_arms(on_b, between), on_b
                    if contact.a_radius > 0.0:
                        a_arms, b_arms = on_a, moved_arms(on_a, -between)
                    v_a, w_a, v_b, w_b = a.velocity, a.spin, b.velocity, b.spin
                    a_mass, a_inverse = a.inverse_mass, a.world_inverse_inertia
                    b_mass, b_inverse = b.inverse_mass, b.world_inverse_inertia
                    impulses, tangents = contact.impulses, contact.tangents
                    if stage == WARM_START:
                        v_a, w_a, v_b, w_b = warm_start(
                            v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse,
                            a_arms, b_arms, normal, count, impulses, tangents,
                        )  # fmt: skip
                    else:
                        separations = current_separations(normal, count, between, on_a, on_b)
                        speeds = normal_speeds(v_a, w_a, v_b, w_b, a_arms, b_arms, normal, count)
                        targets, relief, stiffness = wl.vec4(), wl.vec4(), wl.vec4(1.0, 1.0, 1.0, 1.0)
                        for i in range(count):
                            if stage == RESTITUTION:
                                bounces = contact.peaks[i] > 0.0 and contact.approach[i] < -world.bounce_speed
                                targets[i] = -contact.restitution * contact.approach[i]
                                stiffness[i] = 1.0 if bounces else 0.0
                            elif separations[i] > 0.0:
                                targets[i] = -separations[i] / h
                            elif stage == WITH_BIAS:
                                targets[i] = min(-push_rate * separations[i], world.max_push)
                                stiffness[i] = soft_mass
                                relief[i] = soft_relief
                        v_a, w_a, v_b, w_b, impulses = normal_pass(
                            v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse,
                            a_arms, b_arms, normal, count, speeds, targets, stiffness, relief, impulses,
                        )  # fmt: skip
                        v_a, w_a, v_b, w_b, tangents = friction_pass(
                            v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse,
                            a_arms, b_arms, normal, count, contact.friction, impulses, tangents,
                        )  # fmt: skip
                        contact.impulses = impulses
                        contact.tangents = tangents
                        contact.peaks = wl.max(contact.peaks, impulses)
                        if number == passes - 1:
                            contact.impulse += impulses[0] + impulses[1] + impulses[2] + impulses[3]
                    a.velocity, a.spin, b.velocity, b.spin = v_a, w_a, v_b, w_b
        for body in world.all(Body):
            body.force = wl.vec3(0.0, 0.0, 0.0)
            body.torque = wl.vec3(0.0, 0.0, 0.0)

    return [solve]
