"""What a world with rigid bodies declares: the components of bodies, of the world, and of contacts."""

import math
from collections.abc import Callable, Collection
from typing import Any, ClassVar

import numpy as np

import worldloom as wl
from worldloom.physics.geometry.clipping import Points
from worldloom.physics.settings_check import frequency_warning
from worldloom.physics.shapes import BOX, MAX_EDGES, MAX_FACES, MAX_VERTICES

STATIC = 0
KINEMATIC = 1
DYNAMIC = 2

FIXED = 0
BALL = 1
HINGE = 2
SLIDER = 3
DISTANCE = 4

UNLIMITED = 1.0e30  # limits of a joint without limits

Tangents = wl.vec(8)  # two tangential impulses for each of 4 points
Response = wl.vec(12)  # lower triangle of a symmetric 4 x 4 matrix, by rows (10), and 0: whole pieces of 16 bytes
Fixed = wl.vec(16)  # 64 bytes, which a GPU moves as two sectors
Impulses = wl.vec(16)
Apart = wl.vec(8)
Pose = wl.vec(8)
Twist = wl.vec(8)
Turning = wl.vec(12)
Moments = wl.vec(20)
Remainder = wl.vec(8)


class Body(wl.Entity):
    """A rigid body. Derive the one kind of bodies of a world from it."""

    position: wl.Finite(wl.vec3)  # centre of mass, m
    rotation: wl.Finite(wl.quat) = (0.0, 0.0, 0.0, 1.0)  # body to world
    velocity: wl.Finite(wl.vec3)  # m/s
    spin: wl.Finite(wl.vec3)  # rad/s, world axes
    force: wl.vec3  # N, world axes; cleared after each step
    torque: wl.vec3  # N m, world axes; cleared after each step
    shape: int = BOX
    size: wl.vec3 = (0.5, 0.5, 0.5)  # m, see physics.shapes
    hull: int  # row of the hull table, for HULL
    motion: int = DYNAMIC
    density: float = 1000.0  # kg/m³
    mass: float  # kg; 0: from density
    inertia: wl.mat33  # kg m², body frame; 0: from shape and mass
    angular_factor: wl.vec3 = (1.0, 1.0, 1.0)  # factors of the inverse inertia, by body axis
    friction: float = 0.5
    restitution: float
    collision_group: int = 1  # bits
    collision_mask: int = -1  # groups it collides with

    inverse_mass: float  # derived; 0 unless dynamic
    inverse_inertia: wl.mat33  # derived; body frame
    world_inverse_inertia: wl.mat33  # derived; world axes
    zero_inverses: bool  # derived; whether it is static, and both inverse inertias are stored as zeros
    radius: float  # derived; bounding sphere, m
    lower: wl.vec3  # derived; bounding box of this step
    upper: wl.vec3  # derived
    rest: int  # derived; steps for which it has been slow, in contact and without forces
    awake: bool  # derived; whether this step moves it
    mover: int  # derived; 1 if it was awake before contacts were found, else 0
    touching: bool  # derived; whether it had a contact in the last step
    colours: int  # derived; bits, the colours of its contacts, see physics.solving.colouring; 0: it touches nothing
    batch: int  # derived; 1 if the solver by colour moves it in this step, with others, else 0
    pushed: wl.Transient(Twist)  # derived; velocity and spin without the impulses of contacts in this substep
    pose: wl.Transient(Pose)  # derived within a step that is solved by colour, see physics.solving.packed_bodies
    twist: wl.Transient(Twist)  # derived
    turning: wl.Transient(Turning)  # derived
    moments: wl.Transient(Moments)  # derived once per step
    remainder: Remainder  # derived; what rounding left off rotation (4) and spin (3), see physics.motion
    free_velocity: wl.vec3  # derived; m/s, at the end of this step without contacts
    free_momentum: wl.vec3  # derived; kg m²/s, angular, at the end of this step without contacts
    energy: wl.float64  # derived; J, kinetic, before this step
    gain: wl.float64  # derived; J, by which this step raised the kinetic energy of an island, at its first row
    island: int  # derived; first row of the bodies that touch or have joints with it, in worlds without gravity
    bonds: int  # derived; bits of physics.solving.energy_limit


class World(wl.World):
    """Configuration of the physics of a world."""

    gravity: wl.Config = wl.vec3(0.0, 0.0, -9.8)  # m/s²
    dt: wl.Config = 1.0 / 30.0  # s, of a step
    substeps: wl.Config = 4
    sweeps: wl.Config = 1  # over all contacts, in each half of a substep
    margin: wl.Config = 0.02  # m, contacts of bodies at rest
    contact_frequency: wl.Config = 30.0  # Hz, of the spring of penetrating points
    contact_damping: wl.Config = 10.0  # damping ratio of that spring
    max_push: wl.Config = 3.0  # m/s, by which penetrating points are pushed apart
    heavy_load: wl.Config = 200.0  # m/s², of a contact's load over its lighter mass, see physics.solving.loads
    max_depth: wl.Config = 0.5  # of the smaller thickness: a body this deep that is not pushed out is a fault
    bounce_speed: wl.Config = 0.5  # m/s, below which there is no restitution
    joint_frequency: wl.Config = 0.0  # Hz, of the spring of joints whose anchors are apart; 0: rigid
    joint_damping: wl.Config = 1.0  # damping ratio of that spring
    sleep_speed: wl.Config = 0.01  # m/s of any point, below which a body in contact may fall asleep; 0: never
    sleep_steps: wl.Config = 20  # steps at rest after which it does
    match_distance: wl.Config = 0.05  # m, between a contact point and its predecessor
    grid_reach: wl.Config = 2.0  # m, of bodies that mapping="many_bodies" compares with those nearby alone
    hull_vertices: wl.Config = np.zeros((1, 3 * MAX_VERTICES), np.float32)
    hull_faces: wl.Config = np.zeros((1, MAX_FACES), np.int32)
    hull_edges: wl.Config = np.zeros((1, MAX_EDGES), np.int32)
    hull_counts: wl.Config = np.zeros((1, 3), np.int32)
    hull_volume: wl.Config = np.zeros(1, np.float32)
    hull_inertia: wl.Config = np.zeros((1, 9), np.float32)

    config_limits: ClassVar[dict[str, tuple[float, float]]] = dict.fromkeys(
        (
            *("contact_frequency", "contact_damping", "max_push", "heavy_load", "bounce_speed"),
            *("joint_frequency", "joint_damping", "sleep_speed", "match_distance"),
        ),
        (0.0, math.inf),
    )

    @classmethod
    def config_warning(cls, names: Collection[str], values: Callable[[str], np.ndarray[Any, Any]]) -> str | None:
        return frequency_warning(names, values)

    largest_reach: float  # derived; m, of bodies within grid_reach, with mapping="many_bodies"

    contact_colours: int  # derived; number of colours of contacts in this step
    first_solved: int  # derived; id of the first contact to be solved
    moving_end: int  # derived; one more than the id of the last body that is not static, unless solved by colour
    joint_sweeps: int  # derived; over all joints in a pass
    joint_passes: int  # derived; passes over joints in this step, where it is solved by colour
    bounces: bool  # derived; whether bodies may have an impact with restitution in this step
    loaded: bool  # derived; whether light bodies bear heavy loads in this step, see physics.solving.loads
    by_colour: bool  # derived; whether this step is solved by colour, see physics.solving.coloured
    solver_work: wl.Workload  # derived; the number of colours, and WITH_JOINTS in worlds with joints


class Pair(wl.Event):
    """Two bodies that may touch in this step: rows of the table of bodies, the lower kind of shape first."""

    a: int
    b: int
    kind: int  # its class, see physics.pair_classes

    touches: int  # derived; 1 if it has points, else 0
    normal: wl.Transient(wl.vec3)  # derived; its manifold, see physics.geometry.manifolds
    points: wl.Transient(Points)  # derived; m, relative to the centre of A, world axes
    separations: wl.Transient(wl.vec4)  # derived; m
    num_points: wl.Transient(int)  # derived


class ContactState(wl.Components):
    """A contact of two bodies A and B, without references to them."""

    a_id: int
    b_id: int
    born: int  # step in which it was last found
    normal: wl.vec3  # from A to B
    tangent: wl.vec3  # a unit vector normal to it
    num_points: int  # 1 to 4
    a_anchors: Points  # points on the core of A, in its body frame
    b_anchors: Points  # points on the core of B, in its body frame
    a_radius: float  # m, from the core of A to its surface
    b_radius: float  # m
    separations: wl.vec4  # m, when it was found
    approach: wl.vec4  # m/s, relative normal velocity when it was found
    friction: float
    restitution: float
    impulses: wl.vec4  # N s, normal, of the last substep
    tangents: Tangents  # N s, tangential, of the last substep
    peaks: wl.vec4  # N s, largest normal impulse of a substep
    impulse: float  # N s, normal, of all points in the whole step
    last_impulse: float  # N s, the same of the previous step; 0 where there was no contact

    between: wl.vec3  # derived; m, from the centre of A to that of B at the end of the last step
    sinking: int  # derived; steps for which its bodies are too deep in each other, see physics.touching
    struck: wl.Transient(bool)  # derived; whether its bodies had an impact in the last sweep of physics.solving.impacts
    sides: wl.Transient(int)  # derived; bits of physics.solving.sleeping
    solved: bool  # derived; whether one of the bodies is awake
    batch: int  # derived; the kernel that solves it, see physics.solving.colouring; -1 for none
    colour: int  # derived; contacts of one colour have no dynamic body in common, -1 if not solved
    order: int  # derived; k rows after the first to be solved: the row of the k-th contact to be solved
    colour_end: int  # derived; c rows after it: the number of contacts to be solved up to colour c
    arms: wl.Transient(Points)  # derived in each substep; from the centre of B to the points, world axes
    gaps: wl.Transient(wl.vec4)  # derived; m, separations
    response: wl.Transient(Response)  # derived; 1/kg, normal velocity per normal impulse
    stiffness: wl.Transient(wl.vec4)  # derived; kg, inverse of its diagonal
    slip_rates: wl.Transient(wl.vec4)  # derived; kg, tangential impulse per slip
    residual: wl.Transient(wl.vec4)  # derived under loads; N s, change of the impulses in a turn of a sweep
    slip_residual: wl.Transient(Tangents)  # derived under loads; N s, that of the tangential ones
    last_residual: wl.Transient(wl.vec4)  # derived under loads; those of the turn before
    last_slip_residual: wl.Transient(Tangents)
    last_result: wl.Transient(wl.vec4)  # derived under loads; N s, impulses at the end of the turn before
    last_slip_result: wl.Transient(Tangents)


class PackedState(wl.Components):
    """What a contact has in addition where it may be solved by colour."""

    fixed: wl.Transient(Fixed)  # derived once per step, see physics.solving.packed_contacts
    apart: wl.Transient(Apart)  # derived in each substep; separations (4), from A's centre to B's (3), impulse
    packed_arms: wl.Transient(Points)  # derived in each substep
    packed_response: wl.Transient(Response)  # derived in each substep
    packed_impulses: wl.Transient(Impulses)  # derived in each pass; impulses (4), tangents (8), peaks (4)


class JointState(wl.Components):
    """A joint of two bodies A and B, without references to them."""

    kind: int = FIXED
    anchor_a: wl.vec3  # m, in the frame of A
    anchor_b: wl.vec3  # m, in the frame of B
    rotation: wl.quat = (0.0, 0.0, 0.0, 1.0)  # of B seen from A, at the coordinate 0
    axis: wl.vec3 = (0.0, 0.0, 1.0)  # in the frame of A, of any length
    lower: float = -UNLIMITED  # limits of the coordinate: rad of a hinge, m of a slider or distance joint
    upper: float = UNLIMITED
    motor_speed: float  # rad/s or m/s
    motor_force: float  # N m or N, largest; 0: no motor
    collides: bool  # whether its two bodies collide with each other

    a_id: int  # derived; rows of the bodies
    b_id: int  # derived
    coordinate: float  # derived; angle, offset or distance at the end of the step
    linear_impulse: wl.vec3  # N s, of the last substep on B, world axes, without motor and limits
    angular_impulse: wl.vec3  # N m s, the same
    free_impulse: wl.vec3  # motor, lower limit, upper limit
