"""Where the state of a body is while a step is solved."""

from dataclasses import dataclass
from typing import Any

import worldloom as wl


@dataclass(frozen=True)
class BodyAccess:
    """Functions of a world, a body and its inverse mass.

    Attributes:
        place: (position, rotation).
        motion: (velocity, spin); ``moving``: whether those of a body without a mass may differ from 0.
        inertia: The inverse inertia in world axes.
        turn: Stores velocity and spin of a body with a mass.
    """

    place: Any
    motion: Any
    inertia: Any
    turn: Any


def component_access(World: type, Body: type) -> BodyAccess:
    """The functions for a state in the components of the body."""

    @wl.function
    def place_of(world: World, body: Body, mass: float):
        return body.position, body.rotation

    @wl.function
    def motion_of(world: World, body: Body, mass: float, moving: bool):
        return body.velocity, body.spin

    @wl.function
    def inertia_of(world: World, body: Body, mass: float):
        return body.world_inverse_inertia

    @wl.function
    def turn_body(world: World, body: Body, mass: float, velocity: wl.vec3, spin: wl.vec3):
        if mass > 0.0:
            body.velocity, body.spin = velocity, spin

    return BodyAccess(place_of, motion_of, inertia_of, turn_body)
