"""The order in which contacts are solved: by colour, and by row within a colour.

No two contacts of a colour have a dynamic body in common, so they can be solved at the same time with the result of
solving them one after the other. Contacts take the lowest colour that is free at both bodies, in the order of rows:
first those of two dynamic bodies, then the others, so that static bodies have the last word.
Bodies remember 30 colours; contacts that find none of them free get colours of their own. Bodies with a joint have no
contact of the first colour, whose contacts can therefore be solved at the same time as joints.
"""

from typing import Any

import worldloom as wl
from worldloom.core.kernels.bits import lowest_bit
from worldloom.physics.bodies import STATIC
from worldloom.physics.solving.impacts import impact_functions
from worldloom.physics.solving.sleeping import A_MOVES, B_MOVES, BOTH_MOVE, ELASTIC, KEPT, LOADED

MAX_SHARED_COLOURS = 30
COLOURS = 12  # at most, where worlds are solved by colour
SUBSTEPS = 4  # of these worlds, with SWEEPS in each half
SWEEPS = 1
PASSES = 2 * SWEEPS + 1  # of a substep
COUPLED = 1 << MAX_SHARED_COLOURS  # bit of bodies with a joint or a contact with another dynamic body
RIGID_SWEEPS = 4  # over rigid joints in a pass: each is a step of Newton's method
CHAIN_SWEEPS = 8  # the same in worlds in which a body has several
WITH_JOINTS = 16  # added to the workload of worlds with joints
NO_ROW = 2**31 - 1
LONE = COLOURS  # batch of the only contact of a body, with one that is not dynamic


@wl.function
def lowest_free(used: int) -> int:
    """The lowest bit that is not set, MAX_SHARED_COLOURS if all of them are."""
    return lowest_bit(~used | COUPLED)


def colour_function(World: type, Body: type, Contact: type, Joint: type, by_colour: bool) -> Any:
    """The function that colours the contacts to be solved and lists them by colour; a system over the world calls it.

    Afterwards ``world.contact_colours`` is the number of colours. In worlds that are not solved by colour, bodies from
    ``world.moving_end`` on are static, ``world.first_solved`` is the first row to be solved, the k-th contact to
    be solved is the row ``order`` of the row k after it, and those of the c-th colour that occurs end before
    ``colour_end`` of the row c after it.

    With ``by_colour``, systems over contacts of one colour follow: ``world.by_colour`` says whether they solve a world.
    ``contact.batch`` is the colour of a contact, LONE of the only contact of a body that has no joint, and -1 of those
    that they do not solve. The colours of the body of a LONE contact are 1, of no other body.
    """
    may_bounce, _collide, _let_pass = impact_functions(World, Body, Contact)

    @wl.function
    def colour_contacts(world: World):
        weightless = wl.length_sq(world.gravity) == 0.0
        world.by_colour = by_colour and world.substeps == SUBSTEPS and world.sweeps == SWEEPS and not weightless
        rigid = world.joint_frequency <= 0.0
        joint_sweeps = RIGID_SWEEPS if rigid else 1
        for joint in world.all(Joint):
            a, b = world.at(Body, joint.a_id), world.at(Body, joint.b_id)
            if rigid and ((a.inverse_mass > 0.0 and a.colours != 0) or (b.inverse_mass > 0.0 and b.colours != 0)):
                joint_sweeps = CHAIN_SWEEPS
            a.colours, b.colours = COUPLED | 1, COUPLED | 1
        world.joint_sweeps = joint_sweeps
        lowest, shared = MAX_SHARED_COLOURS, 0
        total = 0
        first = NO_ROW
        too_many, elastic, loaded = False, False, False
        for turn in range(2):
            for contact in world.all(Contact):
                sides = contact.sides
                both_move = (sides & BOTH_MOVE) == BOTH_MOVE
                if both_move == (turn == 0):
                    a = world.at(Body, contact.a_id)
                    b = world.at(Body, contact.b_id)
                    solved = a.awake | b.awake
                    contact.solved = solved
                    if solved:
                        first = min(first, contact.id)
                        elastic = elastic or (sides & ELASTIC) != 0
                        loaded = loaded or (sides & LOADED) != 0
                        if (sides & KEPT) != 0:  # others have none yet
                            contact.impulse = 0.0
                            contact.peaks = wl.vec4()
                        a_colours = a.colours if (sides & A_MOVES) != 0 else 0
                        b_colours = b.colours if (sides & B_MOVES) != 0 else 0
                        colour = lowest_free(a_colours | b_colours)
                        contact.colour = colour
                        too_many = too_many or colour >= COLOURS
                        contact.batch = colour if world.by_colour else -1
                        added = COUPLED if both_move else 0
                        if colour < MAX_SHARED_COLOURS:
                            lowest, shared = min(lowest, colour), max(shared, colour + 1)
                            added = added | (1 << colour)
                        if (sides & A_MOVES) != 0:
                            a.colours = a_colours | added
                        if (sides & B_MOVES) != 0:
                            b.colours = b_colours | added
        world.joint_passes = 0
        bounces = False
        if elastic:
            for contact in world.all(Contact):
                if (contact.sides & ELASTIC) != 0:
                    fast = may_bounce(world, contact)
                    bounces = bounces or fast
        world.bounces, world.loaded = bounces, loaded
        if world.by_colour and (too_many or bounces or loaded):
            world.by_colour = False
            for contact in world.all(Contact):
                contact.batch = -1
        work = 0
        if world.by_colour:
            work = shared if shared > 1 else 0
            for contact in world.all(Contact):
                if contact.colour == 0:
                    body = world.at(Body, contact.b_id if (contact.sides & B_MOVES) != 0 else contact.a_id)
                    if body.colours == 1:
                        contact.batch = LONE
                    else:
                        work = shared
            if world.count(Joint) > 0:
                work += WITH_JOINTS
        world.solver_work = work
        world.first_solved = first if first < NO_ROW else 0
        if not world.by_colour:  # by colour, contacts and bodies are listed by batch
            world.moving_end = 0
            for body in world.all(Body):
                if body.motion != STATIC:
                    world.moving_end = body.id + 1
            for colour in range(lowest, shared):
                for contact in world.all(Contact):
                    if contact.colour == colour:
                        world.at(Contact, world.first_solved + total).order = contact.id
                        total += 1
                world.at(Contact, world.first_solved + colour - lowest).colour_end = total
            for contact in world.all(Contact):
                if contact.colour == MAX_SHARED_COLOURS:
                    world.at(Contact, world.first_solved + total).order = contact.id
                    total += 1
                    world.at(Contact, world.first_solved + shared - lowest).colour_end = total
                    shared += 1
        world.contact_colours = max(shared - lowest, 0)  # without the first, where all contacts have bodies with joints

    return colour_contacts
