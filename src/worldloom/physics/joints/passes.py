"""Passes over the equations of one joint: each changes the velocities of its two bodies.

Velocities are ``v_a, w_a, v_b, w_b``, linear and angular, in world axes. ``a_mass`` and ``b_mass`` are inverse masses,
``a_inverse`` and ``b_inverse`` inverse inertias in world axes. Impulses act on B and, reversed, on A at B's anchor:
``a_arm`` and ``b_arm`` are the vectors to it from the centres of mass. Impulses of a joint are vectors in its frame:
``linear`` and ``angular`` of its equations, and ``free`` of its coordinate: motor, lower limit, upper limit.
"""

import worldloom as wl
from worldloom.physics.bodies import DISTANCE, HINGE, SLIDER
from worldloom.physics.joints.frames import angular_rows, linear_rows
from worldloom.physics.mass import scaled_inverse

SINGULAR = 1.0e-6  # share of the largest response below which a direction counts as locked


@wl.function
def apply_impulse(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arm: wl.vec3,
    b_arm: wl.vec3,
    impulse: wl.vec3,
    torque: wl.vec3,
):
    """Velocities after an impulse at the anchor and an angular impulse, world axes: (v_a, w_a, v_b, w_b)."""
    if a_mass > 0.0:
        v_a -= impulse * a_mass
        w_a -= a_inverse * (wl.cross(a_arm, impulse) + torque)
    if b_mass > 0.0:
        v_b += impulse * b_mass
        w_b += b_inverse * (wl.cross(b_arm, impulse) + torque)
    return v_a, w_a, v_b, w_b


@wl.function
def joint_impulse(kind: int, frame: wl.mat33, linear: wl.vec3, angular: wl.vec3, free: wl.vec3):
    """The impulses of a joint in world axes: (impulse, angular impulse)."""
    along = free[0] + free[1] - free[2]
    if kind == HINGE:
        angular.x += along
    else:
        linear.x += along
    back = wl.transpose(frame)
    return back * linear, back * angular


@wl.function
def joint_response(
    frame: wl.mat33,
    mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arm: wl.vec3,
    b_arm: wl.vec3,
):
    """Blocks of the matrix K of a joint in its frame: (linear by linear, linear by angular, angular by angular)."""
    back = wl.transpose(frame)
    a_skew, b_skew = wl.skew(a_arm), wl.skew(b_arm)
    turned_a, turned_b = a_skew * a_inverse, b_skew * b_inverse
    linear = wl.diag(wl.vec3(mass, mass, mass)) - turned_a * a_skew - turned_b * b_skew
    mixed = turned_a * -1.0 - turned_b
    return frame * linear * back, frame * mixed * back, frame * (a_inverse + b_inverse) * back


@wl.function
def select_rows(block: wl.mat33, rows: wl.vec3) -> wl.mat33:
    """A diagonal block of K whose other rows and columns are those of a multiple of the identity."""
    selection = wl.diag(rows)
    return selection * block * selection + wl.diag((wl.vec3(1.0, 1.0, 1.0) - rows) * max(wl.trace(block), 1.0e-30))


@wl.function
def solve_blocks(
    schur_inverse: wl.mat33, mixed: wl.mat33, angular_inverse: wl.mat33, linear: wl.vec3, angular: wl.vec3
):
    """Solves K (x, y) = (linear, angular) by elimination of y."""
    x = schur_inverse * (linear - mixed * (angular_inverse * angular))
    return x, angular_inverse * (angular - wl.transpose(mixed) * x)


@wl.function
def bounded_push(
    impulse: float, gap: float, speed: float, response: float, h: float, rate: float, stiffness: float, relief: float
) -> float:
    """The impulse of a limit, 0 or more.

    Args:
        impulse: accumulated so far.
        gap: distance to the limit, negative beyond it, where it counts as far as it is to be reduced.
        speed: rate of change of ``gap``.
        response: change of ``speed`` by a unit impulse.
        h: s, time of a substep.
        rate: 1/s, velocity per error of a soft constraint.
        stiffness: factor of its effective mass.
        relief: share of its impulse that it gives back.
    """
    change = (-gap / h - speed) / response
    if gap <= 0.0:
        change = stiffness * (-rate * gap - speed) / response - relief * impulse
    return max(impulse + change, 0.0)


@wl.function
def joint_pass(
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    a_mass: float,
    b_mass: float,
    a_inverse: wl.mat33,
    b_inverse: wl.mat33,
    a_arm: wl.vec3,
    b_arm: wl.vec3,
    kind: int,
    frame: wl.mat33,
    linear_bias: wl.vec3,
    angular_bias: wl.vec3,
    free_bias: float,
    coordinate: float,
    lower: float,
    upper: float,
    motor_speed: float,
    motor_impulse: float,
    h: float,
    most: float,
    rate: float,
    stiffness: float,
    relief: float,
    linear: wl.vec3,
    angular: wl.vec3,
    free: wl.vec3,
):
    """Solves the equations of a joint together: (v_a, w_a, v_b, w_b, linear, angular, free).

    The impulse of the coordinate is found first, from the speed and the response that it will have after the impulses
    of the equations, which follow.

    Args:
        v_a, w_a, v_b, w_b: velocities.
        a_mass, b_mass, a_inverse, b_inverse: inverse masses and inertias.
        a_arm, b_arm: from the centres of mass to the anchor of B.
        kind: of the joint.
        frame: of the joint.
        linear_bias, angular_bias: velocities that count as additional errors, in the frame, 0 for others' rows.
        free_bias: rate of the coordinate that limits count in addition to its speed.
        coordinate: angle, offset or distance.
        lower, upper: limits of the coordinate.
        motor_speed: target of the rate of the coordinate.
        motor_impulse: largest impulse of the motor in a substep; 0 without a motor.
        h: s, time of a substep.
        most: by which the coordinate returns to a limit within a substep.
        rate: 1/s, velocity per error of limits; 0 without bias.
        stiffness, relief: of soft constraints; 1 and 0 for rigid ones.
        linear, angular, free: impulses so far.
    """
    full_linear, full_mixed, full_angular = joint_response(frame, a_mass + b_mass, a_inverse, b_inverse, a_arm, b_arm)
    linear_mask, angular_mask = linear_rows(kind), angular_rows(kind)
    largest = full_angular[0, 0] + full_angular[1, 1] + full_angular[2, 2]
    for i in wl.unroll(3):
        if full_angular[i, i] <= SINGULAR * largest:
            angular_mask[i] = 0.0
    mixed = wl.diag(linear_mask) * full_mixed * wl.diag(angular_mask)
    firmness = wl.diag(angular_mask * (SINGULAR * largest))  # against directions in which neither body can turn
    angular_inverse = scaled_inverse(select_rows(full_angular, angular_mask) + firmness)
    rounding = wl.diag(linear_mask * (SINGULAR * wl.trace(full_linear)))  # of the difference below, for long arms
    schur = select_rows(full_linear, linear_mask) - mixed * angular_inverse * wl.transpose(mixed)
    schur_inverse = scaled_inverse(schur + rounding)

    if kind in (HINGE, SLIDER, DISTANCE):
        cross_linear, cross_angular, response = wl.vec3(), wl.vec3(), full_linear[0, 0]
        for i in wl.unroll(3):
            cross_linear[i] = linear_mask[i] * full_linear[i, 0]
            cross_angular[i] = angular_mask[i] * full_mixed[0, i]
        if kind == HINGE:
            response = full_angular[0, 0]
            for i in wl.unroll(3):
                cross_linear[i] = linear_mask[i] * full_mixed[i, 0]
                cross_angular[i] = angular_mask[i] * full_angular[i, 0]
        back_linear, back_angular = solve_blocks(schur_inverse, mixed, angular_inverse, cross_linear, cross_angular)
        left = response - stiffness * (wl.dot(cross_linear, back_linear) + wl.dot(cross_angular, back_angular))
        if left > SINGULAR * response:
            slip = frame * (v_b + wl.cross(w_b, b_arm) - v_a - wl.cross(w_a, a_arm))
            turn = frame * (w_b - w_a)
            speed = turn.x if kind == HINGE else slip.x
            speed -= stiffness * wl.dot(back_linear, wl.cw_mul(linear_mask, slip) + linear_bias)
            speed -= stiffness * wl.dot(back_angular, wl.cw_mul(angular_mask, turn + angular_bias))
            speed -= relief * (wl.dot(cross_linear, linear) + wl.dot(cross_angular, angular))
            before = free[0] + free[1] - free[2]
            if coordinate >= upper:  # a motor does not press a limit, which is soft
                motor_speed = min(motor_speed, 0.0)
            if coordinate <= lower:
                motor_speed = max(motor_speed, 0.0)
            if motor_impulse > 0.0:
                motor = wl.clamp(free[0] + (motor_speed - speed) / left, -motor_impulse, motor_impulse)
                speed += left * (motor - free[0])
                free[0] = motor
            speed += free_bias
            push = bounded_push(free[1], max(coordinate - lower, -most), speed, left, h, rate, stiffness, relief)
            speed += left * (push - free[1])
            free[1] = push
            push = bounded_push(free[2], max(upper - coordinate, -most), -speed, left, h, rate, stiffness, relief)
            free[2] = push
            change = wl.vec3(free[0] + free[1] - free[2] - before, 0.0, 0.0)
            impulse, torque = joint_impulse(kind, frame, wl.vec3(), wl.vec3(), change)
            v_a, w_a, v_b, w_b = apply_impulse(
                v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse, a_arm, b_arm, impulse, torque
            )

    slip = frame * (v_b + wl.cross(w_b, b_arm) - v_a - wl.cross(w_a, a_arm))
    turn = frame * (w_b - w_a)
    need_linear = (wl.cw_mul(linear_mask, slip) + linear_bias) * -stiffness
    need_angular = wl.cw_mul(angular_mask, turn + angular_bias) * -stiffness
    change_linear, change_angular = solve_blocks(schur_inverse, mixed, angular_inverse, need_linear, need_angular)
    change_linear = wl.cw_mul(linear_mask, change_linear) - linear * relief
    change_angular = wl.cw_mul(angular_mask, change_angular) - angular * relief
    back = wl.transpose(frame)
    v_a, w_a, v_b, w_b = apply_impulse(
        v_a, w_a, v_b, w_b, a_mass, b_mass, a_inverse, b_inverse, a_arm, b_arm,
        back * change_linear, back * change_angular,
    )  # fmt: skip
    return v_a, w_a, v_b, w_b, linear + change_linear, angular + change_angular, free
