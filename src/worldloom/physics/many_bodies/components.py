"""What bodies and contacts of a world of many bodies have in addition."""

import worldloom as wl
from worldloom.physics.bodies import Body

MAX_LINKS = 96  # bodies that a dynamic body may touch


class ManyBody(Body):
    """A rigid body of a world with thousands of them. Derive the one kind of bodies of such a world from it."""

    large: bool  # derived; whether it is compared with all bodies instead of those nearby
    bound: float  # derived; m, from the centre to the farthest corner of the bounding box of this step
    pushed_velocity: wl.vec3  # derived; m/s, at the end of this step by its forces, without gravity and contacts
    num_partners: int  # derived; bodies that found a pair with this one
    partners: wl.Array(int, MAX_LINKS)  # derived; their rows
    first_contact: int  # derived; first of the contacts whose pairs this body found, which are adjacent rows
    num_contacts: int  # derived; their number
    num_links: int  # derived; contacts of this body
    loaded_links: int  # derived; contacts that bore a load in the last step
    disturbed: bool  # derived; whether it touches a body that moves, or lost one that bore a load
    links: wl.Array(int, MAX_LINKS)  # derived; their rows


class LargeBody(wl.Event):
    """A plane, a large body or a fast one, which is compared with all bodies in this step."""

    row: int


class FoundPair(wl.Event):
    """Two bodies that may touch in this step, the lower kind of shape first, and the body that found them."""

    a: int
    b: int
    finder: int


class SplitState(wl.Components):
    """What a contact of a world of many bodies has in addition."""

    a_shares: float  # contacts of A, each of which gets an equal share of its mass; 0 where it is asleep
    b_shares: float
    push: wl.vec3  # N s, impulse on B of this pass
    a_turn: wl.vec3  # rad/s, change of the spin of A in this pass
    b_turn: wl.vec3
