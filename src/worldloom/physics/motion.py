"""Integration of rotations."""

import worldloom as wl
from worldloom.physics.bodies import Remainder
from worldloom.physics.mass import world_inverse_inertia

SMALL_ANGLE_SQ = 0.01  # squared half angle below which series of 3 terms are exact in float32
MAX_DOUBLINGS = 24  # of a rotation by a large angle
NEARLY_UNIT = 1.0e-3  # difference of a squared length from 1 that the first order corrects
LARGEST_PIECE = 0.125  # rad, of a substep's free rotation, so that its iteration converges
MAX_PIECES = 64
MAX_ROUNDS = 10  # of that iteration
ROUND_ERROR_SQ = 1.0e-17  # square of the error at which it ends, relative to the spin
DIVERGED_SQ = 1.0e-6  # square of the last change from which its result is not used


@wl.function
def pushed(
    velocity: wl.vec3,
    spin: wl.vec3,
    gravity: wl.vec3,
    force: wl.vec3,
    torque: wl.vec3,
    mass: float,
    inverse: wl.mat33,
    h: float,
):
    """Velocity and spin after ``h`` seconds of gravity, a force and a torque; ``mass`` and ``inverse`` are inverses."""
    return velocity + (gravity + force * mass) * h, spin + inverse * torque * h


@wl.function
def pushed_again(
    velocity: wl.vec3,
    spin: wl.vec3,
    free_velocity: wl.vec3,
    free_spin: wl.vec3,
    gravity: wl.vec3,
    force: wl.vec3,
    torque: wl.vec3,
    mass: float,
    inverse: wl.mat33,
    h: float,
):
    """``pushed``, and the impulses of the last substep once more: (velocity, spin, free velocity, free spin).

    What a body has beyond its free velocity and spin is what contacts gave it in the last substep, so this is a warm
    start of all of them; ``carried_spins`` lets it follow their points.
    """
    velocity_change, spin_change = velocity - free_velocity, spin - free_spin
    velocity, spin = pushed(velocity, spin, gravity, force, torque, mass, inverse, h)
    return velocity + velocity_change, spin + spin_change, velocity, spin


@wl.function
def small_turn(half: wl.vec3) -> wl.quat:
    """The rotation by the angle ``2 |half|`` about ``half``, less the identity: the rest of its real part is exact.

    A series for small angles; a larger one is halved, and its rotation squared as often.
    """
    square = wl.length_sq(half)
    doublings = 0
    while square > SMALL_ANGLE_SQ and doublings < MAX_DOUBLINGS:
        half, square = half * 0.5, square * 0.25
        doublings += 1
    sine = 1.0 - square * (1.0 / 6.0) + square * square * (1.0 / 120.0)
    cosine = square * (square * (1.0 / 24.0) - 0.5)  # less 1
    turn = wl.quat(half.x * sine, half.y * sine, half.z * sine, cosine)
    for _ in range(doublings):
        turn = turn * 2.0 + turn * turn
    return turn


@wl.function
def small_rotation(half: wl.vec3) -> wl.quat:
    """The rotation by the angle ``2 |half|`` about ``half``."""
    return small_turn(half) + wl.quat(0.0, 0.0, 0.0, 1.0)


@wl.function
def rotation_change(rotation: wl.quat, half: wl.vec3):
    """A unit quaternion and its change by a rotation of the angle ``2 |half|`` about ``half``.

    The change makes up for the rounding of the quaternion's length, to first order.
    """
    if not abs(wl.length_sq(rotation) - 1.0) < NEARLY_UNIT:
        rotation = wl.normalize(rotation)
    excess = (wl.length_sq(rotation) - 1.0) * 0.5
    change = small_turn(half) * rotation
    return rotation, change - (rotation + change) * excess


@wl.function
def turned(rotation: wl.quat, spin: wl.vec3, h: float) -> wl.quat:
    """A rotation after the time ``h`` at a constant spin in world axes."""
    rotation, change = rotation_change(rotation, spin * (0.5 * h))
    return rotation + change


@wl.function
def spin_momentum(rotation: wl.quat, inertia: wl.mat33, spin: wl.vec3) -> wl.vec3:
    """Angular momentum about the centre of mass, world axes."""
    return wl.quat_rotate(rotation, inertia * wl.quat_rotate_inv(rotation, spin))


@wl.function
def exact_sum(a: float, b: float):
    """The rounded sum of two numbers, and what rounding left off."""
    total = a + b
    share = total - a
    return total, (a - (total - share)) + (b - share)


@wl.function
def is_isotropic(inertia: wl.mat33) -> bool:
    """Whether an inertia is the same about all axes."""
    return (
        inertia[0, 0] == inertia[1, 1]
        and inertia[1, 1] == inertia[2, 2]
        and inertia[0, 1] == 0.0
        and inertia[0, 2] == 0.0
        and inertia[1, 2] == 0.0
    )


@wl.function
def gyroscopic_change(spin: wl.vec3, inertia: wl.mat33, inverse: wl.mat33, h: float) -> wl.vec3:
    """The change d of a spin w in ``h`` seconds of free rotation, body frame, by the implicit midpoint rule.

    The body turns by exp(h m) with m = w + d / 2, and the world's axes see the same angular momentum before and after:
    I d = -c x I m, where c is h m, as long as 2 tan(|h m| / 2). As c is parallel to m, m.I d = 0: energy is the same,
    too. Solved by iteration; a multiple of c in I m has no effect, so that a sphere's change is exactly 0.
    """
    change = wl.vec3(0.0, 0.0, 0.0)
    error_sq = 0.0
    for _ in range(MAX_ROUNDS):
        middle = spin + change * 0.5
        square = wl.length_sq(middle) * (0.25 * h * h)
        turn = middle * (h * (1.0 + square * (1.0 / 3.0 + square * (2.0 / 15.0))))
        found = inverse * wl.cross(inertia * middle - middle * inertia[0, 0], turn)
        error_sq = wl.length_sq(found - change)
        change = found
        if error_sq * square <= ROUND_ERROR_SQ * wl.length_sq(spin):
            break
    if not error_sq <= DIVERGED_SQ * wl.length_sq(spin):
        change = wl.vec3(0.0, 0.0, 0.0)
    return change


@wl.function
def number_of_pieces(spin: wl.vec3, inertia: wl.mat33, h: float) -> int:
    """The number of parts of ``h`` in which a body turns by LARGEST_PIECE at most; one for an isotropic body."""
    pieces = 1
    square = wl.length_sq(spin) * (h * h)
    if square > LARGEST_PIECE * LARGEST_PIECE and not is_isotropic(inertia):
        pieces = int(min(wl.sqrt(square) * (1.0 / LARGEST_PIECE), MAX_PIECES - 1.0)) + 1
    return pieces


@wl.function
def rotation_piece(rotation: wl.quat, spin: wl.vec3, inertia: wl.mat33, inverse: wl.mat33, h: float):
    """The rotation as a unit quaternion, its change, and that of the spin in world axes, in a piece of a substep."""
    change = gyroscopic_change(wl.quat_rotate_inv(rotation, spin), inertia, inverse, h)
    changes = wl.length_sq(change) > 0.0  # not the spin of an isotropic body, or one about a principal axis
    gain = wl.vec3(0.0, 0.0, 0.0)
    if changes:
        gain = wl.quat_rotate(rotation, change)
    rotation, turn = rotation_change(rotation, (spin + gain * 0.5) * (0.5 * h))
    if changes:
        gain = (gain + wl.quat_rotate(rotation + turn, change)) * 0.5  # it keeps its own axis, m
    return rotation, turn, gain


@wl.function
def integrate_rotation(
    rotation: wl.quat, spin: wl.vec3, remainder: Remainder, exact: bool, inertia: wl.mat33, inverse: wl.mat33, h: float
):
    """Free rotation with constant energy and angular momentum: (rotation, spin, remainder, world inverse inertia).

    A fast rotation is divided into pieces of at most LARGEST_PIECE. Rotation and spin change by increments, which are
    small: rounding has no bias, as it has where a spin is computed from its momentum.

    Args:
        rotation: body to world.
        spin: rad/s, world axes.
        remainder: what rounding has left off rotation and spin.
        exact: whether increments are summed with the remainder (compensated summation), for a body that touches
            nothing: near an unstable axis it flips at a time that depends on 1e-6 of its energy, which rounding alone
            would change within seconds.
        inertia: body frame.
        inverse: inverse inertia, body frame.
        h: time, s.
    """
    pieces = number_of_pieces(spin, inertia, h)
    for _ in range(pieces):
        rotation, turn, gain = rotation_piece(rotation, spin, inertia, inverse, h / float(pieces))
        if exact:
            for i in wl.unroll(4):
                rotation[i], remainder[i] = exact_sum(rotation[i], remainder[i] + turn[i])
            for i in wl.unroll(3):
                spin[i], remainder[4 + i] = exact_sum(spin[i], remainder[4 + i] + gain[i])
        else:
            rotation, spin = rotation + turn, spin + gain
    return rotation, spin, remainder, world_inverse_inertia(inverse, rotation)


@wl.function
def carry_rotation(
    rotation: wl.quat,
    spin: wl.vec3,
    free_spin: wl.vec3,
    remainder: Remainder,
    exact: bool,
    inertia: wl.mat33,
    inverse: wl.mat33,
    h: float,
):
    """``integrate_rotation``, and the spin without the impulses of contacts, whose angular momentum is kept.

    Returns (rotation, spin, free spin, remainder, world inverse inertia). Without contacts both spins keep the same
    bits.
    """
    momentum = spin_momentum(rotation, inertia, spin - free_spin)
    rotation, spin, remainder, world_inverse = integrate_rotation(rotation, spin, remainder, exact, inertia, inverse, h)
    return rotation, spin, spin - world_inverse * momentum, remainder, world_inverse
