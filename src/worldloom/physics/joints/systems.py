"""Systems and functions over the joints of a world."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DISTANCE, FIXED, SLIDER, UNLIMITED
from worldloom.physics.joints.aims import LARGEST_TURN, MAX_RETURN, REPEATED, at_most, end_aims
from worldloom.physics.joints.frames import (
    angular_error,
    angular_rows,
    joint_coordinate,
    joint_frame,
    linear_rows,
    stiffened_inertia,
    swing_response,
)
from worldloom.physics.joints.passes import apply_impulse, joint_impulse, joint_pass
from worldloom.physics.solving.body_access import BodyAccess
from worldloom.physics.solving.packed_bodies import twist_of
from worldloom.physics.solving.solver import WARM_START, WITH_BIAS, softness


def joint_systems(World: type, Body: type, Joint: type) -> list[Any]:
    """Systems over joints that run before bodies are integrated, in order."""

    @wl.system
    def find_bodies(joint: Joint, world: World):
        if joint.a is None or joint.b is None:
            world.fail("joint {value} has no body at one of its ends", joint.id)
        if joint.a.alive and joint.b.alive:
            joint.a_id = joint.a.get().id
            joint.b_id = joint.b.get().id
            if joint.a == joint.b:
                world.fail("joint {value} connects a body with itself", joint.id)
            if joint.kind < FIXED or joint.kind > DISTANCE:
                world.fail("a joint has kind {value}, which is none of physics.FIXED to physics.DISTANCE", joint.kind)
            if not wl.length_sq(joint.axis) > 0.0:
                world.fail("joint {value} has no axis", joint.id)
        else:
            joint.despawn()

    return [find_bodies]


def joint_function(World: type, Body: type, Joint: type, access: BodyAccess) -> Any:
    """The function that takes one joint through a stage of a substep; a system over the world calls it."""
    place_of, motion_of, inertia_of, turn_body = access.place, access.motion, access.inertia, access.turn

    @wl.function
    def swing_body(world: World, body: Body, mass: float, velocity: wl.vec3, spin: wl.vec3):
        """Stores velocity and spin of a body with a mass; its restart does not repeat the change."""
        if mass > 0.0:
            old_velocity, old_spin = motion_of(world, body, mass, True)
            body.pushed += twist_of(velocity - old_velocity, spin - old_spin)
            turn_body(world, body, mass, velocity, spin)

    @wl.function
    def solve_joint(world: World, joint: Joint, stage: int, h: float, rate: float, mass: float, relief: float):
        a = world.at(Body, joint.a_id)
        b = world.at(Body, joint.b_id)
        a_mass, b_mass = a.inverse_mass, b.inverse_mass
        a_position, a_rotation = place_of(world, a, a_mass)
        b_position, b_rotation = place_of(world, b, b_mass)
        b_arm = wl.quat_rotate(b_rotation, joint.anchor_b)
        a_arm = b_position + b_arm - a_position
        gap = a_arm - wl.quat_rotate(a_rotation, joint.anchor_a)
        axis = wl.normalize(joint.axis)
        joint.coordinate = joint_coordinate(joint.kind, axis, joint.rotation, a_rotation, b_rotation, gap)
        if a_mass + b_mass > 0.0:
            frame = joint_frame(joint.kind, axis, a_rotation, gap)
            v_a, w_a = motion_of(world, a, a_mass, True)
            v_b, w_b = motion_of(world, b, b_mass, True)
            twist = angular_error(joint.kind, axis, joint.rotation, a_rotation, b_rotation)
            gap = wl.cw_mul(linear_rows(joint.kind), frame * gap)
            twist = wl.cw_mul(angular_rows(joint.kind), frame * twist)
            rigid = relief == 0.0
            turned_by = max(wl.length(w_a), wl.length(w_b)) * h
            if rigid and (max(wl.length(gap), wl.length(twist)) > MAX_RETURN * h or turned_by > LARGEST_TURN):
                rigid = False
                rate, mass, relief = softness(UNLIMITED, 1.0, h)
            a_inverse = inertia_of(world, a, a_mass)
            b_inverse = inertia_of(world, b, b_mass)
            load = h * (wl.length(joint.linear_impulse) + abs(joint.free_impulse[1] - joint.free_impulse[2]))
            a_response, b_response = wl.trace(a_inverse), wl.trace(b_inverse)
            if rigid:
                load *= 1.0 / REPEATED if stage == WITH_BIAS else 1.0
                a_response, b_response = swing_response(a_inverse, a_arm), swing_response(b_inverse, b_arm)
            a_inverse = stiffened_inertia(a_inverse, load * wl.length(a_arm), a_response)
            b_inverse = stiffened_inertia(b_inverse, load * wl.length(b_arm), b_response)
            # World axes keep the direction of a load while the frame turns.
            linear = wl.cw_mul(linear_rows(joint.kind), frame * joint.linear_impulse)
            angular = wl.cw_mul(angular_rows(joint.kind), frame * joint.angular_impulse)
            free = joint.free_impulse
            if stage == WARM_START:
                if rigid:
                    linear, angular, free = linear * REPEATED, angular * REPEATED, free * REPEATED
                impulse, torque = joint_impulse(joint.kind, frame, linear, angular, free)
                v_a, w_a, v_b, w_b = apply_impulse(
                    v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse, a_arm, b_arm, impulse, torque
                )
            else:
                linear_bias, angular_bias, free_bias = wl.vec3(), wl.vec3(), 0.0
                biased = stage == WITH_BIAS
                if biased:
                    linear_bias, angular_bias = at_most(gap * rate, MAX_RETURN), at_most(twist * rate, MAX_RETURN)
                    if rigid:
                        linear_bias, angular_bias, free_bias = end_aims(
                            joint.kind, axis, joint.rotation, joint.anchor_a, joint.anchor_b,
                            a_position, a_rotation, b_position, b_rotation, v_a, w_a, v_b, w_b,
                            gap, twist, joint.coordinate, h,
                        )  # fmt: skip
                        linear_bias, angular_bias = at_most(linear_bias, MAX_RETURN), at_most(angular_bias, MAX_RETURN)
                        slip = frame * (v_b + wl.cross(w_b, b_arm) - v_a - wl.cross(w_a, a_arm))
                        turn = frame * (w_b - w_a)
                        linear_bias -= wl.cw_mul(linear_rows(joint.kind), slip)
                        angular_bias -= wl.cw_mul(angular_rows(joint.kind), turn)
                        if joint.kind in (SLIDER, DISTANCE):
                            free_bias -= slip.x
                v_a, w_a, v_b, w_b, linear, angular, free = joint_pass(
                    v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse, a_arm, b_arm,
                    joint.kind, frame, linear_bias, angular_bias, free_bias,
                    joint.coordinate, joint.lower, joint.upper, joint.motor_speed, joint.motor_force * h, h,
                    MAX_RETURN * h if rigid else UNLIMITED, rate if biased else 0.0, mass if biased else 1.0,
                    relief if biased else 0.0, linear, angular, free,
                )  # fmt: skip
            back = wl.transpose(frame)
            joint.linear_impulse, joint.angular_impulse, joint.free_impulse = back * linear, back * angular, free
            swing_body(world, a, a_mass, v_a, w_a)
            swing_body(world, b, b_mass, v_b, w_b)

    return solve_joint
