"""Light bodies under heavy loads.

A sweep over contacts passes on the impulse that stops the light body of a pair. A heavy body on a light one therefore
needs as many sweeps as the ratio of their masses, and sinks meanwhile; and a soft contact gives back a share of its
impulse in each sweep, which the light body turns into speed. Worlds with such contacts, which :func:`bears_load` finds,
repeat each sweep until impulses are consistent, with Anderson acceleration: after the k-th sweep, which took the
impulses x_k to g_k with the residual f_k = g_k - x_k, the next one starts from

    x = g_k - c (g_k - g_(k-1)),  c = (f_k - f_(k-1)).f_k / |f_k - f_(k-1)|^2

which is where the residual vanishes if it is linear (D. G. Anderson, Iterative procedures for nonlinear integral
equations, 1965, of depth 1). Products are weighted by the response of each point, so that they are energies. Their
contacts give back no more impulse than one under an acceleration of SOFT_LOAD does.
"""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import HINGE, Tangents
from worldloom.physics.solving.contact_passes import warm_pass
from worldloom.physics.solving.solver import clamp_to_disc, sum_of

SOFT_LOAD = 20.0  # m/s², of a point, up to which its spring is linear
TURNS = 32  # at most, of a sweep
STALL = 0.75  # of the first residual: where joints keep it above that for all turns, the step goes on without turns
LARGEST_LOAD = 100.0  # m/s², of all bodies of a world together: the load that a turn adds at most
SHORTEST_LEVER = 1e-3  # m, of the torque of a motor
ACCURACY = 0.1  # m/s², times the length of a substep: the error of a relative velocity at which turns end


@wl.function
def bears_load(a_mass: float, b_mass: float, normal: wl.vec3, gravity: wl.vec3, load: float, heavy_load: float) -> bool:
    """Whether the load of a contact exceeds ``heavy_load`` times the lighter mass.

    The weight of a body that lies on a lighter one counts, too.

    Args:
        a_mass, b_mass: inverse masses, 1/kg.
        normal: from A to B.
        gravity: m/s².
        load: N, without that weight.
        heavy_load: m/s².
    """
    upper, lower, pull = a_mass, b_mass, wl.dot(normal, gravity)
    if pull < 0.0:
        upper, lower, pull = b_mass, a_mass, -pull
    return load * max(a_mass, b_mass) > heavy_load or (upper > 0.0 and pull * lower > heavy_load * upper)


def load_function(World: type, Body: type, Contact: type, Joint: type) -> Any:
    """The function of a world that says whether a contact bears a heavy load."""

    @wl.function
    def motor_load(world: World, joint: Joint, body: Body):
        """The force of the motor of a joint at the surface of one of its bodies, N."""
        load = 0.0
        if joint.motor_force > 0.0 and (joint.a == body.ref or joint.b == body.ref):
            load = joint.motor_force / max(body.radius, SHORTEST_LEVER) if joint.kind == HINGE else joint.motor_force
        return load

    @wl.function
    def is_loaded(world: World, row: int):
        """By its impulse in the last step, or by forces, motors and weights that begin in this one."""
        contact = world.at(Contact, row)
        a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
        load = max(wl.dot(contact.normal, a.force), 0.0) + max(-wl.dot(contact.normal, b.force), 0.0)
        for joint in world.all(Joint):
            a_load = motor_load(world, joint, a)
            b_load = motor_load(world, joint, b)
            load += a_load + b_load
        load = max(load, contact.last_impulse / world.dt)
        return bears_load(a.inverse_mass, b.inverse_mass, contact.normal, world.gravity, load, world.heavy_load)

    return is_loaded


@wl.function
def stiffened(stiffness: wl.vec4, relief: wl.vec4, masses: wl.vec4, impulses: wl.vec4, h: float):
    """(stiffness, relief) of points that give back no more impulse than one under SOFT_LOAD.

    Args:
        stiffness, relief: of ``contact_aims``.
        masses: effective masses of the points, kg.
        impulses: N s, so far.
        h: s, of a substep.
    """
    for i in wl.unroll(4):
        load = SOFT_LOAD * h * masses[i]
        if relief[i] > 0.0 and impulses[i] > load:
            share = load / impulses[i]
            stiffness[i] = 1.0 - (1.0 - stiffness[i]) * share
            relief[i] *= share
    return stiffness, relief


@dataclass(frozen=True)
class LoadFunctions:
    """Functions of a world.

    Attributes:
        note: Of a contact, too: stores the residual of a turn, from the impulses before it.
        largest: The largest residual of all contacts, m/s.
        accelerate: Extrapolates the impulses of all contacts from the last two turns.
    """

    note: Any
    largest: Any
    accelerate: Any


def load_functions(World: type, Body: type, Contact: type) -> LoadFunctions:
    """The functions for the classes of a world."""

    @wl.function
    def solved_contact(world: World, k: int):
        """The row of the k-th contact to be solved."""
        return world.at(Contact, world.first_solved + k).order

    @wl.function
    def num_solved(world: World):
        total = 0
        if world.contact_colours > 0:
            total = world.at(Contact, world.first_solved + world.contact_colours - 1).colour_end
        return total

    @wl.function
    def note_residual(world: World, contact: Contact, impulses: wl.vec4, tangents: Tangents):
        contact.residual = contact.impulses - impulses
        contact.slip_residual = contact.tangents - tangents

    @wl.function
    def largest_residual(world: World):
        worst = 0.0
        total = num_solved(world)
        for k in range(total):
            row = solved_contact(world, k)
            contact = world.at(Contact, row)
            for i in wl.unroll(4):
                if i < contact.num_points:
                    worst = max(worst, abs(contact.residual[i]) / contact.stiffness[i])
                    slip = abs(contact.slip_residual[2 * i]) + abs(contact.slip_residual[2 * i + 1])
                    worst = max(worst, slip / contact.slip_rates[i])
        return worst

    @wl.function
    def accelerate(world: World, h: float, first: bool, counts: bool):
        """``first``: whether there was one turn so far; ``counts``: whether impulses are those at the substep's end."""
        along, square, mass = 0.0, 0.0, 0.0
        for body in world.all(Body):
            if body.inverse_mass > 0.0:
                mass += 1.0 / body.inverse_mass
        most = LARGEST_LOAD * h * mass
        total = num_solved(world)
        for k in range(total):
            row = solved_contact(world, k)
            contact = world.at(Contact, row)
            for i in wl.unroll(4):
                if i < contact.num_points:
                    weight, residual = 1.0 / contact.stiffness[i], contact.residual[i]
                    change = residual - contact.last_residual[i]
                    along += weight * change * residual
                    square += weight * change * change
                    weight = 1.0 / contact.slip_rates[i]
                    for m in wl.unroll(2):
                        residual = contact.slip_residual[2 * i + m]
                        change = residual - contact.last_slip_residual[2 * i + m]
                        along += weight * change * residual
                        square += weight * change * change
        factor = 0.0
        if square > 0.0 and not first:
            factor = min(along / square, 0.0)  # where residuals have grown, it would be positive
        start = 0
        for colour in range(world.contact_colours):
            end = world.at(Contact, world.first_solved + colour).colour_end
            for k in wl.share(end - start, disjoint=True):
                contact = world.at(Contact, world.at(Contact, world.first_solved + start + k).order)
                impulses, tangents = contact.impulses, contact.tangents
                if factor < 0.0:
                    a, b = world.at(Body, contact.a_id), world.at(Body, contact.b_id)
                    ahead = impulses - (impulses - contact.last_result) * factor
                    for i in wl.unroll(4):
                        ahead[i] = wl.clamp(ahead[i], max(impulses[i] - most, 0.0), impulses[i] + most)
                    slips = tangents - (tangents - contact.last_slip_result) * factor
                    for i in wl.unroll(4):
                        limit = contact.friction * ahead[i]
                        slip = clamp_to_disc(wl.vec2(slips[2 * i], slips[2 * i + 1]), limit)
                        slips[2 * i], slips[2 * i + 1] = slip.x, slip.y
                    v_a, w_a, v_b, w_b = warm_pass(
                        a.velocity, a.spin, b.velocity, b.spin, a.inverse_mass, b.inverse_mass,
                        a.world_inverse_inertia, b.world_inverse_inertia, contact.between, contact.arms,
                        contact.normal, contact.tangent, ahead - impulses, slips - tangents,
                    )  # fmt: skip
                    if a.inverse_mass > 0.0:
                        a.velocity, a.spin = v_a, w_a
                    if b.inverse_mass > 0.0:
                        b.velocity, b.spin = v_b, w_b
                    contact.impulses, contact.tangents = ahead, slips
                    if counts:
                        contact.impulse += sum_of(ahead) - sum_of(impulses)
                contact.last_result, contact.last_slip_result = impulses, tangents
                contact.last_residual, contact.last_slip_residual = contact.residual, contact.slip_residual
            start = end

    return LoadFunctions(note_residual, largest_residual, accelerate)
