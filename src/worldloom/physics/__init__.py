"""Rigid bodies: shapes, contacts, a solver and rays as functions and systems of any world."""

from worldloom.physics.bodies import DYNAMIC, KINEMATIC, STATIC, Body, Pair, World
from worldloom.physics.hulls import HullTable, hull_table
from worldloom.physics.shapes import BOX, CAPSULE, HULL, PLANE, SPHERE, WEDGE
from worldloom.physics.systems import PhysicsSystems, systems

__all__ = [
    "BOX",
    "CAPSULE",
    "DYNAMIC",
    "HULL",
    "KINEMATIC",
    "PLANE",
    "SPHERE",
    "STATIC",
    "WEDGE",
    "Body",
    "HullTable",
    "Pair",
    "PhysicsSystems",
    "World",
    "hull_table",
    "systems",
]
