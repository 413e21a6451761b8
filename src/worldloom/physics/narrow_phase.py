"""Systems that find the manifolds of pairs, one for each class of pairs."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Pair
from worldloom.physics.pair_classes import BOX_BOX, PLANE_BOX, PLANE_WEDGE, POLYTOPES, ROUND, SOLIDS, classes_of
from worldloom.physics.pair_manifolds import manifold_functions
from worldloom.physics.shapes import HULL
from worldloom.physics.touching import touching_systems

SYSTEM_NAMES = {
    PLANE_BOX: "plane_boxes",
    BOX_BOX: "box_boxes",
    PLANE_WEDGE: "plane_wedges",
    SOLIDS: "solids",
    ROUND: "rounds",
    POLYTOPES: "polytopes",
}
"""Names of the systems, by class; profiles show them."""


def margin_function(World: type, Body: type) -> Any:
    """The function that computes the margin of a pair of bodies."""

    @wl.function
    def touching_margin(world: World, a: Body, b: Body):
        """The distance in m below which points of two bodies are in contact: how far they may come closer in a step."""
        a_spin = a.spin + a.world_inverse_inertia * a.torque * world.dt
        b_spin = b.spin + b.world_inverse_inertia * b.torque * world.dt
        turning = wl.length(a_spin) * a.radius + wl.length(b_spin) * b.radius
        velocity = b.velocity + b.force * (b.inverse_mass * world.dt) - a.velocity
        velocity -= a.force * (a.inverse_mass * world.dt)
        return world.margin + world.dt * (wl.length(velocity) + turning)

    return touching_margin


def manifold_system(World: type, Body: type, kind: int, touching_points: Any) -> Any:
    """The system over the pairs of a class; ``touching_points`` is the function of the class."""
    touching_margin = margin_function(World, Body)

    def find_manifold(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        margin = touching_margin(world, a, b)
        pair.normal, pair.points, pair.separations, pair.num_points = touching_points(world, a, b, margin)
        pair.touches = min(pair.num_points, 1)

    find_manifold.__name__ = SYSTEM_NAMES[kind]
    return wl.system(where=("kind", kind))(find_manifold)


def narrow_phase_systems(World: type, Body: type, Contact: type, shapes: Iterable[int]) -> list[Any]:
    """Systems over pairs and contacts, in order: those for the pairs of ``shapes``, and those that make contacts."""
    functions = manifold_functions(World, Body)
    found = [manifold_system(World, Body, kind, functions[kind]) for kind in sorted(classes_of(shapes))]
    return [*found, *touching_systems(World, Body, Contact, HULL in set(shapes))]
