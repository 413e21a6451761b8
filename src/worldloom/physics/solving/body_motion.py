"""Functions that take one body through a substep; systems over worlds or bodies call them."""

from dataclasses import dataclass
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import DYNAMIC, Remainder
from worldloom.physics.motion import carry_rotation, integrate_rotation, pushed, pushed_again, turned
from worldloom.physics.solving.packed_bodies import twist_of, twist_parts
from worldloom.physics.solving.solver import WARM_START, WITH_BIAS, WITHOUT_BIAS


@wl.function
def stage_of(number: int, sweeps: int) -> int:
    """The stage of a pass: a warm start, sweeps with bias, sweeps without."""
    if number == 0:  # after the first substep of joints alone: bodies repeat the impulses of contacts
        return WARM_START
    return WITH_BIAS if number <= sweeps else WITHOUT_BIAS


@dataclass(frozen=True)
class BodyFunctions:
    """Functions of a world and a body.

    Attributes:
        push: Adds the velocity of a substep by gravity, force and torque; a body that sleeps stands still.
        restart: ``push``, and the impulses of contacts of the last substep once more, none in the ``first``.
        move: Moves it by its velocity and spin for a substep.
        carry: ``move``, and keeps what ``restart`` needs.
        release: Forgets the forces of this step.
    """

    push: Any
    restart: Any
    move: Any
    carry: Any
    release: Any


def body_functions(World: type, Body: type) -> BodyFunctions:
    """The functions for the classes of a world; ``h`` is the length of a substep, s."""

    @wl.function
    def push_body(world: World, body: Body, h: float):
        if body.motion == DYNAMIC and not body.awake:
            body.velocity = wl.vec3(0.0, 0.0, 0.0)
            body.spin = wl.vec3(0.0, 0.0, 0.0)
        elif body.motion == DYNAMIC:
            body.velocity, body.spin = pushed(
                body.velocity, body.spin, world.gravity, body.force, body.torque, body.inverse_mass,
                body.world_inverse_inertia, h,
            )  # fmt: skip

    @wl.function
    def restart_body(world: World, body: Body, h: float, first: bool):
        if body.motion == DYNAMIC and body.awake:
            velocity, spin, free_velocity, free_spin = body.velocity, body.spin, body.velocity, body.spin
            if not first:
                free_velocity, free_spin = twist_parts(body.pushed)
            velocity, spin, free_velocity, free_spin = pushed_again(
                velocity, spin, free_velocity, free_spin, world.gravity, body.force, body.torque, body.inverse_mass,
                body.world_inverse_inertia, h,
            )  # fmt: skip
            body.velocity, body.spin = velocity, spin
            body.pushed = twist_of(free_velocity, free_spin)
        else:
            push_body(world, body, h)

    @wl.function
    def move_body(world: World, body: Body, h: float):
        if body.awake:
            body.position += body.velocity * h
            if body.motion == DYNAMIC:
                body.rotation, body.spin, _rest, body.world_inverse_inertia = integrate_rotation(
                    body.rotation, body.spin, Remainder(), False, body.inertia, body.inverse_inertia, h
                )
            else:
                body.rotation = turned(body.rotation, body.spin, h)

    @wl.function
    def carry_body(world: World, body: Body, h: float):
        if body.motion == DYNAMIC and body.awake:
            free_velocity, free_spin = twist_parts(body.pushed)
            exact, remainder = body.colours == 0, Remainder()
            if exact:
                remainder = body.remainder
            body.position += body.velocity * h
            body.rotation, body.spin, free_spin, remainder, body.world_inverse_inertia = carry_rotation(
                body.rotation, body.spin, free_spin, remainder, exact, body.inertia, body.inverse_inertia, h
            )
            if exact:
                body.remainder = remainder
            body.pushed = twist_of(free_velocity, free_spin)
        else:
            move_body(world, body, h)

    @wl.function
    def release_body(world: World, body: Body):
        body.force = wl.vec3(0.0, 0.0, 0.0)
        body.torque = wl.vec3(0.0, 0.0, 0.0)

    return BodyFunctions(push_body, restart_body, move_body, carry_body, release_body)
