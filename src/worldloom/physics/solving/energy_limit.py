"""Kinetic energy of islands that never rises where nothing does work.

In a world without gravity, the kinetic energy of an island is measured before and after a step, in float64. An island
is a set of dynamic bodies with contacts or joints between them; it is *driven* if a body has a force or a torque, a
joint has a motor, a restitution exceeds 1, or it touches a kinematic body that moves. For all others:

- **Several bodies.** Their velocities u are the sum of the rigid motion with the same momentum and angular momentum
  and a rest u' that carries neither. The two are orthogonal in the mass metric, so that E = E_rigid + E'. If E has
  risen, u' is scaled down. Constraints J u = 0 and J u >= 0 stay satisfied, since the rigid motion has J u = 0.
- **Bodies that touch a static one** exchange momentum with it: all their velocities are scaled down.

Where the rigid motion alone has more energy than before (bodies came closer at constant L), its rotation is scaled too:
momentum is kept and angular momentum falls. Scaling aims below the old energy by more than the rounding of float32, so
that the energy of the stored state, evaluated in float64, never rises. A body on its own is left alone: its rotation
keeps energy and angular momentum (:func:`worldloom.physics.motion.integrate_rotation`), up to rounding of either sign.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, KINEMATIC
from worldloom.physics.mass import scaled_inverse
from worldloom.physics.motion import spin_momentum

LINKED = 1  # by a contact or a joint
ANCHORED = 2  # with a body that is not dynamic
DRIVEN = 4  # something may do work

ROUNDING = 2.0e-7  # relative, of velocities that are scaled and stored in float32
ATTEMPTS = 5


@wl.function
def kinetic_energy(mass: float, inertia: wl.mat33, rotation: wl.quat, velocity: wl.vec3, spin: wl.vec3) -> wl.float64:
    """Kinetic energy of a body in float64, J; the quaternion need not be of unit length."""
    qx, qy, qz, qw = wl.float64(rotation[0]), wl.float64(rotation[1]), wl.float64(rotation[2]), wl.float64(rotation[3])
    wx, wy, wz = wl.float64(spin.x), wl.float64(spin.y), wl.float64(spin.z)
    vx, vy, vz = wl.float64(velocity.x), wl.float64(velocity.y), wl.float64(velocity.z)
    double = 2.0 / (qx * qx + qy * qy + qz * qz + qw * qw)
    tx, ty, tz = qy * wz - qz * wy, qz * wx - qx * wz, qx * wy - qy * wx
    bx = wx + double * (qy * tz - qz * ty - qw * tx)
    by = wy + double * (qz * tx - qx * tz - qw * ty)
    bz = wz + double * (qx * ty - qy * tx - qw * tz)
    xx, yy, zz = wl.float64(inertia[0, 0]), wl.float64(inertia[1, 1]), wl.float64(inertia[2, 2])
    xy, xz, yz = wl.float64(inertia[0, 1]), wl.float64(inertia[0, 2]), wl.float64(inertia[1, 2])
    turning = bx * (xx * bx + xy * by + xz * bz) + by * (xy * bx + yy * by + yz * bz)
    turning += bz * (xz * bx + yz * by + zz * bz)
    return 0.5 * (wl.float64(mass) * (vx * vx + vy * vy + vz * vz) + turning)


@wl.function
def shrink(before: wl.float64, after: wl.float64) -> float:
    """The factor of velocities that takes an energy to just below another one."""
    if not after > 0.0 or not before > 0.0:
        return 0.0
    return wl.sqrt(float(min(before / after, 1.0))) * (1.0 - ROUNDING)


def energy_measures(World: type, Body: type) -> list[Any]:
    """Systems over bodies that run before the solver, in order."""

    @wl.system
    def measure_energy(body: Body, world: World):
        body.energy = wl.float64(0.0)
        body.bonds = 0
        if body.motion == DYNAMIC and wl.length_sq(world.gravity) == 0.0:
            body.energy = kinetic_energy(body.mass, body.inertia, body.rotation, body.velocity, body.spin)
            if wl.length_sq(body.force) + wl.length_sq(body.torque) > 0.0:
                body.bonds = DRIVEN

    return [measure_energy]


def island_functions(World: type, Body: type, Contact: type, Joint: type) -> tuple[Any, Any]:
    """Functions of a world: ``mark_islands`` numbers them, ``scale_island`` lowers the energy of one."""

    @wl.function
    def join(world: World, first: int, second: int, driven: bool):
        """Gives two bodies one island, if both are dynamic: whether anything changed."""
        a = world.at(Body, first)
        b = world.at(Body, second)
        changed = False
        bonds = LINKED | (DRIVEN if driven else 0)
        if a.motion == DYNAMIC and b.motion == DYNAMIC:
            lower = min(a.island, b.island)
            bonds |= a.bonds | b.bonds
            changed = a.island != lower or b.island != lower or a.bonds != bonds or b.bonds != bonds
            a.island, b.island = lower, lower
            a.bonds, b.bonds = bonds, bonds
        else:
            other_moves = (a.motion == KINEMATIC and a.awake) or (b.motion == KINEMATIC and b.awake)
            bonds |= ANCHORED | (DRIVEN if other_moves else 0)
            if a.motion == DYNAMIC:
                changed = (a.bonds | bonds) != a.bonds
                a.bonds |= bonds
            if b.motion == DYNAMIC:
                changed = (b.bonds | bonds) != b.bonds
                b.bonds |= bonds
        return changed

    @wl.function
    def mark_islands(world: World):
        for body in world.all(Body):
            body.island = body.id
        spreading = True
        while spreading:
            spreading = False
            for contact in world.all(Contact):
                if contact.solved:  # impulses may add up to 0, and have changed how bodies turned
                    changed = join(world, contact.a_id, contact.b_id, contact.restitution > 1.0)
                    spreading = spreading or changed
            for joint in world.all(Joint):
                changed = join(world, joint.a_id, joint.b_id, joint.motor_force > 0.0)
                spreading = spreading or changed

    @wl.function
    def scale_island(world: World, root: int, anchored: bool):
        """Lowers the kinetic energy of an island to what it was before the step."""
        mass = 0.0
        momentum, moment = wl.vec3(0.0, 0.0, 0.0), wl.vec3(0.0, 0.0, 0.0)
        origin = world.at(Body, root).position
        for body in world.all(Body):
            if body.island == root and body.motion == DYNAMIC:
                mass += body.mass
                moment += (body.position - origin) * body.mass
                momentum += body.velocity * body.mass
        centre = origin + moment / mass
        drift = momentum / mass
        angular = wl.vec3(0.0, 0.0, 0.0)
        inertia = wl.mat33()
        for body in world.all(Body):
            if body.island == root and body.motion == DYNAMIC:
                arm = body.position - centre
                angular += spin_momentum(body.rotation, body.inertia, body.spin)
                angular += wl.cross(arm, body.velocity - drift) * body.mass
                axes = wl.quat_to_matrix(body.rotation)
                inertia += axes * body.inertia * wl.transpose(axes)
                square = wl.length_sq(arm)
                inertia += (wl.diag(wl.vec3(square, square, square)) - wl.outer(arm, arm)) * body.mass
        rate = scaled_inverse(inertia) * angular
        if anchored or not wl.isfinite(wl.length_sq(rate)):
            drift = wl.vec3(0.0, 0.0, 0.0)
            rate = wl.vec3(0.0, 0.0, 0.0)
        for attempt in range(ATTEMPTS):
            before, after = wl.float64(0.0), wl.float64(0.0)
            rigid = wl.float64(0.0)
            for body in world.all(Body):
                if body.island == root and body.motion == DYNAMIC:
                    before += body.energy
                    after += kinetic_energy(body.mass, body.inertia, body.rotation, body.velocity, body.spin)
                    velocity = drift + wl.cross(rate, body.position - centre)
                    rigid += kinetic_energy(body.mass, body.inertia, body.rotation, velocity, rate)
            if after > before:
                if attempt >= 1:  # the rotation of the whole island itself has too much energy
                    rate = wl.vec3(0.0, 0.0, 0.0)
                    rigid = wl.float64(0.5 * mass * wl.length_sq(drift))
                if attempt >= 3:
                    drift = wl.vec3(0.0, 0.0, 0.0)
                    rigid = wl.float64(0.0)
                factor = shrink(before - rigid, after - rigid)
                for body in world.all(Body):
                    if body.island == root and body.motion == DYNAMIC:
                        velocity = drift + wl.cross(rate, body.position - centre)
                        body.velocity = velocity + (body.velocity - velocity) * factor
                        body.spin = rate + (body.spin - rate) * factor

    return mark_islands, scale_island


def energy_limits(World: type, Body: type, Contact: type, Joint: type) -> list[Any]:
    """Systems over worlds that run after the solver, in order."""
    mark_islands, scale_island = island_functions(World, Body, Contact, Joint)

    @wl.system
    def limit_energy(world: World):
        if wl.length_sq(world.gravity) > 0.0:
            return
        mark_islands(world)
        for body in world.all(Body):
            body.gain = wl.float64(0.0)
        for body in world.all(Body):
            if body.motion == DYNAMIC and body.bonds != 0:
                root = world.at(Body, body.island)
                root.gain += (
                    kinetic_energy(body.mass, body.inertia, body.rotation, body.velocity, body.spin) - body.energy
                )
        for body in world.all(Body):
            if body.gain > 0.0 and (body.bonds & DRIVEN) == 0:
                scale_island(world, body.id, (body.bonds & ANCHORED) != 0)

    return [limit_energy]
