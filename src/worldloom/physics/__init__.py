"""Rigid bodies: shapes, contacts, a solver and rays as functions and systems of any world."""

__helper_prefix__ = "physics_"

from worldloom.physics.bodies import BALL, DISTANCE, DYNAMIC, FIXED, HINGE, KINEMATIC, SLIDER, STATIC, Body, Pair, World
from worldloom.physics.hulls import HullTable, hull_table
from worldloom.physics.many_bodies.components import ManyBody
from worldloom.physics.queries.rays import fan_direction
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE, SPHERE, WEDGE
from worldloom.physics.systems import PhysicsSystems, systems

__all__ = [
    "BALL",
    "BOX",
    "CAPSULE",
    "DISTANCE",
    "DYNAMIC",
    "FIXED",
    "HINGE",
    "HULL",
    "KINEMATIC",
    "PLANE",
    "SLIDER",
    "SPHERE",
    "STATIC",
    "WEDGE",
    "Body",
    "HullTable",
    "ManyBody",
    "Pair",
    "PhysicsSystems",
    "World",
    "fan_direction",
    "hull_table",
    "systems",
]
