"""Systems that find the manifolds of pairs, one for each class of pairs."""

from collections.abc import Iterable
from typing import Any

import worldloom as wl
from worldloom.physics.bodies import Pair
from worldloom.physics.pair_classes import BOX_BOX, PLANE_BOX, PLANE_WEDGE, POLYTOPES, ROUND, SOLIDS, classes_of
from worldloom.physics.pair_manifolds import manifold_functions
from worldloom.physics.touching import touching_systems


def manifold_systems(World: type, Body: type) -> dict[int, Any]:
    """Systems over the pairs of a class, by class."""
    functions = manifold_functions(World, Body)
    plane_box, box_box = functions[PLANE_BOX], functions[BOX_BOX]
    plane_wedge, solid_solid = functions[PLANE_WEDGE], functions[SOLIDS]
    any_round, any_polytope = functions[ROUND], functions[POLYTOPES]

    @wl.system(where=("kind", PLANE_BOX))
    def plane_boxes(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = plane_box(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    @wl.system(where=("kind", BOX_BOX))
    def box_boxes(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = box_box(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    @wl.system(where=("kind", PLANE_WEDGE))
    def plane_wedges(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = plane_wedge(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    @wl.system(where=("kind", SOLIDS))
    def solids(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = solid_solid(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    @wl.system(where=("kind", ROUND))
    def rounds(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = any_round(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    @wl.system(where=("kind", POLYTOPES))
    def polytopes(pair: Pair, world: World):
        a, b = world.at(Body, pair.a), world.at(Body, pair.b)
        pair.normal, pair.points, pair.separations, pair.num_points = any_polytope(world, a, b, pair.margin)
        pair.touches = min(pair.num_points, 1)

    return {
        PLANE_BOX: plane_boxes,
        BOX_BOX: box_boxes,
        PLANE_WEDGE: plane_wedges,
        SOLIDS: solids,
        ROUND: rounds,
        POLYTOPES: polytopes,
    }


def narrow_phase_systems(World: type, Body: type, Contact: type, shapes: Iterable[int]) -> list[Any]:
    """Systems over pairs and contacts, in order: those for the pairs of ``shapes``, and those that make contacts."""
    known = manifold_systems(World, Body)
    found = [known[kind] for kind in sorted(classes_of(shapes))]
    return [*found, *touching_systems(World, Body, Contact)]
