"""What the equations of a joint aim for in a stage of a substep.

**Rigid joints** are met at the end of the substep (SHAKE): impulses at the poses before it are those after which the
joint has no error at the poses behind it, ``x + h v`` and a turn by ``h w``. The last stage makes the velocities fit
the joint there (RATTLE). The trajectory is that of a symplectic method: its energy oscillates and does not drift, where
an aim at the velocities alone lets bodies move along tangents, and takes the energy by which they leave the joint.

About half of the impulses of a substep belong to its first aim and half to its last stage. The next substep begins
with half of them: with all of them, chains of unequal masses, whose joints are not solved exactly, gain energy.

**Soft joints** have velocities against the error before the substep, as damped springs. So have rigid joints that one
substep cannot meet, which would throw bodies apart: those with an error above MAX_RETURN, and of bodies that turn by
more than LARGEST_TURN.
"""

import worldloom as wl
from worldloom.physics.bodies import DISTANCE, SLIDER
from worldloom.physics.joints.frames import (
    angular_error,
    angular_rows,
    joint_coordinate,
    joint_frame,
    linear_rows,
)
from worldloom.physics.motion import turned
from worldloom.physics.solving.solver import softness

MAX_RETURN = 20.0  # m/s and rad/s, by which the errors of rigid joints fall
LARGEST_TURN = 0.5  # rad in a substep, of bodies whose joints are rigid
REPEATED = 0.5  # share of the impulses of a substep with which the next one begins


@wl.function
def joint_softness(frequency: float, damping: float, h: float):
    """Of a joint in substeps of ``h`` s: (velocity per error 1/s, factors of mass and impulse); rigid for 0 Hz."""
    rate, mass, relief = 1.0 / h, 1.0, 0.0
    if frequency > 0.0:
        rate, mass, relief = softness(frequency, damping, h)
    return rate, mass, relief


@wl.function
def at_most(vector: wl.vec3, largest: float) -> wl.vec3:
    """A vector, or the one of length ``largest`` in its direction where it is longer."""
    length = wl.length(vector)
    return vector * (largest / length) if length > largest else vector


@wl.function
def rest_of(error: wl.vec3, largest: float) -> wl.vec3:
    """What is left of an error that a substep reduces by ``largest``."""
    length = wl.length(error)
    return error * (1.0 - largest / length) if length > largest else wl.vec3(0.0, 0.0, 0.0)


@wl.function
def end_aims(
    kind: int,
    axis: wl.vec3,
    rest: wl.quat,
    anchor_a: wl.vec3,
    anchor_b: wl.vec3,
    a_position: wl.vec3,
    a_rotation: wl.quat,
    b_position: wl.vec3,
    b_rotation: wl.quat,
    v_a: wl.vec3,
    w_a: wl.vec3,
    v_b: wl.vec3,
    w_b: wl.vec3,
    gap: wl.vec3,
    twist: wl.vec3,
    coordinate: float,
    h: float,
):
    """The velocities that a rigid joint lacks, as rates of its errors at the end of the substep.

    A joint of bodies that are far apart pulls them together by MAX_RETURN.

    Args:
        kind, axis, rest, anchor_a, anchor_b: of the joint; ``rest`` is its rotation.
        a_position, a_rotation, b_position, b_rotation: poses before the substep.
        v_a, w_a, v_b, w_b: velocities.
        gap, twist: errors before the substep, in the frame of the joint.
        coordinate: before the substep.
        h: s, time of a substep.

    Returns:
        (m/s and rad/s along and about the vectors of the frame, rate of the coordinate).
    """
    a_end, b_end = turned(a_rotation, w_a, h), turned(b_rotation, w_b, h)
    between = b_position + v_b * h + wl.quat_rotate(b_end, anchor_b)
    between -= a_position + v_a * h + wl.quat_rotate(a_end, anchor_a)
    frame = joint_frame(kind, axis, a_end, between)
    error = wl.cw_mul(linear_rows(kind), frame * between)
    turn = wl.cw_mul(angular_rows(kind), frame * angular_error(kind, axis, rest, a_end, b_end))
    change = 0.0
    if kind in (SLIDER, DISTANCE):
        change = joint_coordinate(kind, axis, rest, a_end, b_end, between) - coordinate
    error -= rest_of(wl.cw_mul(linear_rows(kind), gap), MAX_RETURN * h)
    turn -= rest_of(wl.cw_mul(angular_rows(kind), twist), MAX_RETURN * h)
    return error * (1.0 / h), turn * (1.0 / h), change * (1.0 / h)
