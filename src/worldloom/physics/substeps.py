"""The systems that put contacts in order, integrate bodies and solve contacts."""

from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC
from worldloom.physics.joints.systems import joint_function
from worldloom.physics.motion import integrate_rotation, turned
from worldloom.physics.solving.colouring import colour_function
from worldloom.physics.solving.contact_systems import contact_function
from worldloom.physics.solving.energy import energy_functions
from worldloom.physics.solving.sleeping import wake_function
from worldloom.physics.solving.solver import RESTITUTION, WARM_START, WITH_BIAS, WITHOUT_BIAS, softness

THREADS = 4  # of a GPU per world
REGISTERS = 128  # of each of them, so that a multiprocessor solves 128 worlds at the same time
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
    """Systems over worlds, in order; THREADS of a GPU share the bodies and contacts of a world."""
    solve_contact = contact_function(World, Body, Contact)
    solve_joint = joint_function(World, Body, Joint)
    keep_free_motion, contacts_add_energy = energy_functions(World, Body, Joint)
    wake_neighbours = wake_function(World, Body, Contact, Joint)
    colour_contacts = colour_function(World, Body, Contact)

    @wl.system(separate=True)
    def arrange(world: World):
        wake_neighbours(world)
        colour_contacts(world)

    @wl.system(threads=THREADS, separate=True, registers=REGISTERS)
    def solve(world: World):
        h = world.dt / float(world.substeps)
        push_rate, soft_mass, soft_relief = softness(min(world.contact_frequency, 0.25 / h), world.contact_damping, h)
        joint_rate, joint_mass, joint_relief = softness(min(world.joint_frequency, 0.25 / h), world.joint_damping, h)
        passes = 2 * world.sweeps + 1
        weightless = wl.length_sq(world.gravity) == 0.0
        for substep in range(world.substeps + 1):
            last = substep == world.substeps
            if not last:
                for i in wl.share(world.count(Body), disjoint=True):
                    body = world.at(Body, i)
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
                first = substep == 0 and number == 0
                integrated = number == world.sweeps + 1
                if integrated:
                    for i in wl.share(world.count(Body), disjoint=True):
                        body = world.at(Body, i)
                        if body.awake:
                            body.position += body.velocity * h
                            if body.motion == DYNAMIC:
                                body.rotation, body.spin, body.world_inverse_inertia = integrate_rotation(
                                    body.rotation, body.spin, body.inertia, body.inverse_inertia, h
                                )
                            else:
                                body.rotation = turned(body.rotation, body.spin, h)
                if world.count(Joint) > 0:
                    for _ in wl.share(1, disjoint=True):  # one after the other: joints often have a body in common
                        for joint in world.all(Joint):
                            solve_joint(world, joint, stage, h, joint_rate, joint_mass, joint_relief)
                start = 0
                for colour in range(world.contact_colours):
                    end = world.at(Contact, colour).colour_end
                    for k in wl.share(end - start, disjoint=True):
                        contact = world.at(Contact, world.at(Contact, start + k).order)
                        if not (last and contact.restitution == 0.0):
                            solve_contact(
                                world, contact, stage, first, integrated, number == passes - 1, number >= passes,
                                h, push_rate, soft_mass, soft_relief,
                            )  # fmt: skip
                    start = end
        for i in wl.share(world.count(Body), disjoint=True):
            body = world.at(Body, i)
            body.force = wl.vec3(0.0, 0.0, 0.0)
            body.torque = wl.vec3(0.0, 0.0, 0.0)

    return [arrange, solve]
