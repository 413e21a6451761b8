"""The system over worlds that solves all substeps, by threads that share a world."""

from typing import Any

import worldloom as wl
from worldloom.physics.joints.aims import joint_softness
from worldloom.physics.joints.systems import joint_function
from worldloom.physics.solving.body_access import component_access
from worldloom.physics.solving.body_motion import body_functions, stage_of
from worldloom.physics.solving.contact_systems import contact_functions
from worldloom.physics.solving.energy import energy_functions
from worldloom.physics.solving.impacts import impact_functions
from worldloom.physics.solving.loads import ACCURACY, STALL, TURNS, load_functions, stiffened
from worldloom.physics.solving.solver import (
    WARM_START,
    WITH_BIAS,
    contact_aims,
    softness,
    sum_of,
)

THREADS = 4  # of a GPU per world
REGISTERS = 128  # of each of them, so that a multiprocessor solves 128 worlds at the same time
EXTRA_SWEEPS = 8  # without bias, in substeps in which contacts would add energy


def world_solvers(World: type, Body: type, Contact: type, Joint: type) -> list[Any]:
    """The system over worlds with gravity and without impacts, and that over the others, whose code is longer."""
    return [
        world_solver(World, Body, Contact, Joint, special=False),
        world_solver(World, Body, Contact, Joint, plain=False),
    ]


def world_solver(World: type, Body: type, Contact: type, Joint: type, plain: bool = True, special: bool = True) -> Any:
    """The system; THREADS of a GPU share the bodies and contacts of a world. It leaves out worlds solved by colour.

    ``special``: whether it solves worlds without gravity, which check the work of contacts, and those with impacts;
    ``plain``: whether it solves the others.
    """
    contacts, bodies = contact_functions(World, Body, Contact), body_functions(World, Body)
    place_contact, follow_contact, rate_contact = contacts.place, contacts.follow, contacts.rate
    warm_contact, solve_contact, note_impulses = contacts.warm, contacts.solve, contacts.note
    restart_body, carry_body, release_body = bodies.restart, bodies.carry, bodies.release
    solve_joint = joint_function(World, Body, Joint, component_access(World, Body))
    keep_free_motion, contacts_add_energy = energy_functions(World, Body, Joint)
    loads = load_functions(World, Body, Contact)
    note_residual, largest_residual, accelerate = loads.note, loads.largest, loads.accelerate
    _may_bounce, collide, let_pass = impact_functions(World, Body, Contact)

    @wl.system(threads=THREADS, separate=True, registers=REGISTERS)
    def solve(world: World):
        h = world.dt / float(world.substeps)
        push_rate, soft_mass, soft_relief = softness(world.contact_frequency, world.contact_damping, h)
        joint_rate, joint_mass, joint_relief = joint_softness(world.joint_frequency, world.joint_damping, h)
        passes = 2 * world.sweeps + 1
        floats = wl.length_sq(world.gravity) == 0.0
        solved = not world.by_colour and (special if floats or world.bounces or world.loaded else plain)
        stalled = False  # whether turns do not help in this step, as where joints contradict each other
        for substep in range(world.substeps if solved else 0):
            for i in wl.share(world.moving_end, disjoint=True):
                body = world.at(Body, i)
                restart_body(world, body, h, substep == 0)
            for number in range(passes + EXTRA_SWEEPS):
                struck = False
                if special and number == 1:
                    if world.bounces:
                        struck = collide(world, h)
                    if floats:
                        keep_free_motion(world)
                if number == passes:
                    adds_energy = False
                    if special and floats:
                        adds_energy = contacts_add_energy(world)
                    if not adds_energy:
                        break
                stage = stage_of(number, world.sweeps)
                first = substep == 0 and number == 0
                integrated = number == world.sweeps + 1
                if integrated:
                    for i in wl.share(world.moving_end, disjoint=True):
                        body = world.at(Body, i)
                        carry_body(world, body, h)
                turns, first_error, least_error = 1, 0.0, 0.0
                if special and world.loaded and stage != WARM_START and number < passes and not stalled:
                    turns = TURNS
                for turn in range(turns):
                    if world.count(Joint) > 0:
                        for _ in wl.share(1, disjoint=True):  # one after the other: joints often have a body in common
                            for _sweep in range(world.joint_sweeps if stage != WARM_START else 1):
                                for joint in world.all(Joint):
                                    solve_joint(world, joint, stage, h, joint_rate, joint_mass, joint_relief)
                    start = 0
                    restarted = stage == WARM_START and substep > 0  # bodies have repeated the impulses of contacts
                    for colour in range(0 if restarted else world.contact_colours):
                        end = world.at(Contact, world.first_solved + colour).colour_end
                        for k in wl.share(end - start, disjoint=True):
                            contact = world.at(Contact, world.at(Contact, world.first_solved + start + k).order)
                            a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
                            if (integrated or struck) and turn == 0:
                                follow_contact(world, contact, a, b)
                            if first:
                                place_contact(world, contact, a, b)
                                rate_contact(world, contact, a, b)
                            if stage == WARM_START:
                                warm_contact(world, contact, a, b)
                            else:
                                targets, stiffness, relief = contact_aims(
                                    contact.gaps, contact.num_points, stage == WITH_BIAS, 1.0 / h,
                                    push_rate, world.max_push, soft_mass, soft_relief,
                                )  # fmt: skip
                                if special and contact.restitution > 0.0 and world.bounces:
                                    stiffness = let_pass(world, contact, a, b, stiffness)
                                if special and turns > 1:
                                    stiffness, relief = stiffened(
                                        stiffness, relief, contact.stiffness, contact.impulses, h
                                    )
                                impulses, tangents = contact.impulses, contact.tangents
                                before = sum_of(impulses)
                                solve_contact(world, contact, a, b, targets, stiffness, relief)
                                if special and turns > 1:
                                    note_residual(world, contact, impulses, tangents)
                                if number >= passes or (turn > 0 and number == passes - 1):
                                    contact.impulse += sum_of(contact.impulses) - before
                                elif number == passes - 1:
                                    note_impulses(world, contact)
                        start = end
                    if special and turns > 1:
                        error = largest_residual(world)
                        if turn == 0:
                            first_error, least_error = error, error
                        least_error = min(least_error, error)
                        if turn == TURNS - 1:
                            stalled = world.count(Joint) > 0 and least_error > STALL * first_error
                        if error <= ACCURACY * h or turn == TURNS - 1:
                            break
                        accelerate(world, h, turn == 0, number == passes - 1)
        for i in wl.share(world.count(Body) if solved else 0, disjoint=True):
            body = world.at(Body, i)
            release_body(world, body)

    return solve
