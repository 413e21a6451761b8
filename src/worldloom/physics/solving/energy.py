"""The work of contacts, which must not be positive.

The velocities u before the contacts of a substep become u + d, with the same momentum: the work of the contacts is
u.M d + d.M d / 2. One sweep over several contacts need not converge and can leave it positive; more sweeps without bias
then remove it. Worlds with gravity are not checked: it hides so small a share of their energy.
"""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, KINEMATIC
from worldloom.physics.motion import spin_momentum
from worldloom.physics.solving.packed_bodies import twist_parts

WORK_TOLERANCE = 1e-5  # share of the kinetic energy of free motion


def energy_functions(World: type, Body: type, Joint: type) -> tuple[Any, Any]:
    """Functions of a world, in the order in which a step calls them; a system over the world does so."""

    @wl.function
    def keep_free_motion(world: World):
        for i in wl.share(world.count(Body), disjoint=True):
            body = world.at(Body, i)
            if body.awake and body.motion == DYNAMIC:
                velocity, spin = twist_parts(body.pushed)
                body.free_velocity = velocity
                body.free_momentum = spin_momentum(body.rotation, body.inertia, spin)

    @wl.function
    def contacts_add_energy(world: World):
        """Whether contacts did more work than WORK_TOLERANCE; joints and moving kinematic bodies may do any."""
        energy = 0.0
        work = 0.0
        driven = world.count(Joint) > 0
        for body in world.all(Body):
            if body.awake and body.motion == KINEMATIC:
                driven = True
            elif body.awake:
                free_spin = body.world_inverse_inertia * body.free_momentum
                change = body.velocity - body.free_velocity
                turn = body.spin - free_spin
                momentum = spin_momentum(body.rotation, body.inertia, turn)
                energy += 0.5 * (body.mass * wl.length_sq(body.free_velocity) + wl.dot(free_spin, body.free_momentum))
                work += body.mass * wl.dot(body.free_velocity + change * 0.5, change)
                work += wl.dot(free_spin + turn * 0.5, momentum)
        adds = work > WORK_TOLERANCE * energy and not driven
        return adds

    return keep_free_motion, contacts_add_energy
