"""The system that integrates bodies and solves contacts."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, STATIC
from worldloom.physics.clipping import manifold_point
from worldloom.physics.mass import world_inverse_inertia
from worldloom.physics.motion import integrate_rotation, turned
from worldloom.physics.solver import (
    accumulated_impulse,
    current_separations,
    moved_arms,
    normal_response,
    point_velocity,
    rotate_anchors,
    softness,
    solve_normals,
    solve_tangent,
    tangent,
)

# Passes over the contacts of a substep.
WARM_START = 0
WITH_BIAS = 1
WITHOUT_BIAS = 2
RESTITUTION = 3


def solver_systems(World: type, Body: type, Contact: type) -> list[Any]:
    """Systems over worlds and bodies, in order."""

    @wl.system
    def solve(world: World):
        h = world.dt / float(world.substeps)
        frequency = min(world.contact_frequency, 0.25 / h)
        push_rate, soft_mass, soft_relief = softness(frequency, world.contact_damping, h)
        passes = 2 * world.sweeps + 1
        for substep in range(world.substeps + 1):
            last = substep == world.substeps
            if not last:
                for body in world.all(Body):
                    if body.motion == DYNAMIC:
                        body.velocity += (world.gravity + body.force * body.inverse_mass) * h
                        body.spin += body.world_inverse_inertia * body.torque * h
            for number in range(1 if last else passes):
                stage = WARM_START
                if last:
                    stage = RESTITUTION
                elif number > world.sweeps:
                    stage = WITHOUT_BIAS
                elif number > 0:
                    stage = WITH_BIAS
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
                    a_arms = moved_arms(on_b, between)
                    b_arms = on_b
                    if contact.a_radius > 0.0:
                        a_arms = on_a
                        b_arms = moved_arms(on_a, -between)
                    a_inverse = a.world_inverse_inertia
                    b_inverse = b.world_inverse_inertia
                    mass = a.inverse_mass + b.inverse_mass
                    v_a, w_a, v_b, w_b = a.velocity, a.spin, b.velocity, b.spin
                    impulses = contact.impulses
                    tangents = contact.tangents
                    if stage == WARM_START:
                        for i in range(count):
                            impulse = accumulated_impulse(normal, impulses, tangents, i)
                            v_a -= impulse * a.inverse_mass
                            w_a -= a_inverse * wl.cross(manifold_point(a_arms, i), impulse)
                            v_b += impulse * b.inverse_mass
                            w_b += b_inverse * wl.cross(manifold_point(b_arms, i), impulse)
                    else:
                        matrix = normal_response(normal, count, a_arms, b_arms, mass, a_inverse, b_inverse)
                        separations = current_separations(normal, count, between, on_a, on_b)
                        speeds, targets, relief = wl.vec4(), wl.vec4(), wl.vec4()
                        stiffness = wl.vec4(1.0, 1.0, 1.0, 1.0)
                        for i in range(count):
                            relative = point_velocity(
                                v_a, w_a, v_b, w_b, manifold_point(a_arms, i), manifold_point(b_arms, i)
                            )
                            speeds[i] = wl.dot(relative, normal)
                            if stage == RESTITUTION:
                                targets[i] = speeds[i]
                                stiffness[i] = 0.0
                                if contact.peaks[i] > 0.0 and contact.approach[i] < -world.bounce_speed:
                                    targets[i] = -contact.restitution * contact.approach[i]
                                    stiffness[i] = 1.0
                            elif separations[i] > 0.0:
                                targets[i] = -separations[i] / h
                            elif stage == WITH_BIAS:
                                targets[i] = min(-push_rate * separations[i], world.max_push)
                                stiffness[i] = soft_mass
                                relief[i] = soft_relief
                        solved = solve_normals(matrix, speeds, targets, stiffness, relief, impulses, count)
                        for i in range(count):
                            a_arm = manifold_point(a_arms, i)
                            b_arm = manifold_point(b_arms, i)
                            impulse = normal * (solved[i] - impulses[i])
                            v_a -= impulse * a.inverse_mass
                            w_a -= a_inverse * wl.cross(a_arm, impulse)
                            v_b += impulse * b.inverse_mass
                            w_b += b_inverse * wl.cross(b_arm, impulse)
                            contact.peaks[i] = max(contact.peaks[i], solved[i])
                            if stage == WITHOUT_BIAS and number == passes - 1:
                                contact.impulse += solved[i]
                        first = tangent(normal)
                        second = wl.cross(normal, first)
                        for i in range(count):
                            a_arm = manifold_point(a_arms, i)
                            b_arm = manifold_point(b_arms, i)
                            slip = point_velocity(v_a, w_a, v_b, w_b, a_arm, b_arm)
                            x, y = tangents[2 * i], tangents[2 * i + 1]
                            new_x, new_y = solve_tangent(
                                slip,
                                first,
                                second,
                                a_arm,
                                b_arm,
                                mass,
                                a_inverse,
                                b_inverse,
                                x,
                                y,
                                contact.friction * solved[i],
                            )
                            impulse = first * (new_x - x) + second * (new_y - y)
                            v_a -= impulse * a.inverse_mass
                            w_a -= a_inverse * wl.cross(a_arm, impulse)
                            v_b += impulse * b.inverse_mass
                            w_b += b_inverse * wl.cross(b_arm, impulse)
                            tangents[2 * i] = new_x
                            tangents[2 * i + 1] = new_y
                        contact.impulses = solved
                        contact.tangents = tangents
                    a.velocity = v_a
                    a.spin = w_a
                    b.velocity = v_b
                    b.spin = w_b
        for body in world.all(Body):
            body.force = wl.vec3(0.0, 0.0, 0.0)
            body.torque = wl.vec3(0.0, 0.0, 0.0)

    return [solve]
