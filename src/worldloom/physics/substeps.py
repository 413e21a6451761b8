"""The system that integrates bodies and solves contacts."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC
from worldloom.physics.contact_passes import friction_pass, normal_pass, turn, warm_start
from worldloom.physics.energy import energy_functions
from worldloom.physics.joints.systems import joint_function
from worldloom.physics.motion import integrate_rotation, turned
from worldloom.physics.sleeping import wake_function
from worldloom.physics.solver import (
    RESTITUTION,
    WARM_START,
    WITH_BIAS,
    WITHOUT_BIAS,
    bounce,
    contact_aims,
    normal_response,
    placed_points,
    slip_rates,
    softness,
)

EXTRA_SWEEPS = 8  # without bias, in substeps in which contacts would add energy


@wl.function
def stage_of(number: int, sweeps: int, last: bool) -> int:
    """The stage of a pass: a warm start, sweeps with bias, sweeps without; restitution after the last substep."""
    if last:
        return RESTITUTION
    if number == 0:
        return WARM_START
    return WITH_BIAS if number <= sweeps else WITHOUT_BIAS


def solver_systems(World: type, Body: type, Contact: type, Joint: type) -> list[Any]:
    """Systems over worlds, in order."""
    solve_joint = joint_function(World, Body, Joint)
    keep_free_motion, contacts_add_energy = energy_functions(World, Body, Joint)
    wake_neighbours = wake_function(World, Body, Contact, Joint)

    @wl.system(separate=True)
    def solve(world: World):
        h = world.dt / float(world.substeps)
        push_rate, soft_mass, soft_relief = softness(min(world.contact_frequency, 0.25 / h), world.contact_damping, h)
        joint_rate, joint_mass, joint_relief = softness(min(world.joint_frequency, 0.25 / h), world.joint_damping, h)
        passes = 2 * world.sweeps + 1
        wake_neighbours(world)
        weightless = wl.length_sq(world.gravity) == 0.0
        for substep in range(world.substeps + 1):
            last = substep == world.substeps
            if not last:
                for body in world.all(Body):
                    if body.motion == DYNAMIC and not body.awake:
                        body.velocity = wl.vec3(0.0, 0.0, 0.0)
                        body.spin = wl.vec3(0.0, 0.0, 0.0)
                    elif body.motion == DYNAMIC:
                        body.velocity += (world.gravity + body.force * body.inverse_mass) * h
                        body.spin += body.world_inverse_inertia * body.torque * h
                if weightless:
                    keep_free_motion(world)
            for number in range(1 if last else passes + EXTRA_SWEEPS):
                if number == passes:
                    adds_energy = False
                    if weightless:
                        adds_energy = contacts_add_energy(world)
                    if not adds_energy:
                        break
                stage = stage_of(number, world.sweeps, last)
                integrated = number == world.sweeps + 1
                if integrated:
                    for body in world.all(Body):
                        if body.awake:
                            body.position += body.velocity * h
                            if body.motion == DYNAMIC:
                                body.rotation, body.spin, body.world_inverse_inertia = integrate_rotation(
                                    body.rotation, body.spin, body.inertia, body.inverse_inertia, h
                                )
                            else:
                                body.rotation = turned(body.rotation, body.spin, h)
                for joint in world.all(Joint):
                    solve_joint(world, joint, stage, h, joint_rate, joint_mass, joint_relief)
                for contact in world.all(Contact):
                    if not contact.solved or (last and contact.restitution == 0.0):
                        continue
                    a = world.at(Body, contact.a_id)
                    b = world.at(Body, contact.b_id)
                    normal = contact.normal
                    count = contact.num_points
                    between = b.position - a.position
                    a_mass, b_mass = a.inverse_mass, b.inverse_mass
                    a_inverse, b_inverse = a.world_inverse_inertia, b.world_inverse_inertia
                    if integrated or (substep == 0 and number == 0):
                        contact.between = between
                        contact.arms, contact.gaps = placed_points(
                            normal, between, contact.a_anchors, a.rotation, contact.a_radius,
                            contact.b_anchors, b.rotation, contact.b_radius,
                        )  # fmt: skip
                        contact.response = normal_response(
                            normal, between, contact.arms, a_mass, b_mass, a_inverse, b_inverse
                        )
                        if substep == 0 and number == 0:
                            contact.slip_rates = slip_rates(
                                normal, count, between, contact.arms, a_mass, b_mass, a_inverse, b_inverse
                            )
                    arms = contact.arms
                    impulses, tangents = contact.impulses, contact.tangents
                    w_a, w_b = a.spin, b.spin
                    if stage == WARM_START:
                        impulse, moment = warm_start(normal, arms, impulses, tangents)
                        w_a, w_b = turn(w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, impulse, moment)
                    else:
                        targets, stiffness, relief = contact_aims(
                            contact.gaps,
                            count,
                            stage == WITH_BIAS,
                            h,
                            push_rate,
                            world.max_push,
                            soft_mass,
                            soft_relief,
                        )
                        if stage == RESTITUTION:
                            approach = contact.approach
                            peaks = contact.peaks
                            targets = approach * -contact.restitution
                            relief = wl.vec4()
                            stiffness = wl.vec4(
                                bounce(peaks[0], approach[0], world.bounce_speed),
                                bounce(peaks[1], approach[1], world.bounce_speed),
                                bounce(peaks[2], approach[2], world.bounce_speed),
                                bounce(peaks[3], approach[3], world.bounce_speed),
                            )
                        v = b.velocity - a.velocity
                        impulse, w_a, w_b, impulses = normal_pass(
                            v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal,
                            contact.response, targets, stiffness, relief, impulses,
                        )  # fmt: skip
                        v += impulse * (a_mass + b_mass)
                        drag, w_a, w_b, tangents = friction_pass(
                            v, w_a, w_b, a_mass, b_mass, a_inverse, b_inverse, between, arms, normal, count,
                            contact.friction, contact.slip_rates, impulses, tangents,
                        )  # fmt: skip
                        impulse += drag
                        total = impulses[0] + impulses[1] + impulses[2] + impulses[3]
                        if last or number >= passes:
                            before = contact.impulses
                            contact.impulse += total - (before[0] + before[1] + before[2] + before[3])
                        elif number == passes - 1:
                            contact.peaks = wl.max(contact.peaks, impulses)
                            contact.impulse += total
                        contact.impulses = impulses
                        contact.tangents = tangents
                    if a_mass > 0.0:
                        a.velocity -= impulse * a_mass
                        a.spin = w_a
                    if b_mass > 0.0:
                        b.velocity += impulse * b_mass
                        b.spin = w_b
        for body in world.all(Body):
            body.force = wl.vec3(0.0, 0.0, 0.0)
            body.torque = wl.vec3(0.0, 0.0, 0.0)

    return [solve]
